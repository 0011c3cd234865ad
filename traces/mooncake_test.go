package traces

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"

	"github.com/google/go-cmp/cmp"
)

var some = formats.Some

// rows reads lines as Mooncake and returns the schedule's request lines and the counts.
func rows(t testing.TB, o Options, lines ...string) (out []string, end schedule.Trailer, err error) {
	t.Helper()
	tr, err := Mooncake(piped("t.jsonl", strings.NewReader(strings.Join(lines, "\n")+"\n")), o)
	if err != nil {
		return nil, end, err
	}
	defer tr.Close()
	reqs, end := plan(t, tr)
	for _, r := range reqs {
		out = append(out, string(schedule.AppendRequest(nil, r)))
	}
	return out, end, nil
}

func TestMooncakeRows(t *testing.T) {
	for _, tt := range []struct {
		name   string
		o      Options
		in     []string
		want   []string
		counts string
	}{
		{"keys in any order, floats that are whole", Options{},
			[]string{`{"hash_ids":[7.0,8,1e1],"output_length":0,"input_length":1025.0,"timestamp":1.5}`},
			[]string{`{"id":0,"at_ns":1500000,"session":"r1","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":1025,"output_tokens":0,"blocks":{"scope":"mooncake/t","keep":0,"add":[[7,2],[10,1]]}}`}, ""},
		{"sorted stably, ties kept, blank lines ignored", Options{},
			[]string{`{"timestamp":5,"input_length":1}`, ``, `{"timestamp":3,"input_length":2}`, `{"timestamp":5,"input_length":3}`, ` `, `{"timestamp":3,"input_length":4}`},
			[]string{
				`{"id":0,"at_ns":3000000,"session":"r3","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":2}`,
				`{"id":1,"at_ns":3000000,"session":"r6","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":4}`,
				`{"id":2,"at_ns":5000000,"session":"r1","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":1}`,
				`{"id":3,"at_ns":5000000,"session":"r4","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":3}`,
			}, "blank_lines 2, sorted_backward 2, ties_kept 2"},
		{"identical rows are kept", Options{},
			[]string{`{"timestamp":0,"input_length":1}`, `{"timestamp":0,"input_length":1}`, `{"timestamp":0,"input_length":2}`},
			[]string{
				`{"id":0,"at_ns":0,"session":"r1","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":1}`,
				`{"id":1,"at_ns":0,"session":"r2","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":1}`,
				`{"id":2,"at_ns":0,"session":"r3","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":2}`,
			}, "identical_kept 1, ties_kept 2"},
		{"a session of whole prompts", Options{},
			[]string{
				`{"session_id":"a","timestamp":0,"input_length":512,"hash_ids":[1]}`,
				`{"session_id":"a","timestamp":2000,"input_length":1024,"hash_ids":[1,2]}`,
				`{"session_id":"a","delay":5,"timestamp":3000,"input_length":1536,"hash_ids":[1,2,3]}`,
				`{"session_id":"a","input_length":1600,"hash_ids":[1,2,3,4]}`,
			},
			[]string{
				`{"id":0,"at_ns":0,"session":"a","stream":"0","turn":0,"context":"whole","input_tokens":512,"blocks":{"scope":"mooncake/t","keep":0,"add":[[1,1]]}}`,
				`{"id":1,"at_ns":2000000000,"after":[0],"session":"a","stream":"0","turn":1,"context":"whole","input_tokens":1024,"blocks":{"scope":"mooncake/t","keep":0,"add":[[1,2]]}}`,
				`{"id":2,"at_ns":3000000000,"after":[1],"delay_ns":5000000,"session":"a","stream":"0","turn":2,"context":"whole","input_tokens":1536,"blocks":{"scope":"mooncake/t","keep":0,"add":[[1,3]]}}`,
				`{"id":3,"after":[2],"delay_ns":0,"session":"a","stream":"0","turn":3,"last":true,"context":"whole","input_tokens":1600,"blocks":{"scope":"mooncake/t","keep":0,"add":[[1,4]]}}`,
			}, "sessions_whole 1"},
		{"lines without a time stand where they could start", Options{Context: "delta"},
			[]string{
				`{"session_id":"a","timestamp":1,"input_length":5}`, `{"session_id":"a","delay":10,"input_length":6}`, `{"session_id":"a","delay":10,"input_length":7}`,
				`{"timestamp":11,"input_length":8}`, `{"timestamp":12,"input_length":9}`,
			},
			[]string{
				`{"id":0,"at_ns":1000000,"session":"a","stream":"0","turn":0,"context":"delta","input_tokens":5}`,
				`{"id":1,"after":[0],"delay_ns":10000000,"session":"a","stream":"0","turn":1,"context":"delta","input_tokens":6}`,
				`{"id":2,"at_ns":11000000,"session":"r4","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":8}`,
				`{"id":3,"at_ns":12000000,"session":"r5","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":9}`,
				`{"id":4,"after":[1],"delay_ns":10000000,"session":"a","stream":"0","turn":2,"last":true,"context":"delta","input_tokens":7}`,
			}, "sessions_delta 1"},
		{"declared deltas", Options{},
			[]string{`{"session_id":"a","timestamp":0,"input_length":5,"context_mode":"deltas_without_responses"}`, `{"session_id":"a","input_length":6,"context_mode":"deltas_without_responses"}`},
			[]string{
				`{"id":0,"at_ns":0,"session":"a","stream":"0","turn":0,"context":"delta","input_tokens":5}`,
				`{"id":1,"after":[0],"delay_ns":0,"session":"a","stream":"0","turn":1,"last":true,"context":"delta","input_tokens":6}`,
			}, "sessions_delta 1"},
		{"texts joined", Options{},
			[]string{
				`{"session_id":"a","timestamp":0,"text_input":"one \"1\"","context_mode":"deltas_with_responses"}`,
				`{"session_id":"b","timestamp":0,"messages":[{"role":"user","content":"x"}],"context_mode":"deltas_with_responses"}`,
				`{"session_id":"a","timestamp":1,"text_input":" two","context_mode":"deltas_with_responses"}`,
				`{"session_id":"b","timestamp":1,"messages":[{"role":"assistant","content":"y"},{"role":"user","content":"z"}],"tools":[1],"context_mode":"deltas_with_responses"}`,
			},
			[]string{
				`{"id":0,"at_ns":0,"session":"a","stream":"0","turn":0,"context":"whole","body":{"prompt":"one \"1\""}}`,
				`{"id":1,"at_ns":0,"session":"b","stream":"0","turn":0,"context":"whole","body":{"messages":[{"role":"user","content":"x"}]}}`,
				`{"id":2,"at_ns":1000000,"after":[0],"session":"a","stream":"0","turn":1,"last":true,"context":"whole","body":{"prompt":"one \"1\" two"}}`,
				`{"id":3,"at_ns":1000000,"after":[1],"session":"b","stream":"0","turn":1,"last":true,"context":"whole","body":{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"},{"role":"user","content":"z"}],"tools":[1]}}`,
			}, "sessions_whole 2, ties_kept 2"},
		{"literal prompts", Options{},
			[]string{
				`{"timestamp":0,"text_input":"hé","output_length":3,"extra":{"top_p":1e-1}}`,
				`{"timestamp":1,"messages":[{"content":"x","role":"user"}],"tools":[{"a":1}],"message_mode":"history"}`,
				`{"timestamp":2,"payload":{"model":"m","max_completion_tokens":9, "x":[1, 2]},"headers":{"Authorization":"secret"}}`,
				`{"timestamp":3,"payload":{"max_tokens":5},"output_length":7,"type":"mooncake_trace"}`,
				`{"timestamp":4,"session_id":"s","messages":[{"role":"user"}]}`,
				`{"timestamp":5,"session_id":"s","messages":[{"role":"user"}],"message_mode":"delta"}`,
				`{"timestamp":6,"messages":[{"role":"user"}],"message_mode":"delta"}`,
			},
			[]string{
				`{"id":0,"at_ns":0,"session":"r1","stream":"0","turn":0,"last":true,"context":"whole","output_tokens":3,"body":{"prompt":"hé"},"extra":{"top_p":1e-1}}`,
				`{"id":1,"at_ns":1000000,"session":"r2","stream":"0","turn":0,"last":true,"context":"whole","body":{"messages":[{"content":"x","role":"user"}],"tools":[{"a":1}]}}`,
				`{"id":2,"at_ns":2000000,"session":"r3","stream":"0","turn":0,"last":true,"context":"whole","output_tokens":9,"body":{"model":"m","max_completion_tokens":9, "x":[1, 2]}}`,
				`{"id":3,"at_ns":3000000,"session":"r4","stream":"0","turn":0,"last":true,"context":"whole","output_tokens":7,"body":{"max_tokens":5}}`,
				`{"id":4,"at_ns":4000000,"session":"s","stream":"0","turn":0,"context":"delta","body":{"messages":[{"role":"user"}]}}`,
				`{"id":5,"at_ns":5000000,"after":[4],"session":"s","stream":"0","turn":1,"last":true,"context":"delta","body":{"messages":[{"role":"user"}]}}`,
				`{"id":6,"at_ns":6000000,"session":"r7","stream":"0","turn":0,"last":true,"context":"delta","body":{"messages":[{"role":"user"}]}}`,
			}, "headers_dropped 1, sessions_delta 1"},
		{"nulls are absent", Options{},
			[]string{`{"timestamp":0,"delay":null,"input_length":3,"output_length":null,"hash_ids":null,"session_id":null,"text_input":null,"messages":null,"tools":null,"payload":null,"message_mode":null,"context_mode":null,"extra":null,"headers":null,"type":null}`},
			[]string{`{"id":0,"at_ns":0,"session":"r1","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":3}`}, ""},
		{"unknown keys, a delay without a row before, too few ids", Options{},
			[]string{`{"timestamp":0,"input_length":2000,"hash_ids":[5],"delay":3,"group_id":7,"note":{"deep":[1]}}`, `{"timestamp":0,"input_length":512,"hash_ids":[5],"group_id":8}`},
			[]string{
				`{"id":0,"at_ns":0,"session":"r1","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":2000,"blocks":{"scope":"mooncake/t","keep":0,"add":[[5,1]]}}`,
				`{"id":1,"at_ns":0,"session":"r2","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":512,"blocks":{"scope":"mooncake/t","keep":0,"add":[[5,1]]}}`,
			}, "delay_without_predecessor 1, ids_short 1, ties_kept 1, unknown_key:group_id 2, unknown_key:note 1"},
		{"a session with the name of a row", Options{},
			[]string{`{"timestamp":0,"input_length":3}`, `{"timestamp":1,"input_length":4,"session_id":"r1"}`},
			[]string{
				`{"id":0,"at_ns":0,"session":"r1_","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":3}`,
				`{"id":1,"at_ns":1000000,"session":"r1","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":4}`,
			}, ""},
		{"another block size and scope", Options{BlockSize: 16, Scope: "day"},
			[]string{`{"timestamp":0,"input_length":33,"hash_ids":[1,2,3]}`},
			[]string{`{"id":0,"at_ns":0,"session":"r1","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":33,"blocks":{"scope":"day","keep":0,"add":[[1,3]]}}`}, ""},
		{"an empty list of ids is private", Options{},
			[]string{`{"timestamp":0,"input_length":33,"hash_ids":[]}`},
			[]string{`{"id":0,"at_ns":0,"session":"r1","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":33}`}, ""},
		{"a chain that breaks is counted", Options{},
			[]string{`{"timestamp":0,"input_length":1024,"hash_ids":[1,2]}`, `{"timestamp":0,"input_length":1024,"hash_ids":[3,2]}`},
			[]string{
				`{"id":0,"at_ns":0,"session":"r1","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":1024,"blocks":{"scope":"mooncake/t","keep":0,"add":[[1,2]]}}`,
				`{"id":1,"at_ns":0,"session":"r2","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":1024,"blocks":{"scope":"mooncake/t","keep":0,"add":[[3,1],[2,1]]}}`,
			}, "chain_breaks 1, ties_kept 1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, end, err := rows(t, tt.o, tt.in...)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("lines (-want +got)\n%s", d)
			}
			var counts []string
			for _, c := range end.Counts {
				counts = append(counts, fmt.Sprint(c.Name, " ", c.N))
			}
			if s := strings.Join(counts, ", "); s != tt.counts {
				t.Errorf("counts = %s; want %s", s, tt.counts)
			}
		})
	}
}

func TestMooncakeRefuses(t *testing.T) {
	const ok = `{"timestamp":0,"input_length":5}`
	for _, tt := range []struct {
		name string
		o    Options
		in   []string
		want string
	}{
		{"a negative length", Options{}, []string{ok, `{"timestamp":0,"input_length":-5}`}, `t.jsonl:2: input_length: got "-5", want a whole number of at least 1`},
		{"a length of 0", Options{}, []string{`{"timestamp":0,"input_length":0}`}, `t.jsonl:1: input_length: got "0"`},
		{"a negative output", Options{}, []string{`{"timestamp":0,"input_length":5,"output_length":-1}`}, `output_length: got "-1", want a whole number of at least 0`},
		{"half a token", Options{}, []string{`{"timestamp":0,"input_length":12.5}`}, `input_length: got "12.5"`},
		{"NaN", Options{}, []string{`{"timestamp":NaN,"input_length":5}`}, `timestamp: got "NaN", want a time in ms`},
		{"Infinity", Options{}, []string{`{"timestamp":0,"input_length":Infinity}`}, `input_length: got "Infinity"`},
		{"a negative time", Options{}, []string{`{"timestamp":-1,"input_length":5}`}, `timestamp: got "-1"`},
		{"a negative delay", Options{}, []string{`{"timestamp":0,"delay":-0.0001,"input_length":5}`}, `delay: got "-0.0001"`},
		{"a time beyond 2^63 ns", Options{}, []string{`{"timestamp":1e16,"input_length":5}`}, `timestamp: got "1e16"`},
		{"a length beyond 2^63", Options{}, []string{`{"timestamp":0,"input_length":9223372036854775808}`}, `input_length: got "9223372036854775808"`},
		{"a negative id", Options{}, []string{`{"timestamp":0,"input_length":5,"hash_ids":[-1]}`}, `hash_ids: got "-1"`},
		{"a text for a number", Options{}, []string{`{"timestamp":"0","input_length":5}`}, `timestamp: got "\"0\""`},
		{"too many ids", Options{}, []string{`{"timestamp":0,"input_length":512,"hash_ids":[1,2,3]}`}, `hash_ids: got "3 ids for input_length 512", want at most 1 of 512 tokens`},
		{"one id of two sizes", Options{}, []string{`{"timestamp":0,"input_length":182,"hash_ids":[7]}`, ok, `{"timestamp":0,"input_length":600,"hash_ids":[7,8]}`},
			`t.jsonl:3: hash_ids: got "id 7 for 512 tokens", want 182 tokens as on row 1: an id stands for one size`},
		{"one id of two sizes, the full one first", Options{}, []string{ok, `{"timestamp":0,"input_length":600,"hash_ids":[7,8]}`, `{"timestamp":0,"input_length":512,"hash_ids":[7]}`, `{"timestamp":0,"input_length":182,"hash_ids":[7]}`},
			`t.jsonl:4: hash_ids: got "id 7 for 182 tokens", want 512 tokens as on row 2`},
		{"no prompt", Options{}, []string{`{"timestamp":0}`}, `prompt: got "none", want one of input_length, text_input, messages and payload`},
		{"two prompts", Options{}, []string{`{"timestamp":0,"input_length":5,"text_input":"x"}`}, `prompt: got "2"`},
		{"ids without length", Options{}, []string{`{"timestamp":0,"text_input":"x","hash_ids":[1]}`}, `hash_ids: got "ids without input_length"`},
		{"tools without messages", Options{}, []string{`{"timestamp":0,"input_length":5,"tools":[1]}`}, `tools: got "tools without messages"`},
		{"empty tools", Options{}, []string{`{"timestamp":0,"messages":[{"role":"user"}],"tools":[]}`}, `tools: got "[]"`},
		{"empty messages", Options{}, []string{`{"timestamp":0,"messages":[ ]}`}, `messages: got "[ ]"`},
		{"a message without role", Options{}, []string{`{"timestamp":0,"messages":[{"content":"x"}]}`}, `messages: got "a message without role"`},
		{"an empty payload", Options{}, []string{`{"timestamp":0,"payload":{}}`}, `payload: got "{}"`},
		{"delta without messages", Options{}, []string{`{"timestamp":0,"input_length":5,"message_mode":"delta"}`}, `message_mode: got "delta without messages"`},
		{"delta with extra.messages", Options{}, []string{`{"timestamp":0,"messages":[{"role":"user"}],"message_mode":"delta","extra":{"messages":[]}}`}, `extra.messages:`},
		{"another message_mode", Options{}, []string{`{"timestamp":0,"messages":[{"role":"user"}],"message_mode":"all"}`}, `message_mode: got "all"`},
		{"another context_mode", Options{}, []string{`{"timestamp":0,"input_length":5,"context_mode":"x"}`}, `context_mode: got "x"`},
		{"unequal context_mode", Options{}, []string{`{"session_id":"a","timestamp":0,"input_length":5,"context_mode":"deltas_without_responses"}`, `{"session_id":"a","input_length":5}`},
			`t.jsonl:2: context_mode: got "", want "deltas_without_responses"`},
		{"lengths that cannot be joined", Options{}, []string{`{"session_id":"a","timestamp":0,"input_length":5,"context_mode":"deltas_with_responses"}`}, `only texts can be joined`},
		{"messages and lengths in a session", Options{}, []string{`{"session_id":"a","timestamp":0,"input_length":5}`, `{"session_id":"a","messages":[{"role":"user"}]}`}, `t.jsonl:2: messages:`},
		{"no time at the start of a session", Options{}, []string{`{"session_id":"a","delay":5,"input_length":5}`}, `timestamp: got "null", want a time, on the first row of session "a"`},
		{"no time without a session", Options{}, []string{`{"input_length":5}`}, `timestamp: got "null", want a time, on a row without session_id`},
		{"a session that goes back", Options{}, []string{`{"session_id":"a","timestamp":5,"text_input":"x"}`, `{"session_id":"a","timestamp":4,"text_input":"y"}`}, `t.jsonl:2: timestamp: got "4", want at least 5`},
		{"whole and delta in one session", Options{}, []string{`{"session_id":"a","timestamp":0,"input_length":5,"hash_ids":[1]}`, `{"session_id":"a","input_length":513,"hash_ids":[2,3]}`, `{"session_id":"a","input_length":600,"hash_ids":[2,4]}`},
			`t.jsonl:3: hash_ids: got "first id 2 after 2"`},
		{"a session without ids", Options{}, []string{`{"session_id":"a","timestamp":0,"input_length":5}`, `{"session_id":"a","input_length":6}`}, `t.jsonl: session "a": got "rows without hash_ids"`},
		{"an unknown key under strict", Options{Strict: true}, []string{`{"timestamp":0,"input_length":5,"group_id":1}`}, `t.jsonl:1: key: got "group_id"`},
		{"a repeated key", Options{}, []string{`{"timestamp":0,"input_length":5,"input_length":6}`}, `key: got "input_length", want each key once`},
		{"headers that are no object", Options{}, []string{`{"timestamp":0,"input_length":5,"headers":[]}`}, `headers: got "[", want an object`},
		{"an empty session name", Options{}, []string{`{"timestamp":0,"input_length":5,"session_id":""}`}, `session_id: got "", want a name, or null`},
		{"no JSON", Options{}, []string{ok, `hello`}, `t.jsonl:2: row: got "hello", want an object`},
		{"binary", Options{}, []string{"\x00\xff\x13"}, `t.jsonl:1: row: got "bytes that are not UTF-8"`},
		{"a second object", Options{}, []string{ok + ok}, `t.jsonl:1: line: got "{\"timestamp\":0"`},
		{"a list", Options{}, []string{`[` + ok + `]`}, `t.jsonl:1: row: got`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := rows(t, tt.o, tt.in...)
			var syntax *formats.SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v; want a SyntaxError with %s", err, tt.want)
			}
		})
	}
}

func TestMooncakeEnds(t *testing.T) {
	const ok = `{"timestamp":0,"input_length":5}`
	read := func(r io.Reader) error {
		tr, err := Mooncake(piped("t.jsonl", r), Options{})
		if err == nil {
			defer tr.Close()
			err = tr.Discard()
		}
		return err
	}
	for _, text := range []string{ok, ok + "\n", ok + "\r\n" + ok} {
		if err := read(strings.NewReader(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for name, r := range map[string]io.Reader{
		"nothing":            strings.NewReader(""),
		"blank lines":        strings.NewReader("\n\n"),
		"a row cut":          strings.NewReader(ok + "\n" + ok[:20]),
		"a row cut in a key": strings.NewReader(ok + "\n" + ok[:8]),
		"a container cut":    io.MultiReader(strings.NewReader(ok+"\n"+ok), &failing{io.ErrUnexpectedEOF}),
	} {
		var cut *formats.TruncatedError
		if err := read(r); !errors.As(err, &cut) {
			t.Errorf("%s: error = %v; want a TruncatedError", name, err)
		}
	}
	broken := errors.New("disk on fire")
	if err := read(io.MultiReader(strings.NewReader(ok), &failing{broken})); !errors.Is(err, broken) {
		t.Errorf("a stream that fails: %v; want its error", err)
	}
}

type failing struct{ err error }

func (f *failing) Read([]byte) (int, error) { return 0, f.err }

// A trace many times the sorter's memory comes out sorted, complete, and without that
// memory growing.
func TestMooncakeMemory(t *testing.T) {
	peak := func(n int) uint64 {
		return heapHalfway(t, Mooncake, piped("g", &generated{n: n, r: rand.New(rand.NewPCG(1, 2))}), Options{}, n)
	}
	small, large := peak(5_000), peak(250_000)
	if large > small+24<<20 {
		t.Errorf("heap of 250,000 rows is %d MiB, of 5,000 rows %d MiB; want much the same", large>>20, small>>20)
	}
}

// generated yields rows of which one in a hundred steps backward.
type generated struct {
	n, i int
	r    *rand.Rand
	buf  bytes.Buffer
}

func (g *generated) Read(p []byte) (int, error) {
	for g.buf.Len() == 0 {
		if g.i == g.n {
			return 0, io.EOF
		}
		at := g.i * 10
		if g.r.IntN(100) == 0 {
			at = max(0, at-g.r.IntN(5000))
		}
		fmt.Fprintf(&g.buf, `{"timestamp": %d, "input_length": 1100, "output_length": %d, "hash_ids": [0, %d, %d]}`+"\n", at, g.i%900, 2*g.i+1, 2*g.i+2)
		g.i++
	}
	return g.buf.Read(p)
}
