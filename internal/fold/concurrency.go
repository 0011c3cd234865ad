package fold

import (
	"fmt"
	"slices"

	"hydrant/formats"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

// level is a count over the window that rises at some instants and falls at others.
type level struct {
	up, down []int64
	scratch  []int64 // to sort them
	area     stats.Sum
	rows     int64
}

// add counts one for the time from a to b.
func (l *level) add(from, to, a, b int64) {
	a, b = max(a, from), min(b, to)
	if a == null || b == null || a >= b {
		return
	}
	l.up = append(l.up, a)
	l.down = append(l.down, b)
	l.rows++
}

// shares returns the time spent at each count, in ns, from 0 up.
func (l *level) shares(from, to int64) []int64 {
	l.scratch = stats.Sort(l.up, l.scratch)
	l.scratch = stats.Sort(l.down, l.scratch)
	share := make([]int64, 1)
	at, n, i, j := from, 0, 0, 0
	spend := func(t int64) {
		if n >= len(share) {
			share = append(share, make([]int64, n+1-len(share))...)
		}
		share[n] += t - at
		at = t
	}
	for j < len(l.down) {
		if i < len(l.up) && l.up[i] <= l.down[j] {
			if l.up[i] > at {
				spend(l.up[i])
			}
			n++
			i++
			continue
		}
		if l.down[j] > at {
			spend(l.down[j])
		}
		n--
		j++
	}
	if to > at {
		spend(to)
	}
	return share
}

// metric fills a distribution weighted by time.
func (l *level) metric(m *summary.Metric, from, to int64) {
	m.N = l.rows
	if to <= from {
		for _, k := range Levels {
			m.Percentiles = append(m.Percentiles, summary.Percentile{Level: k, Reason: "the window is empty"})
		}
		return
	}
	share := l.shares(from, to)
	var squares stats.Sum
	low, high := int64(-1), int64(0)
	for n, t := range share {
		if t == 0 {
			continue
		}
		if low < 0 {
			low = int64(n)
		}
		high = int64(n)
		l.area.AddProduct(int64(n), t)
		squares.AddProduct(int64(n)*int64(n), t)
	}
	mean := l.area.OverInt(to - from)
	m.Mean = number(mean)
	m.Min, m.Max = formats.Some(low), formats.Some(high)
	for _, k := range Levels {
		// The smallest count whose cumulated time reaches the share.
		rank := stats.NearestRank(to-from, k)
		p := summary.Percentile{Level: k, Reason: "no interval: by time"}
		for n, t := range share {
			if rank -= t; rank <= 0 {
				p.Value = formats.Some(int64(n))
				break
			}
		}
		m.Percentiles = append(m.Percentiles, p)
	}
}

// concurrency computes the counts over time.
func (f *fold) concurrency(w *flow) view {
	from, to := f.window.FromNS, f.window.ToNS
	var inFlight, wire, prefilling, decoding, waiting, sessions level
	for _, l := range [...]*level{&inFlight, &wire, &prefilling, &decoding, &waiting} {
		l.up, l.down = f.room(), f.room()
	}
	add := func(l *level, n int, a, b *column) {
		for i := range n {
			if a[i] != null && b[i] != null {
				l.add(from, to, a[i], b[i])
			}
		}
	}
	type stretch struct{ from, to int64 }
	open := make([]stretch, f.text.n())
	for i := range open {
		open[i] = stretch{miss, null}
	}
	return view{func(x *frame) {
		asked, end, session := x.col(cAsked), x.col(cEnd), x.col(cSession)
		for i := range x.n {
			if a, b, ok := flight(asked[i], end[i]); ok {
				inFlight.add(from, to, a, b)
				s := &open[session[i]]
				s.from, s.to = min(s.from, a), max(s.to, b)
			}
		}
		first, last, wrote := x.firstArrival(), x.lastArrival(), x.col(cWrote)
		add(&wire, x.n, wrote, last)
		add(&prefilling, x.n, wrote, first)
		add(&decoding, x.n, first, last)
		add(&waiting, x.n, x.col(cDue), asked)
	}, func() {
		for i, s := range open {
			if len(f.text.bytes(int64(i))) > 0 && s.from != miss {
				sessions.add(from, to, s.from, s.to)
			}
		}
		for _, x := range [...]struct {
			id string
			l  *level
		}{{"in_flight", &inFlight}, {"wire_in_flight", &wire}, {"prefilling", &prefilling}, {"decoding", &decoding}, {"waiting_client", &waiting}, {"sessions_open", &sessions}} {
			m := gathering(x.id)
			x.l.scratch = f.scratch
			x.l.metric(&m, from, to)
			f.sums.lasted(x.id, x.l.rows, x.l.area)
			f.free(x.l.up, x.l.down)
			f.scratch, *x.l = x.l.scratch, level{}
			f.metrics = append(f.metrics, m)
			if x.l == &inFlight {
				f.concurrent(&m)
			}
		}
		f.tokensInFlight(w)
		f.sums.lasted("tokens_in_flight", w.areaRows, w.area)
	}}
}

// concurrent sets the scalars of in_flight.
func (f *fold) concurrent(m *summary.Metric) {
	if m.Mean == nil {
		f.sheet.noneOf("the window is empty", "effective_concurrency", "in_flight_peak")
		return
	}
	f.sheet.set("effective_concurrency", *m.Mean, m.N, "")
	f.sheet.count("in_flight_peak", m.Max.V, m.N)
}

// tokensInFlight adds the mean of what the requests in flight held.
func (f *fold) tokensInFlight(w *flow) {
	from, to := f.window.FromNS, f.window.ToNS
	m := gathering("tokens_in_flight")
	m.N = w.areaRows
	m.Note = "mean only: percentiles over time would need the arrival of every token at once"
	if to > from {
		m.Mean = number(w.area.OverInt(to - from))
	}
	for _, k := range Levels {
		m.Percentiles = append(m.Percentiles, summary.Percentile{Level: k, Reason: "mean only"})
	}
	f.metrics = append(f.metrics, m)
}

// census is what the client table counted at the instants of a worker, and at which of them
// rows begin and end to count.
type census struct{ at, client, change []int64 }

// first is the first instant at or after t.
func (c *census) first(t int64) int {
	i, _ := slices.BinarySearch(c.at, t)
	return i
}

// countGap compares the rows with the other count of what was in flight, the
// client table, worker by worker at the same instants. The worker counts a request
// from its dispatch on, so the rows are counted from there too.
func (f *fold) countGap() view {
	workers := newPerWorker[*census](nil)
	var order []*census
	for i := range f.clients {
		c := &f.clients[i]
		if !f.inside(c.t) || c.inFlight == null {
			continue
		}
		own := workers.of(int64(c.part), int64(c.worker))
		if *own == nil {
			*own = &census{}
			order = append(order, *own)
		}
		x := *own
		x.at, x.client = append(x.at, c.t), append(x.client, c.inFlight)
	}
	for _, x := range order {
		x.change = make([]int64, len(x.at)+1)
	}
	if len(order) == 0 {
		f.sheet.none("count_gap", "no client rows in the window")
		return view{}
	}
	return view{func(x *frame) {
		part, who, from, to := x.col(cPart), x.col(cWorker), x.col(cDispatched), x.col(cEnd)
		for i := range x.n {
			if from[i] == null || who[i] < 0 {
				continue
			}
			own := *workers.of(part[i], who[i])
			if own == nil {
				continue
			}
			own.change[own.first(from[i])]++
			if to[i] != null {
				own.change[own.first(to[i])]--
			}
		}
	}, func() {
		var ours, theirs float64
		var instants int64
		for _, x := range order {
			var open, byRows, byClient int64
			for i, n := range x.client {
				open += x.change[i]
				byRows += open
				byClient += n
			}
			n := int64(len(x.at))
			ours += float64(byRows) / float64(n)
			theirs += float64(byClient) / float64(n)
			instants += n
		}
		gap := max(ours-theirs, theirs-ours) / max(1, ours)
		f.sheet.set("count_gap", gap, instants, "").Evidence = fmt.Sprintf("%.4g by rows, %.4g by the client table", ours, theirs)
	}}
}
