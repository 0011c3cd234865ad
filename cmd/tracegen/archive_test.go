package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hydrant/formats/schedule"
	"hydrant/internal/codec"
	"hydrant/internal/fixture"
)

// recipe reads the "key: value" lines of a recipe file.
func recipe(t *testing.T, path string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r := map[string]string{}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, ": ")
		if _, again := r[key]; !ok || again {
			t.Fatalf("%s: line %q: want one key: value each", path, line)
		}
		r[key] = value
	}
	return r
}

// The archived traces are the ones the recipes tell of, and the commands in the recipes
// make the schedules they tell of.
func TestArchiveRecipes(t *testing.T) {
	folder := filepath.Join(fixture.Root(), "traces", "archive")
	recipes, err := filepath.Glob(filepath.Join(folder, "*.recipe"))
	if err != nil || len(recipes) != 2 {
		t.Fatalf("recipes = %q, %v; want two", recipes, err)
	}
	for _, path := range recipes {
		t.Run(filepath.Base(path), func(t *testing.T) {
			r := recipe(t, path)
			if name := strings.TrimSuffix(filepath.Base(path), ".recipe"); !strings.HasPrefix(r["trace"], name+".") {
				t.Errorf("trace: %s, in a recipe for %s", r["trace"], name)
			}
			packed, err := os.ReadFile(filepath.Join(folder, r["trace"]))
			if err != nil {
				t.Fatal(err)
			}
			trace, err := codec.Unzstd(packed, 1<<24)
			if err != nil {
				t.Fatal(err)
			}
			same(t, r, "trace_bytes", strconv.Itoa(len(trace)))
			same(t, r, "trace_sha256", digestOf(trace))
			checkRecipe(t, r, folder)
		})
	}
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func same(t *testing.T, r map[string]string, key, got string) {
	t.Helper()
	if r[key] != got {
		t.Errorf("%s: %s in the recipe; the file gives %s", key, r[key], got)
	}
}

func checkRecipe(t *testing.T, r map[string]string, folder string) {
	args := strings.Fields(r["command"])
	if args[0] != "tracegen" {
		t.Fatalf("command: %q; want tracegen …", r["command"])
	}
	out := ""
	for i, a := range args { // the command's relative names, without leaving this folder
		switch {
		case a == r["trace"]:
			args[i] = filepath.Join(folder, a)
		case i > 0 && args[i-1] == "-o":
			out = filepath.Join(t.TempDir(), a)
			args[i] = out
		}
	}
	var stdout, stderr bytes.Buffer
	if code := run(args[1:], strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("%s = %d\n%s", r["command"], code, stderr.String())
	}
	packed, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := codec.Unzstd(packed, 1<<26)
	if err != nil {
		t.Fatal(err)
	}
	end := trailer(t, lines)
	for key, n := range map[string]int64{
		"requests": end.Requests, "sessions": end.Sessions, "input_tokens": end.InputTokens, "output_tokens": end.OutputTokens, "span_ns": end.SpanNS,
		"blocks": end.Blocks, "distinct_blocks": end.DistinctBlocks, "hit_blocks": end.HitBlocks, "hit_tokens": end.HitTokens,
	} {
		same(t, r, key, strconv.FormatInt(n, 10))
	}
	same(t, r, "trace_sha256", end.Sources[0].SHA256)
	from := bytes.IndexByte(lines, '\n') + 1
	to := bytes.LastIndex(lines, []byte(`{"end":`))
	same(t, r, "request_lines_sha256", digestOf(lines[from:to]))
}

// trailer reads a schedule to its end.
func trailer(t *testing.T, lines []byte) schedule.Trailer {
	t.Helper()
	r, err := schedule.NewReader(bytes.NewReader(lines), "schedule")
	for err == nil {
		_, err = r.Next()
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	return r.Trailers()[0]
}
