package prompt

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// Indices published for the derivation: an independent implementation gave the same.
func TestDerivation(t *testing.T) {
	s := newStream()
	draw := func() (got []uint64) {
		s.seed()
		for range 8 {
			got = append(got, s.index(1000))
		}
		return got
	}
	s.begin(domainBlock)
	s.int(42)
	s.str("trace_0003")
	s.int(1)
	if diff := cmp.Diff([]uint64{941, 401, 816, 26, 645, 463, 932, 570}, draw()); diff != "" {
		t.Errorf("block indices (-want +got):\n%s", diff)
	}
	if got := fmt.Sprintf("%x", s.sum); !strings.HasPrefix(got, "98272ea7") || !strings.HasSuffix(got, "e9bf143") {
		t.Errorf("block key = %s; want 98272ea7…e9bf143", got)
	}
	s.begin(domainPrivate)
	s.int(42)
	s.str("trace_0003")
	s.str("0")
	s.int(0)
	if diff := cmp.Diff([]uint64{131, 485, 42, 380, 626, 745, 774, 982}, draw()); diff != "" {
		t.Errorf("private indices (-want +got):\n%s", diff)
	}
}

var (
	partial = &schedule.Block{Tokens: 512, Last: "partial"}
	absent  = &schedule.Block{Tokens: 64, Last: "absent"}
)

func request(turn, tokens int64) *schedule.Request {
	return &schedule.Request{ID: turn, Session: "s", Stream: "0", Turn: turn, InputTokens: formats.Some(tokens),
		Blocks: &schedule.Blocks{Scope: "x"}}
}

func lists(t *testing.T) []*List {
	t.Helper()
	r, err := TokenRange(FirstToken, LastToken)
	if err != nil {
		t.Fatal(err)
	}
	return []*List{Words(), r}
}

// split returns the tokens of a prompt.
func split(l *List, p []byte) []string {
	if len(p) == 0 {
		return nil
	}
	if l.Kind() == Text {
		return strings.Split(string(p), " ")
	}
	return strings.Split(string(p), ",")
}

func build(t *testing.T, l *List, r *schedule.Request, runs [][2]int64, b *schedule.Block) []string {
	t.Helper()
	p, n, err := NewBuilder(Source{Seed: 42, List: l}).Build(nil, r, runs, b)
	if err != nil {
		t.Fatal(err)
	}
	got := split(l, p)
	if int64(len(got)) != n || n != r.InputTokens.V {
		t.Fatalf("Build = %d tokens, says %d; want %d", len(got), n, r.InputTokens.V)
	}
	return got
}

func TestLengths(t *testing.T) {
	for _, l := range lists(t) {
		for _, c := range []struct {
			name   string
			tokens int64
			runs   [][2]int64
			block  *schedule.Block
		}{
			{"nothing", 0, nil, nil},
			{"private only", 77, nil, nil},
			{"one token", 1, [][2]int64{{9, 1}}, partial},
			{"full blocks", 1024, [][2]int64{{3, 2}}, partial},
			{"last partial", 1902, [][2]int64{{0, 1}, {975, 3}}, partial},
			{"ids short", 1025, [][2]int64{{3, 2}}, partial},
			{"tail", 130, [][2]int64{{3, 2}}, absent},
			{"no tail", 128, [][2]int64{{3, 2}}, absent},
		} {
			t.Run(l.String()+" "+c.name, func(t *testing.T) { build(t, l, request(1, c.tokens), c.runs, c.block) })
		}
	}
}

func TestEqualIDsAreEqualTokens(t *testing.T) {
	for _, l := range lists(t) {
		a := build(t, l, request(1, 1902), [][2]int64{{0, 1}, {975, 3}}, partial)
		b := build(t, l, request(2, 2048), [][2]int64{{0, 1}, {975, 2}, {5000, 1}}, partial)
		if diff := cmp.Diff(a[:3*512], b[:3*512]); diff != "" {
			t.Errorf("%s: shared blocks differ:\n%s", l, diff)
		}
		if slices.Equal(a[3*512:], b[3*512:3*512+366]) {
			t.Errorf("%s: block 977 equals block 5000", l)
		}
		// the partial block is the beginning of the full one
		c := build(t, l, request(3, 2048), [][2]int64{{0, 1}, {975, 3}}, partial)
		if diff := cmp.Diff(a, c[:1902]); diff != "" {
			t.Errorf("%s: the full block does not begin with its partial use:\n%s", l, diff)
		}
	}
}

func TestPrivateTailsDiffer(t *testing.T) {
	l := Words()
	base := build(t, l, request(1, 100), nil, nil)
	for name, r := range map[string]*schedule.Request{
		"turn":    {Session: "s", Stream: "0", Turn: 2, InputTokens: formats.Some(100)},
		"stream":  {Session: "s", Stream: "1", Turn: 1, InputTokens: formats.Some(100)},
		"session": {Session: "t", Stream: "0", Turn: 1, InputTokens: formats.Some(100)},
	} {
		if slices.Equal(base, build(t, l, r, nil, nil)) {
			t.Errorf("another %s has the same tail", name)
		}
	}
	// a tail behind blocks is the turn's private text from its beginning
	withBlocks := build(t, l, request(1, 164), [][2]int64{{3, 1}}, absent)
	if diff := cmp.Diff(base, withBlocks[64:]); diff != "" {
		t.Errorf("tail behind a block (-alone +behind):\n%s", diff)
	}
	other, _, err := NewBuilder(Source{Seed: 43, List: l}).Build(nil, request(1, 100), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Equal(base, split(l, other)) {
		t.Error("another seed has the same tail")
	}
}

// The system part is the text of the leading ids, as many as the prompt has.
func TestSystemPart(t *testing.T) {
	for _, l := range lists(t) {
		b := NewBuilder(Source{Seed: 42, List: l})
		for _, c := range []struct {
			system, tokens, want int64
			runs                 [][2]int64
			block                *schedule.Block
		}{
			{0, 200, 0, [][2]int64{{1, 3}}, absent},
			{2, 200, 128, [][2]int64{{1, 3}}, absent},
			{2, 200, 128, [][2]int64{{1, 1}, {7, 2}}, absent},
			{9, 200, 192, [][2]int64{{1, 3}}, absent}, // cut to the ids
			{9, 700, 700, [][2]int64{{1, 2}}, partial},
			{1, 50, 0, nil, absent},
		} {
			r := request(1, c.tokens)
			r.Blocks.System = c.system
			p, _, err := b.Build([]byte("before"), r, c.runs, c.block)
			if err != nil {
				t.Fatal(err)
			}
			p = p[len("before"):]
			got := split(l, p[:b.System()])
			if int64(len(got)) != c.want || !slices.Equal(got, split(l, p)[:c.want]) {
				t.Errorf("%s: system part of %d ids, prompt of %d tokens: %d tokens; want %d", l, c.system, c.tokens, len(got), c.want)
			}
		}
	}
}

// One builder in any order gives what a fresh builder gives for each request.
func TestOrderDoesNotMatter(t *testing.T) {
	type job struct {
		r    *schedule.Request
		runs [][2]int64
	}
	var jobs []job
	for i := range int64(60) {
		jobs = append(jobs, job{request(i, 300+37*i), [][2]int64{{0, 1}, {i * 3, (300+37*i+511)/512 - 1}}})
	}
	for _, l := range lists(t) {
		want := map[int64][]byte{}
		for _, j := range jobs {
			p, _, err := NewBuilder(Source{Seed: 1, List: l}).Build(nil, j.r, j.runs, partial)
			if err != nil {
				t.Fatal(err)
			}
			want[j.r.ID] = p
		}
		b := NewBuilder(Source{Seed: 1, List: l})
		var buf []byte
		for range 3 {
			rand.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
			for _, j := range jobs {
				var err error
				if buf, _, err = b.Build(buf[:0], j.r, j.runs, partial); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(buf, want[j.r.ID]) {
					t.Fatalf("%s: request %d depends on what was built before it", l, j.r.ID)
				}
			}
		}
	}
}

// A builder keeps nothing of the ids it has seen: prompts over ever new ids take no memory
// once the buffer has its size.
func TestNothingIsKept(t *testing.T) {
	for _, l := range lists(t) {
		b := NewBuilder(Source{Seed: 42, List: l})
		r, runs := request(1, 4096), [][2]int64{{0, 8}}
		buf := make([]byte, 0, 1<<16)
		allocs := testing.AllocsPerRun(200, func() {
			runs[0][0] += 8
			r.Turn++
			r.InputTokens.V = 4096 + r.Turn%100
			var err error
			if buf, _, err = b.Build(buf[:0], r, runs, partial); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%s: %g allocations a prompt of new ids; want 0", l, allocs)
		}
	}
}

func TestBuildAppends(t *testing.T) {
	for _, l := range lists(t) {
		b := NewBuilder(Source{Seed: 42, List: l})
		alone, _, err := b.Build(nil, request(1, 40), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		after, _, err := b.Build([]byte(`{"prompt":`), request(1, 40), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := `{"prompt":` + string(alone); string(after) != want {
			t.Errorf("Build = %q; want %q", after, want)
		}
	}
}

func TestRefused(t *testing.T) {
	b := NewBuilder(Source{Seed: 42, List: Words()})
	none := request(1, 10)
	none.InputTokens = formats.Int{}
	for _, c := range []struct {
		name  string
		r     *schedule.Request
		runs  [][2]int64
		block *schedule.Block
	}{
		{"no input tokens", none, nil, nil},
		{"negative", request(1, -1), nil, nil},
		{"beyond the cap", request(1, MaxTokens+1), nil, nil},
		{"ids without a block size", request(1, 10), [][2]int64{{1, 1}}, nil},
		{"ids without tokens", request(1, 0), [][2]int64{{1, 1}}, partial},
		{"an id too many", request(1, 512), [][2]int64{{1, 2}}, partial},
		{"a full block that is not there", request(1, 127), [][2]int64{{1, 2}}, absent},
	} {
		dst := []byte("kept")
		got, _, err := b.Build(dst, c.r, c.runs, c.block)
		var se *formats.SyntaxError
		if !errors.As(err, &se) {
			t.Errorf("%s: error %v; want a SyntaxError", c.name, err)
		}
		if string(got) != "kept" {
			t.Errorf("%s: dst became %q; want it unchanged", c.name, got)
		}
	}
}

func TestTokenRange(t *testing.T) {
	for _, c := range [][2]int64{{-1, 5}, {5, 4}, {0, maxToken + 1}} {
		if _, err := TokenRange(c[0], c[1]); err == nil {
			t.Errorf("TokenRange(%d, %d) is accepted", c[0], c[1])
		}
	}
	l, err := TokenRange(9_999_990, maxToken)
	if err != nil {
		t.Fatal(err)
	}
	if l.Len() != 10 || l.String() != "tokens:9999990..9999999" {
		t.Errorf("got %d entries named %q", l.Len(), l)
	}
	if got := build(t, l, request(0, 50), nil, nil); len(got[0]) != 7 {
		t.Errorf("first token %q; want seven digits", got[0])
	}
}

func BenchmarkBuild(b *testing.B) {
	ids, err := TokenRange(FirstToken, LastToken)
	if err != nil {
		b.Fatal(err)
	}
	for _, l := range []*List{Words(), ids} {
		b.Run(string(l.Kind()), func(b *testing.B) {
			builder := NewBuilder(Source{Seed: 1, List: l})
			r, runs := request(1, 14_000), [][2]int64{{0, 1}, {100, 27}}
			var buf []byte
			b.ReportAllocs()
			for b.Loop() {
				buf, _, err = builder.Build(buf[:0], r, runs, partial)
				if err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(int64(len(buf)))
			b.ReportMetric(float64(b.N)*14_000/b.Elapsed().Seconds(), "tokens/s")
		})
	}
}
