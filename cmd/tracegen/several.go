package main

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/tracegen/internal/plan"
	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
	"hydrant/traces"
)

// openTrace is a trace that was read.
type openTrace struct {
	in    *input
	trace *traces.Trace
}

// openTraces are the inputs of a command, in their order.
type openTraces []openTrace

// readTraces reads all inputs.
func readTraces(c *ucli.Context, o common, f traces.Format, read traces.Options) (all openTraces, err error) {
	defer func() {
		if err != nil {
			all.Close()
		}
	}()
	for _, path := range o.inputs {
		name, err := traceName(path, read.Scope)
		if err != nil {
			return all, err
		}
		in, err := open(c, o, path, f.Folder)
		if err != nil {
			return all, err
		}
		in.Name = name
		trace, err := f.Read(in.Input, read)
		if err != nil {
			in.Close()
			return all, err
		}
		all = append(all, openTrace{in, trace})
		for _, w := range trace.Warnings {
			cli.Warnf(cli.Stderr(c), "tracegen", "%s", w)
		}
	}
	if name := all.idle(); name != "" {
		return all, cli.Usagef("--%s: has no effect on %s", name, plural(len(all), "this trace", "these traces"))
	}
	for _, t := range all {
		if t.trace.Undecided == "" {
			return all, nil
		}
	}
	flag := all[0].trace.Undecided
	return all, cli.Usagef("--%s: got %q, but %s of %s leaves it open", flag, c.String(flag), map[string]string{"context": "no session", "scope": "no hash_id_scope", "think": "no think_time"}[flag], plural(len(all), "this trace", "these traces"))
}

// idle names an option that has no effect on any of the traces, "" for none.
func (all openTraces) idle() string {
	name := ""
	for _, t := range all {
		if name = t.trace.Idle; name == "" {
			break
		}
	}
	return name
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func (all openTraces) Close() {
	for _, t := range all {
		t.trace.Close()
		t.in.Close()
	}
}

// header returns what is known of the traces before their first request.
func (all openTraces) header(f traces.Format, licence, url string) (h schedule.Header, _ error) {
	for i, t := range all {
		h.Sources = append(h.Sources, schedule.Source{Name: t.in.Name, Format: f.Name, Licence: licence, URL: url})
		h.QuantumNS = max(h.QuantumNS, t.trace.QuantumNS)
		if err := joinBlock(&h, t.trace.Block, t.in.Place); err != nil {
			return h, err
		}
		if i == 0 {
			h.Transforms = t.trace.Transforms // they follow from the flags
		}
	}
	if len(all) > 1 {
		h.Transforms = append(slices.Clip(h.Transforms), plan.Merged(len(all)))
	}
	return h, nil
}

// joinBlock makes b the block of a header, or refuses another one than it has.
func joinBlock(h *schedule.Header, b *schedule.Block, place string) error {
	switch {
	case b == nil:
	case h.Block == nil:
		h.Block = b
	case *h.Block != *b:
		return &formats.SyntaxError{Place: place, What: "block", Got: plan.PrintBlock(b), Want: plan.PrintBlock(h.Block) + " as in the inputs before it"}
	}
	return nil
}

// pipeline puts the transforms behind the traces.
func (all openTraces) pipeline(shared bool, earlier []schedule.Transform, o common) (*plan.Pipeline, error) {
	if len(all) == 1 {
		return plan.New(all[0].trace.Next, earlier, o.plan)
	}
	var parts []plan.Part
	for _, t := range all {
		parts = append(parts, t.trace.Next)
	}
	return plan.NewMerged(parts, shared, earlier, o.plan)
}

// trailer returns what the trailer says of the traces.
func (all openTraces) trailer() (end schedule.Trailer) {
	for _, t := range all {
		end.Counts = append(end.Counts, t.trace.Counts()...)
		end.Sources = append(end.Sources, t.trace.Sources...)
	}
	return end
}

// openSchedule is a schedule whose header was read.
type openSchedule struct {
	in  *input
	r   *schedule.Reader
	sum *counted256 // of its bytes
}

// openSchedules are the inputs of a command, in their order.
type openSchedules struct {
	list    []openSchedule
	changed bool // what comes out is no copy, which would have the sources of the original
}

// counted256 hashes and counts what is written to it.
type counted256 struct {
	hash.Hash
	bytes int64
}

func (c *counted256) Write(p []byte) (int, error) {
	c.bytes += int64(len(p))
	return c.Hash.Write(p)
}

// readSchedules opens all inputs.
func readSchedules(c *ucli.Context, o common) (_ *openSchedules, err error) {
	all := &openSchedules{}
	defer func() {
		if err != nil {
			all.Close()
		}
	}()
	read := schedule.NewReader
	if c.Bool("reseal") {
		read = schedule.NewEditedReader
	}
	for _, path := range o.inputs {
		in, err := open(c, o, path, false)
		if err != nil {
			return nil, err
		}
		in.Name = sourceName(path)
		sum := &counted256{Hash: sha256.New()}
		r, err := read(io.TeeReader(in.R, sum), in.Place)
		if err != nil {
			in.Close()
			return nil, err
		}
		all.list = append(all.list, openSchedule{in, r, sum})
	}
	return all, nil
}

func (all *openSchedules) Close() {
	for _, s := range all.list {
		s.in.Close()
	}
}

// header joins the headers. Transforms that all inputs have stand once; others say which
// input they concern.
// changed tells that a transform or a person changes lines.
func (all *openSchedules) header(changed bool) (schedule.Header, error) {
	all.changed = changed || len(all.list) > 1
	h := all.list[0].r.Header()
	same := true
	for _, s := range all.list[1:] {
		other := s.r.Header()
		h.QuantumNS = max(h.QuantumNS, other.QuantumNS)
		h.Edited = h.Edited || other.Edited
		if err := joinBlock(&h, other.Block, s.in.Place); err != nil {
			return h, err
		}
		same = same && reflect.DeepEqual(h.Transforms, other.Transforms)
	}
	h.Sources = nil
	for _, s := range all.list {
		h.Sources = append(h.Sources, s.r.Header().Sources...)
		if all.changed {
			h.Sources = append(h.Sources, schedule.Source{Name: s.in.Name, Format: "schedule"})
		}
	}
	if len(all.list) == 1 {
		return h, nil
	}
	if !same {
		h.Transforms = nil
		for i, s := range all.list {
			for _, t := range s.r.Header().Transforms {
				if t.Params = maps.Clone(t.Params); t.Params == nil {
					t.Params = map[string]string{}
				}
				t.Params["input"] = strconv.Itoa(i + 1)
				h.Transforms = append(h.Transforms, t)
			}
		}
	}
	h.Transforms = append(slices.Clip(h.Transforms), plan.Merged(len(all.list)))
	return h, nil
}

// pipeline puts the transforms behind the schedules. A scope names one text in all of
// them.
func (all *openSchedules) pipeline(earlier []schedule.Transform, o common) (*plan.Pipeline, error) {
	var parts []plan.Part
	for _, s := range all.list {
		next := plan.FromSchedule(s.r, s.in.Place)
		if o.plan.Caps() {
			next = plan.SameSpeed(s.r, s.in.Place, next)
		}
		parts = append(parts, next)
	}
	if len(parts) == 1 {
		return plan.New(parts[0], earlier, o.plan)
	}
	return plan.NewMerged(parts, true, earlier, o.plan)
}

// trailer returns what the trailer says of the schedules.
func (all *openSchedules) trailer() (end schedule.Trailer) {
	for _, s := range all.list {
		for _, t := range s.r.Trailers() {
			end.Counts = append(end.Counts, t.Counts...)
			end.Sources = append(end.Sources, t.Sources...)
		}
		if all.changed {
			end.Sources = append(end.Sources, schedule.SourceDigest{Name: s.in.Name, SHA256: hex.EncodeToString(s.sum.Sum(nil)), Bytes: s.sum.bytes})
		}
		end.Counts = append(end.Counts, schedule.Count{Name: "after_dropped", N: s.r.Dropped()})
	}
	return end
}
