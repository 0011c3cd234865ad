package rule

import (
	"fmt"
	"math"
	"slices"

	"hydrant/formats/run"
	"hydrant/internal/slo"
	"hydrant/internal/stats"
)

// shortWindow is D1's limit under --short.
const shortWindow = 30e9

func duration(s *state, f *finding) {
	w := s.sum.Window
	length := float64(w.ToNS - w.FromNS)
	if s.Options.Short {
		f.limit("window", shortWindow)
	}
	f.value("window", length, s.sum.Plan.InWindow)
	if s.Options.Short {
		f.skip("e2e", "waived by --short")
		return
	}
	if s.Columns == nil {
		m := s.metric("e2e_user")
		if p, ok := level(m, 990); ok && p.Value.Valid && p.Value.V > 0 {
			f.value("e2e", length/float64(p.Value.V), m.N)
		} else {
			f.unknown("e2e", "the summary has no per-request columns")
		}
		return
	}
	var e2e []int64
	answered := false
	for i := range s.Columns.N {
		if s.Columns.Ints["in_window"][i].Or(0) != 1 || s.Columns.Strings["outcome"][i] != run.OK {
			continue
		}
		answered = true
		if v := s.Columns.Ints["e2e_user_ns"][i]; v.Valid && v.V > 0 {
			e2e = append(e2e, v.V)
		}
	}
	switch n := int64(len(e2e)); {
	case n > 0:
		slices.Sort(e2e)
		p99 := e2e[stats.NearestRank(n, 990)-1]
		f.value("e2e", length/float64(p99), n)
		f.see("e2e", fmt.Sprintf("p99 of E2E %.4g s", float64(p99)/1e9))
	case answered:
		f.unknown("e2e", "no answer has an end-to-end time")
	default:
		f.skip("e2e", "no request was answered")
	}
}

// enough is D5 for the check list; each objective carries its own.
func enough(s *state, f *finding) {
	least, unsettled, n := math.Inf(1), 0, int64(0)
	undecided, rates := "", 0
	for _, d := range s.decisions {
		switch {
		case d.Objective.Kind == slo.Rate:
			rates++
			continue
		case !d.Decided:
			undecided = d.Reason
			continue
		}
		if !d.Settled {
			unsettled++
			f.see("unsettled", d.Objective.Text)
		}
		if d.D5() < least {
			least, n = d.D5(), d.N
			f.see("n_eff", d.Objective.Text)
		}
	}
	switch {
	case len(s.decisions) == rates:
		f.skipAll("no objective over requests")
	case undecided != "":
		f.unknown("n_eff", undecided)
		f.unknown("unsettled", undecided)
	default:
		f.value("n_eff", least, n)
		f.value("unsettled", float64(unsettled), n)
	}
}

// settled is the number of batches of 5 s, ten minutes, from which the cut is judged
// under --short too. On shorter stretches of a steady process one of the three cuts lies
// in the second half by chance: of simulated series of independent values in 24 % of the
// cases at 12 batches, 34 % at 20, 7 % at 60 and 2 % at 120; with a correlation of 0.5
// from batch to batch in 32, 52, 22 and 5 %.
const settled = 120

// warmup judges the latest of the three cuts.
func warmup(s *state, f *finding) {
	batches := s.scalar("mser_batches")
	if batches.Value != nil && *batches.Value < 10 {
		reason := fmt.Sprintf("%.0f batches of 5 s, at least 10 are needed", *batches.Value)
		if f.unknown("cut", reason); s.Options.Short {
			f.skip("cut", "--short, "+reason)
		}
		return
	}
	cut, which := math.NaN(), ""
	for _, id := range []string{"mser_in_flight", "mser_ttft", "mser_out_tps"} {
		x := s.scalar(id)
		if x.Value == nil || batches.Value == nil {
			f.unknown("cut", x.Reason)
			return
		}
		if v := *x.Value / *batches.Value; !(v <= cut) {
			cut, which = v, id
		}
	}
	if s.Options.Short && *batches.Value < settled {
		f.advise("cut")
	}
	f.value("cut", cut, int64(*batches.Value))
	f.see("cut", fmt.Sprintf("%s, %.4g s", which, cut**batches.Value*5))
}

// spreads is how many deviations of the in-flight count the backlog may grow by chance:
// of two counts, three deviations.
var spreads = 3 * math.Sqrt2

// growth judges the backlog against its own noise.
func growth(s *state, f *finding) {
	spread, arrivals := s.scalar("backlog_spread"), s.scalar("backlog_arrivals")
	if arrivals.Value == nil {
		f.unknown("growth", arrivals.Reason)
		return
	}
	if spread.Value == nil {
		f.unknown("growth", spread.Reason)
		return
	}
	f.limit("growth", max(f.check.Terms[0].Limit, spreads**spread.Value / *arrivals.Value))
	s.take(f, "growth", "backlog_growth", nil)
}

// halves compares in both directions.
func halves(s *state, f *finding) {
	apart := func(v float64) float64 { return max(v, 1/v) }
	s.take(f, "ttft_p50", "half_ttft_p50", apart)
	s.take(f, "ttft_p90", "half_ttft_p90", apart)
	s.take(f, "out_tps", "half_out_tps", apart)
}

func cutOff(s *state, f *finding) { s.take(f, "rows", "censored", nil) }
