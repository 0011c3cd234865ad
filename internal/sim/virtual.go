package sim

import "iter"

// Arrival is one request in virtual time.
type Arrival struct {
	AtNS   int64  // not before the arrival ahead of it
	ID     string // seeds the request's own random choices
	Prompt int    // prompt tokens
	Output int    // tokens of the answer
	Blocks []uint64
}

// Served is what became of an arrival, in ns of model time.
type Served struct {
	ID         string
	ArrivedNS  int64
	AdmittedNS int64 // it left the queue
	FirstNS    int64 // first token, −1 for an answer without tokens
	EndNS      int64
	Cached     int // prompt tokens found in the cache
}

// Virtual runs the model alone: the engine behind the server, fed with arrivals
// in order of time, without a clock, a socket or a fault. done is called once per
// arrival, in order of their ends.
func Virtual(spec Spec, arrivals iter.Seq[Arrival], done func(Served)) {
	e := newEngine(&spec, virtual{done})
	for a := range arrivals {
		e.run(a.AtNS)
		e.arrive(&job{id: a.ID, prompt: a.Prompt, output: a.Output, blocks: a.Blocks}, a.AtNS)
	}
	for {
		t, ok := e.next()
		if !ok {
			return
		}
		e.run(t)
	}
}

type virtual struct{ done func(Served) }

func (virtual) admittedAt(*job, int64) {}

func (v virtual) steppedAt(j *job, t int64, last bool) {
	if last {
		v.done(Served{ID: j.id, ArrivedNS: j.arrived, AdmittedNS: j.admitted, FirstNS: j.first, EndNS: t, Cached: j.cached})
	}
}
