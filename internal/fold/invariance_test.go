package fold

import (
	"bytes"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// encodeFull writes one part whose batches end where the format says, and returns their number.
func encodeFull(t *testing.T, rows []run.Request) (part []byte, batches int) {
	t.Helper()
	var out bytes.Buffer
	w, err := run.NewWriter(&out, testHeader(), nil)
	if err != nil {
		t.Fatal(err)
	}
	e := run.NewEncoder()
	for i := range rows {
		if e.Append(&rows[i]); e.Full() || i == len(rows)-1 {
			b, _, err := e.Batch()
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Requests(b); err != nil {
				t.Fatal(err)
			}
			batches++
		}
	}
	if err := w.Close(run.End{Status: run.Complete, Planned: int64(len(rows))}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), batches
}

// Long answers are cut into batches by their lists, which does not show; nor does one batch
// of them all, as older builds wrote it.
func TestBatchesOfLongAnswersDoNotShow(t *testing.T) {
	rows := benchRows(600, 1000)
	b, batches := encodeFull(t, rows)
	if want := 600 * 1000 * 16 >> 22; batches <= want {
		t.Fatalf("%d batches; want more than %d", batches, want)
	}
	want := bytesOf(t, reduce(t, Options{Build: "test"}, b))
	for _, batch := range []int{7, 600} {
		if got := bytesOf(t, reduce(t, Options{Build: "test"}, encode(t, testHeader(), rows, nil, run.End{}, batch))); got != want {
			t.Errorf("batches of %d rows give other bytes: %s", batch, firstDifference(want, got))
		}
	}
}

// bytesOf writes a summary without the hashes and sizes of its inputs, which are of
// the input's bytes and not of its rows.
func bytesOf(t *testing.T, s *summary.Summary) string {
	t.Helper()
	c := *s
	c.Inputs = slices.Clone(s.Inputs)
	for i := range c.Inputs {
		c.Inputs[i].SHA256, c.Inputs[i].Bytes, c.Inputs[i].Name = "", 0, ""
	}
	c.Parts = slices.Clone(s.Parts)
	for i := range c.Parts {
		c.Parts[i].End.SHA256 = ""
	}
	var b bytes.Buffer
	if err := summary.Write(&b, &c); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The order in which rows reached the file, and how they were cut into batches,
// does not show. Neither does a spilled spool.
func TestOrderOfRowsDoesNotShow(t *testing.T) {
	rows := randomRows(41, 700)
	clients := clientRows(41, rows, 12)
	h := testHeader()
	first := bytesOf(t, reduce(t, Options{Build: "test"}, encode(t, h, rows, clients, run.End{}, 700)))
	r := rand.New(rand.NewPCG(6, 7))
	for i, batch := range []int{1, 13, 256} {
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		r.Shuffle(len(clients), func(i, j int) { clients[i], clients[j] = clients[j], clients[i] })
		b := encode(t, h, rows, clients, run.End{}, batch)
		s := reduce(t, Options{Build: "test"}, b)
		if got := bytesOf(t, s); got != first {
			t.Errorf("shuffle %d gives other bytes: %s", i, firstDifference(first, got))
		}
		f := newFold(Options{Build: "test"})
		f.chunks.limit = 1000
		if err := f.readRun(context.Background(), Input{"x", pipe{bytes.NewReader(b)}}); err != nil {
			t.Fatal(err)
		}
		if f.chunks.file == nil {
			t.Fatal("the spool did not spill")
		}
		if err := f.settle(context.Background()); err != nil {
			t.Fatal(err)
		}
		s, err := f.summary()
		f.close()
		if err != nil {
			t.Fatal(err)
		}
		if got := bytesOf(t, s); got != first {
			t.Errorf("a spilled spool gives other bytes: %s", firstDifference(first, got))
		}
	}
}

func firstDifference(a, b string) string {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-200)
	return a[from:min(len(a), i+80)] + "\n--- but ---\n" + b[from:min(len(b), i+80)]
}

// A run in two parts, by two epochs, is the run in one: as two inputs in either
// order, or as one stream.
func TestPartsUnite(t *testing.T) {
	rows := randomRows(42, 400)
	for i := range rows {
		rows[i].After = nil
	}
	h := testHeader()
	one := reduce(t, whole(), encode(t, h, rows, nil, run.End{}, 100))

	const later = 700 * 1_000_000
	h2 := h
	h2.Epoch.WallNS += later
	h2.Epoch.MonotonicNS += later + 123
	var mine, other []run.Request
	for _, q := range rows {
		if q.RequestID%3 == 0 {
			shift(&q, -later)
			other = append(other, q)
		} else {
			mine = append(mine, q)
		}
	}
	a := encode(t, h, mine, nil, run.End{}, 100)
	b := encode(t, h2, other, nil, run.End{}, 100)
	ab := reduce(t, whole(), a, b)
	ba := reduce(t, whole(), b, a)
	cat := reduce(t, whole(), append(slices.Clone(b), a...))
	if x, y := bytesOf(t, ab), bytesOf(t, ba); x != y {
		t.Errorf("the order of inputs shows: %s", firstDifference(x, y))
	}
	if x, y := bytesOf(t, ab), bytesOf(t, cat); x != y {
		t.Errorf("one stream of two parts differs from two streams: %s", firstDifference(x, y))
	}
	if len(ab.Parts) != 2 || ab.Window != one.Window || ab.Plan != one.Plan {
		t.Errorf("%d parts, window %+v, plan %+v; want those of the whole run: %+v, %+v", len(ab.Parts), ab.Window, ab.Plan, one.Window, one.Plan)
	}
	for i := range one.Metrics {
		x, y := one.Metrics[i], ab.Metrics[i]
		if x.ID != y.ID || x.N != y.N || !samePercentiles(x.Percentiles, y.Percentiles) {
			t.Errorf("%s of the union differs from that of the whole run", x.ID)
		}
	}
}

func samePercentiles(a, b []summary.Percentile) bool {
	return slices.EqualFunc(a, b, func(x, y summary.Percentile) bool { return x.Value == y.Value && x.Low == y.Low && x.High == y.High })
}

// shift moves every stamp of a row.
func shift(q *run.Request, ns int64) {
	move(ns, &q.ScheduledNS, &q.DueNS, &q.PreparedNS, &q.DispatchedNS, &q.ConnAskedNS, &q.ConnReadyNS, &q.DNSNS, &q.ConnectNS, &q.TLSNS, &q.WriteDoneNS,
		&q.HeadersNS, &q.FirstByteKernelNS, &q.FirstByteNS, &q.FirstEventNS, &q.FirstTokenKernelNS, &q.FirstTokenNS, &q.FirstAnswerKernelNS, &q.FirstAnswerNS,
		&q.LastTokenKernelNS, &q.LastTokenNS, &q.EndNS)
}

func move(ns int64, times ...*formats.Int) {
	for _, t := range times {
		if t.Valid {
			t.V += ns
		}
	}
}
