//go:build linux

package main

import (
	"strings"
	"testing"
)

// A soak that misses a limit fails; a bench only writes it down.
func TestFailedNamesWhatASoakMissed(t *testing.T) {
	rows := []row{{text: "enough", program: epoll, figure: "x", scale: 1, limit: 3, atLeast: true},
		{text: "little", program: epoll, figure: "x", scale: 1, limit: 3}, {text: "any", program: epoll, figure: "x", scale: 1}}
	for _, c := range []struct {
		soak bool
		x    float64
		want string
	}{{true, 3, ""}, {true, 2, "s: enough: missed"}, {true, 4, "s: little: missed"}, {false, 2, ""}} {
		r := result{scenario: &scenario{name: "s", soak: c.soak, rows: rows}, rounds: []map[string]figures{{epoll: {"x": c.x}}}}
		got := ""
		if err := (&table{results: []result{r}}).failed(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("soak %v, x = %v: %q; want %q", c.soak, c.x, got, c.want)
		}
		if marked := strings.Contains((&table{results: []result{r}}).markdown(), "missed"); marked != (c.x != 3) {
			t.Errorf("x = %v: marked as missed: %v", c.x, marked)
		}
	}
}
