package traces

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hydrant/formats/schedule"

	"github.com/google/go-cmp/cmp"
)

func TestBailianFixture(t *testing.T) {
	const name = "bailian/qwen_thinking_first_record.jsonl"
	w := want(t, name)
	tr := load(t, Bailian, "data/"+name, Options{})
	reqs, end := plan(t, tr)
	if tr.Sources[0].SHA256 != w.SHA256 || tr.Sources[0].Bytes != w.Bytes || end.Requests != w.Records || len(end.Counts) > 0 || len(tr.Warnings) > 0 {
		t.Errorf("sources %+v, %d requests, counts %v, warnings %q", tr.Sources, end.Requests, end.Counts, tr.Warnings)
	}
	r := reqs[0]
	if r.InputTokens != some(502) || r.OutputTokens != some(1494) || !cmp.Equal(r.Blocks.Add, []schedule.Run{{0, 32}}) || 502-31*16 != 6 ||
		r.Class != "thinking" || r.Session != "0" || r.AtNS != some(0) || r.Blocks.Scope != "bailian/qwen_thinking_first_record" {
		t.Errorf("request = %+v with ids %v", r, r.Blocks.Add)
	}
	if *tr.Block != (schedule.Block{Tokens: 16, Last: schedule.Partial}) || tr.QuantumNS != 1e6 {
		t.Errorf("block %+v, quantum %d; want 16 partial, 1 ms", tr.Block, tr.QuantumNS)
	}
}

// turnRow is a row of Bailian's without ids.
func turnRow(chat, parent int64, at string, turn int) string {
	return fmt.Sprintf(`{"chat_id":%d,"parent_chat_id":%d,"timestamp":%s,"input_length":5,"output_length":1,"type":"text","turn":%d,"hash_ids":[]}`+"\n", chat, parent, at, turn)
}

func TestBailianSessions(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       string // of each line: id at_ms session/turn after last
		counts     string
	}{
		{"two chats that interleave", turnRow(1, -1, "0.5", 1) + turnRow(2, -1, "1", 1) + turnRow(3, 1, "2", 2) + turnRow(5, 3, "3.0005", 3) + turnRow(4, 2, "3.5", 2),
			"0 500 1/0 []; 1 1000 2/0 []; 2 2000 1/1 [0]; 3 3001 1/2 [2] last; 4 3500 2/1 [1] last", ""},
		{"a parent later in the file", turnRow(9, 7, "3", 3) + turnRow(7, 1, "2", 2) + turnRow(1, -1, "1", 1),
			"0 1000 1/0 []; 1 2000 1/1 [0]; 2 3000 1/2 [1] last", "sorted_backward 2"},
		{"a branch: turns by turn, then time", turnRow(1, -1, "0", 1) + turnRow(2, 1, "1", 2) + turnRow(3, 2, "2", 3) + turnRow(4, 1, "3", 2) + turnRow(5, 4, "4", 3),
			"0 0 1/0 []; 1 1000 1/1 [0]; 2 2000 1/3 [1]; 3 3000 1/2 [0]; 4 4000 1/4 [3] last", ""},
		{"parents before the cut", turnRow(5, 2, "0", 3) + turnRow(6, 5, "1", 4) + turnRow(7, 2, "2", 3),
			"0 0 5/0 []; 1 1000 5/1 [0] last; 2 2000 7/0 [] last", "orphan_turns 2"},
		{"a child that starts before its parent does not wait", turnRow(1, -1, "5", 1) + turnRow(2, 1, "4", 2) + turnRow(3, 1, "5", 2),
			"0 4000 1/1 []; 1 5000 1/0 []; 2 5000 1/2 [1] last", "parent_later 1, sorted_backward 1, ties_kept 1"},
		{"a name of null and no ids", `{"turn":1,"hash_ids":null,"type":null,"output_length":0,"input_length":3,"timestamp":1,"parent_chat_id":-1,"chat_id":9007199254740993}` + "\n",
			"0 1000 9007199254740993/0 [] last", ""},
		{"the newer key, checked and not used", strings.Replace(turnRow(1, -1, "0", 1), `"type"`, `"time_to_parent_chat":null,"type"`, 1) + strings.Replace(turnRow(2, 1, "4", 2), `"type"`, `"time_to_parent_chat":3.5,"type"`, 1),
			"0 0 1/0 []; 1 4000 1/1 [0] last", "time_to_parent_ignored 1"},
	} {
		tr, err := Bailian(piped("t", strings.NewReader(c.text)), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		reqs, end := plan(t, tr)
		tr.Close()
		var got []string
		for _, r := range reqs {
			last := ""
			if r.Last {
				last = " last"
			}
			got = append(got, fmt.Sprintf("%d %d %s/%d %v%s", r.ID, r.AtNS.V/1e6, r.Session, r.Turn, r.After, last))
			if r.DelayNS.Valid || r.Stream != "0" || r.Context != schedule.Whole {
				t.Errorf("%s: request %+v; want a whole prompt and a null delay", c.name, r)
			}
		}
		if s := strings.Join(got, "; "); s != c.want || counts(end) != c.counts {
			t.Errorf("%s:\n%s, counts %q; want\n%s, counts %q", c.name, s, counts(end), c.want, c.counts)
		}
	}
}

// The ids of a child need not extend those of its parent; sizes and prefixes are those
// of the ceil rule.
func TestBailianBlocks(t *testing.T) {
	row := func(chat, parent, input int64, ids string) string {
		return fmt.Sprintf(`{"chat_id":%d,"parent_chat_id":%d,"timestamp":%d,"input_length":%d,"output_length":1,"type":"file","turn":%d,"hash_ids":%s}`+"\n", chat, parent, chat, input, chat+1, ids)
	}
	lines, end, _, err := texts(t, Bailian, Options{Scope: "x"}, row(0, -1, 40, "[0,1,2]")+row(1, 0, 64, "[0,1,3,4]")+row(2, 1, 33, "[0,1,5]")+row(3, 2, 100, "[0]"))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{`"add":[[0,3]]`, `"add":[[0,2],[3,2]]`, `"add":[[0,2],[5,1]]`, `"add":[[0,1]]`} {
		if !strings.Contains(lines[i], `"blocks":{"scope":"x","keep":0,`+want+`}`) {
			t.Errorf("line %d = %s; want %s", i, lines[i], want)
		}
	}
	if end.Blocks != 11 || end.HitBlocks != 5 || end.HitTokens != 80 || counts(end) != "ids_short 1" {
		t.Errorf("%d blocks, %d hits of %d tokens, counts %q", end.Blocks, end.HitBlocks, end.HitTokens, counts(end))
	}
	lines, _, _, err = texts(t, Bailian, Options{BlockSize: 512}, row(0, -1, 600, "[0,1]"))
	if err != nil || !strings.Contains(lines[0], `"add":[[0,2]]`) {
		t.Errorf("--block-size 512: %q, %v", lines, err)
	}
	refuses(t, Bailian, Options{}, [][2]string{
		{row(0, -1, 32, "[0,1,2]"), `t:1: hash_ids: got "3 ids for input_length 32", want at most 2 of 16 tokens`},
		{row(0, -1, 0, "[0]"), `t:1: hash_ids: got "1 ids for input_length 0"`},
		{row(0, -1, 20, "[0,1]") + row(1, 0, 20, "[0,2]") + row(2, 1, 48, "[0,1,3]"), `t:3: hash_ids: got "id 1 for 16 tokens", want 4 tokens as on row 1: an id stands for one size`},
	})
}

func TestBailianRefuses(t *testing.T) {
	const ok = `{"chat_id":1,"parent_chat_id":-1,"timestamp":0.0,"input_length":502,"output_length":1494,"type":"thinking","turn":1,"hash_ids":[1]}` + "\n"
	with := func(old, new string) string {
		return ok + strings.Replace(strings.Replace(ok, old, new, 1), `"chat_id":1,`, `"chat_id":2,`, 1)
	}
	refuses(t, Bailian, Options{}, [][2]string{
		{with(`-1`, `-2`), `t:2: parent_chat_id: got "-2", want a whole number of at least -1`},
		{with(`-1`, `2`), `t:2: parent_chat_id: got "2", want another chat than the row's own`},
		{ok + ok, `t:2: chat_id: got "1", want another chat than on row 1`},
		{turnRow(1, 3, "0", 1) + turnRow(2, 1, "1", 2) + turnRow(3, 2, "2", 3), `t:1: parent_chat_id: got "chat 1, which descends from itself", want parents that lead to a first chat`},
		{turnRow(9, 1, "0", 1) + turnRow(1, 2, "0", 1) + turnRow(2, 1, "1", 2), `t:2: parent_chat_id: got "chat 1, which descends`},
		{with(`0.0`, `-0.5`), `t:2: timestamp: got "-0.5"`},
		{with(`0.0`, `NaN`), `t:2: timestamp: got "NaN", want a time in s`},
		{with(`0.0`, `"0"`), `t:2: timestamp: got "\"0\""`},
		{with(`0.0`, `1e12`), `t:2: timestamp: got "1e12"`},
		{with(`502`, `-1`), `t:2: input_length: got "-1"`},
		{with(`502`, `0.5`), `t:2: input_length: got "0.5"`},
		{with(`1494`, `9223372036854775808`), `t:2: output_length: got "9223372036854775808"`},
		{with(`"turn":1`, `"turn":0`), `t:2: turn: got "0", want a whole number of at least 1`},
		{with(`,"turn":1`, ``), `t:2: turn: got "nothing", want this key on every row`},
		{with(`"thinking"`, `7`), `t:2: type: got "7"`},
		{with(`"thinking"`, `""`), `t:2: type: got ""`},
		{with(`[1]`, `[-1]`), `t:2: hash_ids: got "-1"`},
		{with(`[1]`, `[9223372036854775808]`), `t:2: hash_ids`},
		{with(`"type"`, `"time_to_parent_chat":-1,"type"`), `t:2: time_to_parent_chat: got "-1"`},
		{with(`"turn":1`, `"turn":1,"turn":1`), `t:2: key: got "turn", want each key once`},
		{ok + "hello\n", `t:2: row: got "hello"`},
		{ok + ok[:40], `t:2: truncated: got end of input, want the rest of the row`},
		{ok + "\xff\n", `t:2: row: got "bytes that are not UTF-8"`},
	})
	refuses(t, Bailian, Options{Strict: true}, [][2]string{{with(`"type"`, `"new":1,"type"`), `t:2: key: got "new", want known keys only, under --strict`}})
	refusesBrokenStreams(t, Bailian, Options{}, ok)
	sameInAnyForm(t, Bailian, Options{}, ok+turnRow(2, 1, "1", 2)+turnRow(3, 9, "1", 2))
	_, end, warnings, err := texts(t, Bailian, Options{}, with(`"type"`, `"new":1,"type"`))
	if err != nil || count(end, "unknown_key:new") != 1 || len(warnings) != 1 || !strings.Contains(warnings[0], `t:2: unknown key "new", ignored on 1 row`) {
		t.Errorf("an unknown key: %v, %v, %q", end.Counts, err, warnings)
	}
}

// Of random forests, in any order of the rows, every request waits for its parent, a
// session is one tree, turns are ranks, and nothing is lost.
func TestBailianForests(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for range 200 {
		n := 1 + r.IntN(40)
		parent, turn, root := make([]int, n), make([]int, n), make([]int, n)
		var lines []string
		for i := range n {
			parent[i], turn[i], root[i] = -1, 1, i
			if i > 0 && r.IntN(3) > 0 {
				p := r.IntN(i)
				parent[i], turn[i], root[i] = p, turn[p]+1, root[p]
			}
			lines = append(lines, turnRow(int64(i), int64(parent[i]), fmt.Sprint(i), turn[i]))
		}
		r.Shuffle(n, func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		tr, err := Bailian(piped("t", strings.NewReader(strings.Join(lines, ""))), Options{})
		if err != nil {
			t.Fatal(err)
		}
		reqs, end := plan(t, tr)
		tr.Close()
		if len(reqs) != n || count(end, "parent_later")+count(end, "orphan_turns") != 0 {
			t.Fatalf("%d requests, counts %v; want %d and none lost", len(reqs), end.Counts, n)
		}
		turns := map[string][]int64{}
		for i, q := range reqs {
			var after []int64
			if parent[i] >= 0 {
				after = []int64{int64(parent[i])}
			}
			if q.AtNS.V != int64(i)*1e9 || q.Session != fmt.Sprint(root[i]) || !slices.Equal(q.After, after) {
				t.Fatalf("chat %d = %+v; want session %d after %v", i, q, root[i], after)
			}
			turns[q.Session] = append(turns[q.Session], q.Turn)
		}
		for s, list := range turns {
			slices.Sort(list)
			for i, v := range list {
				if v != int64(i) {
					t.Fatalf("session %s has turns %v", s, list)
				}
			}
		}
	}
}

// What the temporary file gives back damaged is an error.
func TestBailianDamagedRecord(t *testing.T) {
	b := &bailian{intake: newIntake("t", false)}
	next := b.requests(func() ([]byte, error) { return []byte("\x00\x00\x00\x00\x00\x00\x00\x00{"), nil })
	if _, err := next(); err == nil || !strings.Contains(err.Error(), "temporary file") {
		t.Errorf("error = %v", err)
	}
	broken := errors.New("broken")
	next = b.requests(func() ([]byte, error) { return nil, broken })
	if _, err := next(); err != broken {
		t.Errorf("error = %v", err)
	}
}

func FuzzBailian(f *testing.F) {
	f.Add([]byte(turnRow(1, -1, "0.5", 1)+turnRow(2, 1, "1", 2)+turnRow(3, 9, "0", 7)), int64(0))
	f.Add([]byte(turnRow(1, 2, "0", 1)+turnRow(2, 1, "1", 2)), int64(16))
	f.Add([]byte(`{"chat_id":0,"parent_chat_id":-1,"timestamp":0.0,"input_length":40,"output_length":0,"type":"x","turn":1,"hash_ids":[0,1,9007199254740993],"time_to_parent_chat":null}`), int64(16))
	f.Fuzz(func(t *testing.T, text []byte, size int64) {
		if size < 0 || size > MaxBlockSize {
			return
		}
		fuzzed(t, Bailian, piped("f", strings.NewReader(string(text))), Options{BlockSize: size})
	})
}
