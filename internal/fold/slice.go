package fold

import (
	"strconv"

	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

// defaultSlices is about how many slices a load is cut into when no width is asked for.
const defaultSlices = 100

// sliceWidth is the width of a slice in whole seconds.
func (f *fold) sliceWidth() int64 {
	if f.o.SliceNS > 0 {
		return f.o.SliceNS / second
	}
	return max(1, (int64(f.load.seconds)+defaultSlices-1)/defaultSlices)
}

// sliced are the latencies whose percentiles are given per slice, over the ok rows that
// were planned in it.
var sliced = [...]struct {
	id     string
	levels []int64
}{
	{"send_lag", []int64{500, 990}}, {"ttft_user", []int64{500, 900, 990}}, {"ttft_wire", []int64{500, 900, 990}},
	{"tpot_user", []int64{500, 900}}, {"e2e_user", []int64{500, 900, 990}},
}

// sliceSeries adds the values per slice of the load, in the window or not. The last
// slice may be shorter; its rates are over its own length. Percentiles below their
// sample floor are null.
func (f *fold) sliceSeries() view {
	l := &f.load
	width := f.sliceWidth()
	if l.seconds == 0 {
		return view{}
	}
	n := (int64(l.seconds) + width - 1) / width
	series := func(id, unit string) []*float64 {
		f.series = append(f.series, summary.Series{ID: "slice_" + id, Unit: unit, FromNS: l.from, StepNS: width * second, Values: make([]*float64, n)})
		return f.series[len(f.series)-1].Values
	}
	for _, x := range []struct {
		id, unit string
		v        []int64
	}{{"planned_rps", "1/s", l.planned}, {"sent_rps", "1/s", l.sent}, {"ok_rps", "1/s", l.ok}, {"ended_rps", "1/s", l.ended}, {"out_tps", "tokens/s", l.tokens},
		{"in_flight", "requests", l.inFlight}} {
		values := series(x.id, x.unit)
		for i := range values {
			part := x.v[int64(i)*width : min((int64(i)+1)*width, int64(len(x.v)))]
			var sum int64
			for _, v := range part {
				sum += v
			}
			values[i] = number(float64(sum) / float64(len(part)))
		}
	}
	var timed [len(sliced)]*timing
	var made [len(sliced)][][]*float64 // of each level
	for k, x := range sliced {
		timed[k] = timingOf(x.id)
		for _, level := range x.levels {
			made[k] = append(made[k], series(x.id+"_"+"p"+strconv.FormatInt(level/10, 10), timed[k].unit))
		}
	}
	var values [len(sliced)][]int64 // of the slice at hand: rows come in the order of u
	at := int64(0)
	settle := func() {
		for k, x := range sliced {
			v := values[k]
			values[k] = v[:0]
			if len(v) == 0 {
				continue
			}
			ranks := f.ranker.rank(v, x.levels...)
			for i, level := range x.levels {
				if int64(len(v)) >= stats.Floor(level) {
					made[k][i][at] = number(float64(ranks[i]))
				}
			}
		}
	}
	next := l.from + width*second // begin of the slice after that
	return view{func(x *frame) {
		u, marks := x.u(), x.marks()
		var v [len(sliced)]*column
		var over [len(sliced)]population
		for k, t := range timed {
			v[k], over[k] = t.value(x), states[t.pop].anywhere()
		}
		for i := range x.n {
			if u[i] == null || u[i] < l.from {
				continue
			}
			if u[i] >= next {
				slice := (u[i] - l.from) / (width * second)
				if slice >= n {
					continue
				}
				settle()
				at, next = slice, l.from+(slice+1)*width*second
			}
			for k := range v {
				if t := v[k][i]; t != null && over[k].holds(marks[i]) {
					values[k] = append(values[k], t)
				}
			}
		}
	}, settle}
}
