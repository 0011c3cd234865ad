package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hydrant/formats/schedule"
	"hydrant/internal/codec"
	"hydrant/internal/fixture"
)

// dealt splits a trace into files that get its rows in turn.
func dealt(t *testing.T, trace string, names ...string) (paths []string) {
	t.Helper()
	packed, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := codec.Unzstd(packed, 1<<28)
	if err != nil {
		t.Fatal(err)
	}
	parts := make([][]byte, len(names))
	for i, row := range bytes.SplitAfter(plain, []byte("\n")) {
		parts[i%len(names)] = append(parts[i%len(names)], row...)
	}
	dir := t.TempDir()
	for i, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, parts[i], 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// Parts of one trace under one scope are the trace again; under scopes of their own they
// share nothing.
func TestMergedTraces(t *testing.T) {
	paths := dealt(t, fixture.Shared(t, conversation), "a.jsonl", "b/c.jsonl", "d/c.jsonl")
	args := append([]string{"mooncake"}, paths...)
	reqs, end := requests(t, made(t, append(args, "--scope", "conversation")...))
	if end.Requests != 6011 || end.Sessions != 6011 || end.InputTokens != 76_789_065 || end.OutputTokens != 2_084_789 || end.HitBlocks != 52_857 || len(end.Sources) != 3 {
		t.Errorf("merged: %+v; want the sums of the whole trace", end)
	}
	if !slices.IsSortedFunc(reqs, func(a, b *schedule.Request) int { return int(a.AtNS.V - b.AtNS.V) }) {
		t.Error("not in order of time")
	}
	_, end = requests(t, made(t, args...))
	var distinct int64
	for _, path := range paths {
		_, one := requests(t, made(t, "mooncake", path))
		distinct += one.DistinctBlocks
	}
	if end.DistinctBlocks != distinct || distinct == 99_969 {
		t.Errorf("%d distinct ids without a common scope; want %d, the sum of the files", end.DistinctBlocks, distinct)
	}
}

// Schedules merge to what their traces merge to, and the header says so.
func TestMergedSchedules(t *testing.T) {
	paths := dealt(t, fixture.Shared(t, conversation), "a.jsonl", "b.jsonl")
	var scheds []string
	for _, path := range paths {
		made(t, "mooncake", path, "--scope", "conversation", "--speed", "2", "-o", path+".sched.zst")
		scheds = append(scheds, path+".sched.zst")
	}
	body := func(packed []byte) []byte {
		b := lines(t, packed)
		return b[bytes.IndexByte(b, '\n')+1 : bytes.LastIndex(b, []byte(`{"end":`))]
	}
	one := made(t, "mooncake", paths[0], paths[1], "--scope", "conversation", "--speed", "2", "--max-input", "4096")
	two := made(t, "schedule", scheds[0], scheds[1], "--max-input", "4096")
	if !bytes.Equal(body(one), body(two)) {
		t.Error("merged schedules differ from merged traces")
	}
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"schedule", scheds[0], scheds[1]}, []string{"speed:", "merge:"}},
		{[]string{"schedule", scheds[0], scheds[1], "--gap-cap", "5s"}, []string{"speed:", "merge:", "gap-cap:"}},
		{[]string{"mooncake", paths[0], paths[1], "--zero", "first"}, []string{"merge:", "zero:"}},
	} {
		r, err := schedule.NewReader(bytes.NewReader(lines(t, made(t, tt.args...))), "schedule")
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range r.Header().Transforms {
			got = append(got, x.Name+":"+x.Params["input"])
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%v: transforms %v; want %v", tt.args[0], got, tt.want)
		}
		sources := 2
		if tt.args[0] == "schedule" { // and the schedules themselves
			sources = 4
		}
		if n := len(r.Header().Sources); n != sources {
			t.Errorf("%v: %d sources; want %d", tt.args[0], n, sources)
		}
	}
	// Inputs of different speeds merge, but recorded times no longer fit one speed.
	made(t, "mooncake", paths[1], "--scope", "conversation", "-o", scheds[1])
	mixed := filepath.Join(t.TempDir(), "mixed.sched.zst")
	made(t, "schedule", scheds[0], scheds[1], "-o", mixed)
	var stderr bytes.Buffer
	if code := run([]string{"schedule", mixed, "--gap-cap", "5s"}, nil, &bytes.Buffer{}, &stderr); code != 3 || !bytes.Contains(stderr.Bytes(), []byte("input 1 alone")) {
		t.Errorf("a cap on a merge of different speeds: status %d, %s", code, stderr.String())
	}
}

// Files named one by one are the folder that holds them.
func TestMergedFilesAreTheFolder(t *testing.T) {
	dir := t.TempDir()
	args := []string{"weka"}
	for _, name := range []string{"trace_0003", "trace_0010", "trace_0277", "trace_0300"} {
		path := fixture.Shared(t, "data/weka/"+name+".json.zst")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), b, 0o666); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	folder, _ := requests(t, made(t, "weka", dir))
	files, _ := requests(t, made(t, args...))
	if len(folder) != 774 || len(files) != len(folder) {
		t.Fatalf("%d and %d requests; want 774", len(folder), len(files))
	}
	for i, r := range files {
		if got, want := schedule.AppendRequest(nil, r), schedule.AppendRequest(nil, folder[i]); !bytes.Equal(got, want) {
			t.Fatalf("request %d of the files\n%s\nwant\n%s", i, got, want)
		}
	}
}
