package plan

import (
	"strconv"
	"time"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// Options are the transforms. They act in the order of these fields, however the flags
// are given: that of a window is of recorded time, so it comes first, and a sample holds
// the same times whatever its size, so it comes after what moves single sessions. The zero value changes nothing.
type Options struct {
	Window       *Window
	Spread       bool        // move sessions within the step to the next instant
	Sample       Ratio       // share of the sessions to keep
	MaxContext   formats.Int // drop sessions with a line whose input and output exceed it, tokens
	MaxInputDrop formats.Int // drop sessions with a line whose input exceeds it, tokens
	Speed        Ratio
	ThinkCap     formats.Int // longest silence of a session, ns of replay time
	GapCap       formats.Int // longest silence of the schedule, ns of replay time
	MaxOutput    formats.Int // tokens
	MaxInput     formats.Int // tokens
	Retime       *Retiming
	Clone        Cloning // fewer than 2 copies change nothing
	Zero         bool    // shift times so that the first request is at 0

	Seed int64 // of every random choice
}

// transform is one of them as it was asked for.
type transform struct {
	args   []string // effective arguments
	name   string   // in the header
	params map[string]string
	apply  func(*Pipeline, step) step // nil for what the Pipeline does as it writes
}

// list returns those that change something, in order.
func (o Options) list() (ts []transform) {
	add := func(name string, params map[string]string, apply func(*Pipeline, step) step, args ...string) {
		ts = append(ts, transform{args, name, params, apply})
	}
	if w := o.Window; w != nil {
		add("window", w.params(), func(p *Pipeline, next step) step { return p.windowed(*w, next) }, "--window", w.String())
	}
	random := func(params map[string]string) map[string]string {
		params["seed"] = strconv.FormatInt(o.Seed, 10)
		return params
	}
	if o.Spread {
		add("spread", random(map[string]string{}), func(p *Pipeline, next step) step { return p.spread(o.Seed, next) }, "--spread")
	}
	if r := o.Sample; !r.IsOne() {
		add("sample", random(map[string]string{"share": r.String()}), func(p *Pipeline, next step) step { return p.sample(r, o.Seed, next) }, "--sample", r.String())
	}
	if n := o.MaxContext; n.Valid {
		add("max-context", lengthParams(n.V), func(p *Pipeline, next step) step { return p.drop(contextLimit(n.V), next) }, "--max-context", n.String())
	}
	if n := o.MaxInputDrop; n.Valid {
		add("max-input-drop", lengthParams(n.V), func(p *Pipeline, next step) step { return p.drop(inputLimit(n.V), next) }, "--max-input-drop", n.String())
	}
	if r := o.Speed; !r.IsOne() {
		add("speed", map[string]string{"factor": r.String()}, func(p *Pipeline, next step) step { return p.faster(r, next) }, "--speed", r.String())
	}
	if d := o.ThinkCap; d.Valid {
		add("think-cap", capParams(d.V), func(p *Pipeline, next step) step { return p.thinkCap(d.V, next) }, "--think-cap", time.Duration(d.V).String())
	}
	if d := o.GapCap; d.Valid {
		add("gap-cap", capParams(d.V), func(p *Pipeline, next step) step { return p.gapCap(d.V, next) }, "--gap-cap", time.Duration(d.V).String())
	}
	if n := o.MaxOutput; n.Valid {
		add("max-output", lengthParams(n.V), func(p *Pipeline, next step) step { return p.shortOutputs(n.V, next) }, "--max-output", n.String())
	}
	if n := o.MaxInput; n.Valid {
		add("max-input", lengthParams(n.V), func(p *Pipeline, next step) step { return p.shortInputs(n.V, next) }, "--max-input", n.String())
	}
	if t := o.Retime; t != nil {
		add("arrivals", random(t.params()), func(p *Pipeline, next step) step { return p.retime(*t, o.Seed, next) }, t.args()...)
	}
	if c := o.Clone; c.Copies > 1 {
		add("clone", random(c.params()), func(p *Pipeline, next step) step { return p.clone(c, o.Seed, next) }, c.args()...)
	}
	if o.Zero {
		add("zero", map[string]string{"at": "first"}, nil, "--zero", "first")
	}
	return ts
}

// Args returns the options as effective command line arguments.
func (o Options) Args() (args []string) {
	for _, t := range o.list() {
		args = append(args, t.args...)
	}
	return args
}

// Transforms returns the options as the header logs them.
func (o Options) Transforms() (ts []schedule.Transform) {
	for _, t := range o.list() {
		ts = append(ts, schedule.Transform{Name: t.name, Params: t.params})
	}
	return ts
}

// Random reports whether a transform draws.
func (o Options) Random() bool {
	return o.Spread || !o.Sample.IsOne() || o.Retime != nil || o.Clone.Copies > 1
}

// Caps reports whether a transform needs to know how much faster the requests already
// are than they were recorded.
func (o Options) Caps() bool { return o.ThinkCap.Valid || o.GapCap.Valid }

func lengthParams(most int64) map[string]string {
	return map[string]string{"tokens": strconv.FormatInt(most, 10)}
}

func capParams(most int64) map[string]string {
	return map[string]string{"most_ns": strconv.FormatInt(most, 10)}
}
