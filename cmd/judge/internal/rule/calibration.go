package rule

import (
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/verdict"
)

// calibration shows what the headroom was measured with: of several parts the first
// that was calibrated.
func (s *state) calibration() *verdict.Calibration {
	for i := range s.details {
		c := s.details[i].Calibration
		if c == nil {
			continue
		}
		out := &verdict.Calibration{Status: c.Status, Reason: c.Reason, DurationNS: c.DurationNS, Host: c.Host.Hostname, Kernel: c.Host.Kernel,
			Build: c.Build, Engine: c.Engine, Workers: int64(c.Workers)}
		if c.WallNS != 0 {
			out.AgeNS = formats.Some(s.headers[i].Epoch.WallNS - c.WallNS)
		}
		for _, x := range []struct {
			rate, id string
			of       func(*run.Rates) float64
		}{{"requests", "headroom_requests", func(r *run.Rates) float64 { return r.RequestsPS }},
			{"events", "headroom_events", func(r *run.Rates) float64 { return r.EventsPS }},
			{"bytes", "headroom_bytes", func(r *run.Rates) float64 { return r.BytesPS }}} {
			v := s.scalar(x.id)
			h := verdict.Headroom{Rate: x.rate, Ratio: v.Value, Reason: v.Reason}
			if c.Ceiling != nil {
				ceiling := x.of(c.Ceiling)
				if h.Ceiling = &ceiling; v.Value != nil {
					offered := ceiling / *v.Value
					h.Offered = &offered
				}
			}
			out.Headrooms = append(out.Headrooms, h)
		}
		return out
	}
	return nil
}
