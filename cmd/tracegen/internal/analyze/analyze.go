// Package analyze says what a workload is like before anything is sent: how long its
// prompts and answers are, how its requests arrive, what a prefix cache could do for
// it, and what its sessions look like.
//
// Analyze reads requests in the order of the schedule and returns a Report: Figures is
// what is written as JSON (docs/formats/analysis.md is the contract), Table prints it for
// people, HTML and SVG draw it.
//
// Memory does not grow with the number of requests. It holds the block ids that were
// seen (about 50 bytes for 64 neighbours, and with cache sizes some 12 for each id that
// the largest of them could still hold), the sessions that are open, and a counter for
// each length up to a limit (see Counts).
package analyze

import (
	"fmt"
	"io"
	"slices"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// Options say what is computed beyond the figures that cost nothing.
type Options struct {
	Place        string  // of the input, for errors
	ServerBlocks []int64 // block sizes of servers, tokens, each at least 1
	CacheTokens  []int64 // sizes of LRU caches, tokens, each at least 1
	RateWindowNS int64   // width of a window of the rate series, ns; 0: DefaultRateWindowNS
	Curve        bool    // also the hit ratio over many sizes, for the charts
}

// DefaultRateWindowNS is the width of a window of the rate series where none is asked
// for: a minute.
const DefaultRateWindowNS = 60e9

// Report is what is known of a workload.
type Report struct {
	Figures

	input, output *Counts    // lengths, for the charts
	fine          *series    // requests over time, for the charts
	cacheCurve    []CacheHit // LRU caches of 1, 2 and 5 times powers of ten
	blockCurve    []BlockHit // server blocks of powers of two
}

// Analyze reads requests to io.EOF. They come in the order of a schedule, with their
// block ids in full (keep 0), each valid until the next call; block says how ids map to
// tokens, nil when there are none. An error of next comes back as it is.
func Analyze(next func() (*schedule.Request, error), block *schedule.Block, o Options) (*Report, error) {
	a := newAnalysis(block, o)
	for {
		r, err := next()
		if err == io.EOF {
			return a.report(), nil
		}
		if err != nil {
			return nil, err
		}
		if err := a.add(r); err != nil {
			return nil, fmt.Errorf("%s: request %d: %w", o.Place, r.ID, err)
		}
	}
}

// analysis is a Report in the making.
type analysis struct {
	o        Options
	block    *schedule.Block
	requests int64
	delta    int64 // lines that list only the new text
	lengths  lengths
	clock    clock
	sessions sessions
	reuse    *reuse // nil without block ids
}

func newAnalysis(block *schedule.Block, o Options) *analysis {
	if o.RateWindowNS == 0 {
		o.RateWindowNS = DefaultRateWindowNS
	}
	a := &analysis{o: o, block: block, clock: newClock(o.RateWindowNS)}
	if block != nil {
		a.reuse = newReuse(*block, o)
	}
	return a
}

func (a *analysis) add(r *schedule.Request) error {
	a.requests++
	if r.Context == schedule.Delta {
		a.delta++
	}
	if err := a.lengths.add(r); err != nil {
		return err
	}
	if err := a.clock.add(r.AtNS); err != nil {
		return err
	}
	a.sessions.add(r)
	if a.reuse != nil {
		a.reuse.add(r)
	}
	return nil
}

func (a *analysis) report() *Report {
	f := Figures{Format: Format, Version: Version, Requests: a.requests, DeltaRequests: a.delta,
		Time: a.clock.figures(), Sessions: a.sessions.figures(), Delays: a.sessions.delays()}
	a.lengths.fill(&f)
	if a.clock.untimed > 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("%s no time, only predecessors: the figures of time are those of the other %s", have(a.clock.untimed), grouped(a.clock.n)))
	}
	if w := a.clock.rate.width; w != a.o.RateWindowNS {
		f.Notes = append(f.Notes, fmt.Sprintf("windows of %s would be more than %s: the rate is that of windows of %s", duration(a.o.RateWindowNS), grouped(maxRateWindows), duration(w)))
	}
	if a.delta > 0 {
		f.Notes = append(f.Notes, fmt.Sprintf("%s only the new text of a conversation: lengths, ids and hits are those of what is listed, the prompts on the wire are longer", list(a.delta)))
	}
	if a.sessions.coarse() || a.lengths.coarse() {
		f.Notes = append(f.Notes, fmt.Sprintf("more than %s different values of one kind: percentiles with \"exact\" false may be too low by %s", grouped(maxDistinct), "1 part in 4,096"))
	}
	report := &Report{Figures: f, input: &a.lengths.input, output: &a.lengths.output, fine: &a.clock.fine}
	if a.reuse != nil {
		a.reuse.fill(report, a.lengths.input.sum)
	}
	return report
}

func have(n int64) string {
	if n == 1 {
		return "1 request has"
	}
	return grouped(n) + " requests have"
}

func list(n int64) string {
	if n == 1 {
		return "1 request lists"
	}
	return grouped(n) + " requests list"
}

// lengths are the token counts of the requests, and what was recorded of them.
type lengths struct {
	input, output, total Counts
	ttft, e2e, cached    Counts
	n                    int64 // requests
	tokens               int64 // input and output of all
}

func (l *lengths) add(r *schedule.Request) error {
	l.n++
	in, out := r.InputTokens, r.OutputTokens
	if l.tokens += in.V; l.tokens < 0 || l.tokens+out.V < 0 {
		return fmt.Errorf("input_tokens and output_tokens: got %s and %s, want sums of 63 bits", in, out)
	}
	l.tokens += out.V
	if in.Valid {
		l.input.Add(in.V)
	}
	if out.Valid {
		l.output.Add(out.V)
	}
	if in.Valid && out.Valid {
		l.total.Add(in.V + out.V)
	}
	for _, v := range [...]struct {
		c *Counts
		v formats.Int
	}{{&l.ttft, r.Recorded.TTFTNS}, {&l.e2e, r.Recorded.E2ENS}, {&l.cached, r.Recorded.CachedTokens}} {
		if v.v.Valid {
			v.c.Add(v.v.V)
		}
	}
	return nil
}

func (l *lengths) fill(f *Figures) {
	f.InputTokens, f.OutputTokens, f.TotalTokens = l.input.dist(l.n), l.output.dist(l.n), l.total.dist(l.n)
	f.Recorded = Recorded{TTFTNS: l.ttft.dist(l.n), E2ENS: l.e2e.dist(l.n), CachedTokens: l.cached.dist(l.n)}
}

func (l *lengths) coarse() bool {
	return slices.ContainsFunc([]*Counts{&l.input, &l.output, &l.total, &l.ttft, &l.e2e, &l.cached}, func(c *Counts) bool { return c.coarse })
}
