package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/cmd/judge/internal/rule"
	"hydrant/formats"
	rows "hydrant/formats/run"
	"hydrant/formats/verdict"
	"hydrant/internal/fixture"
	"hydrant/internal/fold"
	"hydrant/internal/slo"
)

// healthy makes a run in which nothing is wrong, with the noise that a shared machine
// has: a minute of Poisson arrivals, answers of random length, a generator that is a
// little late and hiccups now and then, and a calibration with five times the load.
type healthy struct {
	seed    uint64
	workers int
	shuffle bool // write the rows in another order
}

const (
	healthySeconds = 60
	healthyRate    = 25.0
)

// requests returns the rows, in the order of their planned times. They do not depend on
// the number of workers but for the worker's own column.
func (h healthy) requests() []rows.Request {
	r := rand.New(rand.NewPCG(h.seed, 17))
	some := formats.Some
	var out []rows.Request
	for t := 0.0; t < healthySeconds; t += r.ExpFloat64() / healthyRate {
		due := int64(t * 1e9)
		at := due
		step := func(mean float64) formats.Int {
			at += int64(r.ExpFloat64() * mean)
			return some(at)
		}
		i := int64(len(out))
		q := rows.Request{RequestID: i, Session: fmt.Sprint("s", i), Stream: "0", Model: "sim", ScheduledNS: some(due), DueNS: some(due),
			PlannedInputTokens: some(200), Worker: some(i % int64(h.workers)), PreparedNS: some(due - 5e6), ConnReused: some(1), ConnID: some(i % 40),
			RemoteAddr: "127.0.0.1:8000", Outcome: rows.OK, HTTPStatus: some(200), TokenSource: rows.Usage, FinishReason: "length"}
		tokens := 12 + int64(r.IntN(40))
		q.PlannedOutputTokens, q.OutputTokens, q.InputTokens = some(tokens), some(tokens), some(205)
		q.CachedTokens, q.ExpectedCachedTokens, q.ReasoningTokens = some(0), some(0), some(0)
		q.DispatchedNS = step(100e3)
		q.ConnAskedNS = step(20e3)
		q.ConnReadyNS = step(5e3)
		q.WriteDoneNS = step(30e3)
		at += int64(40e6 * math.Exp(0.4*r.NormFloat64())) // the server thinks
		arrived := func() formats.Int { return some(at) }
		kernel := arrived()
		q.FirstByteKernelNS, q.FirstTokenKernelNS, q.FirstAnswerKernelNS = kernel, kernel, kernel
		q.HeadersNS, q.FirstByteNS = step(20e3), step(10e3)
		q.FirstEventNS = step(5e3)
		q.FirstTokenNS = step(1e3)
		q.FirstAnswerNS = q.FirstTokenNS
		q.ChunkDelayUS = []formats.Int{some((q.FirstTokenNS.V - kernel.V) / 1000)}
		for range tokens - 1 {
			gap := int64(8000 + r.IntN(4000))
			q.ChunkGapUS = append(q.ChunkGapUS, gap)
			q.ChunkDelayUS = append(q.ChunkDelayUS, some(int64(r.ExpFloat64()*80)))
			at += 1000 * gap
		}
		q.LastTokenNS = some(q.FirstTokenNS.V + sum(q.ChunkGapUS)*1000)
		at = q.LastTokenNS.V
		q.LastTokenKernelNS = some(at - 1000*q.ChunkDelayUS[tokens-1].V)
		q.EndNS = step(100e3)
		q.TokenEvents, q.FirstChunkTokens, q.Events = some(tokens), some(1), some(tokens+2)
		q.Reads, q.SegmentsIn, q.MultiEventReads = some(tokens+2), some(tokens+2+int64(r.IntN(2))), some(0)
		q.BytesSent, q.BytesReceived, q.Retransmits = some(2000), some(200*tokens), some(0)
		out = append(out, q)
	}
	return out
}

func sum(v []int64) (s int64) {
	for _, x := range v {
		s += x
	}
	return s
}

// clients returns a row per worker and second that agrees with the rows.
func (h healthy) clients(all []rows.Request) []rows.Client {
	r := rand.New(rand.NewPCG(h.seed, 18))
	some := formats.Some
	var out []rows.Client
	for s := int64(1); s <= healthySeconds+3; s++ {
		for w := range int64(h.workers) {
			c := rows.Client{TNS: s * 1e9, Worker: w, PID: 100 + w, IntervalNS: some(1e9), CPUUserNS: some(int64(30e6 + 20e6*r.Float64())), CPUSystemNS: some(20e6),
				RunqueueWaitNS: some(int64(30e6 * r.Float64())), Timeslices: some(int64(1800 + r.IntN(600))), ThrottledNS: some(0), StealPPM: some(int64(r.IntN(300))),
				PSICPUPPM: some(int64(r.IntN(80_000))), RSSBytes: some(60 << 20), OpenFDs: some(40), GCPauses: some(1), GCPauseNS: some(40e3), GCPauseMaxNS: some(40e3),
				SchedLatencyP99NS: some(int64(100e3 * r.ExpFloat64())), HiccupThreadP999NS: some(int64(500e3 * r.ExpFloat64())),
				HiccupGoroutineP999NS: some(int64(600e3 * r.ExpFloat64())), ReadDelayP99NS: some(int64(300e3 + 100e3*r.ExpFloat64())),
				BacklogPrepare: some(10), BacklogDispatch: some(0), BacklogRows: some(3)}
			var dispatched, completed, flying, events int64
			within := func(t int64) bool { return t > (s-1)*1e9 && t <= s*1e9 || s == 1 && t == 0 }
			for i := range all {
				q := &all[i]
				if q.Worker.V != w {
					continue
				}
				if within(q.DispatchedNS.V) {
					dispatched++
				}
				if within(q.EndNS.V) {
					completed++
					events += q.TokenEvents.V
				}
				if q.DispatchedNS.V <= s*1e9 && q.EndNS.V > s*1e9 {
					flying++
				}
			}
			c.Dispatched, c.Completed, c.InFlight, c.TokenEvents = some(dispatched), some(completed), some(flying), some(events)
			out = append(out, c)
		}
	}
	return out
}

// write writes the run as one part.
func (h healthy) write(w io.Writer) error {
	host := rows.Host{Hostname: "lab", Kernel: "6.18", BootID: "b1", Go: "go1.26", CPUs: 8, CPUsAllowed: 8}
	kappa, same := 1.02, 0.0
	header := rows.Header{Build: "hydrant test", Schedule: []byte("null"), Target: []string{"http://127.0.0.1:8000"}, Endpoint: "chat", Model: "sim",
		Server: []byte("null"), Streaming: true, Engine: "epoll", Prompt: "text", Timing: "schedule", Seed: 7, Workers: h.workers, WorkerProcs: 1, ChunkLists: "full",
		Calibration: "5s", Host: host, Epoch: rows.Epoch{MonotonicNS: epoch, WallNS: 1e18}}
	mean := rows.Rates{RequestsPS: healthyRate, EventsPS: 800, BytesPS: 2e5}
	calibration := &rows.Calibration{Status: rows.Measured, WallNS: 1e18 - 6e9, DurationNS: 5e9, Build: header.Build, Engine: header.Engine, Workers: h.workers, Host: host,
		Profile: rows.Profile{Endpoint: "chat", Streaming: true, Prompt: "text", ChunkLists: "full", WorkerProcs: 1},
		Ceiling: &rows.Rates{RequestsPS: 5 * mean.RequestsPS, EventsPS: 5 * mean.EventsPS, BytesPS: 5 * mean.BytesPS}, Offered: &mean,
		AtOffered: &rows.Point{Held: true, Kappa: &kappa, SameReadGaps: &same}}
	out, err := rows.NewWriter(w, header, nil)
	if err != nil {
		return err
	}
	all := h.requests()
	clients := h.clients(all)
	n := int64(len(all))
	if h.shuffle {
		r := rand.New(rand.NewPCG(h.seed, 19))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	enc := rows.NewEncoder()
	for i := range all {
		enc.Append(&all[i])
	}
	b, _, err := enc.Batch()
	if err != nil {
		return err
	}
	if err := out.Requests(b); err != nil {
		return err
	}
	if err := out.Client(clients); err != nil {
		return err
	}
	detail := rows.Detail{ScheduleSHA256: []string{"aa11"}, ScheduleEnd: []byte("null"), Calibration: calibration}
	for w := range h.workers {
		detail.Workers = append(detail.Workers, rows.WorkerExit{Worker: w, PID: 100 + w, Rows: n / int64(h.workers)})
		detail.Clocks = append(detail.Clocks, rows.Clock{Worker: w, BootID: "b1"})
	}
	return out.Close(rows.End{Status: rows.Complete, Planned: n, Detail: detail})
}

// verdictOf judges the run, without any leniency but --short.
func (h healthy) verdictOf(t *testing.T, slos ...string) *verdict.Verdict {
	t.Helper()
	var run bytes.Buffer
	if err := h.write(&run); err != nil {
		t.Fatal(err)
	}
	s, err := fold.Run(ctx(), []fold.Input{{Name: "run.arrows", R: &run}}, fold.Options{Build: "test"})
	if err != nil {
		t.Fatal(err)
	}
	in := rule.Input{Place: "test", Summary: s, Options: rule.Options{Build: "test", Short: true}}
	if in.Columns, err = s.Decode("test"); err != nil {
		t.Fatal(err)
	}
	for _, text := range slos {
		o, err := slo.Parse("test", text)
		if err != nil {
			t.Fatal(err)
		}
		in.Set = append(in.Set, o...)
	}
	v, err := rule.Judge(in)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var healthySLOs = []string{"ttft:p90<500ms", "tpot:p90<60ms", "error_rate<5%", "good(ttft<500ms,tpot<60ms):p90", "ok_rps>=10"}

// A run in which nothing is wrong is VALID, with no check unknown that is required.
func TestHealthyRunIsValid(t *testing.T) {
	v := healthy{seed: 1, workers: 2}.verdictOf(t, healthySLOs...)
	if v.Harness != verdict.Valid || v.SLO != verdict.Pass || v.Tier != "T2" || len(v.Unproven) > 0 {
		t.Errorf("%s, %s, %s, unproven %v, cause %+v; want VALID, PASS, T2", v.Harness, v.SLO, v.Tier, v.Unproven, v.Cause)
	}
	for _, c := range v.Checks {
		if c.Required && c.Status != verdict.OK {
			t.Errorf("%s is %s: %+v", c.ID, c.Status, c.Terms)
		}
	}
}

// The order of the rows says nothing, and the number of workers nothing about the server.
func TestVerdictDoesNotDependOnOrderOrWorkers(t *testing.T) {
	want := healthy{seed: 2, workers: 2}.verdictOf(t, healthySLOs...)
	shuffled := healthy{seed: 2, workers: 2, shuffle: true}.verdictOf(t, healthySLOs...)
	want.Inputs, shuffled.Inputs = nil, nil // they hold the hash of the bytes
	if d := cmp.Diff(want, shuffled); d != "" {
		t.Errorf("rows in another order give another verdict:\n%s", d)
	}
	for _, workers := range []int{1, 5} {
		v := healthy{seed: 2, workers: workers}.verdictOf(t, healthySLOs...)
		if v.Headline != want.Headline || v.Exit != want.Exit || v.Tier != want.Tier {
			t.Errorf("%d workers: %s, exit %d, %s; want %s, %d, %s", workers, v.Headline, v.Exit, v.Tier, want.Headline, want.Exit, want.Tier)
		}
		if d := cmp.Diff(want.Objectives, v.Objectives); d != "" {
			t.Errorf("%d workers decide otherwise:\n%s", workers, d)
		}
		if d := cmp.Diff(want.Latencies, v.Latencies); d != "" {
			t.Errorf("%d workers show other latencies:\n%s", workers, d)
		}
	}
}

// Of a thousand runs in which nothing is wrong, hardly one is called INVALID.
func TestHealthyRunsAreNotCalledInvalid(t *testing.T) {
	fixture.Slow(t)
	const runs = 1000
	var causes []string
	for seed := range uint64(runs) {
		if v := (healthy{seed: seed, workers: 2}).verdictOf(t, healthySLOs...); v.Harness != verdict.Valid {
			causes = append(causes, v.Cause.Text)
		}
	}
	slices.Sort(causes)
	if len(causes) > runs/100 {
		t.Errorf("%d of %d healthy runs are INVALID; want at most 1 %%:\n%v", len(causes), runs, slices.Compact(causes))
	}
	t.Logf("%d of %d healthy runs are INVALID: %v", len(causes), runs, slices.Compact(causes))
}
