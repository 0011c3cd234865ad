package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"
)

// job is one request inside the engine. All times are model times in ns.
type job struct {
	id     string
	prompt int      // tokens, template included
	output int      // tokens the answer will have
	blocks []uint64 // chained hashes of the prompt's full blocks

	arrived  int64
	admitted int64 // −1 while waiting
	cached   int   // prompt tokens found in the cache, set when admitted
	first    int64 // first token, −1 before
	last     int64 // end of the answer, −1 before

	steps int   // decode steps of the whole answer, at least 1
	made  int   // decode steps done
	left  int   // prompt tokens still to be prefilled (common loop)
	at    int64 // its own next step (stagger)
	order int64 // admission number, breaks ties
	pos   int   // place in running
	from  int64 // start and length of its service (service)
	span  int64
	rnd   *rand.Rand // jitter of its own steps (stagger)

	out  *stream // the response it makes; nil in virtual time
	seen int64   // clock time of its newest step, kept by the server
}

// events is told what happens in the engine, in order of model time. It must not
// call back into the engine.
type events interface {
	admittedAt(j *job, t int64)
	// steppedAt is called after each decode step; last is true on the final one.
	steppedAt(j *job, t int64, last bool)
}

// engine is the model of continuous batching: a pure function from arrivals to
// times. It owns no clock. The caller runs the events that lie before an arrival
// with run, then hands the arrival over; next says when something happens again.
type engine struct {
	spec  *Spec
	tell  events
	cache *cache

	waiting []*job // first come, first served
	running []*job // common loop: order of admission; stagger: heap by (at, order)
	orders  int64

	looping bool  // common loop: an iteration is under way
	until   int64 // its end
	rnd     *rand.Rand

	queries, hits int64 // prompt tokens looked up and found
}

func newEngine(spec *Spec, tell events) *engine {
	return &engine{spec: spec, tell: tell, cache: newCache(spec.Cache), rnd: source(spec.Seed, "jitter", "")}
}

// arrive hands over a job at model time t, which is not before the last event run.
func (e *engine) arrive(j *job, t int64) {
	j.arrived, j.admitted, j.first, j.last = t, -1, -1, -1
	j.steps = max(1, (j.output+e.spec.TokensPerEvent-1)/e.spec.TokensPerEvent)
	e.waiting = append(e.waiting, j)
	if e.spec.Stagger {
		e.admit(t)
	} else if !e.looping {
		e.iterate(t)
	}
}

// next returns the time of the next event, false when the engine is idle.
func (e *engine) next() (int64, bool) {
	if e.spec.Stagger {
		if len(e.running) == 0 {
			return 0, false
		}
		return e.running[0].at, true
	}
	return e.until, e.looping
}

// run executes every event up to and including time t.
func (e *engine) run(t int64) {
	for {
		at, ok := e.next()
		if !ok || at > t {
			return
		}
		if e.spec.Stagger {
			e.turn(e.running[0])
		} else {
			e.iteration(at)
		}
	}
}

// cancel takes a job out, whatever its state, at time t.
func (e *engine) cancel(j *job, t int64) {
	if j.last >= 0 {
		return
	}
	j.last = t
	if j.admitted < 0 {
		e.waiting = slices.DeleteFunc(e.waiting, func(w *job) bool { return w == j })
		return
	}
	if e.spec.Stagger {
		e.remove(j.pos)
		e.admit(t)
		return
	}
	// The common loop keeps its pace: the slot is free for the next iteration.
	e.running = slices.DeleteFunc(e.running, func(r *job) bool { return r == j })
}

// admit moves waiting jobs into free slots.
func (e *engine) admit(t int64) {
	for len(e.waiting) > 0 && len(e.running) < e.spec.Slots {
		j := e.waiting[0]
		e.waiting[0] = nil
		e.waiting = e.waiting[1:]
		j.admitted = t
		e.lookup(j)
		j.left = j.prompt - j.cached
		j.order = e.orders
		e.orders++
		if e.spec.Stagger {
			e.begin(j, t)
		} else {
			e.running = append(e.running, j)
		}
		e.tell.admittedAt(j, t)
	}
}

// lookup finds the longest cached beginning of the prompt and inserts the rest.
func (e *engine) lookup(j *job) {
	j.cached = min(j.prompt, e.cache.admit(j.blocks)*e.spec.Block)
	j.blocks = nil
	if e.spec.Cache != 0 {
		e.queries += int64(j.prompt)
		e.hits += int64(j.cached)
	}
}

// prefill is the time for n uncached tokens, in ns.
func (e *engine) prefill(n int) float64 {
	if e.spec.Prefill == 0 {
		return 0
	}
	return float64(n) / e.spec.Prefill * 1e9
}

// step is the time of one decode step with the slots now occupied, in ns.
func (e *engine) step(r *rand.Rand) float64 {
	d := float64(e.spec.Step) + float64(e.spec.StepPerSeq)*float64(len(e.running))
	if !e.spec.Jitter.IsZero() {
		d *= e.spec.Jitter.Draw(r)
	}
	return d
}

// iterate starts an iteration of the common loop at time t, or leaves it idle.
func (e *engine) iterate(t int64) {
	e.admit(t)
	e.looping = len(e.running) > 0
	if !e.looping {
		return
	}
	work, budget := 0, e.spec.Chunk
	for _, j := range e.running {
		n := min(j.left, budget)
		j.left -= n
		budget -= n
		work += n
		if budget == 0 {
			break
		}
	}
	e.until = t + int64(math.Round(e.step(e.rnd)+e.prefill(work)))
}

// iteration ends the one under way at time t: every job whose prompt is done has
// made a step. The next one starts at the same instant.
func (e *engine) iteration(t int64) {
	keep := e.running[:0]
	for _, j := range e.running {
		if j.left > 0 || !e.made(j, t) {
			keep = append(keep, j)
		}
	}
	clear(e.running[len(keep):])
	e.running = keep
	e.iterate(t)
}

// made books one decode step of j at time t and reports whether it was the last.
func (e *engine) made(j *job, t int64) bool {
	j.made++
	if j.first < 0 && j.output > 0 {
		j.first = t
	}
	last := j.made == j.steps
	if last {
		j.last = t
	}
	e.tell.steppedAt(j, t, last)
	return last
}

// begin puts a job into a slot of its own at time t.
func (e *engine) begin(j *job, t int64) {
	j.pos = len(e.running)
	e.running = append(e.running, j)
	if !e.spec.Service.IsZero() {
		j.from = t
		j.span = int64(math.Round(e.spec.Service.Draw(source(e.spec.Seed, "service", j.id)) * float64(time.Second)))
		j.at = e.due(j)
	} else {
		if !e.spec.Jitter.IsZero() {
			j.rnd = source(e.spec.Seed, "jitter", j.id)
		}
		j.at = t + int64(math.Round(e.prefill(j.left)+e.step(j.rnd)))
	}
	e.up(j.pos)
}

// due is the time of the next step of a job with a service time: step k of n is
// made when k/n of the time is over.
func (e *engine) due(j *job) int64 {
	return j.from + int64(float64(j.span)*(float64(j.made+1)/float64(j.steps)))
}

// turn runs the step that is due for the job at the top of the heap.
func (e *engine) turn(j *job) {
	t := j.at
	if e.made(j, t) {
		e.remove(j.pos)
		e.admit(t)
		return
	}
	if e.spec.Service.IsZero() {
		j.at = t + int64(math.Round(e.step(j.rnd)))
	} else {
		j.at = e.due(j)
	}
	e.down(j.pos)
}

func (e *engine) less(a, b int) bool {
	x, y := e.running[a], e.running[b]
	return x.at < y.at || x.at == y.at && x.order < y.order
}

func (e *engine) swap(a, b int) {
	e.running[a], e.running[b] = e.running[b], e.running[a]
	e.running[a].pos, e.running[b].pos = a, b
}

func (e *engine) up(i int) {
	for i > 0 {
		p := (i - 1) / 2
		if !e.less(i, p) {
			return
		}
		e.swap(i, p)
		i = p
	}
}

func (e *engine) down(i int) {
	for {
		c := 2*i + 1
		if c >= len(e.running) {
			return
		}
		if c+1 < len(e.running) && e.less(c+1, c) {
			c++
		}
		if !e.less(c, i) {
			return
		}
		e.swap(c, i)
		i = c
	}
}

func (e *engine) remove(i int) {
	last := len(e.running) - 1
	e.swap(i, last)
	e.running[last] = nil
	e.running = e.running[:last]
	if i < last {
		e.up(i)
		e.down(i)
	}
}
