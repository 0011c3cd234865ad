package sim

import (
	"fmt"
	"strings"
	"time"
)

// Spec is the whole description of a simulated server. ParseSpec makes one from
// text and String gives that text back. docs/sim.md explains every field.
type Spec struct {
	Base           string        // "default" or "null"
	Model          string        // name in /v1/models
	Slots          int           // sequences decoded at the same time
	Stagger        bool          // each slot on its own offset instead of one common loop
	Prefill        float64       // uncached prompt tokens per second; 0: no time at all
	Chunk          int           // prompt tokens prefilled per iteration at most
	Step           time.Duration // decode step with nobody in the batch
	StepPerSeq     time.Duration // added per occupied slot
	Jitter         Dist          // factor on each decode step
	Service        Dist          // seconds in the slot, instead of prefill and steps
	Cache          int64         // prefix cache in blocks; 0: none, Unbounded: no limit
	Block          int           // tokens per cache block
	Output         int           // tokens when the request names no limit
	EOS            Dist          // tokens after which the model ends by itself
	Template       int           // tokens a chat template adds to each prompt
	TokensPerEvent int           // tokens per decode step and event
	Reasoning      int           // first tokens on the reasoning channel, chat only
	RoleEvent      bool          // a chat stream opens with an event that has only a role
	Usage          string        // "final", "chunks", "none"
	Bundle         int           // events per write; 0: the whole answer in one go at its end
	EOL            string        // "lf", "crlf", "cr": line ends in the stream
	Queue          int           // waiting requests at most, then 503
	Conns          int           // open connections at most, then closed on accept
	Context        int           // prompt and output tokens at most, then 400
	Body           int64         // bytes of a request body at most, then 413
	Seed           int64         // of all random choices
	Faults         []Fault       // in order; the first that hits a request is its fault
}

// Unbounded as Spec.Cache lifts the limit.
const Unbounded = -1

// Null reports whether requests are answered at once, without a model of time.
func (s *Spec) Null() bool { return s.Base == "null" }

// Default is the server that carries a busy ten minutes of production traffic
// (30 requests/s of 14,000 prompt tokens) with room to spare.
func Default() Spec {
	return Spec{
		Base: "default", Model: "sim",
		Slots: 512, Prefill: 2e6, Chunk: 8192, Step: 3 * time.Millisecond, StepPerSeq: 15 * time.Microsecond,
		Cache: 2 << 20, Block: 16,
		Output: 128, TokensPerEvent: 1, RoleEvent: true, Usage: "final", Bundle: 1, EOL: "lf",
		Queue: 4096, Conns: 16384, Context: 1 << 20, Body: 64 << 20, Seed: 1,
	}
}

// Null is the server without a model of time: every request is answered at once.
func Null() Spec {
	s := Default()
	s.Base = "null"
	s.Slots, s.Prefill, s.Chunk, s.Step, s.StepPerSeq, s.Queue = 0, 0, 0, 0, 0, 0
	s.Cache = 0
	s.RoleEvent = false
	return s
}

// SpecError reports a spec that cannot be read.
type SpecError struct {
	Key  string // the key, or "" for the first word
	What string // what is wrong, with what would be accepted
}

func (e *SpecError) Error() string {
	if e.Key == "" {
		return "sim spec: " + e.What
	}
	return "sim spec: " + e.Key + ": " + e.What
}

// Usage marks the error as one of the command line.
func (*SpecError) Usage() bool { return true }

// Hint tells where the keys are explained.
func (*SpecError) Hint() string { return "docs/sim.md explains every key" }

// ParseSpec reads "default" or "null", then any number of ",key=value". A key that
// is a switch may stand alone. Every error is a *SpecError naming the key.
func ParseSpec(text string) (Spec, error) {
	base, rest, _ := strings.Cut(text, ",")
	var s Spec
	switch base {
	case "default":
		s = Default()
	case "null":
		s = Null()
	default:
		return s, &SpecError{What: fmt.Sprintf("got %q as its first word, want default or null", base)}
	}
	given := map[string]bool{}
	for item := range strings.SplitSeq(rest, ",") {
		if item == "" {
			if rest == "" {
				break
			}
			return s, &SpecError{What: fmt.Sprintf("got an empty item in %q, want key=value", text)}
		}
		key, value, hasValue := strings.Cut(item, "=")
		if kind := faultKind(key); kind != nil {
			f, err := parseFault(kind, value)
			if err != nil {
				return s, &SpecError{Key: key, What: fmt.Sprintf("got %q, %v", value, err)}
			}
			s.Faults = append(s.Faults, f)
			continue
		}
		f := fieldByKey(key)
		if f == nil {
			return s, &SpecError{Key: key, What: "unknown key, want one of " + strings.Join(knownKeys(), ", ")}
		}
		if given[key] {
			return s, &SpecError{Key: key, What: "given twice"}
		}
		given[key] = true
		if !hasValue && f.Type == "switch" {
			value = "true"
		}
		if err := f.set(&s, value); err != nil {
			return s, &SpecError{Key: key, What: fmt.Sprintf("got %q, %v", value, err)}
		}
		if s.Null() && f.Null == "" {
			return s, &SpecError{Key: key, What: "has no effect on null, which answers at once"}
		}
	}
	return s, s.contradiction(given)
}

// contradiction refuses keys that would have no effect.
func (s *Spec) contradiction(given map[string]bool) error {
	if !s.Service.IsZero() {
		if !s.Stagger {
			return &SpecError{Key: "service", What: "needs stagger: slots that step together have no service time of their own"}
		}
		for _, k := range []string{"prefill", "step", "step_per_seq", "jitter"} {
			if given[k] {
				return &SpecError{Key: k, What: "has no effect beside service, which is the whole time in the slot"}
			}
		}
	}
	if s.Stagger && given["chunk"] {
		return &SpecError{Key: "chunk", What: "has no effect beside stagger: only the common loop prefills in chunks"}
	}
	return nil
}

// Check reports whether the spec could have been made by ParseSpec.
func (s *Spec) Check() error {
	again, err := ParseSpec(s.String())
	if err != nil {
		return err
	}
	if again.String() != s.String() {
		return &SpecError{What: fmt.Sprintf("%s does not read back, got %s", s, &again)}
	}
	return nil
}

// String writes the spec in the form ParseSpec reads: the base, then every field
// that differs from it in the order of the documentation, then the faults.
func (s *Spec) String() string {
	base := Default()
	if s.Null() {
		base = Null()
	}
	out := base.Base
	for i := range Fields {
		f := &Fields[i]
		if v := f.get(s); v != f.get(&base) {
			out += "," + f.Key + "=" + v
		}
	}
	for _, f := range s.Faults {
		out += "," + f.Kind + "=" + f.String()
	}
	return out
}
