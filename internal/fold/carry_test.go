package fold

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// shards splits rows and client rows of one run into k runs of the same schedule, each
// with its own epoch, and returns them encoded.
func shards(t testing.TB, seed uint64, k, n int) [][]byte {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 7))
	rows := randomRows(seed, n)
	var out [][]byte
	for i := range k {
		var mine []run.Request
		for _, q := range rows {
			if int(q.RequestID)%k == i {
				mine = append(mine, q)
			}
		}
		h := testHeader()
		h.Epoch.WallNS += r.Int64N(3_000_000)
		h.Epoch.MonotonicNS += r.Int64N(3_000_000)
		out = append(out, encode(t, h, mine, clientRows(seed+uint64(i), mine, 12), run.End{Detail: run.Detail{ScheduleSHA256: []string{"abc"}}}, 64))
	}
	return out
}

// folded reduces named inputs, so that names do not depend on the order.
func folded(t testing.TB, o Options, names []string, inputs map[string][]byte) []byte {
	t.Helper()
	var in []Input
	for _, name := range names {
		in = append(in, Input{name, bytes.NewReader(inputs[name])})
	}
	s, err := Run(context.Background(), in, o)
	if err != nil {
		t.Fatal(err)
	}
	return written(t, s)
}

// The summaries of shards, merged in any order and any grouping, and mixed with runs,
// have the bytes of the summary of their union.
func TestSummariesMergeExactly(t *testing.T) {
	for _, o := range []Options{{Build: "test"}, {Build: "test", NoColumns: true}, {Build: "test", Window: &Span{FromNS: 2 * second}}} {
		inputs := map[string][]byte{}
		var runs, summaries []string
		for i, b := range shards(t, 41, 7, 900) {
			name := fmt.Sprintf("shard%d.arrows", i)
			inputs[name] = b
			runs = append(runs, name)
			inputs["s"+name] = folded(t, Options{Build: "test"}, []string{name}, inputs)
			summaries = append(summaries, "s"+name)
		}
		want := folded(t, o, runs, inputs)
		r := rand.New(rand.NewPCG(1, 2))
		for range 4 {
			r.Shuffle(len(summaries), func(i, j int) { summaries[i], summaries[j] = summaries[j], summaries[i] })
			if got := folded(t, o, summaries, inputs); !bytes.Equal(got, want) {
				t.Fatalf("the order %v shows: %s", summaries, firstDifference(string(want), string(got)))
			}
		}
		// ((a b) (c d e)) f g, with a run among them.
		inputs["ab"] = folded(t, Options{Build: "test"}, summaries[:2], inputs)
		inputs["cde"] = folded(t, Options{Build: "test"}, summaries[2:5], inputs)
		inputs["abcde"] = folded(t, Options{Build: "test"}, []string{"cde", "ab"}, inputs)
		mixed := []string{summaries[6], "abcde", strings.TrimPrefix(summaries[5], "s")}
		if got := folded(t, o, mixed, inputs); !bytes.Equal(got, want) {
			t.Fatalf("the grouping shows: %s", firstDifference(string(want), string(got)))
		}
	}
}

// A summary that carries its rows can be computed again over another window.
func TestSummaryOverAnotherWindow(t *testing.T) {
	rows := randomRows(42, 600)
	inputs := map[string][]byte{"run": encode(t, testHeader(), rows, clientRows(42, rows, 12), run.End{}, 100)}
	inputs["summary"] = folded(t, Options{Build: "test"}, []string{"run"}, inputs)
	for _, o := range []Options{{Build: "test", Window: &Span{FromNS: second, ToNS: some(9 * second)}}, {Build: "test", WarmupNS: some(3 * second)}} {
		want, got := folded(t, o, []string{"run"}, inputs), folded(t, o, []string{"summary"}, inputs)
		if !bytes.Equal(got, want) {
			t.Errorf("%+v: %s", o, firstDifference(string(want), string(got)))
		}
	}
}

// What cannot be merged is refused with the next step.
func TestSummariesThatDoNotMerge(t *testing.T) {
	b := shards(t, 43, 2, 200)
	whole := reduce(t, Options{}, b[0])
	bare := reduce(t, Options{NoColumns: true}, b[0])
	old := *bare
	old.Sums = nil
	early := reduce(t, Options{NoColumns: true, Window: &Span{ToNS: some(second)}}, b[1])
	first := reduce(t, Options{NoColumns: true, Window: &Span{FromNS: 5 * second, ToNS: some(6 * second)}}, b[1])
	first.Sums.Window.Given = "" // as steady windows that do not touch
	first.Seal()
	begin := reduce(t, Options{NoColumns: true, Window: &Span{ToNS: some(second)}}, b[0])
	begin.Sums.Window.Given = ""
	begin.Seal()
	other := encode(t, testHeader(), nil, nil, run.End{Detail: run.Detail{ScheduleSHA256: []string{"xyz"}}}, 10)
	edited := *whole
	edited.Rows = reduce(t, Options{}, b[1]).Rows
	cut := *whole
	cut.Rows = &summary.EncodedRows{Run: whole.Rows.Run[:len(whole.Rows.Run)/8*4]}
	withGPU := *whole
	withGPU.GPUs = []summary.GPU{{Host: "h", Values: map[string]*float64{}}}
	for _, c := range []struct {
		name   string
		inputs [][]byte
		want   string
	}{
		{"the same rows twice", [][]byte{written(t, whole), written(t, whole)}, "request_id"},
		{"rows and their run", [][]byte{written(t, whole), b[0]}, "request_id"},
		{"another schedule", [][]byte{written(t, whole), other}, "schedule_sha256"},
		{"neither rows nor sums", [][]byte{b[1], written(t, &old)}, "rows: got \"a summary without rows\""},
		{"sums of another window than asked for", [][]byte{written(t, bare), written(t, early)}, "window: got \"0:1000000000\", want the steady one"},
		{"windows that do not touch", [][]byte{written(t, begin), written(t, first)}, "want one that overlaps"},
		{"sums twice", [][]byte{written(t, bare), written(t, bare)}, "parts: got"},
		{"sums and their run", [][]byte{b[0], written(t, bare)}, "each part once"},
		{"sums of another schedule", [][]byte{written(t, bare), other}, "schedule_sha256"},
		{"rows of another run", [][]byte{b[1], written(t, &edited)}, "rows: got \"another run\""},
		{"rows cut", [][]byte{b[1], written(t, &cut)}, "rows"},
		{"devices", [][]byte{b[1], written(t, &withGPU)}, "gpus: got \"1 devices\""},
	} {
		if err := fails(t, Options{}, c.inputs...); !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want an error with %q", c.name, err, c.want)
		}
	}
}

// A flipped character of the columns is found, wherever it is.
func TestColumnsCarryAChecksum(t *testing.T) {
	s := reduce(t, Options{}, encode(t, testHeader(), randomRows(44, 200), nil, run.End{}, 100))
	text := []byte(s.Columns.Stream)
	for at := 0; at < len(text); at += 97 {
		was := text[at]
		if text[at] = 'A'; was == 'A' {
			text[at] = 'B'
		}
		e := *s.Columns
		e.Stream = string(text)
		if _, err := summary.DecodeColumns(&e, "s"); err == nil {
			t.Fatalf("character %d changed from %c to %c: accepted", at, was, text[at])
		}
		text[at] = was
	}
}
