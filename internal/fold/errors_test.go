package fold

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

func fails(t *testing.T, o Options, inputs ...[]byte) error {
	t.Helper()
	var in []Input
	for i, b := range inputs {
		in = append(in, Input{string(rune('a' + i)), bytes.NewReader(b)})
	}
	s, err := Run(context.Background(), in, o)
	if err == nil || s != nil {
		t.Fatalf("Run = %v, %v; want no summary and an error", s != nil, err)
	}
	var syntax *formats.SyntaxError
	var cut *formats.TruncatedError
	var version *formats.VersionError
	if !errors.As(err, &syntax) && !errors.As(err, &cut) && !errors.As(err, &version) {
		t.Fatalf("%v is none of the three kinds", err)
	}
	return err
}

func TestInputsRefused(t *testing.T) {
	rows := randomRows(51, 30)
	h := testHeader()
	good := encode(t, h, rows, nil, run.End{}, 10)
	other := h
	other.Schedule = json.RawMessage(`{"seed":2}`)
	sum := func(hashes ...string) run.End {
		return run.End{Status: run.Complete, Planned: 30, Detail: run.Detail{ScheduleSHA256: hashes}}
	}
	var text bytes.Buffer
	if err := summary.Write(&text, reduce(t, Options{}, good)); err != nil {
		t.Fatal(err)
	}
	far := h
	far.Epoch.WallNS = 1
	for _, c := range []struct {
		name   string
		o      Options
		inputs [][]byte
		want   string
	}{
		{"nothing", Options{}, nil, "standard input: inputs"},
		{"empty", Options{}, [][]byte{{}}, "a: truncated: got end of input, want a run, a gpu stream or a summary"},
		{"garbage", Options{}, [][]byte{[]byte("hello world")}, `a: kind: got "hello wo", want a run`},
		{"binary garbage", Options{}, [][]byte{{1, 2, 3, 0xfe, 5, 6, 7, 8, 9}}, `a: kind: got "01 02 03 fe`},
		{"gzip", Options{}, [][]byte{{0x1f, 0x8b, 8, 0, 1, 2, 3, 4}}, `a: kind: got "gzip"`},
		{"a schedule", Options{}, [][]byte{[]byte(`{"schedule":{"format":"hydrant-schedule"`)}, `a: kind: got "a schedule", want a run`},
		{"a run where a gpu stream belongs", Options{GPUs: 1}, [][]byte{good, good}, `b: kind: got "run", want a gpu stream`},
		{"zstd", Options{}, [][]byte{{0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3, 4}}, `a: kind: got "zstd"`},
		{"huge message", Options{}, [][]byte{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}}, "length of the first message"},
		{"cut message", Options{}, [][]byte{good[:100]}, "a: truncated"},
		{"five bytes of a message", Options{}, [][]byte{good[:5]}, "a: truncated"},
		{"the same run twice", Options{}, [][]byte{good, good}, `request_id: got "0", want an id that a lacks`},
		{"other schedule", Options{}, [][]byte{good, encode(t, other, rows, nil, run.End{}, 10)}, "schedule: got"},
		{"other hash", Options{}, [][]byte{encode(t, h, rows, nil, sum("11"), 10), encode(t, h, rows, nil, sum("22"), 10)}, "schedule_sha256"},
		{"epochs far apart", Options{}, [][]byte{good, encode(t, far, rows, nil, run.End{}, 10)}, "epoch.wall_ns"},
		{"a summary beside its run", Options{}, [][]byte{good, text.Bytes()}, `b: rows: request_id: got "0", want an id that a lacks`},
		{"a window of a summary without rows", Options{Window: &Span{}}, [][]byte{written(t, reduce(t, Options{NoColumns: true}, good))}, `a: rows: got "a summary without rows"`},
		{"cut summary", Options{}, [][]byte{text.Bytes()[:text.Len()-2]}, "a: truncated"},
		{"one brace", Options{}, [][]byte{[]byte("{")}, "a: truncated"},
		{"run after summary's end", Options{}, [][]byte{append(bytes.Clone(text.Bytes()), '{')}, "after the summary"},
	} {
		if err := fails(t, c.o, c.inputs...); !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %s", c.name, err, c.want)
		}
	}
}

func TestRowsRefused(t *testing.T) {
	for _, c := range []struct {
		change func(q *run.Request)
		want   string
	}{
		{func(q *run.Request) { q.PlannedInputTokens = some(-5) }, `a: request 3: planned_input_tokens: got "-5", want a count`},
		{func(q *run.Request) { q.OutputTokens = some(1 << 40) }, `output_tokens: got "1099511627776"`},
		{func(q *run.Request) { q.Outcome = "fine" }, `a: request 3: outcome: got "fine"`},
		{func(q *run.Request) { q.TokenSource = "guess" }, `token_source: got "guess"`},
		{func(q *run.Request) { q.DueNS = some(1 << 61) }, "due_ns: got"},
		{func(q *run.Request) { q.EndNS = some(-1 << 62) }, "end_ns: got"},
		{func(q *run.Request) { q.Turn = -1 }, `turn: got "-1"`},
		{func(q *run.Request) { q.ChunkGapUS = []int64{5, 1 << 50} }, "chunk_gap_us[1]"},
		{func(q *run.Request) {
			q.ChunkGapUS, q.ChunkDelayUS, q.ChunkTokens = []int64{5}, nil, []formats.Int{some(1)}
		}, `chunk_tokens: got "1 values", want 2`},
		{func(q *run.Request) {
			q.ChunkGapUS, q.ChunkDelayUS, q.ChunkTokens = []int64{5}, nil, []formats.Int{some(1), some(-1)}
		}, `chunk_tokens[1]: got "-1"`},
		{func(q *run.Request) { q.DueNS = some(1 << 59) }, "span of the planned times"},
	} {
		rows := randomRows(52, 6)
		c.change(&rows[3])
		if err := fails(t, Options{}, encode(t, testHeader(), rows, nil, run.End{}, 10)); !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
	for want, change := range map[string]func(h *run.Header){
		`a: header: workers: got "-1", want a count from 0 to`: func(h *run.Header) { h.Workers = -1 },
		`a: header: warmup_ns: got "-5"`:                       func(h *run.Header) { h.WarmupNS = -5 },
		`a: header: warmup_ns: got "9223372036854775807"`:      func(h *run.Header) { h.WarmupNS = 1<<63 - 1 },
		`a: header: ramp_ns: got "-1"`:                         func(h *run.Header) { h.RampNS = -1 },
	} {
		h := testHeader()
		change(&h)
		if err := fails(t, Options{}, encode(t, h, randomRows(52, 6), nil, run.End{}, 10)); !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	// Two columns on two origins agree with no run.
	took := run.End{Status: run.Complete, Planned: 6, Detail: run.Detail{Totals: run.Totals{DurationNS: 10 * second}}}
	for _, c := range []struct {
		change func(q *run.Request)
		want   string
	}{
		{func(q *run.Request) { q.LastTokenNS, q.EndNS = some(86_400*second), some(86_400*second) }, `a: request 3: last_token_ns: got "86400000000000", want a time in the run, which took 10000000000 ns`},
		{func(q *run.Request) { q.WriteDoneNS = some(11*second + 1) }, `a: request 3: write_done_ns: got "11000000001"`},
		{func(q *run.Request) { q.ConnAskedNS = some(-2 * second) }, `a: request 3: conn_asked_ns: got "-2000000000", want a time from the epoch on`},
	} {
		rows := randomRows(52, 6)
		for i := range rows {
			rows[i].DueNS, rows[i].ScheduledNS = some(second), some(second)
		}
		c.change(&rows[3])
		if err := fails(t, Options{}, encode(t, testHeader(), rows, nil, took, 10)); !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %s", err, c.want)
		}
	}
	late := []run.Client{{TNS: 3600 * second, Worker: 4}}
	if err := fails(t, Options{}, encode(t, testHeader(), randomRows(52, 6), late, took, 10)); !strings.Contains(err.Error(), `a: client row of worker 4: t_ns: got "3600000000000", want a time in the run`) {
		t.Errorf("%v; want the late client row", err)
	}
	bad := []run.Client{{TNS: 5, Worker: 0, IntervalNS: some(1), CPUUserNS: some(-1)}}
	if err := fails(t, Options{}, encode(t, testHeader(), nil, bad, run.End{}, 10)); !strings.Contains(err.Error(), `cpu_user_ns: got "-1"`) {
		t.Errorf("%v; want the negative CPU time", err)
	}
}

// A cut run, read from a file or a pipe, gives an error and no summary. Every single
// cut is the business of formats/run; here a few hundred, and the last ones.
func TestCut(t *testing.T) {
	b := encode(t, testHeader(), randomRows(53, 12), clientRows(53, nil, 2), run.End{}, 4)
	for i := 0; i < len(b); i++ {
		if i%199 != 0 && i < len(b)-20 {
			continue
		}
		for _, r := range []interface{ Read([]byte) (int, error) }{bytes.NewReader(b[:i]), pipe{bytes.NewReader(b[:i])}} {
			s, err := Run(context.Background(), []Input{{"a", r}}, Options{})
			var cut *formats.TruncatedError
			var syntax *formats.SyntaxError
			if s != nil || !errors.As(err, &cut) && !errors.As(err, &syntax) {
				t.Fatalf("cut at %d of %d: summary %v, error %v; want a typed error alone", i, len(b), s != nil, err)
			}
		}
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cause := errors.New("stop")
	cancel(cause)
	b := encode(t, testHeader(), randomRows(54, 12), nil, run.End{}, 4)
	if _, err := Run(ctx, []Input{{"a", bytes.NewReader(b)}}, Options{}); !errors.Is(err, cause) {
		t.Errorf("Run of a cancelled context = %v; want its cause", err)
	}
}

// A summary alone comes back as it is, without its columns when they are not wanted.
func TestSummaryAlone(t *testing.T) {
	s := reduce(t, Options{}, encode(t, testHeader(), randomRows(55, 40), nil, run.End{}, 10))
	var b bytes.Buffer
	if err := summary.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := summary.Write(&again, reduce(t, Options{}, b.Bytes())); err != nil || again.String() != b.String() {
		t.Errorf("a summary changed on its way through (%v)", err)
	}
	if reduce(t, Options{NoColumns: true}, b.Bytes()).Columns != nil {
		t.Error("columns are there though off")
	}
}

// Columns hold what the rows say, in order, and are left out when there are too many.
func TestColumns(t *testing.T) {
	rows := randomRows(56, 300)
	b := encode(t, testHeader(), rows, nil, run.End{}, 50)
	s := reduce(t, whole(), b)
	c, err := summary.DecodeColumns(s.Columns, "x")
	if err != nil {
		t.Fatal(err)
	}
	if c.N != 300 {
		t.Fatalf("%d rows; want 300", c.N)
	}
	for i := range c.N {
		q := &rows[c.Ints["request_id"][i].V]
		if got := c.Ints["u_ns"][i]; got != naiveU(q) {
			t.Errorf("request %d: u = %v; want %v", q.RequestID, got, naiveU(q))
		}
		if i > 0 && c.Ints["u_ns"][i].V < c.Ints["u_ns"][i-1].V {
			t.Errorf("row %d is out of order", i)
		}
		for name, f := range naive {
			if v, ok := c.Ints[name+"_ns"]; ok && v[i] != f(q) {
				t.Errorf("request %d: %s = %v; want %v", q.RequestID, name, v[i], f(q))
			}
		}
		if (c.Ints["sent"][i].V == 1) != naiveSent(q) || c.Strings["outcome"][i] != q.Outcome || c.Strings["session"][i] != q.Session || c.Strings["class"][i] != q.Class {
			t.Errorf("request %d: sent %v, outcome %s, session %s", q.RequestID, c.Ints["sent"][i], c.Strings["outcome"][i], c.Strings["session"][i])
		}
		arrived := int64(0)
		for _, a := range naiveArrivals(q) {
			if a.t >= s.Window.FromNS && a.t < s.Window.ToNS {
				arrived += a.n
			}
		}
		if got := c.Ints["tokens_in_window"][i]; got != some(arrived) {
			t.Errorf("request %d: %v tokens in the window; want %d", q.RequestID, got, arrived)
		}
	}
	for _, name := range summary.IntColumns {
		if intColumns[name] == nil {
			t.Errorf("column %s is never filled", name)
		}
	}
	for _, name := range summary.StringColumns {
		if stringColumns[name] == nil {
			t.Errorf("column %s is never filled", name)
		}
	}
	if reduce(t, Options{NoColumns: true}, b).Columns != nil || reduce(t, Options{MaxColumns: 299}, b).Columns != nil {
		t.Error("columns are there though off or too many")
	}
}
