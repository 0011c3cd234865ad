package traces

import (
	"math"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// recording holds requests that were recorded with a clock, some of them in sessions,
// until all are in.
type recording struct {
	in   *intake
	rows *store
	zero int64 // the earliest start, ns
}

func newRecording(in *intake) *recording {
	return &recording{in: in, rows: newStore(in), zero: math.MaxInt64}
}

// add stores a request, alone when session is "".
func (c *recording) add(r *schedule.Request, session string) error {
	c.in.time(r.AtNS.V)
	c.in.n++
	c.zero = min(c.zero, r.AtNS.V)
	if session == "" {
		return c.rows.single(r.AtNS.V, c.in.line, r)
	}
	r.Session = session
	return c.rows.add(r.AtNS.V, r)
}

// finish returns the trace. Times since 1970 begin at the earliest request, others at
// their own zero.
func (c *recording) finish() (*Trace, error) {
	err := c.in.some()
	var get func() (*schedule.Request, error)
	if err == nil {
		get, err = c.rows.requests()
	}
	if err != nil {
		c.rows.close()
		return nil, err
	}
	if c.zero < clockZero {
		c.zero = 0
	}
	links := newThreads(recordedQuantum)
	return c.in.trace(recordedQuantum, nil, func() (*schedule.Request, error) {
		r, err := get()
		if err != nil {
			return nil, err
		}
		links.link(r)
		r.AtNS = formats.Some(r.AtNS.V - c.zero)
		return r, nil
	}, c.rows.close), nil
}
