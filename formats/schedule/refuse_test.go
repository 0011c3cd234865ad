package schedule

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/jsonl"
)

const (
	header = `{"schedule":{"format":"hydrant-schedule","version":1,"block":{"tokens":512,"last":"partial"}}}`
	line0  = `{"id":0,"at_ns":0,"session":"a","stream":"0","turn":0,"context":"whole","input_tokens":600,"blocks":{"scope":"s","keep":0,"add":[[0,2]]}}`
)

// after returns what a schedule of these request lines and no trailer is refused for:
// the fault in its last line, or that it is cut.
func after(lines ...string) error {
	text := header + "\n" + strings.Join(lines, "\n") + "\n"
	_, _, err := read([]byte(text))
	return err
}

func TestRefusedLines(t *testing.T) {
	rest := `,"session":"a","stream":"0","turn":1,"context":"whole"}`
	for _, tt := range []struct{ name, line, want string }{
		{"unknown key", `{"id":1,"at_ns":1,"hash_ids":[1],"session":"a","stream":"0","turn":0,"context":"whole"}`, `t.jsonl:3: key: got "hash_ids", want a key of`},
		{"key in other case", `{"id":1,"At_ns":1` + rest, `key: got "At_ns"`},
		{"key repeated", `{"id":1,"at_ns":1,"at_ns":2` + rest, `key: got "at_ns", want each key once`},
		{"key repeated as null", `{"id":1,"at_ns":1,"at_ns":null` + rest, `want each key once`},
		{"key repeated in blocks", `{"id":1,"at_ns":1,"blocks":{"scope":"s","keep":0,"keep":1,"add":[]}` + rest, `got "blocks.keep", want each key once`},
		{"key missing", `{"id":1,"at_ns":1,"session":"a","stream":"0","turn":0}`, `context: got "nothing", want this key on every line`},
		{"blocks key missing", `{"id":1,"at_ns":1,"input_tokens":5,"blocks":{"scope":"s","keep":0}` + rest, `blocks: got "a key missing"`},
		{"not an object", `[1]`, `line: got "[1", want an object`},
		{"nothing", ``, `want an object`},
		{"text after it", `{"id":1,"at_ns":1` + rest + ` {}`, `line: got "{", want nothing after the object`},
		{"comma at the end", `{"id":1,"at_ns":1,"session":"a","stream":"0","turn":1,"context":"whole",}`, `key: got "}", want a quoted key`},
		{"no comma", `{"id":1 "at_ns":1` + rest, `want a comma or '}'`},
		{"a negative length", `{"id":1,"at_ns":1,"input_tokens":-5` + rest, `t.jsonl:3: input_tokens: got "-5", want a whole number of at least 0`},
		{"a negative output", `{"id":1,"at_ns":1,"output_tokens":-1` + rest, `output_tokens: got "-1"`},
		{"a negative time", `{"id":1,"at_ns":-1` + rest, `at_ns: got "-1"`},
		{"a fraction", `{"id":1,"at_ns":1.5` + rest, `at_ns: got "1.5", want a whole number of 64 bits`},
		{"a float", `{"id":1,"at_ns":1e3` + rest, `at_ns: got "1e3"`},
		{"NaN", `{"id":1,"at_ns":NaN` + rest, `at_ns: got "NaN"`},
		{"Infinity", `{"id":1,"at_ns":1,"input_tokens":Infinity` + rest, `input_tokens: got "Infinity"`},
		{"a number as text", `{"id":1,"at_ns":"1"` + rest, `at_ns: got "\"1\"", want a whole number`},
		{"a leading zero", `{"id":01,"at_ns":1` + rest, `id: got "01"`},
		{"2^63", `{"id":1,"at_ns":9223372036854775808` + rest, `at_ns: got "9223372036854775808"`},
		{"many digits", `{"id":1,"at_ns":99999999999999999999999999` + rest, `want a whole number of 64 bits`},
		{"null id", `{"id":null,"at_ns":1` + rest, `id: got "null"`},
		{"id again", `{"id":0,"at_ns":1` + rest, `id: got "0", want more than 0, the id of the line before`},
		{"time steps back", "", ``},
		{"no time and no predecessor", `{"id":1` + rest, `at_ns: got "null", want a time on a line that waits for no other`},
		{"a wait for nothing", `{"id":1,"at_ns":1,"delay_ns":5` + rest, `delay_ns: got "5", want null on a line that waits for no other`},
		{"after itself", `{"id":1,"after":[1]` + rest, `after: got "1", want ids of earlier lines`},
		{"after a later line", `{"id":1,"after":[7]` + rest, `after: got "7"`},
		{"after a line that is not there", `{"id":5,"after":[3]` + rest, `after: got "3"`},
		{"after as a number", `{"id":1,"after":0` + rest, `after: got "0", want a list`},
		{"no session name", `{"id":1,"at_ns":1,"session":"","stream":"0","turn":0,"context":"whole"}`, `session: got "", want a name`},
		{"context", `{"id":1,"at_ns":1,"session":"a","stream":"0","turn":0,"context":"Whole"}`, `context: got "Whole"`},
		{"more ids than tokens", `{"id":1,"at_ns":1,"input_tokens":512,"blocks":{"scope":"s","keep":0,"add":[[0,2]]}` + rest, `blocks: got "2 ids for input_tokens 512", want at most 1`},
		{"ids without a length", `{"id":1,"at_ns":1,"blocks":{"scope":"s","keep":0,"add":[[0,1]]}` + rest, `blocks: got "1 ids for input_tokens null", want at most 0`},
		{"a run of none", `{"id":1,"at_ns":1,"input_tokens":600,"blocks":{"scope":"s","keep":0,"add":[[0,0]]}` + rest, `blocks.add: got "[0,0]"`},
		{"a run past 2^63", `{"id":1,"at_ns":1,"input_tokens":9000000000000000000,"blocks":{"scope":"s","keep":0,"add":[[9223372036854775807,2]]}` + rest, `blocks.add: got "[9223372036854775807,2]"`},
		{"runs whose sum passes 2^63", `{"id":1,"at_ns":1,"input_tokens":9000000000000000000,"blocks":{"scope":"s","keep":9223372036854775807,"add":[[0,5]]}` + rest, `blocks: got "`},
		{"a run of 10^15", `{"id":1,"at_ns":1,"input_tokens":9000000000000000000,"blocks":{"scope":"s","keep":0,"add":[[0,1000000000000000]]}` + rest, `blocks: got "1000000000000000 ids", want at most 4194304`},
		{"a run of three", `{"id":1,"at_ns":1,"input_tokens":600,"blocks":{"scope":"s","keep":0,"add":[[0,1,2]]}` + rest, `a run of two numbers`},
		{"system repeated", `{"id":1,"at_ns":1,"blocks":{"scope":"s","keep":0,"add":[],"system":1,"system":1}` + rest, `got "blocks.system", want each key once`},
		{"system below 0", `{"id":1,"at_ns":1,"blocks":{"scope":"s","keep":0,"add":[],"system":-1}` + rest, `blocks.system: got "-1", want a whole number of at least 0`},
		{"keep more than there was", `{"id":1,"at_ns":1,"input_tokens":2000,"blocks":{"scope":"s","keep":3,"add":[]}` + rest, `blocks.keep: got "3", want at most 2`},
		{"keep from another scope", `{"id":1,"at_ns":1,"input_tokens":2000,"blocks":{"scope":"t","keep":1,"add":[]}` + rest, `blocks.keep: got "1", want at most 2, the ids of the stream's line before in the same scope`},
		{"keep under delta", `{"id":1,"at_ns":1,"input_tokens":2000,"blocks":{"scope":"s","keep":1,"add":[]},"session":"a","stream":"0","turn":1,"context":"delta"}`, `blocks.keep: got "1", want 0 on a line of context delta`},
		{"a body that is no object", `{"id":1,"at_ns":1,"body":"hi"` + rest, `body: got "\"hi\"", want an object, or null`},
		{"a body that is no JSON", `{"id":1,"at_ns":1,"body":{"a":nan}` + rest, `body: got "nan", want a JSON value`},
		{"a body too deep", `{"id":1,"at_ns":1,"body":{"a":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + "}" + rest, `body: got "deeper nesting"`},
		{"a control character", "{\"id\":1,\"at_ns\":1,\"model\":\"a\x01b\"" + rest, `model: got`},
		{"half a surrogate pair", `{"id":1,"at_ns":1,"model":"\ud800"` + rest, `model: got "\\ud800", want a valid escape`},
		{"bytes that are not UTF-8", "{\"id\":1,\"at_ns\":1,\"model\":\"\xff\"" + rest, `want UTF-8 text`},
		{"an open string", `{"id":1,"at_ns":1,"model":"abc`, `model: got "end of line", want a string with its end quote`},
		{"a second header", header, `line: got "a second header", want the trailer`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			first := []string{line0, tt.line}
			if tt.name == "time steps back" {
				first = []string{`{"id":0,"at_ns":9` + rest, `{"id":1,"at_ns":8` + rest}
				tt.want = `t.jsonl:3: at_ns: got "8", want at least 9, the time of a line before`
			}
			err := after(first...)
			var syntax *formats.SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v; want a SyntaxError with %s", err, tt.want)
			}
		})
	}
}

func TestAcceptedLines(t *testing.T) {
	for name, line := range map[string]string{
		"nulls written out": `{"id":1,"at_ns":1,"after":null,"delay_ns":null,"session":"a","stream":"0","turn":1,"last":false,"context":"whole","input_tokens":null,"output_tokens":null,"blocks":null,"model":null,"class":null,"priority":null,"recorded":null,"body":null,"extra":null}`,
		"any key order":     `{"context":"whole","turn":1,"stream":"0","session":"b","at_ns":1,"id":1}`,
		"white space":       " { \"id\" : 1 ,\t\"at_ns\":1, \"after\" : [ 0 ] , \"session\":\"a\",\"stream\":\"0\",\"turn\":1,\"context\":\"whole\" } \r",
		"escaped key":       `{"\u0069d":1,"at_ns":1,"session":"a","stream":"0","turn":1,"context":"whole"}`,
		"surrogate pair":    `{"id":1,"at_ns":1,"session":"\ud83d\ude00","stream":"0","turn":1,"context":"whole"}`,
		"the greatest id":   `{"id":9223372036854775807,"at_ns":9223372036854775807,"session":"a","stream":"0","turn":1,"context":"whole"}`,
	} {
		err := after(line0, line)
		var cut *formats.TruncatedError
		if !errors.As(err, &cut) {
			t.Errorf("%s: error = %v; want only that the trailer is missing", name, err)
		}
	}
}

func TestRefusedHeaders(t *testing.T) {
	for _, tt := range []struct {
		name, line, want string
		kind             any
	}{
		{"nothing", "", "t.jsonl: truncated: got end of input, want a schedule header", new(*formats.TruncatedError)},
		{"a later version", `{"schedule":{"format":"hydrant-schedule","version":2,"new":[1]}}`, `t.jsonl:1: version: got "2", want hydrant-schedule version 1`, new(*formats.VersionError)},
		{"another format", `{"schedule":{"format":"other-schedule","version":1}}`, `version: got "other-schedule"`, new(*formats.VersionError)},
		{"no version", `{"schedule":{"format":"hydrant-schedule"}}`, `schedule.version: got "nothing", want 1`, new(*formats.SyntaxError)},
		{"a trace", `{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2, 3, 4]}`, `t.jsonl:1: header: got "{\"timestamp\": 0`, new(*formats.SyntaxError)},
		{"binary", "\x00\x01\x02\xff\xfe", `t.jsonl:1: header: got`, new(*formats.SyntaxError)},
		{"unknown key", `{"schedule":{"format":"hydrant-schedule","version":1,"note":""}}`, `key: got "schedule.note"`, new(*formats.SyntaxError)},
		{"repeated key", `{"schedule":{"format":"hydrant-schedule","version":1,"seed":1,"seed":1}}`, `key: got "seed", want each key once`, new(*formats.SyntaxError)},
		{"two keys", `{"schedule":{"format":"hydrant-schedule","version":1},"end":{}}`, `key: got "end", want nothing beside "schedule"`, new(*formats.SyntaxError)},
		{"block of 0", `{"schedule":{"format":"hydrant-schedule","version":1,"block":{"tokens":0,"last":"partial"}}}`, `schedule.block.tokens: got "0", want at least 1`, new(*formats.SyntaxError)},
		{"block without a rule", `{"schedule":{"format":"hydrant-schedule","version":1,"block":{"tokens":16}}}`, `schedule.block.last: got "", want "partial" or "absent"`, new(*formats.SyntaxError)},
	} {
		text := tt.line
		if text != "" {
			text += "\n"
		}
		_, _, err := read([]byte(text))
		if !errors.As(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error = %v; want a %T with %s", tt.name, err, tt.kind, tt.want)
		}
	}
}

func TestRefusedTrailers(t *testing.T) {
	whole := string(write(t, first(example()), second(example())...))
	for _, tt := range []struct{ name, old, new, want string }{
		{"requests", `"requests":5`, `"requests":4`, `end.requests: got "4", want 5, the sum over the lines before it`},
		{"sessions", `"sessions":3`, `"sessions":2`, `end.sessions: got "2", want 3`},
		{"input", `"input_tokens":3746,`, `"input_tokens":3747,`, `end.input_tokens: got "3747", want 3746`},
		{"output", `"output_tokens":34,`, `"output_tokens":35,`, `end.output_tokens`},
		{"span", `"span_ns":6000000`, `"span_ns":6000001`, `end.span_ns`},
		{"blocks", `"blocks":9`, `"blocks":10`, `end.blocks`},
		{"hash", `"sha256":"`, `"sha256":"0`, `end.sha256`},
		{"header", `"seed":0`, `"seed":9`, `end.sha256`},
		{"key missing", `"span_ns":6000000,`, ``, `end.span_ns: got "nothing", want this key in every trailer`},
		{"status", `"status":"complete"`, `"status":"done"`, `end.status: got "done"`},
		{"ratio", `"block_hit_ratio":0.4444444444444444`, `"block_hit_ratio":1.5`, `end.block_hit_ratio: got "1.5"`},
		{"another ratio", `"block_hit_ratio":0.4444444444444444`, `"block_hit_ratio":0.4444444444`, `end.block_hit_ratio: got "0.4444444444", want 0.4444444444444444, the share of the hits`},
		{"ratio of nothing", `"block_hit_ratio":0.4444444444444444`, `"block_hit_ratio":null`, `end.block_hit_ratio: got "null", want 0.4444444444444444`},
		{"other hits", `"hit_blocks":4`, `"hit_blocks":3`, `end.block_hit_ratio: got "0.4444444444444444", want 0.3333333333333333`},
		{"too many distinct", `"distinct_blocks":5`, `"distinct_blocks":10`, `end.distinct_blocks: got "10", want at most 9, by the lines before it`},
		{"too many hits", `"hit_blocks":4`, `"hit_blocks":5`, `end.hit_blocks: got "5", want at most 4, by the lines before it`},
		{"too many hit tokens", `"hit_tokens":`, `"hit_tokens":9`, `end.hit_tokens: got "9`},
		{"negative", `"hit_blocks":4`, `"hit_blocks":-4`, `end.hit_blocks: got "-4"`},
		{"unknown key", `"hit_blocks":4`, `"hit_blocks":4,"more":1`, `key: got "end.more"`},
	} {
		edited := strings.Replace(whole, tt.old, tt.new, 1)
		if edited == whole {
			t.Fatalf("%s: %q is not in\n%s", tt.name, tt.old, whole)
		}
		reqs, _, err := read([]byte(edited))
		var syntax *formats.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), tt.want) || len(reqs) != 5 {
			t.Errorf("%s: %d requests, error = %v; want 5 and a SyntaxError with %s", tt.name, len(reqs), err, tt.want)
		}
	}
	for _, status := range []string{Interrupted, Failed} {
		_, _, err := read([]byte(strings.Replace(whole, Complete, status, 1)))
		var cut *formats.TruncatedError
		if !errors.As(err, &cut) || !strings.Contains(err.Error(), "the trailer says "+status) {
			t.Errorf("status %s: error = %v; want a TruncatedError that says so", status, err)
		}
	}
	_, _, err := read([]byte(whole + "junk\n"))
	var syntax *formats.SyntaxError
	if !errors.As(err, &syntax) || !strings.Contains(err.Error(), `t.jsonl:8: header: got "junk"`) {
		t.Errorf("junk after the trailer: error = %v; want a SyntaxError", err)
	}
}

func TestWriterRefuses(t *testing.T) {
	h, reqs := example()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, h)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reqs {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	for name, bad := range map[string]*Request{
		"an id again":      {ID: 7, AtNS: some(6_000_000), Session: "x", Stream: "0", Context: Whole},
		"a time back":      {ID: 9, AtNS: some(1), Session: "x", Stream: "0", Context: Whole},
		"a negative input": {ID: 9, AtNS: some(6_000_000), Session: "x", Stream: "0", Context: Whole, InputTokens: some(-1)},
		"no session":       {ID: 9, AtNS: some(6_000_000), Stream: "0", Context: Whole},
		"no stream":        {ID: 9, AtNS: some(6_000_000), Session: "x", Context: Whole},
		"no context":       {ID: 9, AtNS: some(6_000_000), Session: "x", Stream: "0"},
		"not UTF-8":        {ID: 9, AtNS: some(6_000_000), Session: "x\xff", Stream: "0", Context: Whole},
		"an empty run":     {ID: 9, AtNS: some(6_000_000), Session: "x", Stream: "0", Context: Whole, InputTokens: some(900), Blocks: &Blocks{Scope: "s", Add: []Run{{1, 0}}}},
		"no scope":         {ID: 9, AtNS: some(6_000_000), Session: "x", Stream: "0", Context: Whole, InputTokens: some(900), Blocks: &Blocks{Add: []Run{{1, 1}}}},
		"a body of text":   {ID: 9, AtNS: some(6_000_000), Session: "x", Stream: "0", Context: Whole, Body: []byte(`"x"`)},
		"a broken body":    {ID: 9, AtNS: some(6_000_000), Session: "x", Stream: "0", Context: Whole, Body: []byte(`{"x":`)},
	} {
		if err := w.Write(bad); err == nil {
			t.Errorf("%s: Write = nil; want an error", name)
		}
	}
	if _, err := w.Close(Trailer{}); err != nil {
		t.Fatal(err)
	}
	if got, _, err := read(buf.Bytes()); err != nil || len(got) != len(reqs) {
		t.Errorf("after refused writes: %d requests, %v; want %d", len(got), err, len(reqs))
	}
	if err := w.Write(reqs[0]); err == nil {
		t.Error("Write after Close = nil; want an error")
	}
}

func TestLineTooLong(t *testing.T) {
	r, err := NewReader(&endless{head: []byte(header + "\n" + `{"id":0,"model":"`)}, "t.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Next()
	var syntax *formats.SyntaxError
	if !errors.As(err, &syntax) || !strings.Contains(err.Error(), "t.jsonl:2: line: got \"more than 67108864 bytes\"") {
		t.Errorf("error = %v; want a SyntaxError on line 2", err)
	}
	if jsonl.MaxLine != 64<<20 {
		t.Errorf("MaxLine = %d; the page of the format says 64 MiB", jsonl.MaxLine)
	}
}

// endless yields head and then one letter for ever.
type endless struct{ head []byte }

func (e *endless) Read(p []byte) (int, error) {
	if len(e.head) > 0 {
		n := copy(p, e.head)
		e.head = e.head[n:]
		return n, nil
	}
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}
