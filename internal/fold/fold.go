// Package fold turns the rows of runs into metrics. reduce prints what it returns
// and judge decides by it, so that every metric has one definition.
//
// Run is the only function to use. It reads each input once. What stays in memory
// is a fixed number of bytes per request (BytesPerRequest); the gaps between
// chunks, which no fixed number of bytes holds, wait in a temporary file until the
// window is known.
package fold

import (
	"context"
	"io"

	"hydrant/formats"
	"hydrant/formats/summary"
)

// Input is one stream to fold: a run, a gpu stream or a summary, told apart by
// content.
type Input struct {
	Name string // for errors
	R    io.Reader
}

// Options say how to fold.
type Options struct {
	Build      string      // named in the summary as its maker
	NoColumns  bool        // leave the per-request columns out
	MaxColumns int         // leave them out above this many requests; 0: DefaultMaxColumns
	WarmupNS   formats.Int // replaces the warm-up of the run's header
	Window     *Span       // replaces the whole rule for the window
}

// DefaultMaxColumns is the number of requests up to which a summary carries columns.
const DefaultMaxColumns = 1_000_000

// Span is a window from FromNS to ToNS, offsets in ns from the first planned
// request; ToNS is excluded.
type Span struct{ FromNS, ToNS int64 }

// Run folds the inputs into one summary. A single summary is returned as it is;
// a summary beside other inputs is an error, since merging needs the rows.
//
// Errors of an input are *formats.SyntaxError, *formats.VersionError or
// *formats.TruncatedError, or what its reader returned.
func Run(ctx context.Context, inputs []Input, o Options) (*summary.Summary, error) {
	return nil, nil
}
