package fold

import (
	"math"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

// The distributions over gaps and tokens, pooled the slow way.
func TestGapsAgainstRows(t *testing.T) {
	rows := randomRows(21, 1500)
	s := reduce(t, whole(), encode(t, testHeader(), rows, nil, run.End{}, 100))
	pools := map[string][]int64{"icl": nil, "icl_wire": nil, "itl_even": nil, "itl_stall": nil, "recv_delay": nil}
	for _, q := range inWindow(rows, s.Window) {
		if q.Outcome != run.OK {
			continue
		}
		for _, g := range q.ChunkGapUS {
			pools["icl"] = append(pools["icl"], 1000*g)
		}
		for i, d := range q.ChunkDelayUS {
			if !d.Valid {
				continue
			}
			pools["recv_delay"] = append(pools["recv_delay"], 1000*d.V)
			if i > 0 && q.ChunkDelayUS[i-1].Valid {
				pools["icl_wire"] = append(pools["icl_wire"], 1000*(q.ChunkGapUS[i-1]-d.V+q.ChunkDelayUS[i-1].V))
			}
		}
		sum, whole := int64(0), len(q.ChunkTokens) > 0 && q.OutputTokens.Valid
		for _, k := range q.ChunkTokens {
			whole = whole && k.Valid
			sum += k.V
		}
		if !whole || math.Abs(float64(sum-q.OutputTokens.V)) > 0.02*float64(q.OutputTokens.V) {
			continue
		}
		dt := int64(0)
		for i, g := range q.ChunkGapUS {
			dt += 1000 * g
			k := q.ChunkTokens[i+1].V
			for j := range k {
				pools["itl_even"] = append(pools["itl_even"], int64(math.Floor(float64(dt)/float64(k)+0.5)))
				if j == 0 {
					pools["itl_stall"] = append(pools["itl_stall"], dt)
				} else {
					pools["itl_stall"] = append(pools["itl_stall"], 0)
				}
			}
			if k > 0 {
				dt = 0
			}
		}
	}
	for id, x := range pools {
		if len(x) < 100 {
			t.Fatalf("only %d values of %s: the rows do not try it", len(x), id)
		}
		m := metricOf(t, s, id, "")
		checkSketch(t, s, m, x)
	}
}

func checkSketch(t *testing.T, s *summary.Summary, m *summary.Metric, x []int64) {
	t.Helper()
	slices.Sort(x)
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	if m.N != int64(len(x)) || m.Min.V != x[0] || m.Max.V != x[len(x)-1] || !near(*m.Mean, sum/float64(len(x))) {
		t.Errorf("%s: n %d, min %v, max %v, mean %v; want %d, %d, %d, %v", m.ID, m.N, m.Min, m.Max, *m.Mean, len(x), x[0], x[len(x)-1], sum/float64(len(x)))
	}
	for _, p := range m.Percentiles {
		if !p.Value.Valid {
			continue
		}
		// Negative differences of kernel stamps count as 0.
		want := max(0, x[(len(x)*int(p.Level)+999)/1000-1])
		if p.Value.V < want || float64(p.Value.V-want) > max(1000, 0.001*float64(want)) {
			t.Errorf("%s at %d: %d; want %d to 0.1 %% above", m.ID, p.Level, p.Value.V, want)
		}
	}
	i := slices.IndexFunc(s.Sketches, func(k summary.Sketch) bool { return k.ID == m.ID })
	h, err := stats.DecodeHistogram(s.Sketches[i].Data)
	if err != nil || h.N() != m.N {
		t.Errorf("%s: the sketch holds %d values (%v); want %d", m.ID, h.N(), err, m.N)
	}
}

// However tokens are spread, none is lost.
func TestArrivalsKeepTokens(t *testing.T) {
	rows := randomRows(22, 2000)
	for i := range rows {
		q := &rows[i]
		f := newFold(Options{})
		r := &rec{}
		if err := f.take(r, q, "x", 0); err != nil {
			t.Fatal(err)
		}
		var got, want int64
		c := &f.lists
		if len(q.ChunkGapUS) > 0 || len(q.ChunkTokens) > 0 {
			c.listed = f.listed(r)
			c.arrive()
			for _, n := range c.n {
				if n < 0 {
					t.Fatalf("request %d: %d tokens arrive", q.RequestID, n)
				}
				got += n
			}
			if c.even {
				got += int64(len(c.gaps))
			}
		} else {
			x := &frame{s: &f.rows}
			x.hold(r)
			s := x.stream(0)
			got = s.tokens()
		}
		for _, a := range naiveArrivals(q) {
			want += a.n
		}
		if got != want {
			t.Errorf("request %d: %d tokens arrive; want %d", q.RequestID, got, want)
		}
		if known(c.tokens) || !q.FirstTokenNS.Valid || !q.OutputTokens.Valid {
			continue
		}
		if got != q.OutputTokens.V {
			t.Errorf("request %d: %d tokens arrive of %d", q.RequestID, got, q.OutputTokens.V)
		}
	}
}

// The series hold every event of the load, and the batches every one of the window.
func TestSeries(t *testing.T) {
	rows := randomRows(23, 600)
	s := reduce(t, whole(), encode(t, testHeader(), rows, nil, run.End{}, 100))
	w := s.Window
	sums := map[string]float64{}
	for _, x := range s.Series {
		for _, v := range x.Values {
			if v != nil {
				sums[x.ID] += *v * float64(x.StepNS) / 1e9
			}
		}
		switch {
		case strings.HasPrefix(x.ID, "batch") && (len(x.Values) != 30 || x.FromNS != w.FromNS || x.StepNS != (w.ToNS-w.FromNS)/30):
			t.Errorf("%s: %d values from %d by %d", x.ID, len(x.Values), x.FromNS, x.StepNS)
		case !strings.HasPrefix(x.ID, "batch") && (len(x.Values) != int((w.LoadTo-w.LoadFrom)/second) || x.FromNS != w.LoadFrom || x.StepNS != second):
			t.Errorf("%s: %d values from %d by %d", x.ID, len(x.Values), x.FromNS, x.StepNS)
		}
	}
	count := func(to int64, of func(q *run.Request) []arrival) (n float64) {
		for i := range rows {
			for _, a := range of(&rows[i]) {
				if a.t >= w.LoadFrom && a.t < to {
					n += float64(a.n)
				}
			}
		}
		return n
	}
	one := func(v formats.Int, yes bool) []arrival {
		if !v.Valid || !yes {
			return nil
		}
		return []arrival{{v.V, 1}}
	}
	seconds := w.LoadFrom + (w.LoadTo-w.LoadFrom)/second*second
	thirtieths := w.FromNS + (w.ToNS-w.FromNS)/30*30
	for id, of := range map[string]func(q *run.Request) []arrival{
		"planned": func(q *run.Request) []arrival { return one(naiveU(q), true) },
		"sent":    func(q *run.Request) []arrival { return one(q.ConnAskedNS, naiveSent(q)) },
		"ok":      func(q *run.Request) []arrival { return one(q.EndNS, q.Outcome == run.OK) },
		"ended":   func(q *run.Request) []arrival { return one(q.EndNS, true) },
		"out_tps": naiveArrivals,
	} {
		if want := count(seconds, of); !near(sums[id], want) {
			t.Errorf("series %s adds up to %v; want %v", id, sums[id], want)
		}
		if want := count(thirtieths, of); !near(sums["batch_"+id], want) {
			t.Errorf("series batch_%s adds up to %v; want %v", id, sums["batch_"+id], want)
		}
	}
	i := slices.IndexFunc(s.Series, func(x summary.Series) bool { return x.ID == "in_flight" })
	for k, v := range s.Series[i].Values {
		at := w.LoadFrom + int64(k)*second
		n := 0.0
		for j := range rows {
			q := &rows[j]
			if q.ConnAskedNS.Valid && q.ConnAskedNS.V <= at && (!q.EndNS.Valid || q.EndNS.V > at) {
				n++
			}
		}
		if *v != n {
			t.Errorf("in flight at second %d: %v; want %v", k, *v, n)
		}
	}
}

// Time in flight, summed over requests, is mean in flight times the length of the
// window (Little's law as a count), and tokens in flight follow the same rule.
func TestLittle(t *testing.T) {
	rows := randomRows(24, 400)
	var area, tokens float64
	s := reduce(t, whole(), encode(t, testHeader(), rows, nil, run.End{}, 100))
	w := s.Window
	clip := func(a, b int64) float64 { return float64(max(0, min(b, w.ToNS)-max(a, w.FromNS))) }
	for i := range rows {
		q := &rows[i]
		if q.ConnAskedNS.Valid {
			area += clip(q.ConnAskedNS.V, q.EndNS.Or(math.MaxInt64))
		}
		last := q.LastTokenNS
		if q.LastTokenKernelNS.Valid {
			last = q.LastTokenKernelNS
		}
		if q.InputTokens.Valid && q.WriteDoneNS.Valid && last.Valid {
			tokens += float64(q.InputTokens.V) * clip(q.WriteDoneNS.V, last.V)
			for _, a := range naiveArrivals(q) {
				tokens += float64(a.n) * clip(a.t, last.V)
			}
		}
	}
	length := float64(w.ToNS - w.FromNS)
	if m := metricOf(t, s, "in_flight", ""); !near(*m.Mean*length, area) {
		t.Errorf("mean in flight %v over %v s; want an area of %v", *m.Mean, length/1e9, area/1e9)
	}
	if m := metricOf(t, s, "tokens_in_flight", ""); !near(*m.Mean*length, tokens) {
		t.Errorf("mean tokens in flight %v; want %v", *m.Mean, tokens/length)
	}
}

// The time-weighted distributions against a scan over all instants of change.
func TestLevels(t *testing.T) {
	l := &level{}
	type stretch struct{ a, b int64 }
	all := []stretch{{0, 10}, {5, 15}, {5, 7}, {15, 20}, {-50, 3}, {18, 300}, {40, 50}, {12, 12}, {9, 4}}
	const from, to = 0, 100
	for _, s := range all {
		l.add(from, to, s.a, s.b)
	}
	want := make([]int64, 10)
	for at := int64(from); at < to; at++ {
		n := 0
		for _, s := range all {
			if s.a <= at && at < s.b {
				n++
			}
		}
		want[n]++
	}
	got := l.shares(from, to)
	for n := range want {
		g := int64(0)
		if n < len(got) {
			g = got[n]
		}
		if g != want[n] {
			t.Errorf("%d ns at %d in flight; want %d", g, n, want[n])
		}
	}
	var m summary.Metric
	l.metric(&m, from, to)
	mean, reached := 0.0, int64(0)
	for n, w := range want {
		mean += float64(int64(n)*w) / to
	}
	if !near(*m.Mean, mean) || m.N != 7 {
		t.Errorf("mean %v over %d rows; want %v over 7", *m.Mean, m.N, mean)
	}
	at := 0
	for _, p := range m.Percentiles {
		for reached+want[at] < (to*p.Level+999)/1000 {
			reached += want[at]
			at++
		}
		if p.Value != some(int64(at)) {
			t.Errorf("level %d: %v; want %d", p.Level, p.Value, at)
		}
	}
}
