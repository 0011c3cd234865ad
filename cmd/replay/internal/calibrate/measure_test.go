package calibrate

import (
	"testing"
	"time"

	"hydrant/formats"
	"hydrant/formats/run"
)

// healthy is what a step of 100 requests/s and 10,000 events/s leaves behind, with two
// workers.
func healthy(p step) *seen {
	s := &seen{ticks: map[int64][]run.Client{}, sent: 50, full: 50, out: 50_000, in: 1_000_000, events: 5000, failed: map[string]int64{}, segments: 5000, reads: 5000, gaps: 4900}
	for w := range int64(2) {
		for range ticks {
			s.ticks[w] = append(s.ticks[w], run.Client{Worker: w, IntervalNS: formats.Some(int64(p.window) / ticks), TokenEvents: formats.Some(500),
				CPUUserNS: formats.Some(4_000_000), CPUSystemNS: formats.Some(1_000_000 * w), LagP99NS: formats.Some(100_000), HiccupThreadP999NS: formats.Some(50_000),
				HiccupGoroutineP999NS: formats.Some(80_000), ReadDelayP99NS: formats.Some(300_000)})
		}
	}
	return s
}

func TestPoint(t *testing.T) {
	p := step{rate: 100, gap: 10 * time.Millisecond, per: 1, warm: 200 * time.Millisecond, window: 500 * time.Millisecond}
	d := due{requests: 50, events: 5000}
	each := func(s *seen, rows int, f func(*run.Client)) {
		for i := range rows {
			f(&s.ticks[1][i])
		}
	}
	base := healthy(p).point(p, d, nil)
	for _, c := range []struct {
		broke   string
		through bool
		change  func(*seen)
	}{
		{"", true, func(*seen) {}},
		{"sent", false, func(s *seen) { s.sent = 48 }},
		{"lag", true, func(s *seen) { each(s, 3, func(c *run.Client) { c.LagP99NS = formats.Some(10_000_001) }) }},
		{"", true, func(s *seen) { each(s, 2, func(c *run.Client) { c.LagP99NS = formats.Some(10_000_001) }) }}, // a median forgives that
		{"hiccup_thread", true, func(s *seen) { each(s, 3, func(c *run.Client) { c.HiccupThreadP999NS = formats.Some(2_000_001) }) }},
		{"hiccup_goroutine", true, func(s *seen) { each(s, 3, func(c *run.Client) { c.HiccupGoroutineP999NS = formats.Some(2_000_001) }) }},
		{"read_delay", true, func(s *seen) {
			each(s, 3, func(c *run.Client) { c.ReadDelayP99NS = formats.Some(2_000_001 + base.ReadDelayP99NS.V) })
		}},
		{"", true, func(s *seen) { each(s, 5, func(c *run.Client) { c.ReadDelayP99NS = formats.Int{} }) }},
		{"", true, func(s *seen) { s.reads = 3400 }},
		{"kappa", false, func(s *seen) { s.reads = 3300 }},
		{"events", false, func(s *seen) { each(s, 5, func(c *run.Client) { c.TokenEvents = formats.Some(400) }) }},
	} {
		s := healthy(p)
		c.change(s)
		pt := s.point(p, d, &base)
		if pt.Broke != c.broke || pt.Held != (c.broke == "") || pt.Through != c.through {
			t.Errorf("broke %q, held %v, through %v; want %q, %v", pt.Broke, pt.Held, pt.Through, c.broke, c.through)
		}
	}
	pt := healthy(p).point(p, d, nil)
	want := run.Rates{RequestsPS: 100, EventsPS: 10_000, BytesPS: 100*1000 + 10_000*200}
	if pt.Offered != want || pt.Sent != want || *pt.CPUShare != 0.05 || *pt.CPUPerEventNS != 9000 || *pt.Kappa != 1 || *pt.SameReadGaps != 0 {
		t.Errorf("point %+v; want rates %+v, 5 %% of a CPU, 9 µs per event", pt, want)
	}
}

func TestFaultOfTheNullServer(t *testing.T) {
	if err := (&seen{full: 3, failed: map[string]int64{run.HTTPError: 3}, example: "HTTP 404: no such model"}).fault(); err == nil {
		t.Error("a null server that refuses everything is no fault")
	}
	if err := (&seen{full: 3, events: 7, failed: map[string]int64{run.ConnectError: 1}}).fault(); err != nil {
		t.Errorf("one request that failed: %v; want no fault", err)
	}
}
