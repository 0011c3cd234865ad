package summary

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	"hydrant/internal/stats"
)

// update tells the tests to rewrite the golden file and the generated part of the page.
var update = os.Getenv("HYDRANT_GOLDEN") == "write"

const golden = "testdata/v1.summary.json"

func f64(v float64) *float64 { return &v }

// example is a small summary with a value in every field, and with nulls where
// they are allowed.
func example(t testing.TB) *Summary {
	t.Helper()
	columns := NewColumns(2)
	for i, name := range IntColumns {
		columns.Ints[name][0] = formats.Some(int64(i) * 1_000_003)
	}
	columns.Ints["request_id"][1], columns.Ints["u_ns"][1] = formats.Some(1), formats.Some(5_000_000)
	for i := range 2 {
		columns.Ints["part"][i], columns.Ints["in_window"][i] = formats.Some(0), formats.Some(1)
	}
	columns.Strings["outcome"] = []string{"ok", "http_error"}
	columns.Strings["session"] = []string{"a", ""}
	encoded, err := EncodeColumns(columns)
	if err != nil {
		t.Fatal(err)
	}
	h := stats.NewHistogram(3)
	h.Record(20_000_000, 3)
	h.Record(41_000_000, 1)
	data, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	sum := json.Number("170141183460469231731687303715884105727")
	extra := json.RawMessage(`{"any":"value"}`)
	return &Summary{
		Format: Format, Version: Version, Build: "hydrant test",
		Inputs:   []Input{{Name: "run.arrows", Kind: "run", SHA256: "00ff", Bytes: 4096}},
		Parts:    []Part{{Header: json.RawMessage(`{"format":"hydrant-run"}`), End: PartEnd{Status: "complete", Planned: 2, RequestsRows: 2, ClientRows: 60, SHA256: "00ff", Detail: json.RawMessage(`{"reason":""}`)}}},
		Window:   Window{FromNS: 1, ToNS: 60_000_000_001, LoadFrom: 1, LoadTo: 60_000_000_000, WarmupNS: 0, MSERCutNS: formats.Some(0), MSERNote: ""},
		Plan:     Plan{Requests: 2, InputTokens: 300, OutputTokens: 20, ExpectedCachedTokens: formats.Some(16), InWindow: 2, Rows: 2, Distinct: 2},
		Outcomes: []Outcome{{"ok", 1, 1}, {"http_error", 1, 1}},
		Metrics: []Metric{{ID: "ttft_user", Side: "user", Unit: "ns", Population: "ok", Weighting: "request", Method: "exact nearest rank",
			Definition: "first_token_ns − due_ns", N: 20, Nulls: 1, Sum: &sum, Mean: f64(412.5), Std: f64(3), Min: formats.Some(400), Max: formats.Some(500),
			Percentiles: []Percentile{{Level: 500, Value: formats.Some(410), Low: formats.Some(405), High: formats.Some(420), Tau: f64(1), Neff: f64(20)},
				{Level: 900, Infinite: true, Reason: "the rank falls on a miss"}, {Level: 999, Reason: "needs 6636 values, has 20"}}, Note: "a note"}},
		Scalars:  []Scalar{{ID: "sent_rps", Unit: "1/s", Value: f64(3.4), N: 204, Definition: "rows/|W|"}, {ID: "headroom", Unit: "ratio", Definition: "ceiling/offered", Reason: "the run was not calibrated", Evidence: "worker 1"}},
		Series:   []Series{{ID: "out_tps", Unit: "tokens/s", FromNS: 1, StepNS: 1_000_000_000, Values: []*float64{f64(12), nil, f64(0)}}},
		Clients:  []Client{{Part: 0, Worker: 1, PID: 42, Rows: 60, Dispatched: 2, Completed: 2, RowsSent: 2, RowsEnded: 2, CPUNS: formats.Some(7), TokenEvents: 20, Values: map[string]float64{"cpu_share_p95": 0.25}}},
		GPUs:     []GPU{{Host: "h", Index: 0, UUID: "GPU-0", Name: "card", Samples: 600, Values: map[string]*float64{"energy_j": f64(3750), "sm_active_mean": nil}, Reason: "gap"}},
		GPUNote:  "no gpu stream",
		Sketches: []Sketch{{ID: "icl", Side: "user", Digits: 3, Data: data}},
		Columns:  encoded,
		Rows:     &EncodedRows{Order: Order{Rows: 2, Over: 1, MostNS: 60_000, WorstID: 1, Early: 1}, Run: "/////w=="},
		Notes:    []string{"the run is failed"},
		Extra:    &extra,
	}
}

func TestGolden(t *testing.T) {
	if update {
		var b bytes.Buffer
		if err := Write(&b, example(t)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(bytes.NewReader(want), golden)
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := Write(&again, s); err != nil || again.String() != string(want) {
		t.Errorf("reading and writing the golden file changes it (%v):\n%s", err, cmp.Diff(string(want), again.String()))
	}
	// The columns are compared by value: their bytes are those of one zstd encoder.
	mine := example(t)
	x, err := s.Decode(golden)
	if err != nil {
		t.Fatal(err)
	}
	y, err := DecodeColumns(mine.Columns, "example")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(y, x); d != "" {
		t.Errorf("columns of the golden file: %s", d)
	}
	if h, err := stats.DecodeHistogram(s.Sketches[0].Data); err != nil || h.N() != 4 {
		t.Errorf("sketch of the golden file: %v", err)
	}
	mine.Columns = s.Columns
	var b bytes.Buffer
	if err := Write(&b, mine); err != nil || b.String() != string(want) {
		t.Errorf("writing the same summary anew gives other bytes (%v):\n%s", err, cmp.Diff(string(want), b.String()))
	}
}

// Every cut of the golden file is an error of a known kind.
func TestGoldenCut(t *testing.T) {
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		s, err := Read(bytes.NewReader(b[:i]), "x")
		if s != nil || !typed(err) {
			t.Fatalf("cut to %d of %d bytes: %v; want a typed error alone", i, len(b), err)
		}
	}
}

func typed(err error) bool {
	var cut *formats.TruncatedError
	var syntax *formats.SyntaxError
	var version *formats.VersionError
	return errors.As(err, &cut) || errors.As(err, &syntax) || errors.As(err, &version)
}

func TestReadRefuses(t *testing.T) {
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"version": 1`, `"version": 2`, `x: version: got "2", want 1`},
		{`"version": 1`, `"version": "1"`, `x: version: got`},
		{`"hydrant-summary"`, `"hydrant-verdict"`, `x: format: got "hydrant-verdict", want hydrant-summary`},
		{`"build"`, `"Build"`, `x: key: got "Build", want a key of a summary`},
		{`"to_ns": 60000000001`, `"to_ns": 0`, `x: window.to_ns: got "0", want at least from_ns`},
		{`"to_ns": 60000000001`, `"to_ns": 6.5`, `got "6.5", want a whole number`},
		{`"step_ns": 1000000000`, `"step_ns": 0`, `x: series[0].step_ns: got "0"`},
		{`"level": 900`, `"level": 1001`, `x: metrics[0].percentiles[1].level: got "1001"`},
		{`"n": 20,`, `"n": -1,`, `x: metrics[0].n: got "-1"`},
		{`"rows": 2,` + "\n    \"stream\"", `"rows": 99999999,` + "\n    \"stream\"", `x: columns.rows: got "99999999"`},
		{`"notes": [`, `"notes": null, "more": [`, `x: notes: got "null", want a list`},
	} {
		bad := strings.Replace(string(b), c.old, c.new, 1)
		if bad == string(b) {
			t.Fatalf("%s is not in the golden file", c.old)
		}
		s, err := Read(strings.NewReader(bad), "x")
		if s != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %s: %v; want %s", c.new, err, c.want)
		}
	}
	for _, bad := range []string{"", "\n", "[]\n", "null\n", "{}\n", "7\n", `{"format":"hydrant-summary","version":1}` + "\n", strings.Repeat("[", 20_000)} {
		if s, err := Read(strings.NewReader(bad), "x"); s != nil || !typed(err) {
			t.Errorf("Read(%.20q) = %v; want a typed error", bad, err)
		}
	}
}

// What Read takes is written again and read back equal; what it refuses is one of
// the three errors.
func FuzzRead(f *testing.F) {
	b, err := os.ReadFile(golden)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)/2])
	f.Add([]byte(`{"format":"hydrant-summary","version":3}` + "\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := Read(bytes.NewReader(b), "x")
		if err != nil {
			if !typed(err) {
				t.Fatalf("%v is none of the three kinds", err)
			}
			return
		}
		var out bytes.Buffer
		if err := Write(&out, s); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(out.Bytes()), "x")
		if err != nil {
			t.Fatalf("what Write wrote is refused: %v", err)
		}
		var twice bytes.Buffer
		if err := Write(&twice, again); err != nil || !bytes.Equal(out.Bytes(), twice.Bytes()) {
			t.Fatalf("a summary changed on its way (%v)", err)
		}
		if s.Columns == nil {
			return
		}
		c, err := DecodeColumns(s.Columns, "x")
		if err != nil {
			if !typed(err) {
				t.Fatalf("columns: %v is none of the three kinds", err)
			}
			return
		}
		e, err := EncodeColumns(c)
		if err != nil {
			t.Fatal(err)
		}
		d, err := DecodeColumns(e, "x")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, d); diff != "" {
			t.Fatalf("columns changed on their way: %s", diff)
		}
	})
}
