package prompt

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats/schedule"
	"hydrant/internal/codec"
	"hydrant/internal/fixture"
	"hydrant/traces"
)

// goldenScope is the scope of the block ids in the golden file.
const goldenScope = "mooncake/"

// archived calls f with each line of the archived Mooncake trace, valid during the call.
func archived(t *testing.T, f func(line int64, r *schedule.Request, block *schedule.Block)) {
	t.Helper()
	const name = "mooncake_conversation_first_10min.jsonl.zst"
	file, err := os.Open(filepath.Join(fixture.Root(), "traces", "archive", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, _, err := codec.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	trace, err := traces.Mooncake(traces.Input{Place: name, Name: name, R: r}, traces.Options{Scope: goldenScope})
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	for {
		r, err := trace.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		f(r.ID+1, r, trace.Block)
	}
}

// The golden file holds the hashes of prompts of the archived trace, seed 42: lines that
// share blocks, line 41 and line 262, which has the same four blocks, the last of them
// partial, and all lines together. It never changes: the same schedule,
// seed and list give the same bytes with every later build.
func TestGolden(t *testing.T) {
	golden, err := os.ReadFile("testdata/v1.prompts.txt")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	got.WriteString("# trace line, list, tokens, bytes, sha256 of the prompt; seed 42\n")
	for _, l := range lists(t) {
		b := NewBuilder(Source{Seed: 42, List: l})
		all := sha256.New()
		var buf []byte
		var tokens, bytes int64
		archived(t, func(line int64, r *schedule.Request, block *schedule.Block) {
			var n int64
			var err error
			buf, n, err = b.Build(buf[:0], r, r.Blocks.Add, block)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(buf)
			tokens, bytes = tokens+n, bytes+int64(len(buf))
			if slices.Contains([]int64{1, 2, 3, 41, 262, 1750}, line) {
				fmt.Fprintf(&got, "%d %s %d %d %x\n", line, l, n, len(buf), sha256.Sum256(buf))
			}
		})
		fmt.Fprintf(&got, "all %s %d %d %x\n", l, tokens, bytes, all.Sum(nil))
	}
	if diff := cmp.Diff(strings.Split(string(golden), "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Errorf("prompts (-golden +got):\n%s", diff)
	}
}

// Line 262 built alone is what it is after line 41, and both are the same prompt.
func TestSharedPartialBlock(t *testing.T) {
	for _, l := range lists(t) {
		var earlier, later []string
		b := NewBuilder(Source{Seed: 42, List: l})
		var whole, alone []byte
		archived(t, func(line int64, r *schedule.Request, block *schedule.Block) {
			if line != 41 && line != 262 {
				return
			}
			p, _, err := b.Build(nil, r, r.Blocks.Add, block)
			if err != nil {
				t.Fatal(err)
			}
			if line == 41 {
				earlier = split(l, p)
				return
			}
			whole, later = p, split(l, p)
			if alone, _, err = NewBuilder(Source{Seed: 42, List: l}).Build(nil, r, r.Blocks.Add, block); err != nil {
				t.Fatal(err)
			}
		})
		if string(whole) != string(alone) {
			t.Errorf("%s: line 262 depends on what was built before", l)
		}
		if len(later) != 1902 {
			t.Fatalf("%s: line 262 has %d tokens; want 1902", l, len(later))
		}
		if !slices.Equal(earlier, later) {
			t.Errorf("%s: lines 41 and 262 differ", l)
		}
	}
}

// Two turns of an agent whose prompts have the same ids and other lengths share the ids'
// tokens and end in tails of their own.
func TestSameIDsOtherTails(t *testing.T) {
	path := fixture.Shared(t, "data/weka/trace_0316.json.zst")
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := codec.Unzstd(packed, 1<<26)
	if err != nil {
		t.Fatal(err)
	}
	trace, err := traces.Weka(traces.Input{Place: path, Name: filepath.Base(path), R: bytes.NewReader(plain)}, traces.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	const shared = 1384 * 64
	turns := map[int64]*schedule.Request{}
	for {
		r, err := trace.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.Stream == "0" && (r.Turn == 37 || r.Turn == 38) {
			turns[r.Turn] = r.Clone()
		}
	}
	for _, l := range lists(t) {
		var prompts [2][]string
		for i := range prompts {
			r := turns[37+int64(i)]
			p, _, err := NewBuilder(Source{Seed: 42, List: l}).Build(nil, r, r.Blocks.Add, trace.Block)
			if err != nil {
				t.Fatal(err)
			}
			if prompts[i] = split(l, p); int64(len(prompts[i])) != r.InputTokens.V || len(prompts[i]) <= shared {
				t.Fatalf("%s: turn %d has %d tokens; want %d, more than %d", l, r.Turn, len(prompts[i]), r.InputTokens.V, shared)
			}
		}
		if !slices.Equal(prompts[0][:shared], prompts[1][:shared]) {
			t.Errorf("%s: the first %d tokens differ", l, shared)
		}
		tails := min(len(prompts[0]), len(prompts[1]))
		if slices.Equal(prompts[0][shared:tails], prompts[1][shared:tails]) {
			t.Errorf("%s: the tails are equal", l)
		}
	}
}
