package traces

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/fixture"
)

// wanted is what expected.json says of a file of any format.
type wanted struct {
	Bytes     int64  `json:"bytes"`
	SHA256    string `json:"sha256"`
	Records   int64  `json:"records"`
	SumInput  int64  `json:"sum_input"`
	SumOutput int64  `json:"sum_output"`
	Input     spread `json:"input"`
	Output    spread `json:"output"`
	Sessions  int64  `json:"sessions"` // named ones
	Time      clock  `json:"time"`
	Written   clock  `json:"time_as_written"`
	Unwrapped clock  `json:"time_unwrapped"`

	Components      int64   `json:"components"`
	ComponentTokens int64   `json:"sum_component_tokens"`
	HitComponents   int64   `json:"prefix_hit_components"`
	HitTokens       int64   `json:"prefix_hit_component_tokens"`
	HitRatio        float64 `json:"prefix_token_hit_ratio"`
	Distinct        int64   `json:"distinct_ids"`
}

// clock is what it says of times, in the unit of the file.
type clock struct {
	First     float64 `json:"first_in_file"`
	Last      float64 `json:"last_in_file"`
	Min       float64 `json:"min"`
	Max       float64 `json:"max"`
	Span      float64 `json:"span"`
	Backward  int64   `json:"backward_steps"`
	Ties      int64   `json:"adjacent_ties"`
	Instants  int64   `json:"distinct_instants"`
	Rate      float64 `json:"rate_per_s"`
	GapCV     float64 `json:"gap_cv"`
	IDC1      float64 `json:"idc_1s"`
	Peak1     float64 `json:"peak_to_mean_1s"`
	Windows1  int     `json:"windows_1s"`
	IDC10     float64 `json:"idc_10s"`
	Peak10    float64 `json:"peak_to_mean_10s"`
	Windows10 int     `json:"windows_10s"`
	IDC60     float64 `json:"idc_60s"`
	Peak60    float64 `json:"peak_to_mean_60s"`
	Windows60 int     `json:"windows_60s"`
	First10   []int64 `json:"first10_60s"`
}

func want(t testing.TB, name string) (w wanted) {
	t.Helper()
	b, err := os.ReadFile(fixture.Shared(t, "data/expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if all[name] == nil {
		t.Fatalf("expected.json says nothing of %s", name)
	}
	if err := json.Unmarshal(all[name], &w); err != nil {
		t.Fatal(err)
	}
	return w
}

// compare compares a trace with what expected.json says of it: bytes, lengths, and the
// times of its requests, which are in ns and there in units of unit ns.
func (w wanted) compare(t *testing.T, tr *Trace, source int, reqs []*schedule.Request, end schedule.Trailer, c clock, unit int64) {
	t.Helper()
	var in, out, at []int64
	var ties int64
	instants := map[int64]bool{}
	for _, r := range reqs {
		in, out = append(in, r.InputTokens.V), append(out, r.OutputTokens.V)
		if n := len(at); n > 0 && at[n-1] == r.AtNS.V {
			ties++
		}
		at = append(at, r.AtNS.V)
		instants[r.AtNS.V] = true
	}
	for _, q := range []struct {
		what      string
		got, want int64
	}{
		{"bytes", tr.Sources[source].Bytes, w.Bytes}, {"requests", end.Requests, w.Records}, {"requests out", int64(len(reqs)), w.Records},
		{"sum_input", end.InputTokens, w.SumInput}, {"sum_output", end.OutputTokens, w.SumOutput},
		{"first", at[0], int64(c.First) * unit}, {"last", at[len(at)-1], int64(c.Last) * unit}, {"min", at[0], int64(c.Min) * unit},
		{"max", at[len(at)-1], int64(c.Max) * unit}, {"span", at[len(at)-1] - at[0], int64(c.Span) * unit}, {"span_ns", end.SpanNS, int64(c.Max) * unit},
		{"backward", count(end, "sorted_backward"), c.Backward}, {"ties", ties, c.Ties}, {"ties counted", count(end, "ties_kept"), c.Ties},
		{"instants", int64(len(instants)), c.Instants},
	} {
		if q.got != q.want {
			t.Errorf("%s = %d; want %d", q.what, q.got, q.want)
		}
	}
	if got := tr.Sources[source].SHA256; got != w.SHA256 {
		t.Errorf("sha256 = %s; want %s", got, w.SHA256)
	}
	if got := ranks(in); got != w.Input {
		t.Errorf("input = %+v; want %+v", got, w.Input)
	}
	if got := ranks(out); got != w.Output {
		t.Errorf("output = %+v; want %+v", got, w.Output)
	}
	idc1, peak1, n1, _ := windows(at, 1e9)
	idc10, peak10, n10, _ := windows(at, 10e9)
	idc60, peak60, n60, first := windows(at, 60e9)
	for _, q := range []struct {
		what      string
		got, want float64
		digits    int
	}{
		{"rate", float64(len(at)) / (float64(at[len(at)-1]-at[0]) / 1e9), c.Rate, 5}, {"gap_cv", gapCV(at), c.GapCV, 4},
		{"idc_1s", idc1, c.IDC1, 4}, {"idc_10s", idc10, c.IDC10, 4}, {"idc_60s", idc60, c.IDC60, 4},
		{"peak_1s", peak1, c.Peak1, 4}, {"peak_10s", peak10, c.Peak10, 4}, {"peak_60s", peak60, c.Peak60, 4},
		{"windows_1s", float64(n1), float64(c.Windows1), 0}, {"windows_10s", float64(n10), float64(c.Windows10), 0}, {"windows_60s", float64(n60), float64(c.Windows60), 0},
	} {
		if !near(q.got, q.want, q.digits) {
			t.Errorf("%s = %v; want %v", q.what, q.got, q.want)
		}
	}
	if !slices.Equal(first, c.First10) {
		t.Errorf("first ten minutes = %v; want %v", first, c.First10)
	}
}

// reader is one of the functions that read a trace.
type reader = func(Input, Options) (*Trace, error)

// texts reads a text and returns the schedule's request lines, the trailer and what the
// reader warned of.
func texts(t testing.TB, read reader, o Options, text string) (lines []string, end schedule.Trailer, warnings []string, err error) {
	t.Helper()
	tr, err := read(piped("t", strings.NewReader(text)), o)
	if err != nil {
		return nil, end, nil, err
	}
	defer tr.Close()
	reqs, end := plan(t, tr)
	for _, r := range reqs {
		lines = append(lines, string(schedule.AppendRequest(nil, r)))
	}
	return lines, end, tr.Warnings, nil
}

// counts prints the counts of a trailer.
func counts(end schedule.Trailer) string {
	var b []string
	for _, c := range end.Counts {
		b = append(b, c.Name+" "+formats.Some(c.N).String())
	}
	return strings.Join(b, ", ")
}

// sameInAnyForm checks that CRLF, a byte order mark, a missing last newline and blank
// lines at the end change no line of the schedule.
func sameInAnyForm(t *testing.T, read reader, o Options, text string) {
	t.Helper()
	want, _, _, err := texts(t, read, o, text)
	if err != nil || len(want) == 0 {
		t.Fatalf("%d lines, %v", len(want), err)
	}
	crlf := strings.ReplaceAll(text, "\n", "\r\n")
	for name, form := range map[string]string{
		"CRLF": crlf, "no last newline": strings.TrimSuffix(text, "\n"), "CRLF, no last newline": strings.TrimSuffix(crlf, "\r\n"),
		"byte order mark": "\uFEFF" + text, "blank lines": text + "\n \n",
	} {
		if got, _, _, err := texts(t, read, o, form); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d lines, %v; want the same %d", name, len(got), err, len(want))
		}
	}
}

// shuffled returns a CSV with its columns in reverse order and one column more.
func shuffled(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		cells := strings.Split(line, ",")
		slices.Reverse(cells)
		more := "extra"
		if i > 0 {
			more = "7"
		}
		b.WriteString(more + "," + strings.Join(cells, ",") + "\n")
	}
	return b.String()
}

// refuses checks that each text is refused with an error that holds the words, as a
// SyntaxError or a TruncatedError.
func refuses(t *testing.T, read reader, o Options, cases [][2]string) {
	t.Helper()
	for _, c := range cases {
		tr, err := read(piped("t", strings.NewReader(c[0])), o)
		if err == nil {
			tr.Close()
		}
		var syntax *formats.SyntaxError
		var cut *formats.TruncatedError
		if !errors.As(err, &syntax) && !errors.As(err, &cut) || !strings.Contains(err.Error(), c[1]) {
			t.Errorf("%q: error = %v; want a SyntaxError or TruncatedError with %s", c[0], err, c[1])
		}
	}
}

// refusesBrokenStreams checks that a cut container is a TruncatedError and that another
// failure of the stream comes through, after text.
func refusesBrokenStreams(t *testing.T, read reader, o Options, text string) {
	t.Helper()
	var cut *formats.TruncatedError
	if _, err := read(piped("t", io.MultiReader(strings.NewReader(text), &failing{io.ErrUnexpectedEOF})), o); !errors.As(err, &cut) {
		t.Errorf("a container cut: error = %v; want a TruncatedError", err)
	}
	if _, err := read(piped("t", strings.NewReader("")), o); !errors.As(err, &cut) {
		t.Errorf("nothing: error = %v; want a TruncatedError", err)
	}
	broken := errors.New("disk on fire")
	if _, err := read(piped("t", io.MultiReader(strings.NewReader(text), &failing{broken})), o); !errors.Is(err, broken) {
		t.Errorf("a stream that fails: %v; want its error", err)
	}
}

// fuzzed checks what a reader makes of any text: what it accepts is a schedule that
// reads back line for line; what it refuses is a typed error.
func fuzzed(t *testing.T, read reader, in Input, o Options) {
	t.Helper()
	if fault := fuzzedSums(t, read, in, o); fault != nil {
		t.Fatalf("the writer refuses a line: %v", fault)
	}
}

// fuzzedSums is fuzzed for a reader that leaves sums beyond 63 bits to the writer: it
// returns the writer's refusal, nil where there is none.
func fuzzedSums(t *testing.T, read reader, in Input, o Options) *schedule.Fault {
	t.Helper()
	tr, err := read(in, o)
	if err != nil {
		var syntax *formats.SyntaxError
		var cut *formats.TruncatedError
		if !errors.As(err, &syntax) && !errors.As(err, &cut) {
			t.Fatalf("error = %v of type %T", err, err)
		}
		return nil
	}
	defer tr.Close()
	var out bytes.Buffer
	w, err := schedule.NewWriter(&out, schedule.Header{Block: tr.Block, Transforms: tr.Transforms})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for {
		r, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = w.Write(r)
		}
		if fault := new(schedule.Fault); errors.As(err, &fault) {
			return fault
		}
		if err != nil {
			t.Fatalf("request %d: %v", n, err)
		}
		n++
	}
	if _, err := w.Close(schedule.Trailer{Counts: tr.Counts()}); err != nil {
		t.Fatal(err)
	}
	r, err := schedule.NewReader(&out, "s")
	lines := -1
	for err == nil {
		_, err = r.Next()
		lines++
	}
	if err != io.EOF || lines != n {
		t.Fatalf("the schedule of %d requests: %v after %d", n, err, lines)
	}
	return nil
}
