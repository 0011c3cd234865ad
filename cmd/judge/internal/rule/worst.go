package rule

import (
	"cmp"
	"slices"
	"strings"

	"hydrant/formats/summary"
	"hydrant/formats/verdict"
	"hydrant/internal/slo"
)

// second is the grain in which the report shows what stood out, ns.
const second = int64(1e9)

// worstShown is how many seconds are shown for TTFT; the latest-sent one is one more.
const worstShown = 3

// moment is one second of the window, by planned time.
type moment struct {
	from      int64
	ttft, lag int64 // largest; −1 where there is none
	failed    int64
}

// worst lists the seconds with the slowest first token, slowest first, and the one in
// which the generator was latest unless it is among them, with what else happened.
func (s *state) worst() []verdict.Worst {
	if s.Columns == nil {
		return nil
	}
	all := s.moments()
	var out []verdict.Worst
	pick := func(id string, n int, of func(moment) int64) {
		slices.SortStableFunc(all, func(a, b moment) int { return cmp.Compare(of(b), of(a)) })
		for _, m := range all[:min(n, len(all))] {
			known := slices.ContainsFunc(out, func(w verdict.Worst) bool { return w.FromNS == m.from })
			if of(m) > 0 && !known {
				value := float64(of(m))
				out = append(out, verdict.Worst{ID: id, FromNS: m.from, ToNS: m.from + second, Unit: nanoseconds, Value: &value, Beside: s.beside(m, id)})
			}
		}
	}
	pick("ttft_user_max", worstShown, func(m moment) int64 { return m.ttft })
	pick("send_lag_max", 1, func(m moment) int64 { return m.lag })
	return out
}

// moments groups the rows of the window by the second that they were planned in.
func (s *state) moments() []moment {
	at := map[int64]int{}
	var all []moment
	for i := range s.Columns.N {
		u := s.Columns.Ints["u_ns"][i]
		if !u.Valid || s.Columns.Ints["in_window"][i].Or(0) != 1 {
			continue
		}
		k := (u.V - s.sum.Window.FromNS) / second
		place, ok := at[k]
		if !ok {
			place, at[k] = len(all), len(all)
			all = append(all, moment{from: s.sum.Window.FromNS + k*second, ttft: -1, lag: -1})
		}
		m := &all[place]
		if row := slo.RowOf(s.Columns, i); row.Judged() && !row.OK() {
			m.failed++
		}
		m.ttft = max(m.ttft, s.Columns.Ints["ttft_user_ns"][i].Or(-1))
		m.lag = max(m.lag, s.Columns.Ints["send_lag_ns"][i].Or(-1))
	}
	return all
}

// beside lists what else happened in a second: of its requests, and in every series
// that is kept by the second.
func (s *state) beside(m moment, id string) []verdict.Beside {
	var out []verdict.Beside
	add := func(name, unit string, v float64) {
		out = append(out, verdict.Beside{ID: name, Unit: unit, Value: &v})
	}
	if id != "ttft_user_max" && m.ttft >= 0 {
		add("ttft_user_max", nanoseconds, float64(m.ttft))
	}
	if id != "send_lag_max" && m.lag >= 0 {
		add("send_lag_max", nanoseconds, float64(m.lag))
	}
	add("failed", count, float64(m.failed))
	for _, x := range s.sum.Series {
		if strings.HasPrefix(x.ID, "slice_") || strings.HasPrefix(x.ID, "batch_") {
			continue // the same by other steps
		}
		if v := valueAt(x, m.from); v != nil {
			add(x.ID, x.Unit, *v)
		}
	}
	return out
}

// valueAt is the value of a series by the second at an instant, nil where it has none.
func valueAt(x summary.Series, t int64) *float64 {
	if x.StepNS != second || t < x.FromNS {
		return nil
	}
	i := (t - x.FromNS) / second
	if i >= int64(len(x.Values)) {
		return nil
	}
	return x.Values[i]
}
