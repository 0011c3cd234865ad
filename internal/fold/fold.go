// Package fold turns the rows of runs into metrics. reduce prints what it returns
// and judge decides by it, so that every metric has one definition.
//
// Run is the only function to use. It reads each input once. What stays in memory
// is a row per request, packed (BytesPerRequest); the gaps between chunks wait in a
// temporary file until the window is known. Rows are folded in the order of (planned time, request id) and
// sums are whole numbers, so neither the number of workers nor the order of the
// inputs shows in the result.
package fold

import (
	"context"
	"io"
	"slices"

	"hydrant/formats"
	"hydrant/formats/rows"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
)

// Input is one stream to fold: a run, a gpu stream or a summary, told apart by
// content.
type Input struct {
	Name string // for errors, and its last path element for the summary
	R    io.Reader
}

// Options say how to fold.
type Options struct {
	Build      string          // named in the summary as its maker
	NoColumns  bool            // leave the per-request columns out, and the rows
	NoRows     bool            // leave the rows and the sums out: the summary is not written for others to merge
	Sums       bool            // compute the sums although there are columns, which the caller will drop
	MaxColumns int             // leave them out above this many requests; 0: DefaultMaxColumns
	WarmupNS   formats.Int     // replaces the warm-up of the run's header
	Window     *Span           // replaces the whole rule for the window
	SLO        []slo.Objective // what a request has to meet to be good; none: good requests are not counted
	Fluidity   *Fluidity       // deadlines of tokens; nil: the fluidity index is not computed
	GPUs       int             // so many inputs at the end have to be gpu streams
	Partial    bool            // compute from what is whole of a truncated run, and say so at every figure
	SliceNS    int64           // width of a slice, whole seconds; 0: about 100 slices
	By         []string        // keys of GroupKeys, each once: the rows are reduced by their values too

	// Row, when set, is handed every row of every run as it is read, with the header
	// of its part. Both are valid until it returns, and calls do not overlap. Its error
	// ends the fold.
	Row func(h *run.Header, q *run.Request) error

	// Ended, when set, is called when a part of a run has been read to its end.
	Ended func()

	// Table, when set, is handed the table of per-request metrics once all inputs have
	// been read. It is valid until Table returns, whose error ends the fold.
	Table func(s rows.Source) error
}

// DefaultMaxColumns is the number of requests up to which a summary carries columns.
const DefaultMaxColumns = 1_000_000

// anew says that the options change what follows from the rows, so that a summary has
// to be computed again.
func (o *Options) anew() bool {
	return o.Window != nil || o.WarmupNS.Valid || len(o.By) > 0 || o.SliceNS > 0 || o.Fluidity != nil
}

// Span is a window from FromNS to ToNS, offsets in ns from the first planned
// request, or with Wall from the Unix epoch; ToNS is excluded. A null ToNS stands for the end of the load. Both are
// at most MaxSpanNS, and some request is planned in between: the rest is an error.
type Span struct {
	FromNS int64
	ToNS   formats.Int
	Wall   bool // by wall clock: the same window for runs that did not begin together
}

// Run folds the inputs into one summary. A single summary is returned as it is, but
// for the good requests, which are counted anew when objectives are given. Beside other
// inputs, and when another window is asked for, a summary stands for the rows that it
// carries: the result is that of the runs themselves. Where one has no rows all are
// merged by their sums, as docs/metrics.md says; what needs rows is then an error.
//
// Errors of an input are *formats.SyntaxError, *formats.VersionError or
// *formats.TruncatedError, or what its reader returned. There is no summary then:
// what was whole before a fault is not called a result, unless Options.Partial asks
// for it.
func Run(ctx context.Context, inputs []Input, o Options) (*summary.Summary, error) {
	kinds := make([]string, len(inputs))
	opened := make([]Input, len(inputs))
	for i, in := range inputs {
		var err error
		if opened[i], kinds[i], err = sniff(in); err != nil {
			return nil, err
		}
	}
	if len(inputs) == 1 && kinds[0] == kindSummary && !o.anew() {
		return alone(opened[0], o)
	}
	for i := len(inputs) - o.GPUs; i < len(inputs); i++ {
		if kinds[i] != kindGPU {
			return nil, &formats.SyntaxError{Place: inputs[i].Name, What: "kind", Got: kinds[i], Want: "a gpu stream"}
		}
	}
	if !slices.Contains(kinds, kindRun) && !slices.Contains(kinds, kindSummary) {
		place := "standard input"
		if len(inputs) > 0 {
			place = inputs[0].Name
		}
		return nil, &formats.SyntaxError{Place: place, What: "inputs", Got: "gpu streams only", Want: "a run among them"}
	}
	f := newFold(o)
	defer f.close()
	var bare []*summary.Summary
	var places []string // of them
	for i, in := range opened {
		var err error
		switch kinds[i] {
		case kindRun:
			if o.Partial { // a reader that can seek would look at the end first
				in.R = struct{ io.Reader }{in.R}
			}
			err = f.readRun(ctx, in)
		case kindSummary:
			var s *summary.Summary
			if s, err = f.readSummary(ctx, in); s != nil && err == nil {
				bare, places = append(bare, s), append(places, in.Name)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if len(bare) > 0 {
		if i := slices.Index(kinds, kindGPU); i >= 0 {
			return nil, &formats.SyntaxError{Place: opened[i].Name, What: "kind", Got: "a gpu stream", Want: "no gpu stream beside a summary without rows",
				Help: "energy is over one window of the rows: reduce the run and its gpu stream together"}
		}
		return f.merge(ctx, bare, places)
	}
	if err := f.settle(ctx); err != nil {
		return nil, err
	}
	// Samples of a device are folded as they come, by a window that only the rows
	// know: hence devices last.
	for i, in := range opened {
		if kinds[i] == kindGPU {
			if err := f.readGPU(ctx, in); err != nil {
				return nil, err
			}
		}
	}
	if f.o.Table != nil {
		if err := f.o.Table(f.rowTable()); err != nil {
			return nil, err
		}
	}
	return f.summary()
}
