package traces

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/fixture"
	"hydrant/internal/parquet"
)

// basetenLog is a request log by column; a value that is nil is null.
type basetenLog map[string][]any

// oracle is the log of three sessions that reference pages count by hand: turns with
// shared hashes, a cancelled request, rows without a session and without hashes.
var oracle = basetenLog{
	"timestamp_start_unix_ms": {6000, 1000, 3000, 9000, 1500, 1500, 7000, 1000},
	"prompt":                  {"a3", "a1", "a2 \"quoted\" ü\n", "b2", "b1", "", "n1", "c1"},
	"input_tokens":            {256, 128, 192, 70, 64, 5, 10, 63},
	"output_tokens":           {3, 1, 2, 0, 4, 5, 6, 7},
	"total_hashes":            {[]int64{10, 11, 12, 13}, []int64{10, 11}, []int64{10, 11, 12}, []int64{9007199254740993}, []int64{9007199254740992}, nil, []int64{}, nil},
	"block_size":              {64, 64, 64, 64, 64, nil, nil, 64},
	"provided_session_id":     {"A", "A", "A", "B", "B", nil, nil, "C"},
	"poor_man_session_id":     {1, 1, 1, 1, 1, 1, 2, 2},
	"duration_e2e_ms":         {500, 800, 700, nil, 600, 100, nil, 9},
	"duration_ttft_ms":        {50, 80, 70, nil, 60, 10, nil, 9},
	"request_canceled":        {0, 0, 0, 1, 0, nil, 0, 0},
	"cached_tokens_reference": {192, 0, 128, nil, 0, 0, 0, 0},
	"model_name":              {"m", "m", "m", "n", "n", nil, nil, "m"},
	"org_id":                  {"o", "o", "o", "o", "o", "o", "o", "o"},
}

// written has pyarrow write a log in all its files.
func (l basetenLog) written(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	raw, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(dir, "rows.json")
	if err := os.WriteFile(source, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(fixture.Python(t), "testdata/baseten.py", dir, source).CombinedOutput(); err != nil {
		t.Fatalf("baseten.py: %v\n%s", err, out)
	}
	return dir
}

// parquet writes the whole numbers and texts of a log as a Parquet file.
func (l basetenLog) parquet(t testing.TB) []byte {
	t.Helper()
	var cols []parquet.Column
	for name, v := range l {
		_, text := v[slices.IndexFunc(v, func(x any) bool { return x != nil })].(string)
		cols = append(cols, parquet.Column{Name: name, Text: text})
	}
	var buf bytes.Buffer
	w := parquet.NewWriter(&buf, cols, nil)
	for i := range l["prompt"] {
		for j, c := range cols {
			switch v := l[c.Name][i].(type) {
			case nil:
				if w.Int(j, formats.Int{}); c.Text {
					w.Text(j, "")
				}
			case int:
				w.Int(j, formats.Some(int64(v)))
			case string:
				w.Text(j, v)
			}
		}
		if err := w.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// baseten reads a file and returns the schedule in the keep/add form.
func readBaseten(t testing.TB, path string, o Options) (lines []string, tr *Trace, end schedule.Trailer) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tr, err = Baseten(Input{Place: path, Name: "log.parquet", Path: path, R: f}, o)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	reqs, end := plan(t, tr)
	var chains schedule.Chains
	for _, r := range reqs {
		if r.Blocks != nil {
			r.Blocks.Keep, r.Blocks.Add = chains.Encode(r, r.Blocks.Scope, r.Blocks.Add)
		}
		lines = append(lines, string(schedule.AppendRequest(nil, r)))
	}
	return lines, tr, end
}

// The same rows give the same requests from every file that pyarrow writes of them:
// Parquet and Arrow, plain and dictionary columns, all compressions, large lists, narrow
// and unsigned numbers, missing statistics, several row groups, and rows out of order.
func TestBasetenFiles(t *testing.T) {
	l := basetenLog{}
	for name, v := range oracle { // rows without a session are named after their place
		for i, x := range v {
			if oracle["provided_session_id"][i] != nil {
				l[name] = append(l[name], x)
			}
		}
	}
	dir := l.written(t)
	names, _ := filepath.Glob(filepath.Join(dir, "*.*"))
	want, _, _ := readBaseten(t, filepath.Join(dir, "plain.parquet"), Options{})
	if len(names) != 14 || len(want) != 6 {
		t.Fatalf("%d files of %d requests", len(names), len(want))
	}
	for _, name := range names {
		if filepath.Ext(name) == ".json" {
			continue
		}
		if got, _, _ := readBaseten(t, name, Options{}); !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", filepath.Base(name), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		f, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := Baseten(piped("log.arrow", bytes.NewReader(f)), Options{}) // through a pipe
		if err != nil {
			t.Fatal(err)
		}
		if _, end := plan(t, tr); end.Requests != 6 || tr.Sources[0].Bytes != int64(len(f)) {
			t.Errorf("%s through a pipe: %d requests of %d bytes", filepath.Base(name), end.Requests, tr.Sources[0].Bytes)
		}
		tr.Close()
	}
}

// The figures that can be counted by hand.
func TestBasetenOracle(t *testing.T) {
	dir := oracle.written(t)
	lines, tr, end := readBaseten(t, filepath.Join(dir, "plain.parquet"), Options{})
	want := []string{
		`{"id":0,"at_ns":0,"session":"A","stream":"0","turn":0,"context":"whole","input_tokens":128,"output_tokens":1,"blocks":{"scope":"baseten/log","keep":0,"add":[[10,2]]},"model":"m","recorded":{"ttft_ns":80000000,"e2e_ns":800000000,"cached_tokens":0},"body":{"prompt":"a1"}}`,
		`{"id":1,"at_ns":0,"session":"C","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":63,"output_tokens":7,"model":"m","recorded":{"ttft_ns":9000000,"e2e_ns":9000000,"cached_tokens":0},"body":{"prompt":"c1"}}`,
		`{"id":2,"at_ns":500000000,"session":"B","stream":"0","turn":0,"context":"whole","input_tokens":64,"output_tokens":4,"blocks":{"scope":"baseten/log","keep":0,"add":[[9007199254740992,1]]},"model":"n","recorded":{"ttft_ns":60000000,"e2e_ns":600000000,"cached_tokens":0},"body":{"prompt":"b1"}}`,
		`{"id":3,"at_ns":500000000,"session":"r6","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":5,"output_tokens":5,"recorded":{"ttft_ns":10000000,"e2e_ns":100000000,"cached_tokens":0},"body":{"prompt":""}}`,
		`{"id":4,"at_ns":2000000000,"after":[0],"delay_ns":1200000000,"session":"A","stream":"0","turn":1,"context":"whole","input_tokens":192,"output_tokens":2,"blocks":{"scope":"baseten/log","keep":2,"add":[[12,1]]},"model":"m","recorded":{"ttft_ns":70000000,"e2e_ns":700000000,"cached_tokens":128},"body":{"prompt":"a2 \"quoted\" ü\n"}}`,
		`{"id":5,"at_ns":5000000000,"after":[4],"delay_ns":2300000000,"session":"A","stream":"0","turn":2,"last":true,"context":"whole","input_tokens":256,"output_tokens":3,"blocks":{"scope":"baseten/log","keep":3,"add":[[13,1]]},"model":"m","recorded":{"ttft_ns":50000000,"e2e_ns":500000000,"cached_tokens":192},"body":{"prompt":"a3"}}`,
		`{"id":6,"at_ns":6000000000,"session":"r7","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":10,"output_tokens":6,"recorded":{"cached_tokens":0},"body":{"prompt":"n1"}}`,
		`{"id":7,"at_ns":8000000000,"after":[2],"delay_ns":6900000000,"session":"B","stream":"0","turn":1,"last":true,"context":"whole","input_tokens":70,"output_tokens":0,"blocks":{"scope":"baseten/log","keep":0,"add":[[9007199254740993,1]]},"model":"n","body":{"prompt":"b2"}}`,
	}
	for i := range max(len(want), len(lines)) {
		if i >= len(lines) || i >= len(want) || lines[i] != want[i] {
			t.Fatalf("line %d = %s\nwant     %s", i, slices.Concat(lines, []string{"", "", ""})[i], slices.Concat(want, []string{"", "", "", ""})[i])
		}
	}
	if got := counts(end); got != "cancelled 1, sorted_backward 3, ties_kept 2" {
		t.Errorf("counts = %s", got)
	}
	if *tr.Block != (schedule.Block{Tokens: 64, Last: schedule.Absent}) || tr.QuantumNS != 1e6 {
		t.Errorf("block %+v, quantum %d; want 64 absent and 1 ms: no row has an id for its rest", tr.Block, tr.QuantumNS)
	}
	other, _, _ := readBaseten(t, filepath.Join(dir, "plain.arrow"), Options{SessionColumn: "poor_man_session_id", KVHints: true})
	if got := other[0]; !strings.Contains(got, `"session":"1"`) || !strings.HasSuffix(got, `"extra":{"hash_ids":[10,11],"block_size":64}}`) {
		t.Errorf("sessions of the other column, with hints: %s", got)
	}
	if lines, _, _ := readBaseten(t, filepath.Join(dir, "plain.arrow"), Options{SessionColumn: "org_id"}); !strings.Contains(lines[7], `"session":"o"`) {
		t.Errorf("sessions of any column: %s", lines[7])
	}
}

// A block that holds the rest of a prompt has an id in some logs and none in others.
func TestBasetenBlocks(t *testing.T) {
	for _, c := range []struct {
		ids  []any
		want string
	}{
		{[]any{[]int64{1, 2, 3}, []int64{1, 2}}, "partial, 3 + 2, "},
		{[]any{[]int64{1, 2}, []int64{1, 2}}, "absent, 2 + 2, "},
		{[]any{[]int64{1, 2, 3, 4}, []int64{1}}, "absent, 0 + 1, ids_dropped 1, ids_short 1"},
		{[]any{[]int64{1 << 32, 0, 7}, []int64{0, 1 << 32}}, "partial, 3 + 2, chain_breaks 2"},
		{[]any{[]int64{1, 2, 3}, []int64{1, 3}}, "partial, 3 + 0, id_sizes_differ 1"},
	} {
		l := basetenLog{"timestamp_start_unix_ms": {0, 1}, "prompt": {"x", "y"}, "input_tokens": {33, 32}, "output_tokens": {1, 1}, "total_hashes": c.ids, "block_size": {16, 16}}
		if len(c.ids[0].([]int64)) == 4 {
			l["input_tokens"] = []any{33, 33}
		}
		dir := l.written(t)
		_, tr, end := readBaseten(t, filepath.Join(dir, "small.parquet"), Options{})
		blocks := fmt.Sprintf("%s, ", tr.Block.Last)
		tr, err := Baseten(piped("x", bytes.NewReader(must(os.ReadFile(filepath.Join(dir, "plain.parquet"))))), Options{})
		if err != nil {
			t.Fatal(err)
		}
		reqs, _ := plan(t, tr)
		for i, r := range reqs {
			n := int64(0)
			if r.Blocks != nil {
				for _, run := range r.Blocks.Add {
					n += run[1]
				}
			}
			blocks += fmt.Sprint(n) + []string{" + ", ", "}[i]
		}
		if got := blocks + counts(end); got != c.want {
			t.Errorf("ids %v: %s; want %s", c.ids, got, c.want)
		}
		tr.Close()
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// plainLog is the smallest log, which this package can write without pyarrow.
func plainLog(change func(basetenLog)) basetenLog {
	l := basetenLog{
		"timestamp_start_unix_ms": {2000, 1000}, "prompt": {"two", "one"}, "input_tokens": {2, 1}, "output_tokens": {4, 3},
		"provided_session_id": {"s", "s"}, "duration_e2e_ms": {10, 20},
	}
	if change != nil {
		change(l)
	}
	return l
}

func TestBasetenRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(basetenLog)
		o      Options
		want   string
	}{
		{func(l basetenLog) { l["input_tokens"] = []any{1, -1} }, Options{}, `f:2: input_tokens: got "-1", want a whole number of at least 0`},
		{func(l basetenLog) { l["output_tokens"] = []any{1, nil} }, Options{}, `f:2: output_tokens: got "null", want a value`},
		{func(l basetenLog) { l["timestamp_start_unix_ms"] = []any{1, 9300000000000} }, Options{}, `f:2: timestamp_start_unix_ms: got "9300000000000"`},
		{func(l basetenLog) { l["timestamp_start_unix_ms"] = []any{"1", "2"} }, Options{}, `type of column timestamp_start_unix_ms: got "string", want whole numbers`},
		{func(l basetenLog) { l["prompt"] = []any{1, 2} }, Options{}, `type of column prompt: got "int64", want text`},
		{func(l basetenLog) { l["duration_e2e_ms"] = []any{1, -1} }, Options{}, `f:2: duration_e2e_ms: got "-1"`},
		{func(l basetenLog) { l["duration_ttft_ms"] = []any{"1", "2"} }, Options{}, `want whole numbers or numbers`},
		{func(l basetenLog) { l["request_canceled"] = []any{0, 2} }, Options{}, `f:2: request_canceled: got "2", want a number between 0 and 1`},
		{func(l basetenLog) { l["block_size"] = []any{0, 64} }, Options{}, `f:1: block_size: got "0"`},
		{func(l basetenLog) { l["block_size"] = []any{16, 64} }, Options{}, `f:2: block_size: got "64", want 16 as on row 1`},
		{func(l basetenLog) { l["block_size"] = []any{16, 16} }, Options{BlockSize: 64}, `want 64 as --block-size says`},
		{nil, Options{SessionColumn: "user"}, `--session-column: got "user", want a column of the file`},
		{nil, Options{SessionColumn: "prompt2"}, `want a column of the file`},
		{func(l basetenLog) { l["why"] = []any{1, 2} }, Options{Strict: true}, `f:1: column: got "why", want known columns only`},
	} {
		_, err := Baseten(piped("f", bytes.NewReader(plainLog(c.change).parquet(t))), c.o)
		var syntax *formats.SyntaxError
		if err == nil || !strings.Contains(err.Error(), c.want) || !asSyntax(err, &syntax) {
			t.Errorf("%v; want a SyntaxError with %s", err, c.want)
		}
	}
	refuses(t, Baseten, Options{}, [][2]string{
		{strings.ReplaceAll(string(plainLog(nil).parquet(t)), "prompt", "pr0mpt"), "columns: got \"no prompt\""},
		{"timestamp,prompt\n1,a\n", `first bytes: got "timest", want a Parquet file (PAR1) or an Arrow IPC file (ARROW1)`},
		{"PAR1", "truncated"}, {"PAR1PAR1PAR1", "footer"}, {"ARROW1\x00\x00", "truncated"}, {"PAR1" + strings.Repeat("x", 99), "truncated"}, {"", "a first row"},
	})
	whole := plainLog(nil).parquet(t)
	for n := range whole {
		if tr, err := Baseten(piped("f", bytes.NewReader(whole[:n])), Options{}); err == nil {
			tr.Close()
			t.Fatalf("a file cut after %d of %d bytes was accepted", n, len(whole))
		}
	}
	refusesBrokenStreams(t, Baseten, Options{}, string(whole))
}

func asSyntax(err error, out **formats.SyntaxError) bool {
	s, ok := err.(*formats.SyntaxError)
	*out = s
	return ok
}

// Requests of one instant come in the order of their sessions, wherever their rows are,
// and more of them than memory takes.
func TestBasetenTies(t *testing.T) {
	const n = 3000
	l := basetenLog{"timestamp_start_unix_ms": {}, "prompt": {}, "input_tokens": {}, "output_tokens": {}, "provided_session_id": {}}
	text := strings.Repeat("x", 900)
	for i := range n {
		for name, v := range map[string]any{"timestamp_start_unix_ms": 5, "prompt": text, "input_tokens": 1, "output_tokens": 1, "provided_session_id": fmt.Sprintf("s%04d", (i*1237)%n)} {
			l[name] = append(l[name], v)
		}
	}
	tr, err := Baseten(piped("f", bytes.NewReader(l.parquet(t))), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	reqs, end := plan(t, tr)
	for i, r := range reqs {
		if r.Session != fmt.Sprintf("s%04d", i) || r.ID != int64(i) || !r.Last {
			t.Fatalf("request %d is %d of session %s", i, r.ID, r.Session)
		}
	}
	if end.Requests != n || count(end, "ties_kept") != n-1 {
		t.Errorf("%d requests, %d ties", end.Requests, count(end, "ties_kept"))
	}
}

func FuzzBaseten(f *testing.F) {
	f.Add(plainLog(nil).parquet(f))
	f.Fuzz(func(t *testing.T, b []byte) { fuzzed(t, Baseten, piped("f", bytes.NewReader(b)), Options{}) })
}
