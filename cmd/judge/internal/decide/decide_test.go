package decide

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
	"hydrant/internal/stats"
)

// worked is the example of docs/validity.md: a thousand requests with seven bursts of
// slow ones.
func worked() *summary.Columns {
	return set(columns(1000), "ttft_user_ns", func(i int) int64 {
		for _, s := range []int{40, 170, 230, 420, 560, 750, 910} {
			switch d := i - s; {
			case d >= 0 && d < 4:
				return 1200e6
			case d >= 4 && d < 10:
				return 700e6
			}
		}
		return int64(100+37*i%300) * 1e6
	})
}

func TestWorkedExample(t *testing.T) {
	for _, c := range []struct {
		limit       string
		misses      int64
		tauMisses   string
		tau         string
		neff, teff  string
		pass, fail  string
		result      string
		independent string
		alone       string // the deciding chance with tau = 1
		projected   formats.Int
	}{
		{"1000ms", 28, "2.450023", "4.251875", "235.190361", "6.585330", "2.0636e-05", "0.999995", Pass, Pass, "1.0e-18", formats.Int{}},
		{"500ms", 70, "6.081731", "6.081731", "164.426872", "11.509881", "0.121528", "0.927256", Inconclusive, Pass, "5.745e-04", formats.Some(3241)},
		{"360ms", 188, "2.484300", "4.251875", "235.190361", "44.215788", "0.999985", "3.1727e-05", Fail, Fail, "3.4e-17", formats.Int{}},
	} {
		d := decide(worked(), "ttft:p90<"+c.limit)[0]
		if d.Misses != c.misses || d.N != 1000 || d.Result != c.result || d.Independent.Result != c.independent {
			t.Errorf("%s: %d of %d missed, %s, %s with tau 1; want %d of 1000, %s, %s",
				c.limit, d.Misses, d.N, d.Result, d.Independent.Result, c.misses, c.result, c.independent)
		}
		for _, f := range []struct {
			name, format string
			got          float64
			want         string
		}{
			{"tau(I)", "%.6f", d.TauMisses, c.tauMisses},
			{"tau(I')", "%.6f", d.TauValues, "4.251875"},
			{"tau", "%.6f", d.Tau, c.tau},
			{"n_eff", "%.6f", d.Neff, c.neff},
			{"t_eff", "%.6f", d.Teff, c.teff},
			{"P_pass", digitsOf(c.pass), d.PPass, c.pass},
			{"P_fail", digitsOf(c.fail), d.PFail, c.fail},
			{"P with tau 1", digitsOf(c.alone), deciding(d), c.alone},
		} {
			if got := fmt.Sprintf(f.format, f.got); got != f.want {
				t.Errorf("%s: %s = %s; want %s", c.limit, f.name, got, f.want)
			}
		}
		if c.projected.Valid && d.ProjectedN != c.projected {
			t.Errorf("%s: projected n = %v; want %v", c.limit, d.ProjectedN, c.projected)
		}
		if d.Quantile != formats.Some(389e6) || d.LowRank != 859 || d.HighRank != 941 ||
			d.Low != formats.Some(376e6) || d.High != formats.Some(700e6) {
			t.Errorf("%s: quantile %v, ranks %d–%d, values %v–%v; want 389 ms, 859–941, 376–700 ms",
				c.limit, d.Quantile, d.LowRank, d.HighRank, d.Low, d.High)
		}
	}
}

// digitsOf returns the format that prints a number with as many digits as want has.
func digitsOf(want string) string {
	mantissa, _, scientific := strings.Cut(want, "e")
	_, frac, _ := strings.Cut(mantissa, ".")
	return fmt.Sprintf("%%.%d%c", len(frac), map[bool]rune{true: 'e', false: 'f'}[scientific])
}

func deciding(d Decision) float64 {
	if d.Independent.Result == Fail {
		return d.Independent.PFail
	}
	return d.Independent.PPass
}

func TestWorkedIntervals(t *testing.T) {
	// Among m = 235 effective requests the ranks are 202 and 221.
	if low, high := stats.Interval(235, 900, 1); low != 202 || high != 221 {
		t.Errorf("Interval(235) = %d, %d; want 202, 221", low, high)
	}
	// With tau = 1: ranks 881–919, 384–396 ms.
	s := NewRows(worked()).latency(slo.Limit{Metric: "ttft", Side: slo.User, BaseNS: 500e6}, 0.9)
	low, high := stats.Interval(1000, 900, 1)
	if low != 881 || high != 919 || s.sorted[low-1] != 384e6 || s.sorted[high-1] != 396e6 {
		t.Errorf("ranks %d–%d, values %d–%d; want 881–919, 384–396 ms", low, high, s.sorted[low-1], s.sorted[high-1])
	}
}

func TestSmallestSizeByMisses(t *testing.T) {
	for _, c := range []struct {
		p    float64
		want []int64
	}{
		{0.90, []int64{44, 64, 81, 127, 197, 325}},
		{0.95, []int64{90, 130, 165, 259, 398, 656}},
		{0.99, []int64{459, 662, 838, 1307, 2010, 3304}},
		{0.999, []int64{4603, 6636, 8403, 13105, 20140, 33097}},
	} {
		for k, misses := range []float64{0, 1, 2, 5, 10, 20} {
			n := int64(misses)
			for pass := 1.0; pass > passAt; {
				n++
				pass, _ = chances(float64(n), misses, c.p)
			}
			if n != c.want[k] {
				t.Errorf("p = %v, %v misses: smallest n = %d; want %d", c.p, misses, n, c.want[k])
			}
		}
	}
}

func TestPopulations(t *testing.T) {
	c := set(columns(1000), "ttft_user_ns", func(int) int64 { return 100e6 })
	set(c, "tpot_user_ns", func(int) int64 { return 10e6 })
	c.Strings["outcome"][1] = run.HTTPError             // a miss
	c.Strings["outcome"][2] = run.CancelledPlanned      // not judged
	c.Ints["in_window"][3] = formats.Some(0)            // not judged
	c.Ints["ttft_user_ns"][4] = formats.Int{}           // should exist: a miss
	c.Ints["tpot_user_ns"][5] = formats.Int{}           // one chunk: tpot cannot apply
	c.Ints["tpot_applies"][5] = formats.Some(0)         //
	c.Ints["tpot_user_ns"][6] = formats.Int{}           // ten chunks without usage: a miss
	c.Ints["output_tokens"][6] = formats.Int{}          //
	c.Ints["ttft_user_ns"][7] = formats.Some(500e6)     // at the limit: good
	c.Ints["ttft_user_ns"][8] = formats.Some(500e6 + 1) // beyond: a miss
	c.Strings["outcome"][9] = run.Cancelled             // a miss
	all := decide(c, "ttft:p90<500ms", "tpot:p90<40ms", "error_rate<1%", "good(ttft<500ms,tpot<40ms):p90", "goodput>=90%")
	for i, want := range []struct{ n, misses, leftOut, unmeasured int64 }{
		{998, 4, 0, 1}, // 1, 4, 8, 9
		{997, 3, 1, 1}, // 1, 6, 9
		{998, 2, 0, 0}, // 1, 9
		{998, 5, 0, 2}, // 1, 4, 6, 8, 9
		{998, 5, 0, 2},
	} {
		d := all[i]
		if d.N != want.n || d.Misses != want.misses || d.LeftOut != want.leftOut || d.Unmeasured != want.unmeasured {
			t.Errorf("%s: n %d, misses %d, left out %d, unmeasured %d; want %+v", d.Objective.Text, d.N, d.Misses, d.LeftOut, d.Unmeasured, want)
		}
	}
}

func TestFailuresAreMissesBeyondEveryRank(t *testing.T) {
	c := set(columns(1000), "ttft_user_ns", func(int) int64 { return 1e6 })
	for i := 0; i < 1000; i += 5 {
		c.Strings["outcome"][i] = run.TimeoutFirstByte
		c.Ints["ttft_user_ns"][i] = formats.Int{}
	}
	d := decide(c, "ttft:p90<500ms")[0]
	if d.Result != Fail || !d.Infinite || d.Quantile.Valid || d.Misses != 200 {
		t.Errorf("got %s, infinite %v, quantile %v, misses %d; want FAIL with an infinite quantile and 200 misses", d.Result, d.Infinite, d.Quantile, d.Misses)
	}
	for i := range 1000 {
		c.Strings["outcome"][i] = run.HTTPError
	}
	if d := decide(c, "ttft:p99<500ms", "error_rate<5%"); d[0].Result != Fail || d[1].Result != Fail {
		t.Errorf("a server that refuses everything: %s and %s; want FAIL twice", d[0].Result, d[1].Result)
	}
}

func TestNotMeasuredIsNeitherPassNorFail(t *testing.T) {
	c := set(columns(1000), "ttft_user_ns", func(int) int64 { return 1e6 })
	for _, text := range []string{"ttft/wire:p99<1s", "tpot:p99<1s", "icl_max:p99<1s", "good(ttft/wire<1s):p90"} {
		if d := decide(c, text)[0]; d.Result != Inconclusive || !strings.Contains(d.Reason, "not measured") {
			t.Errorf("%s: %s (%s); want INCONCLUSIVE, not measured", text, d.Result, d.Reason)
		}
	}
	if d := All([]slo.Objective{{Kind: slo.Quantile}}, Evidence{}); d[0].Result != Inconclusive || !strings.Contains(d[0].Reason, "columns") {
		t.Errorf("without columns: %+v; want INCONCLUSIVE", d[0])
	}
	if d := decide(columns(0), "ttft:p99<1s")[0]; d.Result != Inconclusive {
		t.Errorf("without rows: %s; want INCONCLUSIVE", d.Result)
	}
}

func TestLinearLimit(t *testing.T) {
	c := columns(1000)
	set(c, "input_tokens", func(i int) int64 { return int64(i) })
	set(c, "ttft_user_ns", func(i int) int64 { return 200e6 + int64(i)*50e3 + int64(i%2) }) // odd rows 1 ns beyond
	c.Ints["input_tokens"][0] = formats.Int{}                                               // falls back to the plan
	c.Ints["planned_input_tokens"][0] = formats.Some(0)
	d := decide(c, "ttft:p99<200ms+0.05ms*in")[0]
	if d.Misses != 500 || d.Unmeasured != 0 || d.Result != Fail || d.Quantile != formats.Some(200e6+1) {
		t.Errorf("misses %d, unmeasured %d, %s, quantile %v; want 500, 0, FAIL, 200000001", d.Misses, d.Unmeasured, d.Result, d.Quantile)
	}
	r := NewRows(c)
	if got := r.Tightest(d.Objective.Limit); got != 200e6 {
		t.Errorf("Tightest = %d; want 200000000", got)
	}
}

func TestD5BarsPassAndLeavesFail(t *testing.T) {
	few := set(columns(90), "ttft_user_ns", func(int) int64 { return 1e6 })
	d := decide(few, "ttft:p90<500ms")[0] // 90·0.1 = 9 expected misses
	if d.PPass > passAt || d.D5OK() || d.Result != Inconclusive {
		t.Errorf("90 good requests at p90: P_pass %v, D5 %v, %s; want a small P_pass and INCONCLUSIVE", d.PPass, d.D5(), d.Result)
	}
	set(few, "ttft_user_ns", func(int) int64 { return 1e9 })
	if d := decide(few, "ttft:p90<500ms")[0]; d.D5OK() || d.Result != Fail {
		t.Errorf("90 slow requests at p90: %s; want FAIL in spite of D5", d.Result)
	}
	enough := set(columns(100), "ttft_user_ns", func(int) int64 { return 1e6 })
	if d := decide(enough, "ttft:p90<500ms")[0]; !d.D5OK() || d.Result != Pass {
		t.Errorf("100 good requests at p90: D5 %v, %s; want 10 and PASS", d.D5(), d.Result)
	}
}

func TestHolm(t *testing.T) {
	// P_fail between 0.05/3 and 0.05: enough alone, not beside two others that pass.
	c := columns(1000)
	rng := rand.New(rand.NewPCG(1, 1))
	perm := rng.Perm(1000)
	set(c, "ttft_user_ns", func(i int) int64 {
		if perm[i] < 119 { // 11.9 % beyond, tau about 1
			return 1e9
		}
		return 1e6
	})
	set(c, "e2e_user_ns", func(int) int64 { return 1e6 })
	set(c, "ttfo_user_ns", func(int) int64 { return 1e6 })
	alone := decide(c, "ttft:p90<500ms")[0]
	beside := decide(c, "ttft:p90<500ms", "e2e:p90<500ms", "ttfo:p90<500ms")
	if !(alone.PFail > failAt/3 && alone.PFail <= failAt) {
		t.Fatalf("P_fail = %v; the test wants one between 0.0167 and 0.05", alone.PFail)
	}
	if alone.Result != Fail || alone.FailBelow != failAt {
		t.Errorf("alone: %s below %v; want FAIL below 0.05", alone.Result, alone.FailBelow)
	}
	if beside[0].Result != Inconclusive || beside[0].FailBelow != failAt/3 || beside[1].Result != Pass {
		t.Errorf("beside two: %s below %v, %s; want INCONCLUSIVE below 0.0167, PASS", beside[0].Result, beside[0].FailBelow, beside[1].Result)
	}
	if Overall(beside) != Inconclusive || Overall(beside[1:]) != Pass || Overall(nil) != "" {
		t.Errorf("Overall = %q, %q, %q", Overall(beside), Overall(beside[1:]), Overall(nil))
	}
}

func TestOtherSides(t *testing.T) {
	c := set(columns(1000), "ttft_user_ns", func(int) int64 { return 2e9 })
	set(c, "ttft_sent_ns", func(int) int64 { return 1e6 })
	o, _ := slo.Parse("test", "ttft:p90<1s")
	tpot, _ := slo.Parse("test", "tpot:p90<1s")
	on, at := slo.On(append(tpot, o...), slo.Sent)
	if len(on) != 1 || at[0] != 1 || on[0].Limit.Side != slo.Sent {
		t.Fatalf("On = %+v at %v; want the ttft objective at 1", on, at)
	}
	if d := All(on, Evidence{Columns: c}); d[0].Result != Pass {
		t.Errorf("sent side: %s; want PASS", d[0].Result)
	}
}
