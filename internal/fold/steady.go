package fold

import (
	"fmt"
	"math"
	"slices"

	"hydrant/formats/run"
	"hydrant/internal/stats"
)

// steadiness computes what says whether the run was in one state all along.
func (f *fold) steadiness(w *flow) {
	f.backlog()
	f.halves(w)
	f.censored()
}

// growthFrom is where the backlog is watched from: a run starts empty, so not from its
// start, but after the warm-up and a fifth of the load.
func (f *fold) growthFrom() int64 {
	l := &f.load
	return l.from + max(f.window.WarmupNS, (l.to-l.from)/5)
}

// backlog compares what ended with what was planned, and says how much the requests
// in flight vary about their trend: the noise that the difference has by itself.
func (f *fold) backlog() {
	ids := []string{"backlog_growth", "backlog_spread", "backlog_arrivals"}
	if !f.load.any {
		f.sheet.noneOf("no planned times", ids...)
		return
	}
	from, to := f.growthFrom(), f.load.to
	var planned, ended int64
	f.each(func(r *rec) {
		if u := r.u(); u != null && u >= from && u < to {
			planned++
		}
		if r.end != null && r.end >= from && r.end < to {
			ended++
		}
	})
	if planned == 0 {
		f.sheet.noneOf("no request is planned after the warm-up and the first fifth of the load", ids...)
		return
	}
	v := f.sheet.set("backlog_growth", 1-share(ended, planned), planned, "")
	v.Evidence = fmt.Sprintf("%d planned, %d ended from %.4g s to %.4g s of the load", planned, ended,
		float64(from-f.load.from)/second, float64(to-f.load.from)/second)
	f.sheet.count("backlog_arrivals", planned, planned)
	n := int((to - from) / second)
	f.sheet.set("backlog_spread", stats.Residual(f.atSeconds(from, n)), int64(n), "fewer than 3 whole seconds of load to watch")
}

// halves compares the second half of the window with the first, by its thirtieths.
func (f *fold) halves(w *flow) {
	step := w.batches.step
	middle := f.window.FromNS + step*(batches/2)
	var ttft [2][]int64
	f.each(func(r *rec) {
		if t := r.ttftUser(); r.inWindow && r.ok() && t != null {
			half := 0
			if r.u() >= middle {
				half = 1
			}
			ttft[half] = append(ttft[half], t)
		}
	})
	for half := range ttft {
		slices.Sort(ttft[half])
	}
	for _, level := range []struct {
		id string
		k  int64
	}{{"half_ttft_p50", 500}, {"half_ttft_p90", 900}} {
		q := [2]float64{math.NaN(), math.NaN()}
		for half, x := range ttft {
			if n := int64(len(x)); n > 0 {
				q[half] = float64(x[stats.NearestRank(n, level.k)-1])
			}
		}
		f.sheet.set(level.id, q[1]/q[0], int64(len(ttft[0])+len(ttft[1])), "a half of the window has no first token")
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
}

// censored counts the planned rows whose answer was cut off by the end of the run.
func (f *fold) censored() {
	var planned, cut int64
	worst := ""
	f.each(func(r *rec) {
		if !r.inWindow {
			return
		}
		planned++
		if r.outcome == outcomeCancelled || r.dispatched != null && r.end == null {
			if cut++; worst == "" {
				worst = fmt.Sprintf("request %d: %s", r.id, run.Outcomes[r.outcome])
			}
		}
	})
	f.sheet.count("censored", cut, planned).Evidence = worst
}
