// Package plan turns the requests of a trace, or of a schedule, into a schedule:
// transforms in their fixed order, then ids, block ids in keep/add form, trailer.
package plan

import (
	"context"
	"errors"
	"fmt"
	"io"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// Options are the transforms, in the order in which they act. The zero value changes
// nothing.
type Options struct {
	Window *Window
	Speed  Ratio
	Zero   bool // shift times so that the first request is at 0
}

// Args returns the options as effective command line arguments.
func (o Options) Args() (args []string) {
	if o.Window != nil {
		args = append(args, "--window", o.Window.String())
	}
	if !o.Speed.IsOne() {
		args = append(args, "--speed", o.Speed.String())
	}
	if o.Zero {
		args = append(args, "--zero", "first")
	}
	return args
}

// Transforms returns the options as the header logs them.
func (o Options) Transforms() (ts []schedule.Transform) {
	if o.Window != nil {
		ts = append(ts, schedule.Transform{Name: "window", Params: o.Window.params()})
	}
	if !o.Speed.IsOne() {
		ts = append(ts, schedule.Transform{Name: "speed", Params: map[string]string{"factor": o.Speed.String()}})
	}
	if o.Zero {
		ts = append(ts, schedule.Transform{Name: "zero", Params: map[string]string{"at": "first"}})
	}
	return ts
}

// ErrNothing says that no request is left to write.
var ErrNothing = errors.New("no request is left")

// step yields requests with their block ids in full, io.EOF at the end.
type step = func() (*schedule.Request, error)

// Pipeline is a source with transforms behind it. Ids of the source grow from line to
// line, its block ids are in full (keep 0).
type Pipeline struct {
	Place  string // of the source, for errors
	next   step
	window *windowed
	ids    renumber
	chains schedule.Chains
	zero   bool
	shift  formats.Int
	first  formats.Int // time of the first request as written
	waits  int64       // references to lines that are gone
}

// New puts the transforms behind a source.
func New(next func() (*schedule.Request, error), o Options) *Pipeline {
	p := &Pipeline{next: next, zero: o.Zero}
	if o.Window != nil {
		p.window = newWindowed(*o.Window, p.next)
		p.next = p.window.step
	}
	if !o.Speed.IsOne() {
		p.next = faster(o.Speed, p.next)
	}
	return p
}

// faster divides times and waits by r; recorded times stay.
func faster(r Ratio, next step) step {
	return func() (*schedule.Request, error) {
		q, err := next()
		if err != nil {
			return nil, err
		}
		for _, v := range []*formats.Int{&q.AtNS, &q.DelayNS} {
			slow, ok := r.Divide(v.V)
			if !ok {
				return nil, fmt.Errorf("--speed: got %q, which puts request %d beyond 292 years", r, q.ID)
			}
			v.V = slow
		}
		return q, nil
	}
}

// Next returns the next request as it is to be written.
func (p *Pipeline) Next() (*schedule.Request, error) {
	r, err := p.next()
	if err != nil {
		return nil, err
	}
	r.ID = p.ids.add(r.ID)
	after := r.After[:0]
	for _, id := range r.After {
		if id, ok := p.ids.of(id); ok {
			after = append(after, id)
		}
	}
	if gone := len(r.After) - len(after); gone > 0 {
		// The latest of them may be among those gone: only the order is known now.
		p.waits += int64(gone)
		r.DelayNS = formats.Int{}
	}
	r.After = after
	if p.zero && r.AtNS.Valid {
		if !p.shift.Valid {
			p.shift = r.AtNS
		}
		r.AtNS.V -= p.shift.V
	}
	if !p.first.Valid {
		p.first = r.AtNS
	}
	if b := r.Blocks; b != nil {
		b.Keep, b.Add = p.chains.Encode(r, b.Scope, b.Add)
	} else {
		p.chains.Encode(r, "", nil)
	}
	return r, nil
}

// Idle is how long a replay of the schedule waits for its first request, in ns.
func (p *Pipeline) Idle() int64 { return p.first.Or(0) }

// Counts returns what the transforms dropped.
func (p *Pipeline) Counts() []schedule.Count {
	counts := []schedule.Count{{Name: "after_dropped", N: p.waits}}
	if p.window != nil {
		counts = append(counts, schedule.Count{Name: "window_dropped", N: p.window.dropped},
			schedule.Count{Name: "window_sessions_cut", N: p.window.sessions})
	}
	return counts
}

// Write writes everything to the schedule that create starts. Nothing is created for
// nothing: without a request the error is ErrNothing. When ctx ends it stops after a
// line and returns the cause.
func (p *Pipeline) Write(ctx context.Context, create func() (*schedule.Writer, error)) (*schedule.Writer, error) {
	r, err := p.Next()
	if err == io.EOF {
		return nil, ErrNothing
	}
	if err != nil {
		return nil, err
	}
	w, err := create()
	for err == nil {
		if ctx.Err() != nil {
			return w, context.Cause(ctx)
		}
		if err = w.Write(r); err == nil {
			r, err = p.Next()
			continue
		}
		// What the source let pass and a schedule may not hold: sums beyond 63 bits,
		// prompts of too many ids.
		if fault := new(schedule.Fault); errors.As(err, &fault) {
			err = &formats.SyntaxError{Place: fmt.Sprintf("%s: request %d", p.Place, r.ID), What: fault.What, Got: formats.Clip(fault.Got), Want: fault.Want}
		}
	}
	if err == io.EOF {
		err = nil
	}
	return w, err
}
