package fold

import (
	"math"
	"slices"
	"sort"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// The slow obvious version of every metric over requests: formulas over named
// columns, as docs/metrics.md has them, on the rows themselves.
var naive = map[string]func(q *run.Request) formats.Int{
	"lag":          func(q *run.Request) formats.Int { return q.DispatchedNS.Minus(q.DueNS) },
	"handoff":      func(q *run.Request) formats.Int { return q.ConnAskedNS.Minus(q.DispatchedNS) },
	"send_lag":     func(q *run.Request) formats.Int { return q.ConnAskedNS.Minus(q.DueNS) },
	"slip":         func(q *run.Request) formats.Int { return q.DueNS.Minus(q.ScheduledNS) },
	"prepare_lead": func(q *run.Request) formats.Int { return q.DueNS.Minus(q.PreparedNS) },
	"conn_wait":    func(q *run.Request) formats.Int { return q.ConnReadyNS.Minus(q.ConnAskedNS).Minus(naiveDial(q)) },
	"dial_time": func(q *run.Request) formats.Int {
		if !q.ConnectNS.Valid {
			return formats.Int{}
		}
		return naiveDial(q)
	},
	"upload":      func(q *run.Request) formats.Int { return q.WriteDoneNS.Minus(q.ConnReadyNS) },
	"ttfb_user":   func(q *run.Request) formats.Int { return q.FirstByteNS.Minus(q.DueNS) },
	"ttfb_wire":   func(q *run.Request) formats.Int { return naiveWire(q, q.FirstByteKernelNS) },
	"ttft_user":   func(q *run.Request) formats.Int { return q.FirstTokenNS.Minus(q.DueNS) },
	"ttft_wire":   func(q *run.Request) formats.Int { return naiveWire(q, q.FirstTokenKernelNS) },
	"ttft_sent":   func(q *run.Request) formats.Int { return naiveWire(q, q.FirstTokenNS) },
	"ttfo_user":   func(q *run.Request) formats.Int { return q.FirstAnswerNS.Minus(q.DueNS) },
	"ttfo_wire":   func(q *run.Request) formats.Int { return naiveWire(q, q.FirstAnswerKernelNS) },
	"ttfo_sent":   func(q *run.Request) formats.Int { return naiveWire(q, q.FirstAnswerNS) },
	"e2e_user":    func(q *run.Request) formats.Int { return naiveLast(q).Minus(q.DueNS) },
	"e2e_wire":    func(q *run.Request) formats.Int { return naiveWire(q, q.LastTokenKernelNS) },
	"e2e_sent":    func(q *run.Request) formats.Int { return naiveWire(q, naiveLast(q)) },
	"close_user":  func(q *run.Request) formats.Int { return q.EndNS.Minus(q.DueNS) },
	"decode_user": func(q *run.Request) formats.Int { return q.LastTokenNS.Minus(q.FirstTokenNS) },
	"decode_wire": func(q *run.Request) formats.Int { return q.LastTokenKernelNS.Minus(q.FirstTokenKernelNS) },
	"think":       func(q *run.Request) formats.Int { return q.FirstAnswerNS.Minus(q.FirstTokenNS) },
	"tpot_user":   func(q *run.Request) formats.Int { return naiveTPOT(q, q.LastTokenNS.Minus(q.FirstTokenNS)) },
	"tpot_wire":   func(q *run.Request) formats.Int { return naiveTPOT(q, q.LastTokenKernelNS.Minus(q.FirstTokenKernelNS)) },
	"speed": func(q *run.Request) formats.Int {
		d := q.LastTokenNS.Minus(q.FirstTokenNS)
		if !naiveTPOT(q, d).Valid || d.V == 0 {
			return formats.Int{}
		}
		return some(int64(math.Floor(float64(q.OutputTokens.V-q.FirstChunkTokens.Or(1))*1e12/float64(d.V) + 0.5)))
	},
	"ntpot": func(q *run.Request) formats.Int {
		e := naiveLast(q).Minus(q.DueNS)
		if !e.Valid || q.OutputTokens.Or(0) == 0 {
			return formats.Int{}
		}
		return halfUp(float64(e.V) / float64(q.OutputTokens.V))
	},
	"prefill_speed": func(q *run.Request) formats.Int {
		w := naiveWire(q, q.FirstTokenKernelNS)
		if !w.Valid || !q.InputTokens.Valid || w.V <= 0 {
			return formats.Int{}
		}
		return halfUp(float64(q.InputTokens.V-q.CachedTokens.Or(0)) * 1e12 / float64(w.V))
	},
	"icl_mean": func(q *run.Request) formats.Int {
		if len(q.ChunkGapUS) == 0 {
			return formats.Int{}
		}
		sum := 0.0
		for _, g := range q.ChunkGapUS {
			sum += 1000 * float64(g)
		}
		return halfUp(sum / float64(len(q.ChunkGapUS)))
	},
	"icl_p99": func(q *run.Request) formats.Int { return naiveGap(q, 0.99) },
	"icl_max": func(q *run.Request) formats.Int { return naiveGap(q, 1) },
	"client_time": func(q *run.Request) formats.Int {
		if !q.FirstTokenNS.Valid {
			return formats.Int{}
		}
		sum := sumOf(q.ConnAskedNS.Minus(q.DueNS), q.ConnReadyNS.Minus(q.ConnAskedNS).Minus(naiveDial(q)))
		if q.FirstTokenKernelNS.Valid {
			sum = sumOf(sum, q.FirstTokenNS.Minus(q.FirstTokenKernelNS))
		}
		return sum
	},
	"fluidity":        func(*run.Request) formats.Int { return formats.Int{} }, // no deadlines are given
	"time_to_failure": func(q *run.Request) formats.Int { return q.EndNS.Minus(q.DueNS) },
}

func halfUp(v float64) formats.Int { return some(int64(math.Floor(v + 0.5))) }

func sumOf(a, b formats.Int) formats.Int {
	if !a.Valid || !b.Valid {
		return formats.Int{}
	}
	return some(a.V + b.V)
}

func naiveDial(q *run.Request) formats.Int {
	if !q.ConnectNS.Valid {
		return some(0)
	}
	to, from := q.ConnectNS, q.ConnAskedNS
	if q.TLSNS.Valid {
		to = q.TLSNS
	}
	if q.DNSNS.Valid {
		from = q.DNSNS
	}
	return to.Minus(from)
}

func naiveWire(q *run.Request, t formats.Int) formats.Int {
	return sumOf(t.Minus(q.WriteDoneNS), naiveDial(q))
}

func naiveLast(q *run.Request) formats.Int {
	if !q.FirstTokenNS.Valid && !q.LastTokenNS.Valid {
		return q.EndNS
	}
	return q.LastTokenNS
}

func naiveTPOT(q *run.Request, decode formats.Int) formats.Int {
	if !q.OutputTokens.Valid || q.TokenSource == run.Events || q.TokenSource == "" || q.TokenEvents.Or(2) < 2 {
		return formats.Int{}
	}
	n := q.OutputTokens.V - q.FirstChunkTokens.Or(1)
	if n <= 0 || !decode.Valid {
		return formats.Int{}
	}
	return halfUp(float64(decode.V) / float64(n))
}

func naiveGap(q *run.Request, p float64) formats.Int {
	if len(q.ChunkGapUS) == 0 {
		return formats.Int{}
	}
	g := slices.Sorted(slices.Values(q.ChunkGapUS))
	return some(1000 * g[int(math.Ceil(p*float64(len(g))))-1])
}

func naiveU(q *run.Request) formats.Int {
	if q.DueNS.Valid {
		return q.DueNS
	}
	return q.ScheduledNS
}

func naiveSent(q *run.Request) bool {
	return q.Outcome != run.NotSent && !(q.Outcome == run.ConnectError && len(q.Error) > 6 && q.Error[:7] == "local: ")
}

// inWindow selects the rows of P in the order of (u, id).
func inWindow(rows []run.Request, w summary.Window) []*run.Request {
	var p []*run.Request
	for i := range rows {
		if u := naiveU(&rows[i]); u.Valid && u.V >= w.FromNS && u.V < w.ToNS {
			p = append(p, &rows[i])
		}
	}
	sort.SliceStable(p, func(i, j int) bool {
		a, b := naiveU(p[i]).V, naiveU(p[j]).V
		return a < b || a == b && p[i].RequestID < p[j].RequestID
	})
	return p
}

// Every distribution over requests, in both populations, on rows full of holes.
func TestTimingsAgainstRows(t *testing.T) {
	for seed := range uint64(4) {
		rows := randomRows(seed, 900)
		s := reduce(t, whole(), encode(t, testHeader(), rows, nil, run.End{}, 100))
		p := inWindow(rows, s.Window)
		if s.Plan.InWindow != int64(len(p)) {
			t.Fatalf("%d rows in the window; want %d", s.Plan.InWindow, len(p))
		}
		for i := range timings {
			d := &timings[i]
			f := naive[d.id]
			if f == nil {
				t.Fatalf("no slow version of %s", d.id)
			}
			var x []int64
			nulls := 0
			for _, q := range p {
				member := map[string]bool{popAll: true, popOK: q.Outcome == run.OK, popDispatched: q.DispatchedNS.Valid,
					popFailed: q.Outcome != run.OK && q.Outcome != run.CancelledPlanned && naiveSent(q)}[d.pop]
				if !member {
					continue
				}
				if v := f(q); v.Valid {
					x = append(x, v.V)
				} else {
					nulls++
				}
			}
			m := metricOf(t, s, d.id, d.pop)
			checkDistribution(t, m, x)
			if m.Nulls != int64(nulls) {
				t.Errorf("%s: %d nulls; want %d", d.id, m.Nulls, nulls)
			}
			if d.planned {
				checkPlanned(t, metricOf(t, s, d.id, popPlanned), d, p)
			}
		}
	}
}

func checkDistribution(t *testing.T, m *summary.Metric, x []int64) {
	t.Helper()
	if m.N != int64(len(x)) {
		t.Errorf("%s: n = %d; want %d", m.ID, m.N, len(x))
		return
	}
	if len(x) == 0 {
		if m.Mean != nil || m.Sum != nil || m.Min.Valid {
			t.Errorf("%s of nothing has a mean or a sum", m.ID)
		}
		return
	}
	sorted := slices.Sorted(slices.Values(x))
	var sum float64
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / float64(len(x))
	var squares float64
	for _, v := range x {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	if !near(*m.Mean, mean) || m.Min.V != sorted[0] || m.Max.V != sorted[len(sorted)-1] {
		t.Errorf("%s: mean %v, min %v, max %v; want %v, %d, %d", m.ID, *m.Mean, m.Min, m.Max, mean, sorted[0], sorted[len(sorted)-1])
	}
	if len(x) > 1 && !near(*m.Std, math.Sqrt(squares/float64(len(x)-1))) {
		t.Errorf("%s: std %v; want %v", m.ID, *m.Std, math.Sqrt(squares/float64(len(x)-1)))
	}
	for _, q := range m.Percentiles {
		checkPercentile(t, m, q, sorted)
	}
}

var floors = map[int64]int{10: 662, 50: 130, 100: 64, 250: 24, 500: 11, 750: 24, 900: 64, 950: 130, 990: 662, 999: 6636}

// checkPercentile compares a percentile with the sorted values, misses being the largest.
func checkPercentile(t *testing.T, m *summary.Metric, q summary.Percentile, sorted []int64) {
	t.Helper()
	if len(sorted) < floors[q.Level] {
		if q.Value.Valid || q.Reason == "" {
			t.Errorf("%s at %d: %v of %d values, below the floor", m.ID, q.Level, q.Value, len(sorted))
		}
		return
	}
	want := sorted[(len(sorted)*int(q.Level)+999)/1000-1]
	if want == math.MaxInt64 {
		if q.Value.Valid || !q.Infinite {
			t.Errorf("%s at %d: %v; want infinite", m.ID, q.Level, q.Value)
		}
		return
	}
	if q.Value != some(want) || q.Infinite {
		t.Errorf("%s at %d: %v; want %d", m.ID, q.Level, q.Value, want)
	}
	if q.Low.Valid && (q.Low.V > want || q.High.Valid && q.High.V < want) {
		t.Errorf("%s at %d: interval %v to %v does not hold %d", m.ID, q.Level, q.Low, q.High, want)
	}
	if q.Tau == nil || *q.Tau < 1 || !near(*q.Neff**q.Tau, float64(len(sorted))) {
		t.Errorf("%s at %d: tau %v, n_eff %v of %d", m.ID, q.Level, q.Tau, q.Neff, len(sorted))
	}
}

func checkPlanned(t *testing.T, m *summary.Metric, d *timing, p []*run.Request) {
	t.Helper()
	var x []int64
	any := false
	for _, q := range p {
		v := naive[d.id](q)
		if q.Outcome == run.CancelledPlanned {
			continue
		}
		if q.Outcome == run.OK && v.Valid {
			any = true
			x = append(x, v.V)
			continue
		}
		chunks := q.TokenEvents.Or(2)
		neutral := false
		switch d.id {
		case "tpot_user", "tpot_wire":
			neutral = chunks < 2 || q.OutputTokens.Valid && q.OutputTokens.V <= q.FirstChunkTokens.Or(1)
		case "icl_mean", "icl_p99", "icl_max":
			neutral = chunks < 2
		}
		if q.Outcome == run.OK && neutral {
			continue
		}
		x = append(x, math.MaxInt64)
	}
	if !any {
		x = nil
	}
	if m.N != int64(len(x)) {
		t.Errorf("%s planned: n = %d; want %d", m.ID, m.N, len(x))
		return
	}
	slices.Sort(x)
	for _, q := range m.Percentiles {
		checkPercentile(t, m, q, x)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

// The parts of a first token's time add up, row by row, on both sides.
func TestIdentity(t *testing.T) {
	rows := randomRows(8, 3000)
	checked := 0
	f := newFold(Options{})
	x := &frame{s: &f.rows}
	for i := range rows {
		q, r := &rows[i], &rec{}
		if err := f.take(r, q, "x", 0); err != nil {
			t.Fatal(err)
		}
		x.hold(r)
		client, ttft, upload := x.clientTime()[0], x.ttftUser()[0], x.upload()[0]
		if ttft == null || upload == null || client == null {
			continue
		}
		wire := x.ttftWire()[0]
		if wire == null {
			wire = x.ttftSent()[0]
		}
		checked++
		if sum := wire + upload + client; sum != ttft {
			t.Fatalf("request %d: wire or sent %d + upload %d + client %d = %d; want %d", q.RequestID, wire, upload, client, sum, ttft)
		}
		if wire > ttft {
			t.Fatalf("request %d: the wire side is later than the user side", q.RequestID)
		}
	}
	if checked < 1000 {
		t.Fatalf("only %d rows had all times", checked)
	}
}
