// Package traces reads public traces of LLM serving. Every reader is one function
// that takes the uncompressed bytes of a trace and returns a Trace, which yields
// schedule requests in the order in which they are to be sent: sorted by time,
// file order on ties.
//
// A reader reads its whole input before the first request comes out, so that a
// trace with a bad row in it starts nothing. Rows wait in memory up to a few MiB and
// in an unlinked temporary file beyond that.
package traces

import (
	"io"
	"strings"

	"hydrant/formats/schedule"
)

// Trace yields the requests of one trace. One goroutine owns it.
type Trace struct {
	Block     *schedule.Block         // how block ids map to tokens, nil without ids
	QuantumNS int64                   // time grain of the source, ns
	Sources   []schedule.SourceDigest // the bytes as read, file by file
	Warnings  []string                // what the user should know, one line each

	// Transforms are what an option made the reader assume, for the header.
	Transforms []schedule.Transform

	// Undecided is the flag of an option that decides between readings and had nothing to
	// decide here.
	Undecided string

	// Idle names an option that was given and has no effect on this trace, "" for none.
	Idle string

	counts map[string]int64
	next   func() (*schedule.Request, error)
	close  func() error
}

// Next returns the next request with its block ids in full (keep 0), valid until the
// next call; io.EOF at the end. Ids count from 0.
func (t *Trace) Next() (*schedule.Request, error) { return t.next() }

// Counts returns what was repaired, kept or dropped so far, in no order; it is whole
// when Next has returned io.EOF.
func (t *Trace) Counts() []schedule.Count {
	var out []schedule.Count
	for name, n := range t.counts {
		out = append(out, schedule.Count{Name: name, N: n})
	}
	return out
}

// Close gives back memory and temporary files.
func (t *Trace) Close() error { return t.close() }

// Discard reads the rest, for callers that want only the counts.
func (t *Trace) Discard() error {
	for {
		if _, err := t.Next(); err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
	}
}

// stem is a file's base name without the extensions of traces and containers.
func stem(name string) string {
	for {
		cut := name
		for _, ext := range []string{".zst", ".gz", ".jsonl", ".json", ".csv", ".parquet", ".arrow", ".ipc"} {
			cut = strings.TrimSuffix(cut, ext)
		}
		if cut == name || cut == "" {
			return name
		}
		name = cut
	}
}
