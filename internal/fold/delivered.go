package fold

import (
	"fmt"
	"math"
	"slices"

	"hydrant/internal/stats"
)

// delivered says whether the load of the plan was put on the server.
func (f *fold) delivered() view {
	s := f.sheet
	var planned, sent, lagged, turns, turnLagged, local, reused, slow int64
	var late [len(lateLimits)]int64
	var capped, capRows, capSeconds int64
	capSecond := int64(-1) // rows come in the order of u
	var turnLag []int64
	us, ss := f.room(), f.room()
	firstU, lastU, firstAsked, lastAsked := int64(miss), int64(null), int64(miss), int64(null)
	return view{func(x *frame) {
		marks, flags, u, at, asked, capWait, lags := x.marks(), x.col(cFlags), x.u(), x.sentAt(), x.col(cAsked), x.col(cCapWait), x.sendLag()
		turn, connWait, dial := x.col(cTurn), x.connWait(), x.dial()
		for i := range x.n {
			if at[i] != null {
				ss = append(ss, at[i])
			}
			if u[i] != null {
				us = append(us, u[i])
			}
			if marks[i]&isPlanned == 0 {
				continue
			}
			planned++
			firstU, lastU = min(firstU, u[i]), max(lastU, u[i])
			if marks[i]&isSent > 0 {
				sent++
				if asked[i] != null {
					firstAsked, lastAsked = min(firstAsked, asked[i]), max(lastAsked, asked[i])
				}
			}
			if localIn(flags[i]) {
				local++
			}
			if capWait[i] != null {
				capped++
				if capWait[i] > 0 {
					capRows++
					if at := (u[i] - f.window.FromNS) / second; at != capSecond {
						capSeconds, capSecond = capSeconds+1, at
					}
				}
			}
			if lag := lags[i]; lag != null {
				lagged++
				for k := 0; k < len(lateLimits) && lag > lateLimits[k].ns; k++ { // they ascend
					late[k]++
				}
				if turn[i] > 0 {
					turnLag = append(turnLag, lag)
					turnLagged++
				}
			}
			if turn[i] > 0 {
				turns++
			}
			if wait := plus(connWait[i], dial[i]); wait != null && reusedIn(flags[i]) == 1 {
				reused++
				if wait > 1_000_000 {
					slow++
				}
			}
		}
	}, func() {
		f.scratch = stats.Sort(ss, f.scratch)
		const noRows = "no planned rows in the window"
		s.ratio("sent_share", sent, planned, planned, noRows)
		for i, limit := range lateLimits {
			s.ratio(limit.id, late[i], lagged, lagged, "no row was dispatched in the window")
		}
		s.count("local_errors", local, planned)
		s.ratio("conn_slow_share", slow, reused, reused, "no connection was used again")
		s.count("turn_rows", turns, planned)
		if len(turnLag) > 0 {
			s.count("turn_send_lag_p99_ns", f.ranker.rank(turnLag, 990)[0], turnLagged)
		} else {
			s.none("turn_send_lag_p99_ns", "no row with turn > 0 was dispatched")
		}
		if capped > 0 {
			s.count("cap_rows", capRows, capped)
			s.count("cap_seconds", capSeconds, capped)
		} else {
			s.noneOf("no row says whether a cap delayed it", "cap_rows", "cap_seconds")
		}

		inU, inS := f.within(us), f.within(ss)
		s.ratio("rate_ratio", int64(len(inS)), int64(len(inU)), int64(len(inU)), noRows)
		stretch := math.NaN()
		if lastU > firstU && lastAsked != null {
			stretch = float64(lastAsked-firstAsked) / float64(lastU-firstU)
		}
		s.set("stretch", stretch, sent, "the plan has no length in the window")
		a, b := f.gapsOf(inU), f.gapsOf(inS)
		if len(a) > 0 && len(b) > 0 {
			s.set("gap_ks", stats.KS(a, b), int64(len(a)), "")
		} else {
			s.none("gap_ks", "fewer than two rows in the window")
		}
		f.subWindows(inU, inS)
		f.dispersion(inU, inS)
		f.free(us, ss)
	}}
}

var lateLimits = [...]struct {
	id string
	ns int64
}{{"late_share_1ms", 1e6}, {"late_share_2ms", 2e6}, {"late_share_5ms", 5e6}, {"late_share_10ms", 10e6}, {"late_share_50ms", 50e6}}

// share is a/b, NaN for b = 0.
func share(a, b int64) float64 { return float64(a) / float64(b) }

// within cuts a sorted list to the window.
func (f *fold) within(v []int64) []int64 {
	i, _ := slices.BinarySearch(v, f.window.FromNS)
	j, _ := slices.BinarySearch(v, f.window.ToNS)
	return v[i:j]
}

// gapsOf returns the sorted differences of a sorted list.
func (f *fold) gapsOf(v []int64) []int64 {
	if len(v) < 2 {
		return nil
	}
	g := make([]int64, len(v)-1)
	for i := range g {
		g[i] = v[i+1] - v[i]
	}
	f.scratch = stats.Sort(g, f.scratch)
	return g
}

// inWindows calls do with the counts of two sorted lists in consecutive windows of
// width w, as many as are whole; it returns how many that are.
func (f *fold) inWindows(u, s []int64, w int64, do func(i, u, s int64)) int64 {
	n := f.length() / w
	i, j := 0, 0
	for k := range n {
		end := f.window.FromNS + (k+1)*w
		a, b := i, j
		for i < len(u) && u[i] < end {
			i++
		}
		for j < len(s) && s[j] < end {
			j++
		}
		do(k, int64(i-a), int64(j-b))
	}
	return n
}

// subWindows compares sent and planned counts window by window.
func (f *fold) subWindows(u, s []int64) {
	const enough = 20
	width := int64(second)
	for {
		n := f.length() / width
		if n == 0 {
			reason := fmt.Sprintf("no sub-window has %d planned rows", enough)
			f.sheet.count("window_count", 0, 0)
			f.sheet.noneOf(reason, "window_width_s", "window_min", "window_short_share")
			return
		}
		inside, _ := slices.BinarySearch(u, f.window.FromNS+n*width)
		if int64(inside) >= enough*n {
			break
		}
		width *= 2
	}
	var count, short int64
	least, worst := math.Inf(1), int64(0)
	f.inWindows(u, s, width, func(i, planned, sent int64) {
		if planned < enough {
			return
		}
		count++
		// 0.95 in whole numbers: sent/planned < 19/20.
		if 20*sent < 19*planned {
			short++
		}
		if r := share(sent, planned); r < least {
			least, worst = r, i
		}
	})
	f.sheet.count("window_count", count, count)
	f.sheet.set("window_width_s", float64(width)/second, count, "")
	v := f.sheet.set("window_min", least, count, "no sub-window has 20 planned rows")
	if v.Value != nil {
		v.Evidence = fmt.Sprintf("from second %d of the window", worst*width/second)
	}
	f.sheet.ratio("window_short_share", short, count, count, "no sub-window has 20 planned rows")
}

// dispersion compares the burstiness of sent and planned requests at three scales.
func (f *fold) dispersion(u, s []int64) {
	for _, scale := range []struct {
		name  string
		width int64
	}{{"100ms", second / 10}, {"1s", second}, {"10s", 10 * second}} {
		var planned, sent tally
		n := f.inWindows(u, s, scale.width, func(_, a, b int64) {
			planned.add(a)
			sent.add(b)
		})
		f.sheet.count("idc_windows_"+scale.name, n, n)
		none := "no whole window of " + scale.name
		f.sheet.set("idc_mean_"+scale.name, share(planned.sum, n), n, none)
		if n > 0 {
			none = "no request in a whole window"
		}
		p, q := planned.dispersion(), sent.dispersion()
		f.sheet.set("idc_planned_"+scale.name, p, n, none)
		f.sheet.set("idc_sent_"+scale.name, q, n, none)
		if p == 0 {
			none = "the plan has no dispersion at this scale"
		}
		f.sheet.set("idc_ratio_"+scale.name, q/p, n, none)
	}
}

// tally gathers counts of windows; only their sums are kept.
type tally struct {
	n, sum  int64
	squares stats.Sum
}

func (t *tally) add(c int64) {
	t.n++
	t.sum += c
	t.squares.AddProduct(c, c)
}

func (t *tally) dispersion() float64 { return stats.Dispersion(t.n, t.sum, t.squares) }

// disorderOfTurns counts rows that were dispatched before a row they depend on had
// ended. Under strict timing the plan itself ignores dependencies.
func (f *fold) disorderOfTurns() view {
	for _, p := range f.parts {
		if p.header.Timing == "strict" {
			f.sheet.none("turn_disorder", "timing strict ignores dependencies")
			return view{}
		}
	}
	var n, broken, elsewhere int64
	var one [1]int64
	worst := ""
	return view{func(x *frame) {
		marks, dispatched, after, afterN := x.marks(), x.col(cDispatched), x.col(cAfter), x.col(cAfterN)
		for i := range x.n {
			if marks[i]&(isPlanned|isDispatched) != isPlanned|isDispatched || afterN[i] == 0 {
				continue
			}
			n++
			for _, id := range f.predecessors(after[i], afterN[i], &one) {
				k := f.ids.find(id)
				if k < 0 {
					elsewhere++
				}
				if k >= 0 && f.ends[k] != null && dispatched[i] < f.ends[k] {
					if broken++; worst == "" {
						worst = fmt.Sprintf("request %d before the end of %d", x.col(cID)[i], id)
					}
					break
				}
			}
		}
	}, func() {
		f.sheet.keep("turn_disorder", broken, elsewhere)
		f.sheet.count("turn_disorder", broken, n).Evidence = worst
		f.ends = nil
	}}
}
