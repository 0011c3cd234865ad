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
	slices.Sort(l.up)
	slices.Sort(l.down)
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
	var area, squares stats.Sum
	low, high := int64(-1), int64(0)
	for n, t := range share {
		if t == 0 {
			continue
		}
		if low < 0 {
			low = int64(n)
		}
		high = int64(n)
		area.AddProduct(int64(n), t)
		squares.AddProduct(int64(n)*int64(n), t)
	}
	mean := area.OverInt(to - from)
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
func (f *fold) concurrency(w *flow) {
	from, to := f.window.FromNS, f.window.ToNS
	levels := map[string]*level{}
	for _, id := range []string{"in_flight", "wire_in_flight", "prefilling", "decoding", "waiting_client", "sessions_open"} {
		levels[id] = &level{}
	}
	add := func(id string, a, b int64) {
		if a != null && b != null {
			levels[id].add(from, to, a, b)
		}
	}
	type stretch struct{ from, to int64 }
	open := make([]stretch, len(f.text.all))
	for i := range open {
		open[i] = stretch{miss, null}
	}
	f.each(func(r *rec) {
		if a, b, ok := r.flight(); ok {
			add("in_flight", a, b)
			s := &open[r.session]
			s.from, s.to = min(s.from, a), max(s.to, b)
		}
		add("wire_in_flight", r.wrote, r.lastArrival())
		add("prefilling", r.wrote, r.firstArrival())
		add("decoding", r.firstArrival(), r.lastArrival())
		add("waiting_client", r.due, r.asked)
	})
	for i, s := range open {
		if f.text.all[i] != "" && s.from != miss {
			add("sessions_open", s.from, s.to)
		}
	}
	for id, l := range levels {
		m := gathering(id)
		l.metric(&m, from, to)
		f.metrics = append(f.metrics, m)
		if id != "in_flight" {
			continue
		}
		if m.Mean == nil {
			f.sheet.noneOf("the window is empty", "effective_concurrency", "in_flight_peak")
			continue
		}
		f.sheet.set("effective_concurrency", *m.Mean, m.N, "")
		f.sheet.count("in_flight_peak", m.Max.V, m.N)
	}
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

// countGap compares the rows with the other count of what was in flight, the
// client table, worker by worker at the same instants. The worker counts a request
// from its dispatch on, so the rows are counted from there too.
func (f *fold) countGap() {
	type worker struct{ part, worker int64 }
	rows := map[worker]*level{}
	f.each(func(r *rec) {
		if r.dispatched != null && r.worker >= 0 {
			k := worker{r.part, r.worker}
			if rows[k] == nil {
				rows[k] = &level{}
			}
			l := rows[k]
			l.up = append(l.up, r.dispatched)
			if r.end != null {
				l.down = append(l.down, r.end)
			}
		}
	})
	for _, l := range rows {
		slices.Sort(l.up)
		slices.Sort(l.down)
	}
	var ours, theirs float64
	var instants int64
	for i := 0; i < len(f.clients); {
		k := worker{int64(f.clients[i].part), int64(f.clients[i].worker)}
		var byRows, byClient, n int64
		for ; i < len(f.clients) && (worker{int64(f.clients[i].part), int64(f.clients[i].worker)}) == k; i++ {
			c := &f.clients[i]
			if !f.inside(c.t) || c.inFlight == null {
				continue
			}
			n++
			byClient += c.inFlight
			if l := rows[k]; l != nil {
				byRows += upTo(l.up, c.t) - upTo(l.down, c.t)
			}
		}
		if n > 0 {
			ours += float64(byRows) / float64(n)
			theirs += float64(byClient) / float64(n)
			instants += n
		}
	}
	if instants == 0 {
		f.sheet.none("count_gap", "no client rows in the window")
		return
	}
	gap := max(ours-theirs, theirs-ours) / max(1, ours)
	f.sheet.set("count_gap", gap, instants, "").Evidence = fmt.Sprintf("%.4g by rows, %.4g by the client table", ours, theirs)
}

// upTo counts the values of a sorted list that are at most t.
func upTo(v []int64, t int64) int64 {
	i, _ := slices.BinarySearch(v, t+1)
	return int64(i)
}
