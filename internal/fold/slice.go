package fold

import (
	"slices"
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
func (f *fold) sliceSeries() {
	l := &f.load
	width := f.sliceWidth()
	if l.seconds == 0 {
		return
	}
	n := (int64(l.seconds) + width - 1) / width
	series := func(id, unit string) *summary.Series {
		f.series = append(f.series, summary.Series{ID: "slice_" + id, Unit: unit, FromNS: l.from, StepNS: width * second, Values: make([]*float64, n)})
		return &f.series[len(f.series)-1]
	}
	for _, x := range []struct {
		id, unit string
		v        []int64
	}{{"planned_rps", "1/s", l.planned}, {"sent_rps", "1/s", l.sent}, {"ok_rps", "1/s", l.ok}, {"ended_rps", "1/s", l.ended}, {"out_tps", "tokens/s", l.tokens},
		{"in_flight", "requests", l.inFlight}} {
		s := series(x.id, x.unit)
		for i := range s.Values {
			part := x.v[int64(i)*width : min((int64(i)+1)*width, int64(len(x.v)))]
			var sum int64
			for _, v := range part {
				sum += v
			}
			s.Values[i] = number(float64(sum) / float64(len(part)))
		}
	}
	values := make([][]int64, n)
	for _, x := range sliced {
		t := timingOf(x.id)
		for i := range values {
			values[i] = values[i][:0]
		}
		f.each(func(r *rec) {
			u, v := r.u(), t.value(r)
			if u == null || v == null || !t.over(r) {
				return
			}
			if i := (u - l.from) / (width * second); u >= l.from && i < n {
				values[i] = append(values[i], v)
			}
		})
		for i := range values {
			slices.Sort(values[i])
		}
		for _, level := range x.levels {
			s := series(x.id+"_"+"p"+strconv.FormatInt(level/10, 10), t.unit)
			for i, v := range values {
				if int64(len(v)) >= stats.Floor(level) {
					s.Values[i] = number(float64(v[stats.NearestRank(int64(len(v)), level)-1]))
				}
			}
		}
	}
}
