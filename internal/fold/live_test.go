package fold

import (
	"testing"

	"hydrant/formats/run"
)

// What is shown while a run is written agrees with the fold of all its rows: counts
// exactly, percentiles within the error of a sketch.
func TestLiveAgreesWithTheFold(t *testing.T) {
	rows := randomRows(7, 3000)
	s := reduce(t, whole(), encode(t, testHeader(), rows, nil, run.End{}, 64))
	l := NewLive()
	for i := range rows {
		if err := l.Add(&rows[i], "run"); err != nil {
			t.Fatal(err)
		}
	}
	got := l.State()
	ok := int64(0)
	for _, o := range s.Outcomes {
		if o.Name == run.OK {
			ok = o.N
		}
	}
	if got.Rows != 3000 || got.OK != ok {
		t.Errorf("%d rows, %d ok; want 3000, %d", got.Rows, got.OK, ok)
	}
	seen := 0
	for i, id := range LiveMetrics {
		for _, m := range s.Metrics {
			if m.ID != id || m.Population == popPlanned || m.N == 0 || m.Min.Or(-1) < 0 {
				continue
			}
			x := got.Metrics[i]
			if x.N != m.N {
				t.Errorf("%s: n %d; want %d", id, x.N, m.N)
			}
			for _, p := range m.Percentiles {
				if p.Level == 500 && p.Value.Valid {
					seen++
					if d := x.P50.V - p.Value.V; d < 0 || float64(d) > 0.001*float64(p.Value.V)+1000 {
						t.Errorf("%s: p50 %d; want %d to 0.1 %% above", id, x.P50.V, p.Value.V)
					}
				}
			}
		}
	}
	if seen < 3 {
		t.Errorf("compared %d medians; want most of %d", seen, len(LiveMetrics))
	}
	if n := l.f.rows.n; n > 0 || l.f.text.n() > 1 || len(l.f.after) > 0 {
		t.Errorf("it keeps %d rows, %d texts, %d predecessors; want nothing of a row", n, l.f.text.n(), len(l.f.after))
	}
	bad := rows[0]
	bad.Outcome = "lost"
	if err := l.Add(&bad, "run"); err == nil {
		t.Error("an unknown outcome was taken")
	}
}
