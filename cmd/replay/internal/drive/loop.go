package drive

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"hydrant/cmd/replay/internal/worker"
	"hydrant/formats"
	"hydrant/formats/schedule"
)

// Again opens the schedule anew, from its beginning.
type Again func() (*schedule.Reader, error)

// loop plays a schedule over and over, as if it stood behind itself: a later pass
// starts where the one before it has its last instant. Its sessions and the scopes of its
// blocks have the suffix #pass, so that no prompt of one pass begins like one of
// another.
type loop struct {
	Again Again // nil: the schedule is played once

	pass    int64
	lines   int64 // of this pass so far
	stride  int64 // from a request of one pass to the same one of the next
	span    int64 // latest at_ns of the first pass
	largest int64 // id of the first pass
	first   []schedule.Trailer
	literal bool // a later pass repeats text that stands in the schedule

	line   schedule.Request // what place returns
	blocks schedule.Blocks
}

// place puts a line into its pass.
func (l *loop) place(r *schedule.Request) *schedule.Request {
	l.lines++
	if l.pass == 0 {
		l.largest = max(l.largest, r.ID)
		if r.AtNS.Valid {
			l.span = max(l.span, r.AtNS.V)
		}
		return r
	}
	suffix := "#" + strconv.FormatInt(l.pass, 10)
	l.line = *r
	q := &l.line
	q.ID += l.pass * l.stride
	if len(r.After) > 0 {
		q.After = slices.Clone(r.After)
		for i := range q.After {
			q.After[i] += l.pass * l.stride
		}
	}
	q.Session += suffix
	if r.AtNS.Valid {
		q.AtNS = formats.Some(r.AtNS.V + l.pass*l.span)
	}
	if r.Blocks != nil {
		l.blocks = *r.Blocks
		l.blocks.Scope += suffix
		q.Blocks = &l.blocks
	}
	l.literal = l.literal || r.Body != nil
	return q
}

// again begins the next pass; io.EOF when there is nothing to repeat.
func (f *feeder) again() error {
	l := &f.loop
	trailers := f.r.Trailers()
	switch {
	case l.pass == 0:
		if l.lines == 0 {
			return io.EOF
		}
		// Ids of files are 0, 1, 2, …, and then this is the number of lines.
		l.first, l.stride = trailers, max(l.lines, l.largest+1)
		if f.requests == 0 && l.span == 0 && f.timing != worker.Asap {
			return &formats.SyntaxError{Place: "schedule", What: "span", Got: "0 ns", Want: "a schedule that takes time",
				Help: "its passes never reach the end of --duration; give --requests, or --timing asap"}
		}
	case !slices.EqualFunc(l.first, trailers, func(a, b schedule.Trailer) bool { return a.SHA256 == b.SHA256 }):
		return l.changed()
	}
	r, err := l.Again()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return fmt.Errorf("pass %d: %w", l.pass+1, err)
	}
	l.pass++
	l.lines = 0
	// A pass has scopes and sessions of its own: what the one before it has left behind
	// serves nobody.
	f.r, f.part, f.chains, f.cache = r, 0, schedule.Chains{}, schedule.Cache{}
	return nil
}

func (l *loop) changed() error {
	return fmt.Errorf("pass %d: the schedule has changed since the first pass", l.pass)
}

// trailers returns those of the schedule.
func (f *feeder) trailers() []schedule.Trailer {
	if f.loop.first != nil {
		return f.loop.first
	}
	return f.r.Trailers()
}
