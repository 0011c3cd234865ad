// Package progress says on standard error how a replay goes: one line a second while it
// runs, and a short block at the end.
package progress

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hydrant/cmd/replay/internal/drive"
	"hydrant/formats/run"
)

// Line writes the progress line. On a terminal it replaces itself.
type Line struct {
	W        io.Writer
	Terminal bool
	Workers  int
	Slowed   string // how the client is slowed down on purpose; "": not at all
}

// Show writes one state.
func (l *Line) Show(s drive.Snapshot) {
	text := line(s, l.Workers, l.Slowed)
	if l.Terminal {
		fmt.Fprintf(l.W, "\r%s\x1b[K", text)
		return
	}
	fmt.Fprintln(l.W, text)
}

// Done leaves the terminal with an empty line of its own.
func (l *Line) Done() {
	if l.Terminal {
		fmt.Fprint(l.W, "\r\x1b[K")
	}
}

// columns is the width of a progress line at most.
const columns = 80

// line writes a state: first what was put in on purpose, then how far the run is, the load,
// and what would spoil it. Where that is too wide the parts that matter least are left out.
func line(s drive.Snapshot, workers int, slowed string) string {
	elapsed, sent := clockTime(s.Elapsed), brief(float64(s.Sent))
	if s.Whole {
		elapsed += "/" + clockTime(s.Span)
		sent += "/" + brief(float64(s.Planned))
	}
	parts := []string{elapsed, sent, brief(s.SentRate) + "/s", "of " + brief(s.PlanRate), brief(float64(s.InFlight)) + " open", brief(s.EventRate) + " tok/s",
		brief(float64(s.Errors)) + " err", "lag " + figure(float64(s.LagP99)/float64(time.Millisecond)) + "ms",
		"cpu " + figure(100*s.CPU/float64(max(workers, 1))) + "%"}
	if slowed != "" {
		parts = append([]string{"SLOWED by " + slowed}, parts...)
	}
	least := len(parts) - 4 // the token rate, then what is before it
	text := strings.Join(parts, " ")
	for utf8.RuneCountInString(text) > columns && least > 1 {
		parts = slices.Delete(parts, least, least+1)
		least--
		text = strings.Join(parts, " ")
	}
	return text
}

// Summary is what the block at the end says beside the result.
type Summary struct {
	Result   *drive.Result
	Output   string // name of the run; "" for standard output
	Bytes    int64
	Duration time.Duration
}

// Block returns the block at the end of a run.
func Block(s Summary) string {
	r := s.Result
	var b strings.Builder
	sent := fmt.Sprintf("%s planned = %s sent", Count(r.Planned), Count(r.Sent))
	if r.Sent != r.Planned {
		sent = fmt.Sprintf("%s planned, %s sent", Count(r.Planned), Count(r.Sent))
	}
	var kinds []string
	for _, o := range r.Outcomes {
		if o.N > 0 {
			kinds = append(kinds, Count(o.N)+" "+o.Name)
		}
	}
	if len(kinds) == 0 {
		kinds = []string{"nothing to send"}
	}
	fmt.Fprintf(&b, "replay: %s: %s\n", sent, strings.Join(kinds, ", "))
	switch r.Status {
	case run.Complete:
	case r.Reason:
		fmt.Fprintf(&b, "  %s by a signal\n", r.Status)
	default:
		fmt.Fprintf(&b, "  %s: %s\n", r.Status, r.Reason)
	}
	if r.Sent > 0 {
		fmt.Fprintf(&b, "  lag p50 %s p99 %s · client CPU", milliseconds(r.LagP50), milliseconds(r.LagP99))
		if r.CPUP95 > 0 { // a run of less than a second has no share of a second
			fmt.Fprintf(&b, " p95 %s %%", figure(100*r.CPUP95))
		}
		fmt.Fprintf(&b, " of %d %s", r.Workers, plural(r.Workers, "worker"))
		if r.CPUPerEvent > 0 {
			fmt.Fprintf(&b, ", %s µs per token event", figure(float64(r.CPUPerEvent)/float64(time.Microsecond)))
		}
		b.WriteString(ceiling(r))
		b.WriteString("\n")
	}
	name := s.Output
	if name == "" {
		name = "standard output"
	}
	fmt.Fprintf(&b, "  %s %s  sha256 %s", name, size(s.Bytes), short(r.SHA256))
	for _, sum := range r.ScheduleSHA256 {
		fmt.Fprintf(&b, "  schedule %s", short(sum))
	}
	b.WriteString("\n")
	return b.String()
}

// ceiling says how far the load was from what the client can do, "" when that is unknown.
func ceiling(r *drive.Result) string {
	c := r.Calibration
	if c == nil || c.Ceiling == nil {
		return ""
	}
	least, against := math.Inf(1), "offered"
	if o := c.Offered; o != nil {
		for _, d := range [][2]float64{{c.Ceiling.RequestsPS, o.RequestsPS}, {c.Ceiling.EventsPS, o.EventsPS}, {c.Ceiling.BytesPS, o.BytesPS}} {
			if d[1] > 0 {
				least = min(least, d[0]/d[1])
			}
		}
	} else if r.Sent > 0 && r.Duration > 0 {
		least, against = c.Ceiling.RequestsPS*r.Duration.Seconds()/float64(r.Sent), "sent"
	}
	if math.IsInf(least, 1) {
		return ""
	}
	word := "ceiling "
	if c.AtLeast {
		word = "ceiling at least "
	}
	return " · " + word + figure(least) + " x " + against
}

func short(sum string) string {
	if len(sum) <= 8 {
		return sum
	}
	return sum[:8] + "…"
}

func plural(n int, word string) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// clockTime writes a duration as minutes and seconds.
func clockTime(d time.Duration) string {
	s := int64(max(d, 0) / time.Second)
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// milliseconds writes a duration in ms.
func milliseconds(d time.Duration) string {
	return figure(float64(d)/float64(time.Millisecond)) + " ms"
}

// figure writes a number with two decimals below ten, one below a hundred, none above.
func figure(v float64) string {
	switch {
	case v >= 99.95:
		return Count(int64(v + 0.5))
	case v >= 9.995 || v == 0:
		return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
}

// brief writes a number in at most six characters: with commas below 10,000, above it in
// thousands, millions and so on.
func brief(v float64) string {
	unit := ""
	for _, u := range []string{"k", "M", "G", "T"} {
		if v < 9999.5 && unit == "" || v < 999.5 {
			break
		}
		v, unit = v/1000, u
	}
	if unit == "" {
		return figure(v)
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + unit
}

// Count writes a whole number with commas between thousands.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// size writes bytes in decimal units.
func size(n int64) string {
	switch {
	case n >= 1e9:
		return figure(float64(n)/1e9) + " GB"
	case n >= 1e6:
		return figure(float64(n)/1e6) + " MB"
	case n >= 1e3:
		return figure(float64(n)/1e3) + " kB"
	}
	return strconv.FormatInt(n, 10) + " bytes"
}
