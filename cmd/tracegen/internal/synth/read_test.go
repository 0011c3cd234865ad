package synth

import (
	"strings"
	"testing"
)

func TestParseRefuses(t *testing.T) {
	const head = "version: 1\nrequests: 5\nrate: 1\nclasses:\n"
	const class = "  - {name: a, input: '1', output: '1'"
	for _, tt := range []struct{ in, want string }{
		{"", `w.yaml: text: got "nothing", want a description`},
		{"a: [", `w.yaml: text: got "line 1: `},
		{"version: 1\n---\nversion: 1\n", `w.yaml: text: got "more than one document", want one`},
		{"- 1", `w.yaml:1: got "", want keys and values`},
		{"classes: []", `w.yaml:1: version: got "0", want 1`},
		{"version: 2\nclasses: []", `w.yaml:1: version: got "2", want 1`},
		{"version: 1", `w.yaml:1: classes: got "nothing", want a list of classes`},
		{"version: 1\nversion: 1", `w.yaml:2: version: got "the key again", want each key once`},
		{"version: 1\nclasses: []", `w.yaml: classes: got none`},
		{"version: 1\nclases: []", `w.yaml:2: clases: got "clases", want one of arrivals, block, classes, `},
		{head + class + ", speed: 2}", `w.yaml:5: classes[0].speed: got "speed", want one of arrivals, `},
		{head + class + ", rate: 1, weight: 1}", `w.yaml:5: classes[0]: got "both rate and weight"`},
		{head + class + ", weight: 0}", `w.yaml:5: classes[0].weight: got "0", want a number above 0`},
		{head + class + ", arrivals: pareto:1}", `w.yaml:5: classes[0].arrivals: got "pareto:1", want constant, poisson`},
		{head + class + ", arrivals: gamma:0}", `w.yaml:5: classes[0].arrivals: got "gamma:0"`},
		{head + "  - {name: a, input: poisson:3, output: '1'}", `w.yaml:5: classes[0].input: got "poisson:3", want a number, uniform`},
		{head + "  - {name: a, input: '-1', output: '1'}", `class a: input: got "-1", want values of at least 0`},
		{head + "  - {name: a, output: '1'}", `class a: input: got nothing`},
		{head + "  - {name: '', input: '1', output: '1'}", `w.yaml:5: classes[0].name: got "", want a text`},
		{head + class + "}\n" + class + "}", `class "a": name: want one, and each once`},
		{head + class + ", model: }", `w.yaml:5: classes[0].model: got "", want a text`},
		{head + class + ", prefix: {pool: 0, tokens: '1'}}", `classes[0].prefix.pool: got "0", want a whole number of at least 1`},
		{head + class + ", prefix: {pool: 1}}", `class a: prefix.tokens: got nothing`},
		{head + class + ", prefix: {tokens: '1', share: 2}}", `class a: prefix: want pool from 1`},
		{head + class + ", prefix: {tokens: '1'}, reuse: {blocks: ['1'], age: ['1']}}", `class a: prefix: got reuse as well`},
		{head + class + ", reuse: {blocks: ['1']}}", `classes[0].reuse: got "a part of it"`},
		{head + class + ", session: {turns: '0', think: '1', new: '1'}}", `class a: session.turns: got "0", want values of at least 1`},
		{head + class + ", session: {turns: '2', new: '1'}}", `class a: session.think: got nothing`},
		{head + class + ", session: {turns: [], think: '1', new: '1'}}", `class a: session.turns: got nothing`},
		{head + class + ", session: {turns: ['1', '0'], think: '1', new: '1'}}", `class a: session.turns: got "0", want values of at least 1`},
		{head + class + ", session: {turns: '2', think: '1', new: []}}", `class a: session.new: got nothing`},
		{head + class + ", session: {turns: '2', think: '1', new: ['1', x]}}", `classes[0].session.new[1]: got "x", want a number`},
		{head + class + ", ranks: [[1, 2], [3]]}", `classes[0].ranks[1]: got "1 weights", want rows of one length`},
		{head + class + ", ranks: [[0]]}", `classes[0].ranks: got "no weight"`},
		{head + class + ", ranks: [[-1]]}", `classes[0].ranks[0][0]: got "-1", want a weight of at least 0`},
		{head + class + ", grid: 0s}", `classes[0].grid: got "0s", want a duration above 0`},
		{head + class + ", input: *x}", `w.yaml: text: got `},
		{"version: 1\nx: &x 5\nrequests: *x\n", `w.yaml:2: x: got "x", want one of`},
		{"version: 1\nrequests: 5\nseed: &x 5\nduration: *x\n", `w.yaml:4: duration: got "x", want a text`},
		{"version: 1\nclasses: [{name: a, input: '1', output: '1'}]", `classes[0].rate: got "nothing", want sessions per second`},
		{"version: 1\nrate: 1\nclasses: [{name: a, input: '1', output: '1'}]", `class a: rate: without an end, want requests or duration`},
		{"version: 1\nrate: 0\nclasses: []", `w.yaml:2: rate: got "0", want a rate above 0`},
		{"version: 1\nrate: {every: 10s}\nclasses: []", `w.yaml:2: rate: got "a part of a series"`},
		{"version: 1\nrate: {every: 10s, values: [0, 0]}\nclasses: []", `w.yaml:2: rate: got "rates of 0"`},
		{"version: 1\nrate: 1\nblock: {tokens: 0}\nclasses: []", `w.yaml:3: block.tokens: got "0"`},
		{"version: 1\nrate: 1\nblock: {last: half}\nclasses: [{name: a, input: '1', output: '1'}]", `block: want tokens of at least 1 and last partial or absent, or none`},
		{"version: 1\nrate: 1\nrequests: 5\nblock: none\nclasses: [{name: a, input: '1', output: '1', prefix: {tokens: '5'}}]", `class a: got prefix or reuse, want block ids for it: block is none`},
	} {
		if s, err := Parse([]byte(tt.in), "w.yaml"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Parse(%q) = %v, %v; want %s", tt.in, s, err, tt.want)
		}
	}
}

// What Parse accepts prints as something that it accepts again, with the same text.
func FuzzParse(f *testing.F) {
	f.Add([]byte(mix))
	f.Add([]byte("version: 1\nrequests: 5\nclasses: [{name: a, rate: {every: 1s, values: [1, 2, 3]}, input: {quantiles: [1, 2]}, output: '1'}]"))
	f.Add([]byte("version: 1\nseed: &x 1\nclasses: *x"))
	f.Add([]byte("a: [[[["))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Parse(b, "w.yaml")
		if err != nil {
			return
		}
		text := s.YAML()
		again, err := Parse(text, "w.yaml")
		if err != nil {
			t.Fatalf("%v, of its own print:\n%s", err, text)
		}
		if string(again.YAML()) != string(text) {
			t.Fatalf("printed again:\n%s\nwant\n%s", again.YAML(), text)
		}
	})
}
