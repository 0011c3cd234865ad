package traces

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// wekaJSON is a trace with this list of requests, in short: 'in' for in and hash_ids of
// 64 tokens each are written out by the caller.
func wekaJSON(id, requests string) string {
	return `{"id":"` + id + `","models":["m"],"block_size":64,"hash_id_scope":"local","tool_tokens":9,"system_tokens":3,"requests":[` + requests + `]}`
}

// call is a request without ids, with a duration unless api is "".
func call(t, api string) string {
	if api != "" {
		api = `,"api_time":` + api
	}
	return `{"t":` + t + `,"type":"n","model":"m","in":100,"out":5` + api + `}`
}

// agent is a subagent entry.
func agent(id, status, t, duration string, calls ...string) string {
	if duration != "" {
		duration = `,"duration_ms":` + duration
	}
	return `{"t":` + t + `,"type":"subagent","agent_id":"` + id + `","subagent_type":"Explore","status":"` + status + `"` + duration + `,"requests":[` + strings.Join(calls, ",") + `]}`
}

func readWeka(t *testing.T, text string, o Options) (*Trace, []*schedule.Request) {
	t.Helper()
	tr, err := Weka(piped("w.json", strings.NewReader(text)), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	t.Cleanup(func() { tr.Close() })
	reqs, _ := plan(t, tr)
	return tr, reqs
}

// show prints what requests wait for, in order of time.
func show(reqs []*schedule.Request) string {
	var b strings.Builder
	for _, r := range reqs {
		fmt.Fprintf(&b, "%s/%d", r.Stream, r.Turn)
		for i, id := range r.After {
			b.WriteString([]string{" after ", "+"}[min(i, 1)] + fmt.Sprintf("%s/%d", reqs[id].Stream, reqs[id].Turn))
		}
		fmt.Fprintf(&b, " @%v", float64(r.AtNS.V)/1e9)
		switch {
		case r.DelayNS.Valid:
			fmt.Fprintf(&b, " +%v", float64(r.DelayNS.V)/1e9)
		case len(r.After) > 0:
			b.WriteString(" +?")
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func countsOf(tr *Trace) string {
	all := map[string]int64{}
	for _, c := range tr.Counts() {
		all[c.Name] = c.N
	}
	delete(all, "ties_kept")
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(all), "map["), "]")
}

// What the published files hold, and what other captures may hold.
func TestWekaGraph(t *testing.T) {
	for _, c := range []struct{ name, requests, want, counts string }{
		{"a chain", call("0", "2") + "," + call("5", "2.5"), "0/0 @0; 0/1 after 0/0 @5 +3", ""},
		{"a missing duration leaves only the order", call("0", "") + "," + call("5", "2"), "0/0 @0; 0/1 after 0/0 @5 +?", "service_unknown:1"},
		{"an end after the next start, by less than a second", call("0", "5.5") + "," + call("5", "2"), "0/0 @0; 0/1 after 0/0 @5 +0", "overlap_rounded:1"},
		{"by more", call("0", "1") + "," + call("3", "9") + "," + call("5", "2") + "," + call("20", "1"),
			"0/0 @0; 0/1 after 0/0 @3 +2; 0/2 after 0/0 @5 +4; 0/3 after 0/1+0/2 @20 +8", "overlapping:1"},
		{"a step back is sorted", call("0", "1") + "," + call("9", "1") + "," + call("5", "1"), "0/0 @0; 0/1 after 0/0 @5 +4; 0/2 after 0/0 @9 +8", "overlapping:1 sorted_backward:1"},
		{"equal rows and equal starts", call("0", "1") + "," + call("5", "2") + "," + call("5", "2") + "," + call("9", ""), "0/0 @0; 0/1 after 0/0 @5 +4; 0/2 after 0/0 @5 +4; 0/3 after 0/1+0/2 @9 +2", "overlapping:1 service_unknown:1"},
		{"equal starts of unknown duration", call("0", "1") + "," + call("5", "") + "," + call("5", ""), "0/0 @0; 0/1 after 0/0 @5 +4; 0/2 after 0/0 @5 +4", "service_unknown:2"},
		{"t of a completed subagent is its end",
			call("0", "7") + "," + agent("a", "completed", "30", "22000", call("0", "1"), call("5", "2")) + "," + call("40", "1"),
			"0/0 @0; a/0 after 0/0 @8 +1; a/1 after a/0 @13 +4; 0/1 after a/1 @40 +25", "subagent_times_relative:1"},
		{"one launched and left alone",
			call("0", "7") + "," + agent("a", "async_launched", "8", "", call("0", "1"), call("5", "2")) + "," + call("40", "1"),
			"0/0 @0; a/0 after 0/0 @8 +1; a/1 after a/0 @13 +4; 0/1 after 0/0 @40 +33", "subagent_times_relative:1"},
		{"siblings joined at once, one with two leaves",
			call("0", "2") + "," + agent("a", "completed", "30", "26000", call("0", "1")) + "," + agent("b", "completed", "29", "25000", call("0", "9"), call("2", "3")) + "," + call("40", "1"),
			"0/0 @0; a/0 after 0/0 @4 +2; b/0 after 0/0 @4 +2; b/1 after 0/0 @6 +4; 0/1 after a/0+b/0+b/1 @40 +27", "overlapping:1 subagent_times_relative:2"},
		{"siblings joined at different turns",
			call("0", "2") + "," + agent("a", "completed", "30", "26000", call("0", "1")) + "," + agent("b", "completed", "60", "56000", call("0", "50")) + "," + call("40", "1") + "," + call("70", "1"),
			"0/0 @0; a/0 after 0/0 @4 +2; b/0 after 0/0 @4 +2; 0/1 after a/0 @40 +35; 0/2 after b/0+0/1 @70 +16", "subagent_times_relative:2"},
		{"subagents behind the last request", call("0", "2") + "," + agent("a", "completed", "90", "26000", call("0", "1")), "0/0 @0; a/0 after 0/0 @64 +62", "subagent_times_relative:1"},
		{"a list that begins with one", agent("a", "async_launched", "3", "", call("0", "1")) + "," + call("5", "2"), "a/0 @3; 0/0 @5", "subagent_times_relative:1"},
		{"a capture that writes starts",
			call("0", "20") + "," + agent("a", "completed", "30", "15000", call("0", "9")) + "," + call("60", "1"),
			"0/0 @0; a/0 after 0/0 @30 +10; 0/1 after a/0 @60 +21", "subagent_t_is_start:1 subagent_times_relative:1"},
		{"inner times from the trace's zero",
			call("0", "2") + "," + agent("a", "completed", "30", "26000", call("4.5", "1"), call("9", "1")) + "," + call("40", "1"),
			"0/0 @0; a/0 after 0/0 @4.5 +2.5; a/1 after a/0 @9 +3.5; 0/1 after a/1 @40 +30", "subagent_times_absolute:1"},
		{"another status, with a duration", call("0", "2") + "," + agent("a", "failed", "30", "26000", call("0", "1")) + "," + call("40", "1"),
			"0/0 @0; a/0 after 0/0 @4 +2; 0/1 after a/0 @40 +35", "subagent_status_other:1 subagent_times_relative:1"},
		{"another status, without", call("0", "2") + "," + agent("a", "killed", "30", "null", call("0", "1")) + "," + call("40", "1"),
			"0/0 @0; a/0 after 0/0 @30 +28; 0/1 after 0/0 @40 +38", "subagent_status_other:1 subagent_times_relative:1"},
		{"an agent_id again, and one like the parent's stream",
			call("0", "2") + "," + agent("a", "async_launched", "3", "", call("0", "1")) + "," + agent("a", "async_launched", "5", "", call("0", "1")) + "," + agent("0", "async_launched", "7", "", call("0", "1")),
			"0/0 @0; a/0 after 0/0 @3 +1; a#2/0 after 0/0 @5 +3; 0#2/0 after 0/0 @7 +5", "subagent_times_relative:3"},
		{"a subagent that did nothing", call("0", "2") + "," + agent("a", "completed", "30", "26000") + "," + call("40", "1"), "0/0 @0; 0/1 after 0/0 @40 +38", "subagents_empty:1"},
		{"a subagent that runs past the request that would wait for it",
			call("0", "2") + "," + agent("a", "completed", "30", "26000", call("0", "1"), call("90", "1")) + "," + call("40", "1"),
			"0/0 @0; a/0 after 0/0 @4 +2; 0/1 after 0/0 @40 +38; a/1 after a/0 @94 +89", "subagent_not_awaited:1 subagent_times_relative:1"},
	} {
		tr, reqs := readWeka(t, wekaJSON("x", c.requests), Options{})
		if got := show(reqs); got != c.want {
			t.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
		}
		if got := countsOf(tr); got != c.counts {
			t.Errorf("%s: counts %s; want %s", c.name, got, c.counts)
		}
		if tr.QuantumNS != wekaQuantum {
			t.Errorf("%s: quantum %d", c.name, tr.QuantumNS)
		}
	}
}

// Ids of a prompt: whether the rest has one, too few, too many, sizes, scopes.
func TestWekaBlocks(t *testing.T) {
	ask := func(in int, ids string) string {
		return fmt.Sprintf(`{"t":0,"type":"s","model":"","in":%d,"out":0,"hash_ids":[%s]}`, in, ids)
	}
	for _, c := range []struct{ name, requests, last, counts string }{
		{"no rest", ask(128, "1,2"), "absent", ""},
		{"full blocks only", ask(130, "1,2"), "absent", ""},
		{"the rest has one", ask(128, "1,2") + "," + ask(130, "1,2,3"), "partial", ""},
		{"fewer under absent", ask(130, "1,2") + "," + ask(200, "1"), "absent", "ids_short:1"},
		{"fewer under partial", ask(130, "1,2,3") + "," + ask(200, "1,2"), "partial", "ids_short:1"},
		{"shorter than a block", ask(3, "") + "," + ask(130, "1,2"), "absent", ""},
		{"another id before", ask(130, "1,2") + "," + ask(130, "2,1"), "absent", "chain_breaks:2"},
		{"null and no ids", ask(3, "") + `,{"t":0,"type":"n","in":900,"out":1,"hash_ids":null}`, "absent", ""},
	} {
		tr, reqs := readWeka(t, wekaJSON("x", c.requests), Options{})
		counts := countsOf(tr)
		for _, always := range []string{"output_zero:1", "output_zero:2", "service_unknown:1", "service_unknown:2"} {
			counts = strings.TrimSpace(strings.ReplaceAll(counts, always, ""))
		}
		if tr.Block == nil || tr.Block.Last != c.last || tr.Block.Tokens != 64 || counts != c.counts {
			t.Errorf("%s: block %v, counts %q; want %s, %q", c.name, tr.Block, counts, c.last, c.counts)
		}
		if b := reqs[0].Blocks; b != nil && (b.Scope != "x" || b.System != 1) {
			t.Errorf("%s: scope %q, %d blocks of system prompt; want x and 1", c.name, b.Scope, b.System)
		}
	}

	const inner = `,{"t":9,"type":"subagent","agent_id":"a","status":"async_launched","tool_tokens":65,"system_tokens":null,"requests":[`
	_, reqs := readWeka(t, strings.Replace(wekaJSON("x", ask(200, "1,2,3")+inner+ask(200, "4,5,6")+`]}`), `"tool_tokens":9`, `"tool_tokens":999`, 1), Options{})
	if reqs[0].Blocks.System != 3 || reqs[1].Blocks.System != 2 {
		t.Errorf("blocks of the system prompt = %d and %d; want 3, all there are, and 2 of the subagent", reqs[0].Blocks.System, reqs[1].Blocks.System)
	}

	global := strings.ReplaceAll(wekaJSON("a", ask(130, "1,2")), "local", "global") + "\n" + strings.ReplaceAll(wekaJSON("b", ask(130, "1,2")), "local", "global")
	for scope, want := range map[string]string{"": "weka/w", "parts": "parts"} {
		if _, reqs := readWeka(t, global, Options{Scope: scope}); reqs[0].Blocks.Scope != want || reqs[1].Blocks.Scope != want {
			t.Errorf("--scope %q: scope %q", scope, reqs[0].Blocks.Scope)
		}
	}
	if tr, _ := readWeka(t, wekaJSON("a", ask(130, "1,2")), Options{Scope: "s"}); tr.Undecided != "scope" {
		t.Errorf("a scope that nothing uses: undecided %q", tr.Undecided)
	}
	silent := strings.Replace(wekaJSON("a", ask(130, "1,2")), `"hash_id_scope":"local",`, "", 1)
	if _, reqs := readWeka(t, silent, Options{Scope: "s"}); reqs[0].Blocks.Scope != "s" {
		t.Errorf("no hash_id_scope: scope %q", reqs[0].Blocks.Scope)
	}
}

func TestWekaRefuses(t *testing.T) {
	with := func(key, value string) string {
		return strings.Replace(wekaJSON("x", call("0", "1")), `"models":["m"]`, `"models":["m"],"`+key+`":`+value, 1)
	}
	without := func(part string) string { return strings.Replace(wekaJSON("x", call("0", "1")), part, "", 1) }
	one := func(request string) string { return wekaJSON("x", call("0", "1")+","+request) }
	ids := func(in int, ids string) string {
		return fmt.Sprintf(`{"t":0,"type":"s","model":"","in":%d,"out":0,"hash_ids":[%s]}`, in, ids)
	}
	global := func(id, requests string) string { return strings.Replace(wekaJSON(id, requests), "local", "global", 1) }
	for _, c := range []struct {
		name, text, want string
		o                Options
	}{
		{name: "nothing", text: " \n", want: "w.json: truncated: got end of input, want a first row"},
		{name: "a list", text: "[]", want: `w.json:1: trace: got "[", want an object`},
		{name: "a word", text: "null", want: `w.json:1: trace: got "null", want an object`},
		{name: "a schedule", text: `{"schedule":{"format":"hydrant-schedule"}}`, want: `w.json:1: id: got "nothing", want this key in each trace`},
		{name: "cut in a list", text: wekaJSON("x", call("0", "1"))[:160], want: "w.json:1: truncated: got end of input, want the rest of the trace: unexpected EOF"},
		{name: "cut on a later line", text: wekaJSON("x", call("0", "1")) + "\n\n" + `{"id":"y"`, want: "w.json:3: truncated: got end of input, want the rest of the trace: unexpected EOF"},
		{name: "a comma too many", text: wekaJSON("x", call("0", "1")+","), want: `w.json:1: requests[1]: got "]", want a value`},
		{name: "no comma", text: wekaJSON("x", call("0", "1")+call("1", "1")), want: `w.json:1: requests: got "{\"t\":1", want a comma or ']'`},
		{name: "no colon", text: `{"id" "x"}`, want: `w.json:1: key: got "\"x\"", want a colon`},
		{name: "a key without quotes", text: `{id:"x"}`, want: `w.json:1: key: got "id:\"x\"", want a quoted key`},
		{name: "bytes that are no text", text: with("note", "\"\xff\""), want: `w.json:1: note: got "bytes that are not UTF-8", want a JSON value`},
		{name: "unbalanced", text: with("note", `{"a":]}`), want: `w.json:1: note: got "]", want a JSON value`},
		{name: "no id", text: without(`"id":"x",`), want: `w.json:1: id: got "nothing", want this key in each trace`},
		{name: "an empty id", text: wekaJSON("", call("0", "1")), want: `w.json:1: id: got "", want a name`},
		{name: "an id twice in a trace", text: with("id", `"y"`), want: `w.json:1: key: got "id", want each key once`},
		{name: "requests twice", text: with("requests", `[`+call("0", "1")+`]`), want: `w.json:1: key: got "requests", want each key once`},
		{name: "an id again", text: wekaJSON("x", call("0", "1")) + "\n" + wekaJSON("x", call("0", "1")), want: `w.json:2: id: got "x", want another id than the trace at w.json:1`},
		{name: "no block size", text: without(`"block_size":64,`), want: `w.json:1: block_size: got "nothing", want this key in each trace`},
		{name: "block size 0", text: strings.Replace(wekaJSON("x", call("0", "1")), ":64", ":0", 1), want: `w.json:1: block_size: got "0", want a whole number of at least 1`},
		{name: "another block size", text: wekaJSON("x", call("0", "1")) + strings.Replace(wekaJSON("y", call("0", "1")), ":64", ":16", 1), want: `w.json:1: block_size: got "16", want 64 as in the traces before`},
		{name: "no scope", text: without(`"hash_id_scope":"local",`), want: `w.json:1: hash_id_scope: got "nothing", want local or global`},
		{name: "another scope", text: strings.Replace(wekaJSON("x", call("0", "1")), "local", "team", 1), want: `w.json:1: hash_id_scope: got "team", want local or global`},
		{name: "no requests", text: wekaJSON("x", ""), want: `w.json:1: requests: got "an empty list", want a request`},
		{name: "an unknown key under --strict", text: with("note", "1"), o: Options{Strict: true}, want: `w.json:1: key: got "note", want known keys only, under --strict`},
		{name: "no t", text: one(`{"type":"n","in":1,"out":1}`), want: `w.json:1: requests[1].t: got "nothing", want this key in each entry of its kind`},
		{name: "t null", text: one(`{"t":null,"type":"n","in":1,"out":1}`), want: `w.json:1: requests[1].t: got "null", want a time in s between 0 and 50 years`},
		{name: "t before zero", text: one(call("-0.5", "")), want: `w.json:1: requests[1].t: got "-0.5", want a time in s between 0 and 50 years`},
		{name: "t in a string", text: one(call(`"5"`, "")), want: `w.json:1: requests[1].t: got "\"5\"", want a time in s between 0 and 50 years`},
		{name: "a duration below 0", text: one(call("1", "-1")), want: `w.json:1: requests[1].api_time: got "-1", want a time in s between 0 and 50 years`},
		{name: "a duration without end", text: one(call("1", "Infinity")), want: `w.json:1: requests[1].api_time: got "Infinity", want a time in s between 0 and 50 years`},
		{name: "a time beyond 64 bits", text: one(call("1e300", "")), want: `w.json:1: requests[1].t: got "1e300", want a time in s between 0 and 50 years`},
		{name: "half a token", text: one(`{"t":1,"type":"n","in":1.5,"out":1}`), want: `w.json:1: requests[1].in: got "1.5", want a whole number of at least 0`},
		{name: "another type", text: one(`{"t":1,"type":"x","in":1,"out":1}`), want: `w.json:1: requests[1].type: got "x", want n, s or subagent`},
		{name: "a list in a request", text: one(`{"t":1,"type":"n","in":1,"out":1,"requests":[` + call("0", "1") + `]}`), want: `w.json:1: requests[1].requests: got "a list", want none in a request of type n`},
		{name: "ids in a subagent", text: one(`{"t":1,"type":"subagent","agent_id":"a","status":"x","hash_ids":[1],"requests":[]}`), want: `w.json:1: requests[1].hash_ids: got "a list", want none in a subagent`},
		{name: "a subagent in a subagent", text: one(agent("a", "async_launched", "3", "", call("0", "1"), agent("b", "async_launched", "3", "", call("0", "1")))),
			want: `w.json:1: requests[1].requests[1].type: got "subagent", want n or s: a subagent within a subagent is not read`},
		{name: "a completed subagent without a duration", text: one(agent("a", "completed", "3", "", call("0", "1"))), want: `w.json:1: requests[1].duration_ms: got "nothing", want the wall time of a completed subagent`},
		{name: "a subagent without a name", text: one(agent("", "completed", "3", "1", call("0", "1"))), want: `w.json:1: requests[1].agent_id: got "", want a name`},
		{name: "a subagent without requests", text: one(`{"t":1,"type":"subagent","agent_id":"a","status":"x"}`), want: `w.json:1: requests[1].requests: got "nothing", want this key in each entry of its kind`},
		{name: "too many ids", text: wekaJSON("x", ids(100, "1,2,3")), want: `w.json:1: requests[0].hash_ids: got "3 ids for in 100", want at most 2 of 64 tokens`},
		{name: "an id for the rest where others have none", text: wekaJSON("x", ids(100, "1")+","+ids(100, "1,2")), want: `w.json:1: requests[1].hash_ids: got "2 ids for in 100", want at most 1 of 64 tokens`},
		{name: "ids for no tokens", text: wekaJSON("x", ids(0, "1")), want: `w.json:1: requests[0].hash_ids: got "1 ids for in 0", want at most 0 of 64 tokens`},
		{name: "an id below 0", text: wekaJSON("x", ids(100, "-1")), want: `w.json:1: requests[0].hash_ids: got "-1", want a whole number of at least 0`},
		{name: "an id of two sizes", text: wekaJSON("x", ids(100, "1,2")+","+ids(200, "1,2,3,4")), want: `w.json:1: requests[1].hash_ids: got "id 2 for 64 tokens", want 36 tokens as in requests[0]: an id stands for one size`},
		{name: "an id of two sizes in one prompt", text: wekaJSON("x", ids(100, "1,1")), want: `w.json:1: requests[0].hash_ids: got "id 1 for 36 tokens", want 64 tokens as in this request: an id stands for one size`},
		{name: "an id of two sizes in two traces", text: global("x", ids(100, "1,2")) + "\n" + global("y", call("0", "")+","+ids(110, "3,2")), want: `w.json:2: requests[1].hash_ids: got "id 2 for 46 tokens", want 36 tokens as in requests[0] of trace "x": an id stands for one size`},
		{name: "totals that are none", text: with("totals", `{"subagent_count":"3"}`), want: `w.json:1: totals.subagent_count: got "\"3\"", want a whole number of at least 0`},
	} {
		_, err := Weka(piped("w.json", strings.NewReader(c.text)), c.o)
		var syntax *formats.SyntaxError
		var cut *formats.TruncatedError
		if err == nil || err.Error() != c.want || !errors.As(err, &syntax) && !errors.As(err, &cut) {
			t.Errorf("%s:\ngot  %v\nwant %s", c.name, err, c.want)
		}
	}
}

// What is ignored, repaired or doubted is counted and told.
func TestWekaCounts(t *testing.T) {
	extra := strings.Replace(wekaJSON("x", call("0", "1")+`,{"t":2.000,"type":"n","model":null,"in":12.0,"out":1,"note":[{}],"think_time":9}`), `"models"`, `"licence":"x","totals":{"parent_tokens":{"input":1,"output":2},"subagent_tokens":{"input":0,"output":0},"subagent_count":0},"models"`, 1)
	extra = strings.Replace(extra, `"model":null,`, "", 1)
	tr, reqs := readWeka(t, extra+"\n\n"+wekaJSON("y", call("0", "1")+","+call("7300", "1")), Options{})
	if got, want := countsOf(tr), "service_unknown:1 think_time_differs:1 totals_differ:1 unknown_key:licence:1 unknown_key:note:1"; got != want {
		t.Errorf("counts %s; want %s", got, want)
	}
	want := []string{
		`w.json: 2 of 2 sessions start together at 0, and times are whole seconds; --arrivals with --rate gives sessions starts of their own`,
		`w.json: requests[1] of "y" waits 7299 s; --think-cap shortens such waits`,
		`w.json:1: unknown key "licence", ignored on 1 row`,
		`w.json:1: unknown key "note", ignored on 1 row`,
	}
	if !slices.Equal(tr.Warnings, want) {
		t.Errorf("warnings:\n%s\nwant:\n%s", strings.Join(tr.Warnings, "\n"), strings.Join(want, "\n"))
	}
	if r := reqs[2]; r.Session != "x" || r.InputTokens.V != 12 || r.Model != "" || r.Class != "main" {
		t.Errorf("third request = %+v", r)
	}
}

// A folder is read in the order of ids, whatever its files are named, and gives what one
// file with all its traces gives.
func TestWekaFolder(t *testing.T) {
	folder := t.TempDir()
	traces := map[string]string{"z.json": wekaJSON("a", call("0", "1")+","+call("5", "1")), "a.jsonl": wekaJSON("c", call("0", "1")) + "\n" + wekaJSON("b", call("5", "1")+","+call("9", "1"))}
	for name, text := range traces {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "README.md"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "more.json"), 0o777); err != nil {
		t.Fatal(err)
	}
	in := Input{Place: folder, Name: "folder", Path: folder, Open: openFile}
	tr, err := Weka(in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	reqs, _ := plan(t, tr)
	var order []string
	for _, r := range reqs {
		order = append(order, fmt.Sprintf("%s/%d", r.Session, r.Turn))
	}
	if got := strings.Join(order, " "); got != "a/0 c/0 a/1 b/0 b/1" || countOf(tr, "files_ignored") != 2 || len(tr.Sources) != 2 {
		t.Errorf("%s, counts %s, sources %v", got, countsOf(tr), tr.Sources)
	}
	_, one := readWeka(t, traces["z.json"]+"\n"+wekaJSON("b", call("5", "1")+","+call("9", "1"))+wekaJSON("c", call("0", "1")), Options{})
	for i := range one {
		if a, b := schedule.AppendRequest(nil, one[i]), schedule.AppendRequest(nil, reqs[i]); string(a) != string(b) {
			t.Errorf("request %d:\nfile   %s\nfolder %s", i, a, b)
		}
	}

	bad := filepath.Join(folder, "zz.json")
	if err := os.WriteFile(bad, []byte(wekaJSON("c", call("0", "1"))), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Weka(in, Options{}); err == nil || !strings.HasPrefix(err.Error(), bad+`:1: id: got "c", want another id than the trace at `+filepath.Join(folder, "a.jsonl")+":1") {
		t.Errorf("an id in two files: %v", err)
	}
	if _, err := Weka(Input{Place: "empty", Path: t.TempDir(), Open: openFile}, Options{}); err == nil || !strings.Contains(err.Error(), "empty: truncated: got end of input, want a first row") {
		t.Errorf("an empty folder: %v", err)
	}
}

// The layout of the JSON makes no difference.
func TestWekaLayout(t *testing.T) {
	text := wekaJSON("x", call("0", "1")+","+agent("a", "completed", "9", "5000", call("0", "1")))
	_, want := readWeka(t, text, Options{})
	wide := strings.NewReplacer(",", " ,\r\n\t", ":", " : ", "{", "{\n", "}", "\n}", "[", "[ ", "]", " ]").Replace(text)
	for name, r := range map[string]io.Reader{"spread over lines": strings.NewReader(wide), "behind a byte order mark": strings.NewReader("\uFEFF" + text), "byte by byte": oneByte{strings.NewReader(text)}} {
		tr, err := Weka(piped("w.json", r), Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		defer tr.Close()
		if reqs, _ := plan(t, tr); show(reqs) != show(want) {
			t.Errorf("%s: %s; want %s", name, show(reqs), show(want))
		}
	}
	bad := strings.Replace(wide, "5000", "5000.5", 1)
	if _, err := Weka(piped("w.json", strings.NewReader(bad)), Options{}); err == nil || !strings.Contains(err.Error(), "requests[1].duration_ms") {
		t.Errorf("a fault on a later line: %v", err)
	}
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

// A trace cut at any byte is one error, never a shorter trace.
func TestWekaCut(t *testing.T) {
	text := wekaJSON("x", call("0", "1")+","+agent("a", "completed", "9", "5000", call("0", "1")))
	for n := range text {
		_, err := Weka(piped("w.json", strings.NewReader(text[:n])), Options{})
		if cut := new(formats.TruncatedError); !errors.As(err, &cut) {
			t.Errorf("%s: %v; want it truncated", text[:n], err)
		}
	}
}
