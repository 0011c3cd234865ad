package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/tracegen/internal/fit"
	"hydrant/cmd/tracegen/internal/plan"
	"hydrant/cmd/tracegen/internal/synth"
	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/arrivals"
	"hydrant/internal/cli"
	"hydrant/internal/pipe"
)

const categoryWorkload = "The workload"

// DIST in the help stands for what synth.ParseDist reads.
func synthCommand() *ucli.Command {
	text := func(name, usage, standard string) ucli.Flag {
		return &ucli.StringFlag{Name: name, Category: categoryWorkload, Usage: usage, DefaultText: standard}
	}
	return &ucli.Command{
		Name:  "synth",
		Usage: "from a description: arrivals, lengths, shared prefixes, sessions",
		UsageText: `tracegen synth [flags] [WORKLOAD.yaml]
tracegen synth --like [flags] [TRACE]`,
		Description: `Makes a synthetic workload, from flags or from a description in YAML that can be
checked in (docs/traces.md has its keys). --yaml prints the description instead of
the schedule, so flags can become a file. The first request comes after one gap; a
session's later turns wait for the one before and its think time.

DIST is a number, uniform:A:B, normal:MEAN:SD (cut at 0, or normal:MEAN:SD:LEAST:MOST),
lognormal:MEAN:CV, exponential:MEAN, geometric:MEAN, zipf:S:MAX, quantiles:Q0,Q1,… at
equal steps, or histogram:A-B=WEIGHT,VALUE=WEIGHT,…

  tracegen synth --requests 10000 --rate 5 --arrivals gamma:0.5 --input-tokens lognormal:2000:1.2 --output-tokens 200 -o s.sched.zst
  tracegen synth --duration 10m --rate 1..10/10m --input-tokens 500 --output-tokens 100 --turns geometric:4 --think exponential:20 | replay --sim default | reduce

` + cli.ExitText,
		Flags: append(append([]ucli.Flag{
			&ucli.Int64Flag{Name: "requests", Category: categoryWorkload, Usage: "make `N` requests", DefaultText: "as long as the rate or --duration lasts"},
			&ucli.DurationFlag{Name: "duration", Category: categoryWorkload, Usage: "begin no session at or after `DURATION`", DefaultText: "as long as the rate or --requests lasts"},
			&ucli.BoolFlag{Name: "like", Category: categoryWorkload, Usage: "the input is a trace or a schedule: fit a workload to it, and say how alike they are"},
			text("rate", "`RATE` of sessions per second: 5, or parts with their lengths, as 5/10m,1..20/5m,20", ""),
			text("arrivals", "`PROCESS` of the gaps: constant, poisson, gamma:K, weibull:K, lognormal:CV", "poisson"),
			text("input-tokens", "`DIST` of the first prompt of a session, a shared prefix not counted", ""),
			text("output-tokens", "`DIST` of the replies", ""),
			&ucli.Int64Flag{Name: "prefixes", Category: categoryWorkload, Usage: "begin prompts with one of `N` shared texts", DefaultText: "none"},
			text("prefix-tokens", "`DIST` of the lengths of the shared texts", ""),
			&ucli.Float64Flag{Name: "prefix-zipf", Category: categoryWorkload, Usage: "text number k is chosen in proportion to k^-`S`", DefaultText: "0, all alike"},
			&ucli.Float64Flag{Name: "prefix-share", Category: categoryWorkload, Usage: "`SHARE` of sessions that begin with a shared text", DefaultText: "1"},
			text("turns", "`DIST` of the turns of a session", "1"),
			text("think", "`DIST` of the seconds from the end of a turn to the next", ""),
			text("new-tokens", "`DIST` of the text that a turn adds to the prompt and the reply before", "as --input-tokens"),
			&ucli.Int64Flag{Name: "session-context", Category: categoryWorkload, Usage: "end a session before a turn whose prompt and reply exceed `N` tokens", DefaultText: "never"},
			&ucli.Int64Flag{Name: "block-size", Category: categoryWorkload, Usage: "tokens per block id, `N`", DefaultText: itoa(synth.DefaultBlock)},
			text("model", "`NAME` of the model", "none"),
			text("scope", "`NAME` in front of the scopes of block ids", "synth/ and the seed"),
			&ucli.BoolFlag{Name: "yaml", Category: categoryWorkload, Usage: "print the description of the workload, and make no schedule"},
		}, transformFlags(ofRetiming...)...), cli.Flags("output", "force", "quiet", "timeout", "seed")...),
		Action: synthesise,
	}
}

// ofDescription are the flags that only a workload without a description takes.
var ofDescription = []string{"rate", "arrivals", "input-tokens", "output-tokens", "prefixes", "prefix-tokens", "prefix-zipf", "prefix-share",
	"turns", "think", "new-tokens", "session-context", "block-size", "model"}

// synthesise is `tracegen synth`.
func synthesise(c *ucli.Context) error {
	o, err := commonOptions(c)
	if err != nil {
		return err
	}
	if err := pipe.CheckNames(cli.Stdin(c), o.output, o.input); err != nil {
		return err
	}
	w, err := readWorkload(c, o)
	if err != nil {
		return err
	}
	if c.Bool("yaml") {
		if args := o.plan.Args(); len(args) > 0 {
			return cli.Usagef("%s: has no effect beside --yaml, which makes no schedule", args[0])
		}
		if err := writeText(c, o, w.spec.YAML()); err != nil || w.trace == nil || o.quiet {
			return err
		}
		return w.tell(c)
	}
	seed := w.spec.Seed.Or(c.Int64("seed"))
	o.plan.Seed = seed
	g, err := synth.New(w.spec, seed)
	if err != nil {
		return fmt.Errorf("%s: %w", w.place, err)
	}
	made := fit.Profile{Block: w.spec.Block}
	h := schedule.Header{
		Build: cli.Build(), Args: append(w.args, o.plan.Args()...), Seed: seed, Block: w.spec.Block, QuantumNS: 1,
		Sources: []schedule.Source{{Name: w.name, Format: "synth"}}, Transforms: o.plan.Transforms(),
	}
	p, err := plan.New(func() (*schedule.Request, error) {
		r, err := g.Next()
		if err == io.EOF && g.Ended() {
			err = fmt.Errorf("%s: rate: ends after %s, want %d", w.place, counted(g.Made(), "request"), w.spec.Requests)
		}
		if err == nil && w.trace != nil {
			err = made.Add(r)
		}
		return r, err
	}, nil, o.plan)
	if err != nil {
		return err
	}
	defer p.Close()
	p.Place, p.Block = w.place, w.spec.Block
	err = write(c, o, "synth "+w.name, p, h, func() schedule.Trailer {
		return schedule.Trailer{Sources: w.digests}
	})
	if err != nil || w.trace == nil || o.quiet {
		return err
	}
	return w.compare(c, &made)
}

// synthetic is what the command line describes.
type synthetic struct {
	spec    *synth.Spec
	place   string // for errors
	name    string // of the source
	digests []schedule.SourceDigest
	args    []string     // effective
	trace   *fit.Profile // what it is to be like, nil unless --like
}

func readWorkload(c *ucli.Context, o common) (w synthetic, err error) {
	w = synthetic{place: "synth", name: "synth", args: []string{"synth"}}
	text := []byte(nil)
	switch {
	case c.Bool("like"):
		for _, name := range ofDescription {
			if c.IsSet(name) && name != "rate" && name != "arrivals" {
				return w, cli.Usagef("--%s: got it beside --like, which fits the workload", name)
			}
		}
		w.args = append(w.args, "--like")
		w.place, w.name = pipe.Place(o.input), sourceName(o.input)
		if err := w.fit(c, o, o.input); err != nil {
			return w, err
		}
	case o.input == "":
		if w.spec, err = flagWorkload(c); err != nil {
			return w, err
		}
		for _, name := range ofDescription {
			if c.IsSet(name) {
				w.args = append(w.args, "--"+name, fmt.Sprint(c.Value(name)))
			}
		}
	default:
		for _, name := range ofDescription {
			if c.IsSet(name) {
				return w, cli.Usagef("--%s: got it beside %s, which describes the workload", name, o.input)
			}
		}
		w.place, w.name = pipe.Place(o.input), sourceName(o.input)
		if text, err = readText(c, o); err != nil {
			return w, err
		}
		if w.spec, err = synth.Parse(text, w.place); err != nil {
			return w, err
		}
	}
	if err := w.bound(c); err != nil {
		return w, err
	}
	if w.digests != nil {
		return w, nil
	}
	if text == nil {
		text = w.spec.YAML()
	}
	sum := sha256.Sum256(text)
	w.digests = []schedule.SourceDigest{{Name: w.name, SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(text))}}
	return w, nil
}

// bound puts the flags that stand above every description into the workload.
func (w *synthetic) bound(c *ucli.Context) error {
	s := w.spec
	if c.IsSet("requests") {
		if s.Requests = c.Int64("requests"); s.Requests < 1 {
			return cli.Usagef("--requests: got \"%d\", want a whole number of at least 1", s.Requests)
		}
		w.args = append(w.args, "--requests", itoa(s.Requests))
		if w.trace != nil {
			s.DurationNS = 0 // a rate that ends too early is an error then
		}
	}
	if c.IsSet("duration") {
		d := c.Duration("duration")
		if d <= 0 {
			return cli.Usagef("--duration: got %q, want more than 0", d)
		}
		s.DurationNS = int64(d)
		w.args = append(w.args, "--duration", d.String())
	}
	if c.IsSet("scope") {
		s.Scope = c.String("scope")
		if err := checkText("scope", s.Scope); err != nil {
			return err
		}
		w.args = append(w.args, "--scope", s.Scope)
	}
	if c.IsSet("seed") {
		s.Seed = formats.Some(c.Int64("seed"))
		w.args = append(w.args, "--seed", itoa(s.Seed.V))
	}
	if err := s.Check(); err != nil {
		return cli.Usagef("%s: %w", w.place, err)
	}
	return nil
}

// flagWorkload is the one class that flags describe.
func flagWorkload(c *ucli.Context) (*synth.Spec, error) {
	s := &synth.Spec{Block: &schedule.Block{Tokens: synth.DefaultBlock, Last: schedule.Absent}}
	k := synth.Class{Name: "synth", Model: c.String("model")}
	if err := checkText("model", k.Model); err != nil {
		return nil, err
	}
	if c.IsSet("block-size") {
		if s.Block.Tokens = c.Int64("block-size"); s.Block.Tokens < 1 || s.Block.Tokens > synth.MaxTokens {
			return nil, cli.Usagef("--block-size: got \"%d\", want a whole number between 1 and %d", s.Block.Tokens, synth.MaxTokens)
		}
	}
	for _, name := range []string{"rate", "input-tokens", "output-tokens"} {
		if !c.IsSet(name) {
			return nil, cli.WithHint(cli.Usagef("--%s: got nothing, want a value", name), "or give a WORKLOAD.yaml, or --like a trace")
		}
	}
	var err error
	if k.Rate, k.Arrivals, err = readStarts(c); err != nil {
		return nil, err
	}
	dist := func(name string, to *synth.Dist) {
		if err == nil && c.IsSet(name) {
			if *to, err = synth.ParseDist(c.String(name)); err != nil {
				err = cli.Usagef("--%s: %w", name, err)
			}
		}
	}
	dist("input-tokens", &k.Input)
	dist("output-tokens", &k.Output)
	if err == nil && c.IsSet("prefixes") {
		k.Prefix = &synth.Prefix{Pool: c.Int64("prefixes"), Zipf: c.Float64("prefix-zipf"), Share: 1}
		if c.IsSet("prefix-share") {
			k.Prefix.Share = c.Float64("prefix-share")
		}
		dist("prefix-tokens", &k.Prefix.Tokens)
	}
	if err == nil && c.IsSet("turns") {
		k.Session = &synth.Session{New: []synth.Dist{k.Input}, Turns: make([]synth.Dist, 1), MaxContext: c.Int64("session-context")}
		dist("turns", &k.Session.Turns[0])
		dist("think", &k.Session.Think)
		dist("new-tokens", &k.Session.New[0])
	}
	if err != nil {
		return nil, err
	}
	for _, need := range []struct {
		flag, by string
	}{{"prefix-tokens", "prefixes"}, {"prefix-zipf", "prefixes"}, {"prefix-share", "prefixes"}, {"think", "turns"}, {"new-tokens", "turns"}, {"session-context", "turns"}} {
		if c.IsSet(need.flag) && !c.IsSet(need.by) {
			return nil, cli.Usagef("--%s: has no effect without --%s", need.flag, need.by)
		}
	}
	if c.IsSet("session-context") && k.Session.MaxContext < 1 {
		return nil, cli.Usagef("--session-context: got \"%d\", want a whole number of at least 1", k.Session.MaxContext)
	}
	s.Classes = []synth.Class{k}
	return s, nil
}

// readStarts reads how sessions begin.
func readStarts(c *ucli.Context) (rate []arrivals.Segment, p arrivals.Process, err error) {
	if rate, err = synth.ParseRate(c.String("rate")); err != nil {
		return nil, p, cli.Usagef("--rate: %w", err)
	}
	process := "poisson"
	if c.IsSet("arrivals") {
		process = c.String("arrivals")
	}
	if p, err = arrivals.ParseProcess(process); err != nil {
		return nil, p, cli.Usagef("--arrivals: %w", err)
	}
	return rate, p, nil
}

// readText reads a description, compressed or not.
func readText(c *ucli.Context, o common) ([]byte, error) {
	in, err := open(c, o, o.input, false)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	return synth.ReadText(in.R, in.Place)
}

// writeText writes text in place of a schedule.
func writeText(c *ucli.Context, o common, text []byte) (err error) {
	out, err := pipe.Create(cli.Context(c), o.output, cli.Stdout(c), pipe.Options{Timeout: o.timeout})
	if err != nil {
		return err
	}
	defer func() { err = out.Finish(err) }()
	_, err = out.Write(text)
	return err
}
