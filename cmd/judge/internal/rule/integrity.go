package rule

import (
	"fmt"
	"math"

	"hydrant/formats/run"
)

func wholeRun(s *state, f *finding) {
	p := s.sum.Plan
	var planned, rows, clientRows, ends, exits int64
	for i, part := range s.sum.Parts {
		planned += part.End.Planned
		rows += part.End.RequestsRows
		clientRows += part.End.ClientRows
		if part.End.Status != run.Complete {
			ends++
			f.see("incomplete", fmt.Sprintf("part %d: %s: %s", i, part.End.Status, s.details[i].Reason))
		}
		for _, w := range s.details[i].Workers {
			if w.Exit != 0 {
				exits++
				f.see("exits", fmt.Sprintf("part %d, worker %d (pid %d): status %d %s", i, w.Worker, w.PID, w.Exit, w.Reason))
			}
		}
	}
	if len(s.sum.Parts) == 0 {
		return
	}
	f.value("missing", math.Abs(float64(planned-p.Distinct))+math.Abs(float64(planned-p.Requests)), planned)
	if s.Plan != nil && s.limitedBy() == "" && s.Plan.Requests != planned {
		f.value("missing", math.Abs(float64(s.Plan.Requests-p.Distinct)), s.Plan.Requests)
		f.see("missing", fmt.Sprintf("%s has %d requests, the run planned %d", s.Plan.Place, s.Plan.Requests, planned))
	}
	f.value("duplicate", float64(p.Rows-p.Distinct), p.Rows)
	f.value("incomplete", float64(ends), int64(len(s.sum.Parts)))
	f.value("exits", float64(exits), int64(s.workers()))
	for i, h := range s.headers {
		if told := len(s.details[i].Workers); exits == 0 && told < h.Workers {
			f.unknown("exits", fmt.Sprintf("part %d: the end tells of %d of %d workers", i, told, h.Workers))
		}
	}
	var clients, outcomes int64
	for _, c := range s.sum.Clients {
		clients += c.Rows
	}
	for _, o := range s.sum.Outcomes {
		outcomes += o.N
	}
	f.value("rows", math.Abs(float64(rows-p.Rows))+math.Abs(float64(clientRows-clients)), rows+clientRows)
	f.value("conservation", math.Abs(float64(planned-outcomes)), planned)
}

// limitedBy names a flag by which the run's plan is not the whole schedule.
func (s *state) limitedBy() string {
	for _, name := range []string{"requests", "duration", "loop"} {
		if s.flag(name) != "" {
			return "--" + name
		}
	}
	return ""
}

func (s *state) workers() int {
	n := 0
	for _, d := range s.details {
		n += len(d.Workers)
	}
	return n
}

func order(s *state, f *finding) {
	rows := float64(s.sum.Plan.Rows)
	if rows == 0 {
		for _, t := range f.check.Terms {
			f.unknown(t.Name, "the run has no rows")
		}
		return
	}
	of := func(v float64) float64 { return v / rows }
	s.take(f, "share", "order_rows", of)
	s.take(f, "early", "early_sends", of)
	s.take(f, "most", "order_max_ns", nil)
}

func clock(s *state, f *finding) {
	s.take(f, "drift", "clock_drift_ns", nil)
	var foreign, clocks int64
	unnamed := -1
	for i, d := range s.details {
		has := map[int]bool{}
		if s.headers[i].Host.BootID == "" {
			unnamed = i
		}
		for _, c := range d.Clocks {
			has[c.Worker] = true
			clocks++
			if c.BootID != s.headers[i].Host.BootID && unnamed != i {
				foreign++
				f.see("boots", fmt.Sprintf("part %d, worker %d: boot %s", i, c.Worker, c.BootID))
			}
		}
		for _, w := range d.Workers {
			if w.Rows > 0 && !has[w.Worker] {
				f.unknown("drift", fmt.Sprintf("part %d, worker %d left no clock reading", i, w.Worker))
			}
		}
	}
	if clocks == 0 {
		f.unknown("boots", "the run has no clock readings")
		return
	}
	if unnamed >= 0 && foreign == 0 {
		f.unknown("boots", fmt.Sprintf("the header of part %d names no boot", unnamed))
		return
	}
	f.value("boots", float64(foreign), clocks)
}

func counts(s *state, f *finding) {
	s.take(f, "dispatched", "dispatched_gap", math.Abs)
	s.take(f, "completed", "completed_gap", math.Abs)
	s.take(f, "in_flight", "count_gap", nil)
	// The requests of a worker that left no client rows are unproven, not miscounted.
	if s.take(f, "unseen", "unseen_share", nil) {
		if x := s.scalar("unseen_share"); beyond(*x.Value, atMost, f.limits[f.at("unseen")].limit) {
			f.unknown("unseen", x.Evidence+": "+Figure(*x.Value, share)+" of the requests")
		}
	}
}

func serverCounters(_ *state, f *finding) {
	for _, t := range f.check.Terms {
		f.unknown(t.Name, "no server counters in the summary")
	}
}

func oneWay(s *state, f *finding) {
	modes := map[string]bool{}
	for _, h := range s.headers {
		modes[fmt.Sprint(h.Endpoint, h.Streaming, h.Engine)] = true
	}
	f.value("modes", float64(len(modes)), int64(len(s.headers)))
	s.take(f, "sources", "mixed_source", nil)
	perEvent := s.scalar("tokens_per_event")
	switch {
	case perEvent.Value == nil:
		f.unknown("assumed", perEvent.Reason)
	case *perEvent.Value <= 1.02:
		f.skip("assumed", fmt.Sprintf("%.4g tokens per event", *perEvent.Value))
	default:
		s.take(f, "assumed", "tpot_first_assumed", nil)
	}
}

func coverage(s *state, f *finding) {
	for _, h := range s.headers {
		if !h.Streaming {
			f.skipAll("answers were not streamed")
			return
		}
	}
	s.take(f, "tokens", "token_event_share", nil)
	s.take(f, "gaps", "gap_share", nil)
}

func excess(s *state, f *finding) { s.take(f, "excess", "cache_excess", nil) }
