package traces

import (
	"slices"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// span is when a subagent ran, ns. Its end is null for one that was launched and not
// waited for.
type span struct {
	start int64
	end   formats.Int
}

// when tells when a subagent ran. The t of a completed one is its end, since the entry
// comes from the line of the parent's log that holds the result; where that puts the
// start before the end of the request listed before it, at idle, the capture wrote
// starts.
func (w *weka) when(a *wekaAgent, idle int64) span {
	completed := a.status == "completed"
	if !completed && a.status != "async_launched" {
		w.counts["subagent_status_other"]++
		completed = a.duration.Valid
	}
	if !completed {
		return span{start: a.t}
	}
	s := span{a.t - a.duration.V, formats.Some(a.t)}
	if s.start < idle-w.quantum {
		w.counts["subagent_t_is_start"]++
		return span{a.t, formats.Some(a.t + a.duration.V)}
	}
	return span{max(0, s.start), s.end}
}

// offset is what the times of a subagent's requests count from: its start, unless they
// show that they count from the trace's zero.
func (w *weka) offset(s span, requests []wekaRequest) int64 {
	first := requests[0].t
	for i := range requests {
		first = min(first, requests[i].t)
	}
	if first+w.quantum < s.start {
		w.counts["subagent_times_relative"]++
		return s.start
	}
	w.counts["subagent_times_absolute"]++
	return 0
}

// joining is a completed subagent that no request of the parent has waited for.
type joining struct {
	end    int64
	leaves []int // requests that no other one waits for
}

// wekaGraph finds what the requests of one trace wait for.
type wekaGraph struct {
	w       *weka
	t       *wekaTrace
	l       lineage
	main    stream
	open    []joining
	starts  []int64 // by number
	streams map[string]int
}

// graph stores the requests of the trace in hand.
func (w *weka) graph() error {
	t := &w.trace
	g := &wekaGraph{w: w, t: t, l: lineage{grain: w.quantum}, streams: map[string]int{"0": 1}}
	names := make([]string, len(t.agents))
	for i, k := 0, 0; i < len(t.requests) || k < len(t.agents); {
		if i < len(t.requests) && t.requests[i].agent < 0 && (k == len(t.agents) || t.requests[i].at < t.agents[k].at) {
			g.parent(&t.requests[i])
			i++
			continue
		}
		names[k] = g.name(t.agents[k].id)
		g.agent(k, t.requests[i:i+t.agents[k].requests])
		i += t.agents[k].requests
		k++
	}
	return g.store(names)
}

// name gives a subagent's stream a name of its own.
func (g *wekaGraph) name(id string) string {
	name := id
	for g.streams[name] > 0 {
		g.streams[id]++
		name = id + "#" + strconv.Itoa(g.streams[id])
	}
	g.streams[name] = 1
	return name
}

// parent adds a request of the parent. It waits for the parent's requests before it and
// for the subagents that had ended.
func (g *wekaGraph) parent(r *wekaRequest) {
	if n := len(g.main.of); n > 0 {
		g.overlap(r.t, g.main.of[n-1])
		if r.t < g.starts[g.main.of[n-1]] {
			g.w.counts["sorted_backward"]++
		}
	} else if r.t < g.w.quantum {
		g.w.together++
	}
	var join []int
	g.open = slices.DeleteFunc(g.open, func(j joining) bool {
		if later(r.t, g.w.quantum) < j.end {
			return false
		}
		for _, leaf := range j.leaves {
			if g.starts[leaf] > r.t {
				g.w.counts["subagent_not_awaited"]++
				continue
			}
			join = append(join, leaf)
		}
		return true
	})
	after, heir := g.l.waits(&g.main, r.t, false, join)
	g.add(&g.main, r, r.t, after, heir)
}

// overlap counts a request that started before the one listed before it had ended.
func (g *wekaGraph) overlap(start int64, before int) {
	switch end := g.l.kin[before].end; {
	case end > later(start, g.w.quantum):
		g.w.counts["overlapping"]++
	case end > start:
		g.w.counts["overlap_rounded"]++
	}
}

func (g *wekaGraph) add(s *stream, r *wekaRequest, start int64, after []int, heir bool) int {
	if !r.api.Valid {
		g.w.counts["service_unknown"]++
	}
	g.starts = append(g.starts, start)
	return g.l.add(s, start, r.api, after, heir)
}

// agent adds the requests of a subagent. Those without one of its own before them wait
// for what the parent had done when the subagent started.
func (g *wekaGraph) agent(k int, requests []wekaRequest) {
	idle := int64(0)
	if n := len(g.main.of); n > 0 {
		idle = g.l.kin[g.main.of[n-1]].end
	}
	ran := g.w.when(&g.t.agents[k], idle)
	if len(requests) == 0 {
		g.w.counts["subagents_empty"]++
		return
	}
	offset := g.w.offset(ran, requests)
	s := stream{list: k + 1}
	waited := map[int]bool{}
	for i := range requests {
		r := &requests[i]
		start := offset + r.t
		if i > 0 {
			g.overlap(start, s.of[i-1])
		}
		after, heir := g.l.waits(&s, start, false, nil)
		if len(after) == 0 {
			after, _ = g.l.waits(&g.main, min(ran.start, start), true, nil)
		}
		for _, j := range after {
			waited[j] = true
		}
		g.add(&s, r, start, after, heir)
	}
	if !ran.end.Valid {
		return
	}
	j := joining{end: ran.end.V}
	for _, n := range s.of {
		if !waited[n] {
			j.leaves = append(j.leaves, n)
		}
	}
	g.open = append(g.open, j)
}

// store puts the requests away with their place in the streams.
func (g *wekaGraph) store(names []string) error {
	w, t := g.w, g.t
	scope := t.id
	if t.scope != localScope {
		if scope = w.o.Scope; scope == "" {
			scope = "weka/" + stem(w.f.Name)
		}
	}
	turns, waiters := g.turns(), make([]int, len(t.requests))
	for _, k := range g.l.kin {
		for _, j := range k.after {
			waiters[j]++
		}
	}
	for i := range t.requests {
		q := &t.requests[i]
		r := schedule.Request{
			ID: w.ordinal + int64(i), AtNS: formats.Some(g.starts[i]), DelayNS: g.l.delay(g.l.kin[i].after, g.starts[i]),
			Session: t.id, Stream: "0", Turn: turns[i], Context: schedule.Whole, Class: "main", Model: q.model,
			InputTokens: formats.Some(q.in), OutputTokens: formats.Some(q.out),
			Recorded: schedule.Recorded{TTFTNS: q.ttft, E2ENS: q.api},
		}
		if w.o.Think == RecordedThink && q.think.Valid && len(g.l.kin[i].after) > 0 {
			r.DelayNS = q.think
			w.counts["think_time_used"]++
		}
		if q.agent >= 0 {
			r.Stream, r.Class = names[q.agent], t.agents[q.agent].class
		}
		if q.out == 0 {
			w.counts["output_zero"]++
		}
		for _, j := range slices.Backward(g.l.kin[i].after) {
			r.After = append(r.After, w.ordinal+int64(j))
		}
		slices.Sort(r.After)
		if q.ids > 0 {
			system := t.system
			if q.agent >= 0 {
				system = t.agents[q.agent].system
			}
			r.Blocks = &schedule.Blocks{Scope: scope, Add: t.runs[q.from:q.to], System: min((later(system, w.block-1))/w.block, q.ids)}
		}
		if r.DelayNS.V > w.longest {
			w.longest, w.longName = r.DelayNS.V, t.path(q)+" of "+strconv.Quote(t.id)
		}
		if err := w.rows.counted(g.starts[i], &r, waiters[i]); err != nil {
			return err
		}
	}
	w.ordinal += int64(len(t.requests))
	w.thinking()
	return nil
}

// turns numbers the requests of each stream in order of time.
func (g *wekaGraph) turns() []int64 {
	turns := make([]int64, len(g.starts))
	byStream := map[int][]int{}
	for n, k := range g.l.kin {
		byStream[k.list] = append(byStream[k.list], n)
	}
	for _, of := range byStream {
		slices.SortStableFunc(of, func(a, b int) int { return int(min(1, max(-1, g.starts[a]-g.starts[b]))) })
		for turn, n := range of {
			turns[n] = int64(turn)
		}
	}
	return turns
}

// thinking counts think times that are not what they are understood to be: the time
// from the end of the last request before with a duration, at least 0, in whole seconds.
// They are not used. In cc-traces they count from requests that are no longer there.
func (w *weka) thinking() {
	if w.quantum != wekaQuantum {
		return
	}
	last := map[int]*wekaRequest{} // by subagent
	for i := range w.trace.requests {
		r := &w.trace.requests[i]
		p, ok := last[r.agent]
		fits := true
		switch {
		case !r.think.Valid:
		case !ok:
			fits = r.think.V == 0
		default:
			want := max(0, r.t-p.t-p.api.V)
			fits = r.think.V <= want+wekaQuantum && r.think.V >= want-wekaQuantum
		}
		if !fits {
			w.counts["think_time_differs"]++
		}
		if r.api.Valid {
			last[r.agent] = r
		}
	}
}
