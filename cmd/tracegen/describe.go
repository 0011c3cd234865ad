package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/tracegen/internal/plan"
	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
	"hydrant/traces"
)

// onlyDescribe refuses flags that --describe leaves without effect.
func onlyDescribe(c *ucli.Context, o common) error {
	if n := len(o.inputs); n > 1 {
		return cli.Usagef("--describe: got %d inputs, want one", n)
	}
	for _, name := range []string{"output", "force", "quiet"} {
		if c.IsSet(name) {
			return cli.Usagef("--%s: has no effect beside --describe, which writes no schedule", name)
		}
	}
	if args := o.plan.Args(); len(args) > 0 {
		return cli.Usagef("%s: has no effect beside --describe, which is about the trace as it is", args[0])
	}
	return nil
}

// described counts what the requests of a trace carry.
type described struct {
	first, last formats.Int // ns
	has         map[string]int64
	turns       int64 // requests of the longest session
	models      names
	classes     names
}

// names counts a few names.
type names map[string]int64

const maxNames = 8

func (n names) add(name string) {
	if _, ok := n[name]; !ok && len(n) >= maxNames {
		name = "others"
	}
	n[name]++
}

// sorted returns the names with the most frequent first.
func (n names) sorted() (list []schedule.Count) {
	for name, k := range n {
		list = append(list, schedule.Count{Name: name, N: k})
	}
	slices.SortFunc(list, func(a, b schedule.Count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// grain prints a quantum of time.
func grain(ns int64) string { return time.Duration(ns).String() }

// fields are what a request may carry, in the order of docs/formats/schedule.md.
var fields = []struct {
	name string
	has  func(r *schedule.Request) bool
}{
	{"at_ns", func(r *schedule.Request) bool { return r.AtNS.Valid }},
	{"after", func(r *schedule.Request) bool { return len(r.After) > 0 }},
	{"delay_ns", func(r *schedule.Request) bool { return r.DelayNS.Valid }},
	{"delta", func(r *schedule.Request) bool { return r.Context == schedule.Delta }},
	{"input_tokens", func(r *schedule.Request) bool { return r.InputTokens.Valid }},
	{"output_tokens", func(r *schedule.Request) bool { return r.OutputTokens.Valid }},
	{"blocks", func(r *schedule.Request) bool { return r.Blocks != nil }},
	{"model", func(r *schedule.Request) bool { return r.Model != "" }},
	{"class", func(r *schedule.Request) bool { return r.Class != "" }},
	{"priority", func(r *schedule.Request) bool { return r.Priority.Valid }},
	{"recorded.ttft_ns", func(r *schedule.Request) bool { return r.Recorded.TTFTNS.Valid }},
	{"recorded.e2e_ns", func(r *schedule.Request) bool { return r.Recorded.E2ENS.Valid }},
	{"recorded.cached_tokens", func(r *schedule.Request) bool { return r.Recorded.CachedTokens.Valid }},
	{"body", func(r *schedule.Request) bool { return r.Body != nil }},
	{"extra", func(r *schedule.Request) bool { return r.Extra != nil }},
}

func (d *described) add(r *schedule.Request) {
	for _, f := range fields {
		if f.has(r) {
			d.has[f.name]++
		}
	}
	if r.AtNS.Valid {
		if !d.first.Valid {
			d.first = r.AtNS
		}
		d.last = r.AtNS
	}
	d.turns = max(d.turns, r.Turn+1)
	if r.Model != "" {
		d.models.add(r.Model)
	}
	if r.Class != "" {
		d.classes.add(r.Class)
	}
}

// describe prints what is understood of a trace.
func describe(out io.Writer, f traces.Format, p *plan.Pipeline, h schedule.Header, t *traces.Trace) error {
	d := described{has: map[string]int64{}, models: names{}, classes: names{}}
	w, err := schedule.NewWriter(io.Discard, h)
	for err == nil {
		var r *schedule.Request
		if r, err = p.Next(); err == nil {
			d.add(r)
			err = w.Write(r)
		}
	}
	if err != io.EOF {
		return err
	}
	end, err := w.Close(schedule.Trailer{Counts: t.Counts(), Sources: t.Sources})
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, d.text(f, h, end))
	return err
}

// known prints a sum over n requests; a sum over none is not 0.
func known(sum, n int64) string {
	if n == 0 {
		return "unknown"
	}
	return grouped(sum)
}

func (d *described) text(f traces.Format, h schedule.Header, end schedule.Trailer) string {
	var b strings.Builder
	row := func(name, format string, a ...any) {
		fmt.Fprintf(&b, "%-9s "+format+"\n", append([]any{name}, a...)...)
	}
	row("format", "%s: %s", f.Name, f.Usage)
	for _, s := range end.Sources {
		row("source", "%s, %s bytes", s.Name, grouped(s.Bytes))
		row("", "sha256 %s", s.SHA256)
	}
	row("requests", "%s in %s, the longest of %s", counted(end.Requests, "request"), counted(end.Sessions, "session"), counted(d.turns, "turn"))
	if d.first.Valid {
		row("time", "%s to %s, in steps of %s", span(d.first.V), span(d.last.V), grain(h.QuantumNS))
	} else {
		row("time", "none")
	}
	row("tokens", "%s in, %s out", known(end.InputTokens, d.has["input_tokens"]), known(end.OutputTokens, d.has["output_tokens"]))
	if h.Block == nil {
		row("blocks", "none")
	} else {
		row("blocks", "of %s tokens, the last one %s", grouped(h.Block.Tokens), h.Block.Last)
		row("", "%s, %s distinct", counted(end.Blocks, "id"), grouped(end.DistinctBlocks))
		if end.BlockHitRatio != nil {
			row("", "prefix reuse %.2f %% of blocks, %.2f %% of tokens", 100**end.BlockHitRatio, 100**end.TokenHitRatio)
		}
	}
	for _, list := range []struct {
		name string
		of   names
	}{{"models", d.models}, {"classes", d.classes}} {
		name := list.name
		for _, c := range list.of.sorted() {
			row(name, "%s  %s", c.Name, grouped(c.N))
			name = ""
		}
	}
	name := "carries"
	for _, f := range fields {
		if n := d.has[f.name]; n > 0 {
			row(name, "%-22s %s", f.name, grouped(n))
			name = ""
		}
	}
	name = "counts"
	for _, c := range end.Counts {
		row(name, "%s", phrase(c))
		name = ""
	}
	return b.String()
}
