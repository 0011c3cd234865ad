// Package plan turns the requests of a trace, or of a schedule, into a schedule:
// transforms in their fixed order, then ids, block ids in keep/add form, trailer.
package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// ErrNothing says that no request is left to write.
var ErrNothing = errors.New("no request is left")

// step yields requests with their block ids in full, io.EOF at the end.
type step = func() (*schedule.Request, error)

// Pipeline is a source with transforms behind it. The source's ids count from 0 and its
// block ids are in full (keep 0); so it is between any two transforms.
type Pipeline struct {
	Place string          // of the source, for errors
	Block *schedule.Block // of its header

	next    step
	speeds  []Ratio // all speed-ups up to the transform that asks
	chains  schedule.Chains
	zero    bool
	shift   formats.Int
	first   formats.Int // time of the first request as written
	counts  map[string]int64
	thins   []*thin
	closers []func() error
	ctx     context.Context // of Write
}

// New puts the transforms behind a source. earlier are those that its header logs.
func New(next func() (*schedule.Request, error), earlier []schedule.Transform, o Options) (*Pipeline, error) {
	return newPipeline(func(p *Pipeline) step { return p.until(next) }, earlier, o)
}

// NewMerged joins several sources by time and puts the transforms behind them. shared
// tells that block ids of one scope mean the same text in all of them.
func NewMerged(parts []Part, shared bool, earlier []schedule.Transform, o Options) (*Pipeline, error) {
	return newPipeline(func(p *Pipeline) step {
		for i := range parts {
			parts[i] = p.until(parts[i])
		}
		return p.merge(parts, shared)
	}, earlier, o)
}

func newPipeline(source func(*Pipeline) step, earlier []schedule.Transform, o Options) (*Pipeline, error) {
	p := &Pipeline{zero: o.Zero, counts: map[string]int64{}, ctx: context.Background()}
	p.next = source(p)
	if o.Caps() {
		var err error
		if p.speeds, err = speedsOf(earlier); err != nil {
			return nil, err
		}
	}
	for _, t := range o.list() {
		if t.apply != nil {
			p.next = t.apply(p, p.next)
		}
	}
	return p, nil
}

// Merged is how a header logs that so many inputs were joined.
func Merged(inputs int) schedule.Transform {
	return schedule.Transform{Name: "merge", Params: map[string]string{"inputs": strconv.Itoa(inputs)}}
}

// until is next while there is no interruption: a transform may read all requests
// before the first one comes out.
func (p *Pipeline) until(next step) step {
	return func() (*schedule.Request, error) {
		if p.ctx.Err() != nil {
			return nil, context.Cause(p.ctx)
		}
		return next()
	}
}

// Close gives back memory and temporary files.
func (p *Pipeline) Close() (err error) {
	for _, c := range p.closers {
		err = errors.Join(err, c())
	}
	return err
}

func (p *Pipeline) newThin() *thin {
	t := &thin{}
	p.thins = append(p.thins, t)
	p.closers = append(p.closers, t.ids.Close)
	return t
}

// Next returns the next request as it is to be written.
func (p *Pipeline) Next() (*schedule.Request, error) {
	r, err := p.next()
	if err != nil {
		return nil, err
	}
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

// Counts returns what the transforms dropped and changed.
func (p *Pipeline) Counts() (counts []schedule.Count) {
	for name, n := range p.counts {
		counts = append(counts, schedule.Count{Name: name, N: n})
	}
	for _, t := range p.thins {
		counts = append(counts, schedule.Count{Name: "after_dropped", N: t.lost})
	}
	return counts
}

// Write writes everything to the schedule that create starts. Nothing is created for
// nothing: without a request the error is ErrNothing. When ctx ends it stops after a
// line and returns the cause.
func (p *Pipeline) Write(ctx context.Context, create func() (*schedule.Writer, error)) (*schedule.Writer, error) {
	p.ctx = ctx
	r, err := p.Next()
	if err == io.EOF {
		return nil, ErrNothing
	}
	if err != nil {
		return nil, err
	}
	w, err := create()
	for err == nil {
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
