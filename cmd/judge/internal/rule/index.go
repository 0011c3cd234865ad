package rule

import (
	"math"

	"hydrant/formats/verdict"
)

// kClient says how near the generator is to its limits: at most 0.5 exactly when its
// margins hold.
func (s *state) kClient() verdict.Index {
	var out verdict.Index
	add := func(id string, value float64, reason string) {
		p := verdict.Part{ID: id, Value: number64(value)}
		if p.Value == nil {
			p.Reason = reason
		}
		out.Parts = append(out.Parts, p)
	}
	x := s.scalar("headroom")
	if x.Value == nil {
		add("headroom", math.NaN(), x.Reason)
	} else {
		add("headroom", 1 / *x.Value, "")
	}
	for _, m := range []struct{ check, term, id string }{{"C2", "cpu", "cpu_share"}, {"C2", "host", "host_cpu_share"}, {"C3", "ratio", "run_wait_ratio"},
		{"C3", "slice", "wait_per_slice"}, {"C3", "psi", "psi_share"}, {"B2", "p99", "send_lag"}} {
		t := s.check(m.check).Terms[s.term(m.check, m.term)]
		switch {
		case t.Status == verdict.NotApplicable:
		case t.Value == nil || t.Bound == nil:
			add(m.id, math.NaN(), t.Reason)
		default:
			add(m.id, 0.5**t.Value / *t.Bound, "")
		}
	}
	return largest(out)
}

// largest fills the value of an index; a part that is not known leaves it open.
func largest(x verdict.Index) verdict.Index {
	top := 0.0
	for _, p := range x.Parts {
		if p.Value == nil {
			x.Reason = p.ID + ": " + p.Reason
			return x
		}
		top = max(top, *p.Value)
	}
	if len(x.Parts) > 0 {
		x.Value = &top
	}
	return x
}

// throttledLimit is the share of the window from which on a reason to slow down explains
// a server's limit.
const throttledLimit = 0.10

// kServer says the same of the server by what a gpu stream alone can show against a hard
// limit: being slowed down for power or heat. The rest needs a sweep over loads.
func (s *state) kServer() verdict.Index {
	var out verdict.Index
	for _, id := range []string{"throttled_share_power", "throttled_share_thermal"} {
		if x := s.scalar(id); x.Value != nil {
			out.Parts = append(out.Parts, verdict.Part{ID: id, Value: number64(*x.Value / throttledLimit)})
		}
	}
	if len(out.Parts) == 0 {
		out.Reason = "no gpu stream says that a device was slowed down; other signals need server counters or a sweep over loads"
		if s.sum.GPUNote != "" {
			out.Reason = s.sum.GPUNote + "; other signals need server counters or a sweep over loads"
		}
	}
	return largest(out)
}
