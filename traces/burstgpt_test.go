package traces

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"

	"github.com/google/go-cmp/cmp"
)

func TestBurstGPTExpected(t *testing.T) {
	for _, name := range []string{"burstgpt/BurstGPT_1_head3.csv", "burstgpt/BurstGPT_3_head4.csv", "burstgpt/BurstGPT_3_rows_0-51_reconstructed.csv"} {
		t.Run(name, func(t *testing.T) {
			w := want(t, name)
			tr := load(t, BurstGPT, "data/"+name, Options{})
			reqs, end := plan(t, tr)
			w.compare(t, tr, 0, reqs, end, w.Time, 1e9)
			named := map[string]bool{}
			for _, r := range reqs {
				if !strings.HasPrefix(r.Session, "r") {
					named[r.Session] = true
				}
				if r.Blocks != nil || r.Context != schedule.Whole || r.Class != "Conversation log" {
					t.Errorf("request %d = %+v", r.ID, r)
				}
			}
			if int64(len(named)) != w.Sessions || tr.Block != nil || tr.QuantumNS != 1e9 || len(end.Counts) > 0 || len(tr.Warnings) > 0 || tr.Transforms != nil {
				t.Errorf("%d sessions, block %v, quantum %d, counts %v, warnings %q", len(named), tr.Block, tr.QuantumNS, end.Counts, tr.Warnings)
			}
		})
	}
}

func TestBurstGPTHeads(t *testing.T) {
	brief := func(name string) (out []string) {
		reqs, _ := plan(t, load(t, BurstGPT, "data/burstgpt/"+name, Options{}))
		for _, r := range reqs {
			out = append(out, fmt.Sprintf("%d %s %s %s", r.AtNS.V/1e9, r.Model, r.Recorded.E2ENS, r.Session[:min(4, len(r.Session))]))
		}
		return out
	}
	if got, want := brief("BurstGPT_1_head3.csv"), []string{"0 ChatGPT null r1", "40 ChatGPT null r2", "113 GPT-4 null r3"}; !slices.Equal(got, want) {
		t.Errorf("file 1 = %q; want %q", got, want)
	}
	want := []string{"0 GPT-4 43000000000 1722", "51 ChatGPT 2000000000 d598", "82 GPT-4 8000000000 a5c6", "144 ChatGPT 3000000000 8b74"}
	if got := brief("BurstGPT_3_head4.csv"); !slices.Equal(got, want) {
		t.Errorf("file 3 = %q; want %q", got, want)
	}
}

// In rows 0 to 51, 26 of 52 rows follow another one of their session, 22 of these grow
// by at least the answer before, and 7 come after rows of another session. Elapsed time
// is not in the file, so that only the order of turns is known.
func TestBurstGPTSessions(t *testing.T) {
	reqs, end := plan(t, load(t, BurstGPT, "data/burstgpt/BurstGPT_3_rows_0-51_reconstructed.csv", Options{}))
	latest := map[string]*schedule.Request{}
	var follow, grow, resumed int
	for i, r := range reqs {
		before := latest[r.Session]
		latest[r.Session] = r
		if before == nil {
			if r.After != nil || r.Turn != 0 {
				t.Errorf("request %d begins its session and has %+v", r.ID, r)
			}
			continue
		}
		follow++
		if r.InputTokens.V >= before.InputTokens.V+before.OutputTokens.V {
			grow++
		}
		if reqs[i-1].Session != r.Session {
			resumed++
		}
		if !slices.Equal(r.After, []int64{before.ID}) || r.DelayNS.Valid || r.Turn != before.Turn+1 || r.Model != "" {
			t.Errorf("request %d = %+v; want it after %d with a null delay", r.ID, r, before.ID)
		}
	}
	if follow != 26 || grow != 22 || resumed != 7 || end.Sessions != 26 {
		t.Errorf("%d follow, %d grow, %d resume, %d sessions; want 26, 22, 7, 26", follow, grow, resumed, end.Sessions)
	}
}

const burstHeader = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"

const burstText = burstHeader + "100.0,a,10,M,100,50,150,Conversation log\n105,,1,M,7,0,7,API log\n120,a,,M,200,20,220,Conversation log\n121,b,3,,40,4,45,\n200,a,5,M,180,9,189,Conversation log\n"

func TestBurstGPTRows(t *testing.T) {
	line := func(id, at int, rest string) string {
		return fmt.Sprintf(`{"id":%d,"at_ns":%d,%s}`, id, at*1_000_000_000, rest)
	}
	for _, c := range []struct {
		name   string
		o      Options
		text   string
		want   []string
		counts string
	}{
		{"sessions that interleave, empty cells, a failed row kept", Options{}, burstText, []string{
			line(0, 0, `"session":"a","stream":"0","turn":0,"context":"whole","input_tokens":100,"output_tokens":50,"model":"M","class":"Conversation log","recorded":{"e2e_ns":10000000000}`),
			line(1, 5, `"session":"r2","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":7,"output_tokens":0,"model":"M","class":"API log","recorded":{"e2e_ns":1000000000}`),
			line(2, 20, `"after":[0],"delay_ns":10000000000,"session":"a","stream":"0","turn":1,"context":"whole","input_tokens":200,"output_tokens":20,"model":"M","class":"Conversation log"`),
			line(3, 21, `"session":"b","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":40,"output_tokens":4,"recorded":{"e2e_ns":3000000000}`),
			line(4, 100, `"after":[2],"session":"a","stream":"0","turn":2,"last":true,"context":"whole","input_tokens":180,"output_tokens":9,"model":"M","class":"Conversation log","recorded":{"e2e_ns":5000000000}`),
		}, "failed_kept 1, total_differs 1"},
		{"failed rows dropped, the first of them still time 0", Options{DropFailed: true},
			burstHeader + "1,,,M,5,0,5,\n3,,,M,6,1,7,\n4,s,,M,6,0,6,\n", []string{
				line(0, 2, `"session":"r2","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":6,"output_tokens":1,"model":"M"`),
			}, "failed_dropped 2"},
		{"a request that overlaps the one before does not wait for it, the next waits for both", Options{},
			burstHeader + "0,s,2,M,1,1,2,\n10,s,30,M,1,1,2,\n20,s,5,M,1,1,2,\n50,s,1,M,1,1,2,\n", []string{
				line(0, 0, `"session":"s","stream":"0","turn":0,"context":"whole","input_tokens":1,"output_tokens":1,"model":"M","recorded":{"e2e_ns":2000000000}`),
				line(1, 10, `"after":[0],"delay_ns":8000000000,"session":"s","stream":"0","turn":1,"context":"whole","input_tokens":1,"output_tokens":1,"model":"M","recorded":{"e2e_ns":30000000000}`),
				line(2, 20, `"after":[0],"delay_ns":18000000000,"session":"s","stream":"0","turn":2,"context":"whole","input_tokens":1,"output_tokens":1,"model":"M","recorded":{"e2e_ns":5000000000}`),
				line(3, 50, `"after":[1,2],"delay_ns":10000000000,"session":"s","stream":"0","turn":3,"last":true,"context":"whole","input_tokens":1,"output_tokens":1,"model":"M","recorded":{"e2e_ns":1000000000}`),
			}, ""},
		{"an overlap of a second is rounding", Options{},
			burstHeader + "0,s,11,M,1,1,2,\n10,s,1,M,1,1,2,\n", []string{
				line(0, 0, `"session":"s","stream":"0","turn":0,"context":"whole","input_tokens":1,"output_tokens":1,"model":"M","recorded":{"e2e_ns":11000000000}`),
				line(1, 10, `"after":[0],"delay_ns":0,"session":"s","stream":"0","turn":1,"last":true,"context":"whole","input_tokens":1,"output_tokens":1,"model":"M","recorded":{"e2e_ns":1000000000}`),
			}, ""},
		{"rows that step backward are sorted, turns with them", Options{},
			burstHeader + "10,s,1,M,2,1,3,\n5,s,1,M,1,1,2,\n10,r1,,M,1,1,2,\n10,,,M,,1,2,\n", []string{
				line(0, 0, `"session":"s","stream":"0","turn":0,"context":"whole","input_tokens":1,"output_tokens":1,"model":"M","recorded":{"e2e_ns":1000000000}`),
				line(1, 5, `"after":[0],"delay_ns":4000000000,"session":"s","stream":"0","turn":1,"last":true,"context":"whole","input_tokens":2,"output_tokens":1,"model":"M","recorded":{"e2e_ns":1000000000}`),
				line(2, 5, `"session":"r1","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":1,"output_tokens":1,"model":"M"`),
				line(3, 5, `"session":"r4","stream":"0","turn":0,"last":true,"context":"whole","output_tokens":1,"model":"M"`),
			}, "sorted_backward 1, ties_kept 2"},
	} {
		got, end, _, err := texts(t, BurstGPT, c.o, c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s (-want +got)\n%s", c.name, d)
		}
		if counts(end) != c.counts {
			t.Errorf("%s: counts = %q; want %q", c.name, counts(end), c.counts)
		}
	}
}

// A prompt at least as long as the one before it keeps that one's full blocks; a shorter
// one shares nothing.
func TestBurstGPTMintBlocks(t *testing.T) {
	text := burstHeader + "0,s,1,M,40,1,41,\n5,,1,M,33,1,34,\n10,s,1,M,40,1,41,\n20,s,1,M,100,1,101,\n30,s,1,M,99,1,100,\n40,s,1,M,,1,,\n50,s,1,M,130,1,131,\n60,t,1,M,15,1,16,\n70,t,1,M,16,1,17,\n"
	tr, err := BurstGPT(piped("day.csv", strings.NewReader(text)), Options{MintBlocks: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	reqs, end := plan(t, tr)
	var got []string
	for _, r := range reqs {
		if r.Blocks == nil {
			got = append(got, "none")
			continue
		}
		if r.Blocks.Scope != "burstgpt/day" || r.Blocks.Keep != 0 {
			t.Errorf("request %d: blocks = %+v", r.ID, r.Blocks)
		}
		got = append(got, fmt.Sprint(r.Blocks.Add))
	}
	// 40/16 = 2 ids; 33: 2; 40 again: the same 2; 100: 4 more; 99 is shorter: 6 fresh ones;
	// no length: none; 130 after 99: 2 more.
	if want := []string{"[[0 2]]", "[[2 2]]", "[[0 2]]", "[[0 2] [4 4]]", "[[8 6]]", "none", "[[8 8]]", "none", "[[16 1]]"}; !slices.Equal(got, want) {
		t.Errorf("ids = %q; want %q", got, want)
	}
	if tr.Block == nil || *tr.Block != (schedule.Block{Tokens: 16, Last: schedule.Absent}) || end.HitBlocks != 10 {
		t.Errorf("block = %+v, %d hits; want 16 absent, 10 hits", tr.Block, end.HitBlocks)
	}
	if len(tr.Transforms) != 1 || tr.Transforms[0].Name != "mint_blocks" || tr.Transforms[0].Params["block_size"] != "16" || tr.Transforms[0].Params["assumption"] == "" {
		t.Errorf("transforms = %+v; want the assumption", tr.Transforms)
	}
	scoped, err := BurstGPT(piped("day.csv", strings.NewReader(text)), Options{MintBlocks: 16, Scope: "week"})
	if err != nil {
		t.Fatal(err)
	}
	defer scoped.Close()
	if r, err := scoped.Next(); err != nil || r.Blocks.Scope != "week" {
		t.Errorf("--scope: %+v, %v", r.Blocks, err)
	}
	refuses(t, BurstGPT, Options{MintBlocks: 1}, [][2]string{{burstHeader + "0,s,1,M,4194305,1,41,\n", `t:2: Request tokens: got "4194305", want at most 4194304 blocks of 1 tokens`}})
}

// Of the fixture, ids as the rule gives them: prompts that grow keep what they had.
func TestBurstGPTMintFixture(t *testing.T) {
	const size = 16
	reqs, end := plan(t, load(t, BurstGPT, "data/burstgpt/BurstGPT_3_rows_0-51_reconstructed.csv", Options{MintBlocks: size}))
	before := map[string]int64{}
	var blocks, hits int64
	for _, r := range reqs {
		n := r.InputTokens.V
		blocks += n / size
		if was, ok := before[r.Session]; ok && n >= was {
			hits += was / size
		}
		before[r.Session] = n
	}
	if end.Blocks != blocks || end.HitBlocks != hits || end.DistinctBlocks != blocks-hits || hits == 0 {
		t.Errorf("%d blocks, %d hits, %d distinct; want %d, %d, %d", end.Blocks, end.HitBlocks, end.DistinctBlocks, blocks, hits, blocks-hits)
	}
}

// Of random rows in any order, what each request waits for and how long is what the
// definition says, worked out in a plain way: earlier requests of the session that had
// ended, a second of slack allowed, without the ancestors of another of them.
func TestBurstGPTPredecessors(t *testing.T) {
	type row struct {
		at, service int // s; service -1 for none
		session     string
		output      int
	}
	r := rand.New(rand.NewPCG(17, 4))
	for round := range 300 {
		var rows []row
		text := burstHeader
		for range 1 + r.IntN(40) {
			q := row{1000 + r.IntN(60), r.IntN(25) - 1, string(rune('a' + r.IntN(3))), r.IntN(4)}
			rows = append(rows, q)
			service := ""
			if q.service >= 0 {
				service = fmt.Sprint(q.service)
			}
			text += fmt.Sprintf("%d,%s,%s,M,9,%d,,x\n", q.at, q.session, service, q.output)
		}
		drop := round%2 == 0
		tr, err := BurstGPT(piped("t", strings.NewReader(text)), Options{DropFailed: drop})
		if err != nil {
			t.Fatal(err)
		}
		reqs, end := plan(t, tr)
		tr.Close()
		if int64(len(reqs))+count(end, "failed_dropped") != int64(len(rows)) {
			t.Fatalf("%d requests and %d dropped of %d rows", len(reqs), count(end, "failed_dropped"), len(rows))
		}
		zero := slices.MinFunc(rows, func(a, b row) int { return a.at - b.at }).at
		if drop {
			rows = slices.DeleteFunc(rows, func(q row) bool { return q.output == 0 })
		}
		slices.SortStableFunc(rows, func(a, b row) int { return a.at - b.at })
		ancestors := make([]map[int]bool, len(rows))
		for k, q := range rows {
			var p []int
			covered := map[int]bool{}
			for j, b := range rows[:k] {
				if b.session == q.session && b.at < q.at && b.at+max(b.service, 0) <= q.at+1 {
					p = append(p, j)
					for a := range ancestors[j] {
						covered[a] = true
					}
				}
			}
			ancestors[k] = covered
			var after []int64
			last, known := -1, true
			for _, j := range p {
				if covered[j] {
					continue
				}
				after = append(after, int64(j))
				switch e := rows[j].at + max(rows[j].service, 0); {
				case e > last:
					last, known = e, rows[j].service >= 0
				case e == last:
					known = known && rows[j].service >= 0
				}
			}
			for _, j := range p {
				covered[j] = true
			}
			delay := formats.Int{}
			if len(after) > 0 && known {
				delay = formats.Some(int64(max(0, q.at-last)) * 1e9)
			}
			if got := reqs[k]; got.Session != q.session || got.AtNS.V != int64(q.at-zero)*1e9 || !slices.Equal(got.After, after) || got.DelayNS != delay {
				t.Fatalf("of\n%s\nrequest %d = %+v; want session %s, after %v, delay %v", text, k, got, q.session, after, delay)
			}
		}
	}
}

func TestBurstGPTForms(t *testing.T) {
	for _, o := range []Options{{}, {MintBlocks: 16}, {DropFailed: true}} {
		sameInAnyForm(t, BurstGPT, o, burstText)
		lines, _, _, _ := texts(t, BurstGPT, o, burstText)
		got, end, warnings, err := texts(t, BurstGPT, o, shuffled(burstText))
		if err != nil || !slices.Equal(got, lines) || count(end, "unknown_key:extra") != 5 || len(warnings) != 1 {
			t.Errorf("columns in another order: %q, %v, %v, %q; want %q", got, err, end.Counts, warnings, lines)
		}
		if rows := int64(len(lines)) + count(end, "failed_dropped"); rows != 5 {
			t.Errorf("%d rows out or dropped; want the 5 that went in", rows)
		}
	}
	refusesBrokenStreams(t, BurstGPT, Options{}, burstText)
}

func TestBurstGPTRefuses(t *testing.T) {
	row := func(text string) [2]string {
		a, b, _ := strings.Cut(text, " | ")
		return [2]string{burstText + a + "\n", b}
	}
	refuses(t, BurstGPT, Options{}, [][2]string{
		row(`,s,1,M,1,1,2, | t:7: Timestamp: got "", want a time in s`),
		row(`nan,s,1,M,1,1,2, | t:7: Timestamp: got "nan"`),
		row(`-5,s,1,M,1,1,2, | t:7: Timestamp: got "-5"`),
		row(`1e30,s,1,M,1,1,2, | t:7: Timestamp: got "1e30"`),
		row(`5,s,-1,M,1,1,2, | t:7: Elapsed time: got "-1"`),
		row(`5,s,inf,M,1,1,2, | t:7: Elapsed time: got "inf"`),
		row(`5,s,1,M,-1,1,2, | t:7: Request tokens: got "-1"`),
		row(`5,s,1,M,1.5,1,2, | t:7: Request tokens: got "1.5"`),
		row(`5,s,1,M,1,x,2, | t:7: Response tokens: got "x"`),
		row(`5,s,1,M,1,1,9223372036854775808, | t:7: Total tokens`),
		row(`5,s,1,M,1,1,2 | t:7: row: got "7 cells", want 8 cells`),
		{"Timestamp,Model,Request tokens,Response tokens,Log Type\n5,M,1,1,x\n", `t:1: header`},
		{burstHeader, `t: truncated: got end of input, want a first row`},
	})
}

func FuzzBurstGPT(f *testing.F) {
	f.Add([]byte(burstText), int64(0), false)
	f.Add([]byte(burstHeader+"0,s,1,M,40,0,41,\n10,s,1,M,40,1,41,\n9,s,30,M,100,1,101,\n9,r1,,,,,,"), int64(16), true)
	f.Add([]byte("Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\r\n5,ChatGPT,472,18,490,Conversation log\r\n"), int64(1), false)
	f.Fuzz(func(t *testing.T, text []byte, size int64, drop bool) {
		if size < 0 || size > MaxBlockSize {
			return
		}
		fuzzed(t, BurstGPT, piped("f", strings.NewReader(string(text))), Options{MintBlocks: size, DropFailed: drop})
	})
}
