package fold

import (
	"fmt"
	"math"

	"hydrant/formats/run"
	"hydrant/internal/stats"
)

// growthFrom is where the backlog is watched from: a run starts empty, so not from its
// start, but after the warm-up and a fifth of the load.
func (f *fold) growthFrom() int64 {
	l := &f.load
	return l.from + max(f.window.WarmupNS, (l.to-l.from)/5)
}

// backlog compares what ended with what was planned, and says how much the requests
// in flight vary about their trend: the noise that the difference has by itself.
func (f *fold) backlog() view {
	ids := []string{"backlog_growth", "backlog_spread", "backlog_arrivals"}
	if !f.load.any {
		f.sheet.noneOf("no planned times", ids...)
		return view{}
	}
	from, to := f.growthFrom(), f.load.to
	var planned, ended int64
	n := int(max(0, to-from) / second)
	flights := newFlights(from, n)
	return view{func(x *frame) {
		flights.see(x)
		u, end := x.u(), x.col(cEnd)
		for i := range x.n {
			if u[i] != null && u[i] >= from && u[i] < to {
				planned++
			}
			if end[i] != null && end[i] >= from && end[i] < to {
				ended++
			}
		}
	}, func() {
		if planned == 0 {
			f.sheet.noneOf("no request is planned after the warm-up and the first fifth of the load", ids...)
			return
		}
		v := f.sheet.set("backlog_growth", 1-share(ended, planned), planned, "")
		v.Evidence = fmt.Sprintf("%d planned, %d ended from %.4g s to %.4g s of the load", planned, ended,
			float64(from-f.load.from)/second, float64(to-f.load.from)/second)
		f.sheet.count("backlog_arrivals", planned, planned)
		f.sheet.set("backlog_spread", stats.Residual(flights.counts()), int64(n), "fewer than 3 whole seconds of load to watch")
	}}
}

// halves compares the second half of the window with the first, by its thirtieths.
func (f *fold) halves(w *flow) view {
	step := w.batches.step
	middle := f.window.FromNS + step*(batches/2)
	ttft, firsts := f.room(), 0 // rows come in the order of u: those of the first half, then the others
	return view{func(x *frame) {
		marks, u, t := x.marks(), x.u(), x.ttftUser()
		for i := range x.n {
			if marks[i]&(isPlanned|isOK) == isPlanned|isOK && t[i] != null {
				if ttft = append(ttft, t[i]); u[i] < middle {
					firsts++
				}
			}
		}
	}, func() {
		var ranks [2][]int64
		for half, x := range [...][]int64{ttft[:firsts], ttft[firsts:]} {
			if len(x) > 0 {
				ranks[half] = f.ranker.rank(x, 500, 900)
			}
		}
		f.free(ttft)
		for k, id := range [...]string{"half_ttft_p50", "half_ttft_p90"} {
			q := [2]float64{math.NaN(), math.NaN()}
			for half, v := range ranks {
				if v != nil {
					q[half] = float64(v[k])
				}
			}
			f.sheet.set(id, q[1]/q[0], int64(len(ttft)), "a half of the window has no first token")
		}
		var tokens [2]int64
		for i, n := range w.batches.tokens {
			tokens[2*i/batches] += n
		}
		ratio := math.NaN()
		if tokens[0] > 0 {
			ratio = share(tokens[1], tokens[0])
		}
		f.sheet.set("half_out_tps", ratio, tokens[0]+tokens[1], "no token arrived in the first half of the window")
	}}
}

// censored counts the planned rows whose answer was cut off by the end of the run.
func (f *fold) censored() view {
	var planned, cut int64
	worst := ""
	return view{func(x *frame) {
		marks, flags, end := x.marks(), x.col(cFlags), x.col(cEnd)
		for i := range x.n {
			if marks[i]&isPlanned == 0 {
				continue
			}
			planned++
			if outcome := outcomeIn(flags[i]); outcome == outcomeCancelled || marks[i]&isDispatched > 0 && end[i] == null {
				if cut++; worst == "" {
					worst = fmt.Sprintf("request %d: %s", x.col(cID)[i], run.Outcomes[outcome])
				}
			}
		}
	}, func() {
		f.sheet.count("censored", cut, planned).Evidence = worst
	}}
}
