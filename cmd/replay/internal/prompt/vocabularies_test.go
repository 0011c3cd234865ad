package prompt

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/fixture"
)

// manyPrompts is how many text prompts each vocabulary encodes again.
const manyPrompts = 10_000

// various calls f with n prompts as plans hold them: of one token to some thousands, most
// of them short; with block ids and without; with a partial last block, a private tail,
// ids that several prompts share. The same call gives the same prompts.
func various(t *testing.T, n int, f func(i int, text []byte, tokens int64)) {
	t.Helper()
	r := rand.New(rand.NewPCG(10, 2026))
	b := NewBuilder(Source{Seed: 7, List: Words()})
	var text []byte
	for i := range n {
		tokens := 1 + int64(r.ExpFloat64()*200)
		if i%1000 == 0 {
			tokens *= 40
		}
		q := request(int64(i), tokens)
		q.Session = fmt.Sprint("s", i)
		block := &schedule.Block{Tokens: []int64{16, 64, 512}[r.IntN(3)], Last: []string{schedule.Partial, schedule.Absent}[r.IntN(2)]}
		var runs []schedule.Run
		if m := tokens / block.Tokens; i%4 == 0 { // all private
			q.Blocks = nil
		} else {
			if block.Last == schedule.Partial && tokens%block.Tokens > 0 {
				m++
			}
			if shared := min(m, 1+r.Int64N(3)); shared > 0 {
				runs = append(runs, schedule.Run{0, shared})
				m -= shared
			}
			if m > 0 {
				runs = append(runs, schedule.Run{r.Int64N(1 << 40), m})
			}
		}
		var got int64
		var err error
		if text, got, err = b.Build(text[:0], q, runs, block); err != nil {
			t.Fatal(err)
		}
		if got != tokens {
			t.Fatalf("prompt %d is %d tokens; want %d", i, got, tokens)
		}
		f(i, text, tokens)
	}
}

// Prompts encoded again have as many tokens as the plan says: nothing merges across words.
func TestPromptsHaveTheirLength(t *testing.T) {
	type prompt struct {
		i      int
		text   string
		tokens int64
	}
	for name, c := range codecs(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			todo := make(chan prompt, 64)
			var all sync.WaitGroup
			var wrong atomic.Int64
			for range runtime.GOMAXPROCS(0) {
				all.Go(func() {
					for p := range todo {
						if n, err := c.Count(p.text); (err != nil || int64(n) != p.tokens) && wrong.Add(1) == 1 {
							t.Errorf("prompt %d is %d tokens, %v; want %d: %.80s", p.i, n, err, p.tokens, p.text)
						}
					}
				})
			}
			various(t, manyPrompts, func(i int, text []byte, tokens int64) { todo <- prompt{i, string(text), tokens} })
			close(todo)
			all.Wait()
			if n := wrong.Load(); n > 0 {
				t.Errorf("%d of %d prompts have another length", n, manyPrompts)
			}
		})
	}
}

// The same in the vocabularies that Mistral's own package ships.
func TestPromptsHaveTheirLengthForMistral(t *testing.T) {
	fixture.Need(t, !testing.Short(), "-short: needs a python environment")
	var python, stderr bytes.Buffer
	cmd := exec.Command(filepath.Join(fixture.Root(), "scripts", "mistralenv"))
	cmd.Stdout, cmd.Stderr = &python, &stderr
	err := cmd.Run()
	fixture.Need(t, err == nil, fmt.Sprintf("scripts/mistralenv: %v: %s", err, bytes.TrimSpace(stderr.Bytes())))

	name := filepath.Join(t.TempDir(), "prompts.jsonl")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := bufio.NewWriter(file)
	lines := json.NewEncoder(w)
	want := map[string]int64{"prompts": manyPrompts, "sentencepiece_v1": 0, "sentencepiece_v3": 0, "tekken": 0}
	various(t, manyPrompts, func(_ int, text []byte, tokens int64) {
		want["tokens"] += tokens
		if err := lines.Encode(struct {
			Tokens int64  `json:"tokens"`
			Text   string `json:"text"`
		}{tokens, string(text)}); err != nil {
			t.Fatal(err)
		}
	})
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(string(bytes.TrimSpace(python.Bytes())), "testdata/vocabularies.py", name).CombinedOutput()
	if err != nil {
		t.Fatalf("vocabularies.py: %v\n%s", err, out)
	}
	got := map[string]int64{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+)=(\d+)$`).FindAllSubmatch(out, -1) {
		if got[string(m[1])], err = strconv.ParseInt(string(m[2]), 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for key, n := range want {
		if v, ok := got[key]; !ok || v != n {
			t.Errorf("%s = %d, given %t; want %d\n%s", key, v, ok, n, out)
		}
	}
}

// Lengths of one token and of nothing, with and without ids, are no special case.
func TestShortestPrompts(t *testing.T) {
	for _, c := range codecs(t) {
		for n := range int64(4) {
			text, _, err := NewBuilder(Source{Seed: 1, List: Words()}).Build(nil, &schedule.Request{Session: "s", Stream: "0", InputTokens: formats.Some(n)}, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := c.Count(string(text)); err != nil || int64(got) != n {
				t.Errorf("Count(%q) = %d, %v; want %d", text, got, err, n)
			}
		}
	}
}
