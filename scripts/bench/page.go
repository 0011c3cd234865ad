//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The table on a page stands between these lines.
const (
	begin = "<!-- bench -->\n"
	end   = "<!-- end -->\n"
)

// result is a scenario with what each program measured in each round.
type result struct {
	scenario *scenario
	rounds   []map[string]figures
}

type table struct {
	rounds  int
	only    []string
	date    time.Time
	results []result
}

func newTable(rounds int, only []string) *table {
	return &table{rounds: rounds, only: only, date: time.Now().UTC()}
}

// markdown returns the facts and the table.
func (t *table) markdown() string {
	var b strings.Builder
	command := "make bench ROUNDS=" + strconv.Itoa(t.rounds)
	if len(t.only) > 0 {
		command += " ONLY='" + strings.Join(t.only, " ") + "'"
	}
	fmt.Fprintf(&b, "`%s` on %s, %s; %d CPUs (%s), %s, kernel %s, %s.\n", command, t.date.Format("2006-01-02 15:04 MST"), "medians over the rounds",
		runtime.NumCPU(), model(), memory(), word("/proc/sys/kernel/osrelease"), runtime.Version())
	for _, r := range t.results {
		fmt.Fprintf(&b, "\n**%s** (%s).", r.scenario.title, count(len(r.rounds), "round"))
		if r.scenario.note != "" {
			b.WriteString(" " + r.scenario.note)
		}
		if n := r.disturbed(); n > 0 {
			fmt.Fprintf(&b, " In %s of %d the server itself was more than 5 ms late at p99.", count(n, "program run"), len(r.rounds)*len(r.scenario.programs))
		}
		b.WriteString("\n\n| figure | Hydrant | against | its figure | ratio | wanted | |\n|---|---|---|---|---|---|---|\n")
		for _, row := range r.scenario.rows {
			line, _ := r.line(row)
			b.WriteString(line)
		}
	}
	return b.String()
}

// disturbed counts the runs in which something else had the server's CPU, or the load was
// more than it can make.
func (r *result) disturbed() (n int) {
	for _, got := range r.rounds {
		for _, f := range got {
			if f["server_late_p99_us"] > 5000 {
				n++
			}
		}
	}
	return n
}

// failed names what a soak was to show and did not. A bench only measures: what it misses
// stands in its table.
func (t *table) failed() error {
	var all []error
	for _, r := range t.results {
		for _, row := range r.scenario.rows {
			if _, met := r.line(row); r.scenario.soak && !met {
				all = append(all, fmt.Errorf("%s: %s: missed", r.scenario.name, row.text))
			}
		}
	}
	return errors.Join(all...)
}

// line is one row of the table, and whether its limit was met.
func (r *result) line(row row) (text string, met bool) {
	met = true
	var own, other, ratios []float64
	for _, got := range r.rounds {
		x := got[row.program][row.figure]
		own = append(own, x)
		if row.against != "" {
			y := got[row.against][row.other()]
			other, ratios = append(other, y), append(ratios, x/y)
		}
	}
	cells := []string{row.text, spread(own, row.scale) + " " + row.unit, "", "", "", "", ""}
	value := median(own) / row.scale
	if row.against != "" {
		cells[2], cells[3] = row.against, spread(other, row.scale)+" "+row.unit
		value = median(ratios)
		cells[4] = strconv.FormatFloat(value, 'f', 2, 64)
	}
	if row.limit > 0 {
		sign := "≤"
		met = value <= row.limit
		if row.atLeast {
			sign, met = "≥", value >= row.limit
		}
		cells[5] = sign + " " + plain(row.limit)
		cells[6] = map[bool]string{true: "met", false: "**missed**"}[met]
	}
	return "| " + strings.Join(cells, " | ") + " |\n", met
}

// spread is a median with the smallest and largest value.
func spread(x []float64, scale float64) string {
	m := plain(median(x) / scale)
	if len(x) < 2 {
		return m
	}
	return m + " (" + plain(slices.Min(x)/scale) + "–" + plain(slices.Max(x)/scale) + ")"
}

func median(x []float64) float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// plain prints three significant digits, and whole numbers from a thousand on.
func plain(x float64) string {
	if math.Abs(x) >= 1000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// insert puts the table between the markers of a page.
func insert(page, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(old, []byte(begin))
	_, after, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		return fmt.Errorf("%s: no %q and %q around the table", page, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(page, slices.Concat(before, []byte(begin+"\n"+text+"\n"+end), after), 0o644)
}

func word(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(b))
}

func model() string { return field("/proc/cpuinfo", "model name") }

func memory() string {
	kb, _ := strconv.ParseFloat(strings.Fields(field("/proc/meminfo", "MemTotal") + " 0")[0], 64)
	return plain(kb/(1<<20)) + " GiB memory"
}

// field finds "key: value" in a kernel file of such lines.
func field(path, key string) string {
	for line := range strings.Lines(word(path)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return "?"
}
