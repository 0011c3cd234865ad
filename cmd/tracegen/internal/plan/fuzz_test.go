package plan

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// FuzzTransforms puts any lines that a reader of edited schedules lets pass through any
// transforms, alone and merged with themselves. What comes out is a schedule, or an
// error, never a panic; only the sums of a writer may still be too large.
func FuzzTransforms(f *testing.F) {
	const head = `{"schedule":{"format":"hydrant-schedule","version":1,"block":{"tokens":64,"last":"absent"}}}` + "\n"
	for i, lines := range []string{
		`{"id":0,"at_ns":5,"session":"a","stream":"0","turn":0,"context":"whole","input_tokens":200,"output_tokens":3,"blocks":{"scope":"s","keep":0,"add":[[4,3]]},"recorded":{"e2e_ns":70}}
{"id":4,"at_ns":900,"after":[0],"delay_ns":20,"session":"a","stream":"0","turn":1,"last":true,"context":"whole","input_tokens":300,"output_tokens":3,"blocks":{"scope":"s","keep":3,"add":[[9,1]]}}
`,
		`{"id":0,"at_ns":0,"session":"d","stream":"0","turn":0,"context":"delta","input_tokens":9}
{"id":1,"after":[0],"delay_ns":9000000000000000000,"session":"d","stream":"0","turn":1,"last":true,"context":"delta","input_tokens":9,"output_tokens":0}
{"id":2,"at_ns":9223372036854775807,"session":"r1@2~3","stream":"x","turn":0,"last":true,"context":"whole","input_tokens":9223372036854775807}
`,
		`{"id":0,"at_ns":1,"session":"a","stream":"0","turn":0,"context":"whole","body":{"prompt":"x"}}
{"id":1,"at_ns":1,"after":[0],"session":"b","stream":"0","turn":0,"context":"whole","input_tokens":1}
{"id":2,"after":[1],"session":"a","stream":"1","turn":0,"last":true,"context":"whole","input_tokens":1,"output_tokens":1}
`,
	} {
		for bits := range uint16(13) {
			f.Add([]byte(head+lines), uint16(1)<<bits, int64(i+3))
		}
		f.Add([]byte(head+lines), uint16(0x1fff), int64(40))
	}
	f.Fuzz(func(t *testing.T, b []byte, bits uint16, n int64) {
		on := func(bit int) bool { return bits>>bit&1 == 1 }
		n = max(n, 1)
		limit := func(bit int) (v formats.Int) {
			if on(bit) {
				v = formats.Some(n)
			}
			return v
		}
		o := Options{Spread: on(1), MaxContext: limit(3), MaxInputDrop: limit(4), ThinkCap: limit(6), GapCap: limit(7), MaxOutput: limit(8), MaxInput: limit(9), Zero: on(12), Seed: n}
		if on(0) {
			o.Window = &Window{From: formats.Some(n / 3), To: formats.Some(n)}
		}
		if on(2) {
			o.Sample = Ratio{uint64(n), uint64(n) + 1}
		}
		if on(5) {
			o.Speed = Ratio{uint64(n), 7}
		}
		if on(10) {
			o.Retime = &Retiming{Process: process(t, "gamma:0.5"), Rate: Ratio{uint64(n), 1000}}
		}
		if on(11) {
			o.Clone = Cloning{Copies: 2 + n%3, Share: n%2 == 0}
		}
		if _, err := schedule.NewEditedReader(bytes.NewReader(b), "fuzz"); err != nil {
			return // no schedule: nothing to transform
		}
		open := func() (Part, schedule.Header) {
			r, err := schedule.NewEditedReader(bytes.NewReader(b), "fuzz")
			if err != nil {
				t.Fatal(err)
			}
			return FromSchedule(r, "fuzz"), r.Header()
		}
		one, h := open()
		two, _ := open()
		p, err := New(one, h.Transforms, o)
		if on(13) {
			p, err = NewMerged([]Part{one, two}, on(14), h.Transforms, o)
		}
		if err != nil {
			return
		}
		defer p.Close()
		p.Place, p.Block = "fuzz", h.Block
		w, err := p.Write(context.Background(), func() (*schedule.Writer, error) { return schedule.NewWriter(io.Discard, h) })
		if err == nil {
			if _, err := w.Close(schedule.Trailer{Counts: p.Counts()}); err != nil {
				t.Fatal(err)
			}
			return
		}
		// The writer's own words come as a SyntaxError of the request: only what it sums or
		// a prompt that is too long may be its reason.
		var fault *formats.SyntaxError
		if errors.As(err, &fault) && strings.HasPrefix(fault.Place, "fuzz: request ") && w != nil {
			switch fault.What {
			case "id", "delay_ns", "blocks.keep", "session", "stream", "context", "turn":
				t.Errorf("%v: the writer refuses a line: %v", o.Args(), err)
			}
		}
	})
}
