package scripts

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"hydrant/internal/codec"
	"hydrant/internal/fixture"
)

// fetch runs scripts/fetch-traces with a list ("": its own) and a base, and returns its
// status and what it said on both streams.
func fetch(t *testing.T, list, base string, args ...string) (code int, said string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(fixture.Root(), "scripts", "fetch-traces"), args...)
	cmd.Env = append(os.Environ(), "HYDRANT_TRACES_BASE="+base, "no_proxy=*")
	if list != "" {
		cmd.Env = append(cmd.Env, "HYDRANT_TRACES_LIST="+list)
	}
	out, err := cmd.CombinedOutput()
	if _, exit := err.(*exec.ExitError); err != nil && !exit {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// A download is kept when it is whole and fits, and only then.
func TestFetchTraces(t *testing.T) {
	good := []byte("a trace\n")
	sum := fmt.Sprintf("%x", sha256.Sum256(good))
	asked := map[string]int{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		switch path.Base(r.URL.Path) {
		case "good.jsonl", "new.jsonl":
			w.Write(good)
		case "changed.jsonl":
			fmt.Fprint(w, "another trace\n")
		case "pointer.jsonl":
			fmt.Fprint(w, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer s.Close()
	dir := t.TempDir()
	list := filepath.Join(dir, "list")
	text := "# a remark\n@ one MIT https://example.org/a/b\ngood.jsonl " + sum + " 8\nnew.jsonl - -\n\n@ two MIT https://example.org/c\nchanged.jsonl " + sum +
		" 8\ngone.jsonl " + sum + " 8\npointer.jsonl - -\n"
	if err := os.WriteFile(list, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out")
	for _, step := range []struct {
		what string
		args []string
		code int
		said []string // regular expressions
	}{
		{"list", []string{"--list"}, 0, []string{`(?m)^one +2 files +8\+ bytes +MIT +https://example.org/a/b$`, `(?m)^two +3 files +16\+ bytes`}},
		{"verify nothing", []string{"--verify", out, "one"}, 1, []string{"one/good.jsonl: missing", "0 fetched, 0 were there, 0 without a known hash, 2 wrong"}},
		{"fetch a set", []string{"-o", out, "one"}, 0, []string{"one/new.jsonl: sha256 " + sum + ", 8 bytes: not in the list", "2 fetched, 0 were there, 1 without a known hash, 0 wrong"}},
		{"again", []string{"-o", out, "one"}, 0, []string{"0 fetched, 2 were there, 1 without"}},
		{"verify", []string{"--verify", out, "one"}, 0, []string{"0 fetched, 2 were there"}},
		{"fetch all", []string{"-o", out}, 1, []string{"two/changed.jsonl: .* has sha256 [0-9a-f]{64}, want " + sum + ": nothing is kept", "two/gone.jsonl: cannot fetch " + s.URL + "/example.org/c/gone.jsonl",
			"two/pointer.jsonl: .* is a Git LFS pointer", "0 fetched, 2 were there, 1 without a known hash, 3 wrong or missing"}},
		{"no such set", []string{"three"}, 2, []string{"error: three: no such set, want one of one, two"}},
		{"no such flag", []string{"--all"}, 2, []string{"error: --all: no such flag"}},
	} {
		code, said := fetch(t, list, s.URL, step.args...)
		if code != step.code {
			t.Errorf("%s: status %d; want %d\n%s", step.what, code, step.code, said)
		}
		for _, want := range step.said {
			if !regexp.MustCompile(want).MatchString(said) {
				t.Errorf("%s: no %q in\n%s", step.what, want, said)
			}
		}
	}
	if n := asked["/example.org/a/b/good.jsonl"]; n != 1 {
		t.Errorf("a file that is there was asked for %d times; want once", n)
	}
	if err := os.WriteFile(filepath.Join(out, "one", "good.jsonl"), []byte("damaged\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, said := fetch(t, list, s.URL, "--verify", out, "one"); code != 1 || !strings.Contains(said, "one/good.jsonl: differs") {
		t.Errorf("a damaged file: status %d\n%s", code, said)
	}
	var names []string
	err := filepath.WalkDir(out, func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, filepath.Base(p))
		}
		return err
	})
	if got := strings.Join(names, " "); err != nil || got != "good.jsonl new.jsonl" {
		t.Errorf("files %q, %v; want good.jsonl new.jsonl", got, err)
	}
}

// The list's hashes are those of the whole files in the shared data.
func TestFetchListFitsTheData(t *testing.T) {
	names := map[string]string{ // in the list → in the data
		"synthetic_trace.jsonl": "mooncake/synthetic_trace.jsonl", "AzureLLMInferenceTrace_code.csv": "azure/AzureLLMInferenceTrace_code.csv", "splitwise_code.csv": "vidur/splitwise_code.csv",
		"1_sys_prompt.jsonl": "ragpulse/1_sys_prompt.jsonl", "5_web_search.jsonl": "ragpulse/5_web_search.jsonl", "chunk-16-trace.csv": "servegen/multimodal_mm-image_chunk-16-trace.csv",
		"chunk-52-dataset.json": "servegen/reason_deepseek-r1_chunk-52-dataset.json", "trace_0003.json": "weka/trace_0003.json", "trace_0277.json": "weka/trace_0277.json",
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := names[path.Base(r.URL.Path)]
		if !ok {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		b, err := os.ReadFile(filepath.Join(fixture.Root(), "..", "shared", "data", name))
		if err != nil {
			if b, err = os.ReadFile(filepath.Join(fixture.Root(), "..", "shared", "data", name+".zst")); err == nil {
				b, err = codec.Unzstd(b, 1<<26)
			}
		}
		if err != nil {
			t.Error(err)
		}
		io.Copy(w, bytes.NewReader(b))
	}))
	defer s.Close()
	fixture.Shared(t, "data/README.md")
	own, err := os.ReadFile(filepath.Join(fixture.Root(), "scripts", "fetch-traces.list"))
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(string(own)) {
		if f := strings.Fields(line); len(f) == 4 && f[0] == "@" || len(f) == 3 && names[f[0]] != "" {
			kept = append(kept, line)
		}
	}
	list := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(list, []byte(strings.Join(kept, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	code, said := fetch(t, list, s.URL, "-o", t.TempDir())
	if want := fmt.Sprintf("%d fetched, 0 were there, 0 without a known hash, 0 wrong", len(names)); code != 0 || !strings.Contains(said, want) {
		t.Errorf("status %d, want 0 and %q\n%s", code, want, said)
	}
}
