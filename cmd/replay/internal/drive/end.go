package drive

import (
	"encoding/json"
	"fmt"
	"time"

	"hydrant/cmd/replay/internal/worker"
	"hydrant/formats/run"
)

// end writes the end of the run and says what became of it.
func (d *drive) end() (*Result, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.totals
	if n := len(d.ledger.owed); n > 0 {
		return nil, fmt.Errorf("internal error: %d requests have no row", n)
	}
	e := run.End{Status: d.status, Planned: t.planned}
	detail := &e.Detail
	if d.cause != nil {
		detail.Reason = d.cause.Error()
		if !d.exhausted {
			detail.Reason += "; the schedule was not read to its end"
		}
	}
	cpu := t.cpuTime
	for _, m := range d.crew {
		detail.Workers = append(detail.Workers, m.exitRecord())
		if m.bye != nil && m.hello != nil {
			detail.Clocks = append(detail.Clocks, run.Clock{Worker: m.index, BootID: m.hello.BootID, StartNS: m.bye.StartNS, EndNS: m.bye.EndNS})
			detail.Totals.CPUUserNS += m.bye.CPUUserNS
			detail.Totals.CPUSystemNS += m.bye.CPUSysNS
		}
	}
	if d.exhausted { // the reader has ended, its trailers are whole
		trailers := d.feed.trailers()
		for _, tr := range trailers {
			detail.ScheduleSHA256 = append(detail.ScheduleSHA256, tr.SHA256)
		}
		if n := len(trailers); n > 0 && (d.feed.whole || d.feed.loop.pass > 0) {
			raw, err := json.Marshal(trailers[n-1])
			if err != nil {
				return nil, err
			}
			detail.ScheduleEnd = raw
		}
	}
	detail.Outcomes = t.outcomeList()
	detail.PlannedTokens = run.PlannedTokens{Input: t.input.summary(), Output: t.output.summary()}
	detail.Totals.DurationNS = d.now()
	detail.Totals.BytesSent, detail.Totals.BytesReceived, detail.Totals.TokenEvents = t.bytesSent, t.bytesReceived, t.tokenEvents
	detail.Calibration = d.calibration()
	if err := d.sink.Load().close(e); err != nil {
		return nil, err
	}
	r := &Result{Calibration: detail.Calibration, Status: d.status, Reason: detail.Reason, Planned: t.planned, Sent: t.sent, Outcomes: detail.Outcomes,
		Workers: len(d.crew), SHA256: d.sink.Load().sha256(), ScheduleSHA256: detail.ScheduleSHA256, PlanEnded: d.exhausted && d.feed.planEnd}
	if d.exhausted {
		r.Passes, r.Literal = d.feed.loop.pass+1, d.feed.loop.literal
	}
	r.Duration = time.Duration(detail.Totals.DurationNS)
	if d.slots != nil {
		r.MostRequests, r.MostSessions = d.slots.Peak(worker.Requests), d.slots.Peak(worker.Sessions)
	}
	if q := t.lag.Quantiles([]int64{500, 990}); q != nil {
		r.LagP50, r.LagP99 = time.Duration(q[0]), time.Duration(q[1])
	}
	if q := t.cpu.Quantiles([]int64{950}); q != nil {
		r.CPUP95 = float64(q[0]) / float64(time.Second)
	}
	if t.tokenEvents > 0 {
		r.CPUPerEvent = cpu / time.Duration(t.tokenEvents)
	}
	return r, d.cause
}

// calibration returns what the end of the run has of it. Where the load was not known
// beforehand, it is settled by what was sent. The caller holds the mutex.
func (d *drive) calibration() *run.Calibration {
	c := d.o.Calibration
	if c == nil || c.Offered != nil || d.totals.sent == 0 {
		return c
	}
	settled := *c
	settled.Settle(float64(d.totals.sent) / time.Duration(d.now()).Seconds())
	return &settled
}
