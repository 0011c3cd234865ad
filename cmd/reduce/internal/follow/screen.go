package follow

import (
	"fmt"
	"io"
	"strings"
	"time"

	"hydrant/cmd/reduce/internal/table"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/internal/fold"
)

// Screen shows the figures so far: a table that replaces itself on a terminal, else one
// line each time.
type Screen struct {
	W        io.Writer
	Terminal bool
	Every    time.Duration

	live   *fold.Live
	shown  time.Time
	before fold.LiveState
	lines  int // on the terminal
	rows   int // since the clock was looked at
}

// Row takes in a row.
func (s *Screen) Row(q *run.Request, place string) error {
	if s.live == nil {
		s.live, s.shown = fold.NewLive(), time.Now()
	}
	if err := s.live.Add(q, place); err != nil {
		return err
	}
	if s.rows++; s.rows >= 256 {
		s.Tick()
	}
	return nil
}

// Tick shows the figures when it is time to.
func (s *Screen) Tick() {
	s.rows = 0
	if s.live == nil {
		s.live, s.shown = fold.NewLive(), time.Now()
	}
	if past := time.Since(s.shown); past >= s.Every {
		s.show(past)
	}
}

func (s *Screen) show(past time.Duration) {
	now := s.live.State()
	rate := float64(now.Rows-s.before.Rows) / past.Seconds()
	tokens := float64(now.OutTokens-s.before.OutTokens) / past.Seconds()
	s.before, s.shown = now, time.Now()
	head := fmt.Sprintf("%s  %s ended  %s req/s  %s tok/s  ok %s  failed %s", clock(now.LatestNS), table.Count(now.Rows), table.Figure(rate), table.Figure(tokens),
		table.Count(now.OK), table.Count(now.Rows-now.OK))
	if !s.Terminal {
		m := &now.Metrics
		fmt.Fprintf(s.W, "reduce  %s  TTFT p50 %s p99 %s ms  TPOT p50 %s ms  E2E p50 %s ms  lag p99 %s ms\n", head,
			ms(m[0].P50), ms(m[0].P99), ms(m[2].P50), ms(m[3].P50), ms(m[5].P99))
		return
	}
	text := "reduce  " + head + "\n" + grid(&now)
	if s.lines > 0 {
		fmt.Fprintf(s.W, "\x1b[%dA\x1b[J", s.lines)
	}
	s.lines = strings.Count(text, "\n")
	io.WriteString(s.W, text)
}

// Done removes the table: the final one, or an error, takes its place.
func (s *Screen) Done() {
	if s.lines > 0 {
		fmt.Fprintf(s.W, "\x1b[%dA\x1b[J", s.lines)
		s.lines = 0
	}
}

// labels name the rows of the table, in the order of fold.LiveMetrics.
var labels = [...]string{"TTFT  user", "      wire", "TPOT", "E2E   user", "      wire", "lag"}

func grid(s *fold.LiveState) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s%12s%12s%12s%12s\n", "so far, ms", "n", "p50", "p90", "p99")
	for i, m := range s.Metrics {
		if m.N > 0 || !strings.HasPrefix(labels[i], " ") {
			fmt.Fprintf(&b, "%-14s%12s%12s%12s%12s\n", labels[i], table.Count(m.N), ms(m.P50), ms(m.P90), ms(m.P99))
		}
	}
	return b.String()
}

func ms(v formats.Int) string {
	if !v.Valid {
		return "–"
	}
	return table.Figure(float64(v.V) / 1e6)
}

// clock writes ns as minutes and seconds.
func clock(ns int64) string {
	s := max(0, ns) / int64(time.Second)
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}
