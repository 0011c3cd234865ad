package fold

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/fixture"
)

// The page lists exactly the metrics that a summary has, with their units and
// formulas, and names every series and gauge.
func TestPage(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(fixture.Root(), "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	want := map[string][]string{} // id → the cells that must stand beside it
	for _, d := range timings {
		pop := d.pop
		if d.planned {
			pop += ", planned"
		}
		want[d.id] = []string{pop, d.unit, d.formula}
	}
	for _, d := range gatherings {
		want[d.id] = []string{d.pop, d.unit, d.formula}
	}
	for _, d := range scalarTable {
		if want[d.id] != nil {
			t.Errorf("%s is both a metric and a scalar", d.id)
		}
		want[d.id] = []string{d.unit, d.formula}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		line = strings.ReplaceAll(line, `\|`, "\x00")
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "\x00", "|")
		}
		id := strings.Trim(cells[0], "`")
		w, ok := want[id]
		delete(want, id)
		if !ok {
			t.Errorf("the page has %s, or has it twice; the fold does not", id)
			continue
		}
		if got := cells[1 : len(cells)-1]; strings.Join(got, "|") != strings.Join(w, "|") {
			t.Errorf("%s on the page: %q; want %q", id, got, w)
		}
		if cells[len(cells)-1] == "" {
			t.Errorf("%s: the page does not say when it is null", id)
		}
	}
	for id := range want {
		t.Errorf("the page lacks %s", id)
	}
	names := []string{fmt.Sprintf("%d bytes while a run is folded", BytesPerRequest), fmt.Sprintf("client table %d;", BytesPerClientRow)}
	for _, g := range gaugeTable {
		names = append(names, "`"+g.name+"`")
	}
	s := reduce(t, whole(), encode(t, testHeader(), randomRows(61, 300), nil, run.End{}, 100))
	for _, x := range s.Series {
		names = append(names, "`"+x.ID+"`")
	}
	for _, n := range names {
		if !strings.Contains(text, n) {
			t.Errorf("the page does not say %s", n)
		}
	}
	emitted(t, s)
}

// emitted checks that a summary has every metric of the tables and no other.
func emitted(t *testing.T, s *summary.Summary) {
	t.Helper()
	want := map[string]int{}
	for _, d := range timings {
		if want[d.id]++; d.planned {
			want[d.id]++
		}
	}
	for _, d := range gatherings {
		want[d.id]++
	}
	for _, m := range s.Metrics {
		if want[m.ID]--; m.Unit == "" || m.Definition == "" || m.Method == "" || len(m.Percentiles) != len(Levels) {
			t.Errorf("%s has no unit, definition or method, or %d percentiles", m.ID, len(m.Percentiles))
		}
	}
	for id, n := range want {
		if n != 0 {
			t.Errorf("%s is emitted %d times too few", id, n)
		}
	}
	if len(s.Scalars) != len(scalarTable) {
		t.Errorf("%d scalars; want %d", len(s.Scalars), len(scalarTable))
	}
}
