package traces

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hydrant/formats/schedule"
	"hydrant/internal/codec"
	"hydrant/internal/fixture"

	"github.com/google/go-cmp/cmp"
)

const ragTrace = "ragpulse/0_trace_lines_1-2500_and_3801-5300.jsonl.zst"

// unpack opens a file and looks through its compression.
func unpack(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	z, _, err := codec.NewReader(f)
	if err != nil {
		f.Close()
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{z, f}, nil
}

// folder reads a folder as RAGPulse.
func folder(t testing.TB, path string, o Options) *Trace {
	t.Helper()
	tr, err := RAGPulse(Input{Place: path, Name: filepath.Base(path), Path: path, Open: unpack}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

func TestRAGPulseExpected(t *testing.T) {
	w := want(t, ragTrace)
	tr := folder(t, fixture.Shared(t, "data/ragpulse"), Options{})
	reqs, end := plan(t, tr)
	w.Unwrapped.Last, w.Unwrapped.Backward = w.Unwrapped.Max, 0
	w.compare(t, tr, 0, reqs, end, w.Unwrapped, 1e9)
	sources := []string{ragTrace, "ragpulse/1_sys_prompt.jsonl.zst", "ragpulse/2_passages.jsonl.zst", "ragpulse/3_history.jsonl.zst", "ragpulse/5_web_search.jsonl.zst", "ragpulse/4_user_input.jsonl.zst"}
	for i, name := range sources {
		s := want(t, name)
		if got := tr.Sources[i]; got.Name != filepath.Base(name) || got.Bytes != s.Bytes || got.SHA256 != s.SHA256 {
			t.Errorf("source %d = %+v; want %s of %d bytes, %s", i, got, name, s.Bytes, s.SHA256)
		}
	}
	if c := counts(end); c != "blank_lines 6, ties_kept 36, week_wraps 1" || len(tr.Warnings) > 0 || tr.QuantumNS != 1e9 {
		t.Errorf("counts %q, warnings %q, quantum %d", c, tr.Warnings, tr.QuantumNS)
	}

	perSession, weeks := map[string]int{}, map[string]map[bool]bool{}
	before := map[string]*schedule.Request{}
	for i, r := range reqs {
		perSession[r.Session]++
		if weeks[r.Session] == nil {
			weeks[r.Session] = map[bool]bool{}
		}
		weeks[r.Session][i >= 2500] = true
		var after []int64
		turn := int64(0)
		if b := before[r.Session]; b != nil {
			after, turn = []int64{b.ID}, b.Turn+1
		}
		before[r.Session] = r
		if !slices.Equal(r.After, after) || r.DelayNS.Valid || r.Turn != turn || r.Context != schedule.Whole || r.Blocks.Scope != "ragpulse/0_trace_lines_1-2500_and_3801-5300" {
			t.Fatalf("request %d = %+v; want turn %d after %v", r.ID, r, turn, after)
		}
	}
	single, both := 0, 0
	for s, n := range perSession {
		if n == 1 {
			single++
		}
		if len(weeks[s]) == 2 {
			both++
		}
	}
	if len(perSession) != 2250 || int64(len(perSession)) != w.Sessions || end.Sessions != w.Sessions || single != 1321 || both != 2 {
		t.Errorf("%d sessions, %d of one row, %d in both weeks; want 2250, 1321, 2", len(perSession), single, both)
	}
	// The clock goes back at record 2,501: 340,414 s, then 0 s of the second week.
	if reqs[2499].AtNS.V != 340_414e9 || reqs[2500].AtNS.V != 604_800e9 || reqs[0].AtNS.V != 82e9 {
		t.Errorf("records 1, 2500 and 2501 at %d, %d and %d", reqs[0].AtNS.V, reqs[2499].AtNS.V, reqs[2500].AtNS.V)
	}
	for _, q := range []struct {
		record int
		id     string // "" for a UUID
	}{{598, "1757504583358"}, {601, "1757504583358"}, {603, "1757504637189"}, {605, "1757504637189"}, {2486, ""}, {2487, ""}, {2488, ""}, {2490, "1"}, {2500, "123"}} {
		s := reqs[q.record-1].Session
		if q.id != "" && s != q.id || q.id == "" && (len(s) != 36 || strings.Count(s, "-") != 4) {
			t.Errorf("record %d: session %q; want %q", q.record, s, q.id)
		}
	}
}

// Block ids by size: hits over input tokens.
func TestRAGPulseBlocks(t *testing.T) {
	dir := fixture.Shared(t, "data/ragpulse")
	for _, c := range []struct {
		size                   int64
		blocks, hits, distinct int64
		ratio                  float64
	}{
		{16, 727_394, 230_627, 496_767, 0.3152886678},
		{64, 180_382, 57_640, 180_382 - 57_640, 0.3151970725},
		{512, 20_972, 7_188, 20_972 - 7_188, 0.3144533737},
	} {
		tr := folder(t, dir, Options{BlockSize: c.size})
		_, end := plan(t, tr)
		if end.Blocks != c.blocks || end.HitBlocks != c.hits || end.DistinctBlocks != c.distinct || !near(*end.TokenHitRatio, c.ratio, 10) || *tr.Block != (schedule.Block{Tokens: c.size, Last: schedule.Absent}) {
			t.Errorf("blocks of %d: %d, %d hits, %d distinct, ratio %v; want %+v", c.size, end.Blocks, end.HitBlocks, end.DistinctBlocks, *end.TokenHitRatio, c)
		}
	}
}

// ragRow is a row as the standard library reads it.
type ragRow struct {
	Input int64              `json:"input_length"`
	IDs   map[string][]int64 `json:"hash_ids"`
}

// ragRaw reads the fixture with the standard library: its rows, and the lengths of
// components by kind.
func ragRaw(t *testing.T) (rows []ragRow, lengths map[string]map[int64]int64) {
	t.Helper()
	each := func(rel string, v func() any, add func(any)) {
		f, err := unpack(fixture.Shared(t, "data/"+rel))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for dec := json.NewDecoder(f); ; {
			x := v()
			if err := dec.Decode(x); err == io.EOF {
				return
			} else if err != nil {
				t.Fatal(err)
			}
			add(x)
		}
	}
	each(ragTrace, func() any { return &ragRow{} }, func(x any) { rows = append(rows, *x.(*ragRow)) })
	lengths = map[string]map[int64]int64{}
	for list, of := range map[string][2]string{
		"sys_prompt": {"1_sys_prompt", "sys_prompt_id"}, "passages_ids": {"2_passages", "passage_id"}, "history": {"3_history", "history_id"},
		"user_input": {"4_user_input", "user_input_id"}, "web_search": {"5_web_search", "web_search_id"},
	} {
		m := map[int64]int64{}
		lengths[list] = m
		each("ragpulse/"+of[0]+".jsonl.zst", func() any { return &map[string]int64{} }, func(x any) {
			row := *x.(*map[string]int64)
			m[row[of[1]]] = row["token_length"]
		})
	}
	return rows, lengths
}

var ragOrder = []string{"sys_prompt", "passages_ids", "history", "web_search", "user_input"}

// The figures of components, counted in a plain way; and the ids of the reader, which
// are equal exactly where the texts in front are.
func TestRAGPulseComponents(t *testing.T) {
	w := want(t, ragTrace)
	rows, lengths := ragRaw(t)
	reqs, _ := plan(t, folder(t, fixture.Shared(t, "data/ragpulse"), Options{}))
	var components, sum, hits, hitTokens, anywhere, table int64
	empty := map[string]int{}
	distinct, seen := map[string]bool{}, map[string]bool{}
	for _, m := range lengths {
		table += int64(len(m))
		for _, n := range m {
			if n < 1 || n > 512 {
				t.Errorf("a component of %d tokens", n)
			}
		}
	}
	const size = 16
	names := map[string]int64{} // what stands from the start to the end of a block → its id
	fresh := int64(0)
	for i, row := range rows {
		path, hit, off, total := "", true, int64(0), int64(0)
		var ids []int64
		var own []string
		for _, list := range ragOrder {
			if len(row.IDs[list]) == 0 {
				empty[list]++
			}
			for _, id := range row.IDs[list] {
				n := lengths[list][id]
				one := fmt.Sprintf("%s %d", list, id)
				path += "/" + one
				components++
				total += n
				if hit = hit && seen[path]; hit {
					hits++
					hitTokens += n
				}
				if distinct[one] {
					anywhere += n
				}
				own = append(own, one)
				for end := (off/size + 1) * size; end <= off+n; end += size {
					key := fmt.Sprintf("%s to %d", path, end)
					if _, ok := names[key]; !ok {
						names[key] = fresh
						fresh++
					}
					ids = append(ids, names[key])
				}
				off += n
			}
		}
		path = ""
		for _, one := range own {
			path += "/" + one
			seen[path], distinct[one] = true, true
		}
		sum += total
		if extra := row.Input - total; extra < 6 || extra > 12 {
			t.Errorf("record %d is %d longer than its components", i+1, extra)
		}
		var got []int64
		for _, run := range reqs[i].Blocks.Add {
			for j := range run[1] {
				got = append(got, run[0]+j)
			}
		}
		if !slices.Equal(got, ids) {
			t.Fatalf("record %d: ids %v; want %v", i+1, got, ids)
		}
	}
	if table != 26_924 || components != w.Components || components != 40_063 || sum != w.ComponentTokens || hits != w.HitComponents || hits != 7_212 ||
		hitTokens != w.HitTokens || hitTokens != 3_690_157 || int64(len(distinct)) != w.Distinct || empty["passages_ids"] != 841 || empty["web_search"] != 3_884 {
		t.Errorf("%d in tables, %d components of %d tokens, %d hits of %d, %d distinct, empty %v; want %+v", table, components, sum, hits, hitTokens, len(distinct), empty, w)
	}
	if r := float64(hitTokens) / float64(sum); !near(r, w.HitRatio, 10) {
		t.Errorf("prefix hit ratio %v; want %v", r, w.HitRatio)
	}
	if r := float64(anywhere) / float64(sum); !near(r, 0.6991888901, 10) {
		t.Errorf("hit ratio at any position %v; want 0.6991888901", r)
	}
}

// ragTables writes five small tables into a folder: ids 0 to 9 of each kind, k*100 of
// the kth, of the lengths given for the id's last digit.
func ragTables(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for k, file := range []string{"1_sys_prompt", "2_passages", "3_history", "4_user_input", "5_web_search"} {
		key := []string{"sys_prompt_id", "passage_id", "history_id", "user_input_id", "web_search_id"}[k]
		var b strings.Builder
		for i := range 10 {
			fmt.Fprintf(&b, `{"%s": %d, "token_length": %d}`+"\n", key, (k+1)*100+i, []int{5, 16, 20, 1, 40, 7, 32, 3, 100, 11}[i])
		}
		ragFile(t, dir, file+".jsonl", b.String())
	}
	return dir
}

func ragFile(t testing.TB, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// ragLine is a row with these components, whose input is extra longer than they are.
func ragLine(at, session string, input int64, lists string) string {
	return fmt.Sprintf(`{"timestamp":%q,"input_length":%d,"output_length":9,"hash_ids":%s,"session_id":%q}`+"\n", at, input, lists, session)
}

// ragLists writes hash_ids.
func ragLists(sys, passages, history, web, user string) string {
	return fmt.Sprintf(`{"user_input":[%s],"sys_prompt":[%s],"passages_ids":[%s],"history":[%s],"web_search":[%s]}`, user, sys, passages, history, web)
}

func ragReader(dir string) reader {
	return func(f Input, o Options) (*Trace, error) {
		o.Tables, f.Open = dir, unpack
		return RAGPulse(f, o)
	}
}

func TestRAGPulseIDs(t *testing.T) {
	read := ragReader(ragTables(t))
	text := ragLine("5", "a", 5+20+40+8, ragLists("100", "202", "", "504", "")) + // 65 tokens: 4 blocks, 1 ends in 202, 3 in 504
		ragLine("6", "b", 5+20+5+6, ragLists("100", "202", "", "", "400")) + // 30: 1, the same
		ragLine("7", "a", 5+20+40+100+12, ragLists("100", "202", "", "504", "408")) + // 165: 4 the same, 6 new
		ragLine("8", "c", 20+5+6, ragLists("", "202", "", "", "400")) + // 25: 1, another text in front
		ragLine("9", "c", 3+6, ragLists("107", "", "", "", "")) + // 3: none
		ragLine("10", "d", 7, ragLists("", "", "", "", "")) + // nothing but the template
		ragLine("11", "e", 5+20+40+13, ragLists("100", "202", "", "504", "")) + // too long for its components
		ragLine("12", "e", 50, ragLists("100", "202", "", "504", "")) // too short: 3 full blocks of 4
	lines, end, _, err := texts(t, read, Options{}, text)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, l := range lines {
		_, ids, ok := strings.Cut(l, `"add":`)
		if !ok {
			got = append(got, "none")
			continue
		}
		ids, _, _ = strings.Cut(ids, "}")
		got = append(got, ids)
	}
	if w := []string{"[[0,4]]", "[[0,1]]", "[[0,10]]", "[[10,1]]", "none", "none", "[[0,4]]", "[[0,3]]"}; !slices.Equal(got, w) {
		t.Errorf("ids = %q; want %q", got, w)
	}
	if c := counts(end); c != "length_differs 2" {
		t.Errorf("counts = %q", c)
	}
	if w := `{"id":2,"at_ns":7000000000,"after":[0],"session":"a","stream":"0","turn":1,"last":true,"context":"whole","input_tokens":177,"output_tokens":9,"blocks":{"scope":"ragpulse/t","keep":0,"add":[[0,10]]}}`; lines[2] != w {
		t.Errorf("line 3 = %s; want %s", lines[2], w)
	}
	sameInAnyForm(t, read, Options{BlockSize: 7, Scope: "x"}, text)
	refusesBrokenStreams(t, read, Options{}, text)
}

func TestRAGPulseClock(t *testing.T) {
	read := ragReader(ragTables(t))
	var text string
	for _, at := range []string{"100", "302500", "99", "98", "604799", "0", "302401", "1", "0"} {
		text += ragLine(at, "s", 11, ragLists("100", "", "", "", ""))
	}
	lines, end, _, err := texts(t, read, Options{}, text)
	if err != nil {
		t.Fatal(err)
	}
	var got []int64
	for _, l := range lines {
		var r struct {
			At int64 `json:"at_ns"`
		}
		if err := json.Unmarshal([]byte(l), &r); err != nil {
			t.Fatal(err)
		}
		got = append(got, r.At/1e9)
	}
	// 302,500 to 99 is a step back of 302,401 s, more than half a week; 99 to 98 is not;
	// 302,401 to 1 is half a week exactly.
	const w = 604_800
	if want := []int64{100, 302_500, w + 98, w + 99, w + 604_799, 2 * w, 2*w + 0, 2*w + 1, 2*w + 302_401}; !slices.Equal(got, want) || counts(end) != "sorted_backward 3, ties_kept 1, week_wraps 2" {
		t.Errorf("times %v, counts %q; want %v", got, counts(end), want)
	}
	if !strings.Contains(lines[8], `"after":[7],`) || !strings.Contains(lines[8], `"turn":8,"last":true`) {
		t.Errorf("last line = %s; want it after the line before", lines[8])
	}
}

// Of random rows, ids are equal exactly where everything up to the end of the block is.
func TestRAGPulseRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for range 100 {
		size := int64(1 + r.IntN(40))
		p := prefixes{size: size}
		texts := map[string]int64{}
		for range 30 {
			var parts []component
			var text []string // the tokens
			for range r.IntN(5) {
				n := int64(r.IntN(3))
				c := component{n, []int64{1, 17, 30}[n]}
				parts = append(parts, c)
				for k := range c.tokens {
					text = append(text, fmt.Sprint(n, ".", k))
				}
			}
			most := int64(len(text)) / size
			if r.IntN(4) == 0 {
				most = r.Int64N(most + 1)
			}
			var ids []int64
			for _, run := range p.cut(parts, most) {
				for j := range run[1] {
					ids = append(ids, run[0]+j)
				}
			}
			if int64(len(ids)) != most {
				t.Fatalf("%d ids; want %d", len(ids), most)
			}
			for i, id := range ids {
				key := strings.Join(text[:int64(i+1)*size], " ")
				if was, ok := texts[key]; ok && was != id {
					t.Fatalf("one text has the ids %d and %d", was, id)
				}
				texts[key] = id
			}
		}
		names := map[int64]bool{}
		for _, id := range texts {
			if names[id] {
				t.Fatalf("id %d stands for two texts", id)
			}
			names[id] = true
		}
	}
}

func TestRAGPulseRefuses(t *testing.T) {
	dir := ragTables(t)
	read := ragReader(dir)
	ok := ragLine("5", "a", 11, ragLists("100", "", "", "", ""))
	with := func(old, new string) string { return ok + strings.Replace(ok, old, new, 1) }
	refuses(t, read, Options{}, [][2]string{
		{with(`[100]`, `[111]`), `t:2: hash_ids.sys_prompt: got "111", want an id of 1_sys_prompt.jsonl`},
		{with(`"history":[]`, `"history":[202]`), `t:2: hash_ids.history: got "202", want an id of 3_history.jsonl`},
		{with(`[100]`, `[-1]`), `t:2: hash_ids.sys_prompt: got "-1"`},
		{with(`[100]`, `["100"]`), `t:2: hash_ids.sys_prompt: got "\"100\""`},
		{with(`[100]`, `null`), `t:2: hash_ids.sys_prompt: got "null", want a list`},
		{with(`"history":[],`, ``), `t:2: hash_ids.history: got "nothing", want this list on every row`},
		{with(`"history":[]`, `"history":[],"history":[]`), `t:2: key: got "hash_ids.history", want each key once`},
		{with(ragLists("100", "", "", "", ""), `[100]`), `t:2: hash_ids: got "[100", want an object`},
		{with(`"5"`, `5`), `t:2: timestamp: got "5", want a string of digits`},
		{with(`"5"`, `"5.5"`), `t:2: timestamp: got "5.5"`},
		{with(`"5"`, `"-5"`), `t:2: timestamp: got "-5"`},
		{with(`"5"`, `""`), `t:2: timestamp: got ""`},
		{with(`"5"`, `"9223372037"`), `t:2: timestamp: got "9223372037"`},
		{with(`11`, `-1`), `t:2: input_length: got "-1"`},
		{with(`11`, `NaN`), `t:2: input_length: got "NaN"`},
		{with(`11`, `0`), `t:2: input_length: got "0", want at least 1, for a prompt with components`},
		{with(`9`, `9.5`), `t:2: output_length: got "9.5"`},
		{with(`"a"`, `""`), `t:2: session_id: got ""`},
		{with(`"a"`, `7`), `t:2: session_id: got "7"`},
		{with(`,"session_id":"a"`, ``), `t:2: session_id: got "nothing"`},
		{ok + ok[:50], `t:2: truncated`},
		{ragLine("9223372036", "a", 11, ragLists("100", "", "", "", "")) + ragLine("0", "a", 11, ragLists("100", "", "", "", "")) + ragLine("9223372036", "a", 11, ragLists("100", "", "", "", "")),
			`t:3: timestamp: got "9223372036", want a time within 292 years, all weeks added`},
	})
	more := with(`"history":[]`, `"history":[],"new":[1]`)
	refuses(t, read, Options{Strict: true}, [][2]string{{more, `t:2: key: got "hash_ids.new"`}})
	_, end, warnings, err := texts(t, read, Options{}, more)
	if err != nil || count(end, "unknown_key:hash_ids.new") != 1 || len(warnings) != 1 {
		t.Errorf("an unknown list: %v, %v, %q", end.Counts, err, warnings)
	}

	// Too many ids for a prompt: 100 components of the longest length, at one token a block.
	big := t.TempDir()
	if err := os.CopyFS(big, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	ragFile(t, big, "1_sys_prompt.jsonl", `{"sys_prompt_id":1,"token_length":16777216}`+"\n")
	refuses(t, ragReader(big), Options{BlockSize: 1}, [][2]string{{ragLine("5", "a", 16777216+6, ragLists("1", "", "", "", "")), `t:1: hash_ids: got "16777216 blocks", want at most 4194304 blocks of 1 tokens`}})
}

func TestRAGPulseTables(t *testing.T) {
	row := ragLine("5", "a", 11, ragLists("100", "", "", "", ""))
	for _, c := range []struct {
		name   string
		change func(dir string)
		want   string
	}{
		{"none missing", func(string) {}, ""},
		{"one missing", func(dir string) { os.Remove(filepath.Join(dir, "3_history.jsonl")) }, `folder: got "no such file", want one file like N_history.jsonl`},
		{"one twice", func(dir string) { ragFile(t, dir, "3_history.jsonl.zst", "") }, `folder: got "3_history.jsonl and 3_history.jsonl.zst", want one file like N_history.jsonl`},
		{"another kind's", func(dir string) {
			ragFile(t, dir, "3_history.jsonl", `{"passage_id":1,"token_length":1}`+"\n")
		}, `3_history.jsonl:1: history_id: got "nothing"`},
		{"a length of 0", func(dir string) {
			ragFile(t, dir, "3_history.jsonl", "\n"+`{"history_id":1,"token_length":0}`)
		}, `3_history.jsonl:2: token_length: got "0", want a whole number of at least 1`},
		{"a length beyond the cap", func(dir string) {
			ragFile(t, dir, "3_history.jsonl", `{"history_id":1,"token_length":16777217}`)
		}, `3_history.jsonl:1: token_length: got "16777217", want at most 16777216`},
		{"two lengths for one id", func(dir string) {
			ragFile(t, dir, "3_history.jsonl", `{"history_id":1,"token_length":2}`+"\n"+`{"history_id":1,"token_length":3}`)
		}, `3_history.jsonl:2: token_length: got "3", want 2 as before for history_id 1`},
		{"one length twice for one id", func(dir string) {
			ragFile(t, dir, "3_history.jsonl", `{"history_id":1,"token_length":2}`+"\n"+`{"token_length":2,"history_id":1}`)
		}, ""},
		{"cut in a row", func(dir string) { ragFile(t, dir, "3_history.jsonl", `{"history_id":1,"tok`) }, `3_history.jsonl:1: truncated`},
		{"cut in its container", func(dir string) {
			ragFile(t, dir, "3_history.jsonl", "\x28\xb5\x2f\xfd\x04\x00")
		}, `3_history.jsonl`},
		{"an unreadable folder", func(dir string) { os.RemoveAll(dir) }, `no such file`},
	} {
		dir := ragTables(t)
		c.change(dir)
		tr, err := ragReader(dir)(piped("t", strings.NewReader(row)), Options{})
		if err == nil {
			tr.Close()
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error = %v; want %q", c.name, err, c.want)
		}
	}
	// A pipe has no folder.
	_, err := RAGPulse(piped("standard input", strings.NewReader(row)), Options{})
	if err == nil || err.Error() != `standard input: tables: got "a trace without a folder", want the five tables of components` {
		t.Errorf("a pipe without --tables: %v", err)
	}
}

// The folder, the file in it and a pipe with --tables give the same lines.
func TestRAGPulseInputs(t *testing.T) {
	dir := ragTables(t)
	text := ragLine("5", "a", 31, ragLists("100", "202", "", "", "")) + ragLine("6", "a", 36, ragLists("100", "202", "", "", "400"))
	ragFile(t, dir, "0_trace.jsonl", text)
	lines := func(f Input, o Options) (out []string) {
		f.Open = unpack
		tr, err := RAGPulse(f, o)
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		reqs, _ := plan(t, tr)
		for _, r := range reqs {
			out = append(out, string(schedule.AppendRequest(nil, r)))
		}
		return out
	}
	path := filepath.Join(dir, "0_trace.jsonl")
	want := lines(Input{Place: dir, Name: filepath.Base(dir), Path: dir}, Options{})
	if len(want) != 2 || !strings.Contains(want[1], `"scope":"ragpulse/0_trace"`) {
		t.Fatalf("of the folder: %q", want)
	}
	if got := lines(Input{Place: path, Name: "0_trace.jsonl", Path: path, R: strings.NewReader(text)}, Options{}); !cmp.Equal(got, want) {
		t.Errorf("of the file: %q; want %q", got, want)
	}
	if got := lines(Input{Place: "standard input", Name: "stdin", R: strings.NewReader(text)}, Options{Tables: dir, Scope: "ragpulse/0_trace"}); !cmp.Equal(got, want) {
		t.Errorf("of a pipe: %q; want %q", got, want)
	}
	ragFile(t, dir, "0_trace_2.jsonl", text)
	if _, err := RAGPulse(Input{Place: dir, Path: dir, Open: unpack}, Options{}); err == nil || !strings.Contains(err.Error(), `folder: got "0_trace.jsonl and 0_trace_2.jsonl", want one file like 0_trace.jsonl`) {
		t.Errorf("two traces in a folder: %v", err)
	}
}

func TestRAGPulseSniff(t *testing.T) {
	tables := []string{"1_sys_prompt.jsonl", "2_passages.jsonl", "3_history.jsonl", "4_user_input.jsonl", "5_web_search.jsonl"}
	for _, c := range []struct {
		head  string
		names []string
		want  bool
	}{
		{"", append([]string{"README.md", "0_trace.jsonl.zst"}, tables...), true},
		{"", tables, false},
		{"", nil, false},
		{ragLine("5", "a", 11, ragLists("100", "", "", "", "")), nil, true},
		{`{"timestamp":0,"input_length":5,"hash_ids":[1],"session_id":"a"}` + "\n", nil, false},
	} {
		if got := ragpulseFormat.Sniff([]byte(c.head), c.names); got != c.want {
			t.Errorf("Sniff(%q, %q) = %v; want %v", c.head, c.names, got, c.want)
		}
	}
}

func FuzzRAGPulse(f *testing.F) {
	read := ragReader(ragTables(f))
	row := ragLine("5", "a", 31, ragLists("100", "202", "", "", ""))
	f.Add([]byte(row+ragLine("6", "r1", 36, ragLists("100", "202", "300,301", "", "400"))), int64(0))
	f.Add([]byte(ragLine("400000", "a", 31, ragLists("100", "202", "", "", ""))+row+ragLine("1", "a", 3, ragLists("108", "", "", "", ""))), int64(1))
	f.Fuzz(func(t *testing.T, text []byte, size int64) {
		if size < 0 || size > MaxBlockSize {
			return
		}
		fuzzed(t, read, piped("f", strings.NewReader(string(text))), Options{BlockSize: size})
	})
}

func FuzzRAGPulseTable(f *testing.F) {
	dir := ragTables(f)
	row := ragLine("5", "a", 11, ragLists("100", "", "", "", ""))
	f.Add([]byte(`{"sys_prompt_id":100,"token_length":5}` + "\n"))
	f.Add([]byte(`{"sys_prompt_id":100,"token_length":5}` + "\n\n" + `{"token_length":7,"sys_prompt_id":100,"x":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		in := piped("f", strings.NewReader(row))
		in.Open = func(path string) (io.ReadCloser, error) {
			if strings.HasSuffix(path, "1_sys_prompt.jsonl") {
				return io.NopCloser(strings.NewReader(string(text))), nil
			}
			return unpack(path)
		}
		fuzzed(t, RAGPulse, in, Options{Tables: dir})
	})
}
