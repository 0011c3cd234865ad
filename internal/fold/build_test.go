package fold

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

func some(v int64) formats.Int { return formats.Some(v) }

// testHeader is the header of a run by two workers on two CPUs.
func testHeader() run.Header {
	return run.Header{Build: "test", Schedule: json.RawMessage(`{"seed":1}`), Endpoint: "chat", Streaming: true, Timing: "schedule", Workers: 2,
		Host: run.Host{BootID: "boot", CPUs: 4, CPUsAllowed: 2}, Epoch: run.Epoch{MonotonicNS: 1_000_000_000, WallNS: 1_790_000_000_000_000_000}}
}

// encode writes one part, its rows in batches of the given length.
func encode(t testing.TB, h run.Header, rows []run.Request, clients []run.Client, end run.End, batch int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := run.NewWriter(&out, h, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := run.NewEncoder()
	for i := range rows {
		e.Append(&rows[i])
		if e.Len() == batch || i == len(rows)-1 {
			b, _, err := e.Batch()
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Requests(b); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Client(clients); err != nil {
		t.Fatal(err)
	}
	if end.Status == "" {
		end.Status, end.Planned = run.Complete, int64(len(rows))
	}
	if err := w.Close(end); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// reduce folds inputs that must be good.
func reduce(t testing.TB, o Options, inputs ...[]byte) *summary.Summary {
	t.Helper()
	in := make([]Input, len(inputs))
	for i, b := range inputs {
		in[i] = Input{fmt.Sprintf("in%d", i), bytes.NewReader(b)}
	}
	s, err := Run(context.Background(), in, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// pipe hides that a reader can seek.
type pipe struct{ r io.Reader }

func (p pipe) Read(b []byte) (int, error) { return p.r.Read(b) }

// whole is the window of everything.
func whole() Options { return Options{Build: "test", Window: &Span{}} }

func metricOf(t testing.TB, s *summary.Summary, id, population string) *summary.Metric {
	t.Helper()
	for i := range s.Metrics {
		if m := &s.Metrics[i]; m.ID == id && (population == "" || m.Population == population) {
			return m
		}
	}
	t.Fatalf("no metric %s of %s", id, population)
	return nil
}

func scalarOf(t testing.TB, s *summary.Summary, id string) *summary.Scalar {
	t.Helper()
	for i := range s.Scalars {
		if s.Scalars[i].ID == id {
			return &s.Scalars[i]
		}
	}
	t.Fatalf("no scalar %s", id)
	return nil
}

// randomRows makes n plausible rows with every kind of hole: stamps that are null,
// outcomes of all kinds, answers of one chunk, lists that are missing or have
// nulls. Times are whole µs.
func randomRows(seed uint64, n int) []run.Request {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	const us, ms = 1_000, 1_000_000
	rows := make([]run.Request, n)
	due := int64(5 * ms)
	maybe := func(v formats.Int, odds int) formats.Int {
		if r.IntN(odds) == 0 {
			return formats.Int{}
		}
		return v
	}
	for i := range rows {
		if r.IntN(4) > 0 { // ties of planned times are common
			due += int64(r.ExpFloat64() * 60_000 * us)
		}
		q := run.Request{RequestID: int64(i), Session: fmt.Sprint("s", r.IntN(1+n/3)), Stream: "0", Turn: int64(r.IntN(3)), Class: []string{"", "chat"}[r.IntN(2)],
			Model: "m", ScheduledNS: some(due - int64(r.IntN(3))*ms), DueNS: some(due), PlannedInputTokens: maybe(some(int64(20+r.IntN(500))), 30),
			PlannedOutputTokens: maybe(some(int64(1+r.IntN(40))), 30), ExpectedCachedTokens: maybe(some(int64(r.IntN(20))), 5),
			Worker: some(int64(r.IntN(2))), Outcome: run.OK, TokenSource: run.Usage}
		q.ScheduledNS = maybe(q.ScheduledNS, 10)
		if seed%2 == 0 && i%4 > 0 { // a run with a cap
			q.CapWaitNS = some(int64(i%12/10) * 2 * ms)
		}
		if i > 0 && r.IntN(3) == 0 {
			q.After = []int64{int64(r.IntN(i))}
		}
		if r.IntN(5) == 0 {
			q.Outcome = run.Outcomes[r.IntN(len(run.Outcomes))]
		}
		if q.Outcome == run.NotSent {
			q.DueNS = maybe(q.DueNS, 2)
			rows[i] = q
			continue
		}
		at := due
		next := func(most int) formats.Int {
			at += int64(r.IntN(most)) * us
			return some(at)
		}
		q.PreparedNS = some(due - int64(r.IntN(9000))*us)
		q.DispatchedNS = next(3000)
		q.ConnAskedNS = next(12_000)
		q.ConnReused = some(int64(r.IntN(2)))
		if q.ConnReused.V == 0 {
			q.DNSNS = maybe(next(300), 2)
			q.ConnectNS = next(2000)
			q.TLSNS = maybe(next(2000), 2)
		}
		q.ConnReadyNS = next(2000)
		if q.Outcome == run.ConnectError {
			q.EndNS = next(5000)
			q.Error = []string{"connection refused", run.LocalPrefix + "too many open files"}[r.IntN(2)]
			q.ConnReadyNS = formats.Int{}
			rows[i] = q
			continue
		}
		q.RemoteAddr = "127.0.0.1:8000"
		q.BytesSent, q.Reads, q.MultiEventReads, q.SegmentsIn, q.Retransmits = some(int64(r.IntN(9000))), some(int64(1+r.IntN(30))), some(int64(r.IntN(3))), maybe(some(int64(1+r.IntN(40))), 6), some(int64(r.IntN(2)))
		q.WriteDoneNS = next(4000)
		stamped := r.IntN(2) == 0
		kernel := func(user formats.Int) formats.Int {
			if !stamped {
				return formats.Int{}
			}
			return some(user.V - int64(r.IntN(200))*us)
		}
		if r.IntN(12) > 0 {
			events := int64(1 + r.IntN(12))
			at += 300 * us
			q.FirstByteNS = next(300_000)
			q.FirstByteKernelNS = kernel(q.FirstByteNS)
			q.FirstEventNS = next(100)
			at += 300 * us
			q.FirstTokenNS = next(300)
			q.FirstTokenKernelNS = kernel(q.FirstTokenNS)
			first := at
			lists := r.IntN(4) > 0
			delays := []formats.Int{some(((q.FirstTokenNS.V) - q.FirstTokenKernelNS.Or(0)) / us)}
			for range events - 1 {
				g := int64(r.IntN(3) * r.IntN(40_000))
				at += g * us
				if lists {
					q.ChunkGapUS = append(q.ChunkGapUS, g)
					delays = append(delays, maybe(some(int64(r.IntN(300))), 10))
				}
			}
			q.LastTokenNS = some(at)
			q.LastTokenKernelNS = kernel(q.LastTokenNS)
			if r.IntN(5) > 0 {
				q.FirstAnswerNS = some(first + int64(r.Int64N(at-first+1))/us*us)
				q.FirstAnswerKernelNS = kernel(q.FirstAnswerNS)
			}
			q.TokenEvents = some(events)
			if lists && stamped {
				q.ChunkDelayUS = delays
			}
			if r.IntN(6) > 0 {
				q.InputTokens = some(q.PlannedInputTokens.Or(50) + 7 + int64(r.IntN(2)))
				q.OutputTokens = some(events + int64(r.IntN(20)))
				q.CachedTokens = maybe(some(int64(r.IntN(20))), 4)
				q.ReasoningTokens = maybe(some(int64(r.IntN(4))), 3)
				q.FirstChunkTokens = maybe(some(1+int64(r.IntN(2))), 3)
				if lists && r.IntN(2) == 0 {
					q.TokenSource = run.UsageChunks
					left := q.OutputTokens.V
					for k := range events {
						n := min(left, int64(r.IntN(4)))
						if k == events-1 {
							n = left
						}
						left -= n
						q.ChunkTokens = append(q.ChunkTokens, maybe(some(n), 40))
					}
				}
			} else {
				q.TokenSource = []string{run.Events, ""}[r.IntN(2)]
			}
		}
		if r.IntN(40) > 0 {
			q.EndNS = next(20_000)
		}
		rows[i] = q
	}
	return rows
}

// clientRows makes one row per worker and second that agrees with the rows.
func clientRows(seed uint64, rows []run.Request, seconds int) []run.Client {
	r := rand.New(rand.NewPCG(seed, 99))
	var out []run.Client
	for s := 1; s <= seconds; s++ {
		for w := range int64(2) {
			t := int64(s)*second + w*1000
			c := run.Client{TNS: t, Worker: w, PID: 100 + w, IntervalNS: some(second), CPUUserNS: some(int64(r.IntN(300_000_000))), CPUSystemNS: some(int64(r.IntN(100_000_000))),
				RunqueueWaitNS: some(int64(r.IntN(5_000_000))), Timeslices: some(int64(1 + r.IntN(400))), ThrottledNS: some(0), StealPPM: some(int64(r.IntN(20_000))),
				RSSBytes: some(int64(20<<20 + r.IntN(1<<20))), OpenFDs: some(int64(10 + r.IntN(5))), GCPauseNS: some(int64(r.IntN(100_000))), GCPauseMaxNS: some(int64(r.IntN(100_000))),
				HiccupGoroutineP999NS: some(int64(r.IntN(3_000_000))), HiccupThreadP999NS: some(int64(r.IntN(2_500_000))), TokenEvents: some(int64(r.IntN(900)))}
			if seed%2 == 0 && r.IntN(3) > 0 {
				c.ReadDelayP99NS = some(int64(r.IntN(3_000_000)))
			}
			var inFlight, dispatched, completed int64
			for i := range rows {
				q := &rows[i]
				if q.Worker != some(w) {
					continue
				}
				if q.ConnAskedNS.Valid && q.ConnAskedNS.V <= t && (!q.EndNS.Valid || q.EndNS.V > t) {
					inFlight++
				}
				within := func(x formats.Int) bool {
					return x.Valid && (x.V <= t || s == seconds) && (x.V > t-second || s == 1)
				}
				if within(q.DispatchedNS) {
					dispatched++
				}
				if q.DispatchedNS.Valid && within(q.EndNS) {
					completed++
				}
			}
			c.InFlight, c.Dispatched, c.Completed = some(inFlight), some(dispatched), some(completed)
			out = append(out, c)
		}
	}
	return out
}
