package rule

import (
	"hydrant/cmd/judge/internal/decide"
	"hydrant/formats"
	"hydrant/formats/verdict"
	"hydrant/internal/slo"
)

// aFortiori says what holds although the run is INVALID. Where every fault hides what
// the server does, a FAIL that the server's own side shows is one all the more; where
// every fault inflates it, so is a PASS. nil where a fault works both ways, evidence is
// missing, or group D bars the statement.
func (s *state) aFortiori(v *verdict.Verdict) *verdict.AFortiori {
	bias := ""
	for _, c := range v.Checks {
		if c.Status != verdict.Bad || c.ID[0] == 'D' {
			continue
		}
		if isUnproven(c) || c.Bias == both || bias != "" && bias != c.Bias {
			return nil
		}
		bias = c.Bias
	}
	for _, c := range v.Checks {
		if c.ID[0] == 'D' && c.ID != "D5" && c.Status == verdict.Bad {
			return nil
		}
	}
	switch {
	case bias == inflates && v.SLO == verdict.Pass:
		return &verdict.AFortiori{SLO: verdict.Pass, Objectives: s.ids(func(i int) bool { return true }),
			Text: "every fault makes the server look worse than it is: the PASS stands"}
	case bias == hides:
		failed := s.ids(s.failsWithoutClient)
		if len(failed) > 0 {
			return &verdict.AFortiori{SLO: verdict.Fail, Objectives: failed,
				Text: "every fault makes the server look better than it is: the FAIL on the " + s.side() + " side stands"}
		}
	}
	return nil
}

// failsWithoutClient says whether objective i fails from the other side's times; one
// without another side, such as a share, from its own.
func (s *state) failsWithoutClient(i int) bool {
	for _, p := range s.pairs {
		if p.At == i {
			return p.Other.Result == decide.Fail
		}
	}
	d := s.decisions[i]
	return d.Result == decide.Fail && (d.Objective.Kind == slo.Share || d.Objective.Kind == slo.Quantile && d.Objective.Limit.Side != slo.User)
}

// ids lists the objectives that hold.
func (s *state) ids(holds func(i int) bool) []string {
	var out []string
	for i, d := range s.decisions {
		if holds(i) {
			out = append(out, d.Objective.ID())
		}
	}
	return out
}

// unstable takes every percentile out of the verdict of a run whose backlog grew: they
// grow with its length and say nothing of the server.
func unstable(v *verdict.Verdict) {
	const reason = "unstable: the backlog grew, percentiles grow with the length of the run"
	for i := range v.Latencies {
		l := &v.Latencies[i]
		l.Mean = nil
		for k := range l.Percentiles {
			l.Percentiles[k] = verdict.Percentile{Level: l.Percentiles[k].Level, Reason: reason}
		}
	}
	for i := range v.Objectives {
		o := &v.Objectives[i]
		o.Value, o.Low, o.High, o.Infinite = formats.Int{}, formats.Int{}, formats.Int{}, false
		for k := range o.OtherSides {
			o.OtherSides[k].Value, o.OtherSides[k].Infinite = formats.Int{}, false
		}
	}
}
