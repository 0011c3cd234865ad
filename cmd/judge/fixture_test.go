package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"hydrant/formats"
	"hydrant/formats/gpu"
	rows "hydrant/formats/run"
	"hydrant/formats/schedule"
	"hydrant/formats/summary"
	"hydrant/internal/cli"
	"hydrant/internal/codec"
	"hydrant/internal/fold"
)

// epoch is the instant on the monotonic clock at which the runs begin, ns.
const epoch = 1e12

// plan is a made-up run: requests at a steady pace, each answered in the same way,
// with the faults that the flags ask for.
type plan struct {
	n        int
	gap      time.Duration
	ttft     time.Duration
	slow     int           // every slow-th request takes ten times as long; 0: none
	fail     int           // every fail-th request fails; 0: none
	bundle   int           // every bundle-th answer has all its tokens in the first of two chunks; 0: none
	lag      time.Duration // from the 50th request on
	lose     int           // rows left out from the middle
	status   string
	exit     int // of worker 1
	schedule string
}

func (p plan) at(i int) int64 { return int64(i) * p.gap.Nanoseconds() }

func (p plan) request(i int) rows.Request {
	some := formats.Some
	due := p.at(i)
	ttft := p.ttft.Nanoseconds()
	if p.slow > 0 && i%p.slow == p.slow-1 {
		ttft *= 10
	}
	sent := due + 30_000
	if i >= 50 {
		sent += p.lag.Nanoseconds()
	}
	q := rows.Request{RequestID: int64(i), Session: fmt.Sprint("s", i), Stream: "0", Model: "sim", ScheduledNS: some(due), DueNS: some(due),
		PlannedInputTokens: some(100), PlannedOutputTokens: some(4), Worker: some(int64(i % 2)), PreparedNS: some(due - 1e6),
		DispatchedNS: some(sent), ConnAskedNS: some(sent + 1000), ConnReadyNS: some(sent + 2000), ConnReused: some(1), ConnID: some(int64(i % 2)),
		RemoteAddr: "127.0.0.1:8000", WriteDoneNS: some(sent + 5000), HeadersNS: some(sent + ttft - 2000), Outcome: rows.OK, HTTPStatus: some(200)}
	if p.fail > 0 && i%p.fail == p.fail-1 {
		q.Outcome, q.HTTPStatus, q.EndNS = rows.HTTPError, some(503), some(sent+ttft)
		return q
	}
	first := sent + ttft
	q.FirstByteNS, q.FirstEventNS, q.FirstTokenNS, q.FirstAnswerNS = some(first-1000), some(first-500), some(first), some(first)
	q.LastTokenNS, q.EndNS = some(first+60e6), some(first+61e6)
	q.InputTokens, q.OutputTokens, q.CachedTokens, q.TokenSource = some(100), some(4), some(0), rows.Usage
	q.ExpectedCachedTokens, q.TokenEvents, q.FirstChunkTokens = some(0), some(4), some(1)
	q.Events, q.Reads, q.ReasoningTokens = some(6), some(6), some(0)
	q.FinishReason, q.ChunkGapUS = "length", []int64{20_000, 20_000, 20_000}
	if p.bundle > 0 && i%p.bundle == p.bundle-1 {
		q.TokenEvents, q.FirstChunkTokens, q.ChunkGapUS = some(2), some(4), []int64{60_000}
	}
	return q
}

// write writes the run as one part.
func (p plan) write(w io.Writer) error {
	h := rows.Header{Build: "hydrant test", Schedule: json.RawMessage("null"), Target: []string{"http://127.0.0.1:8000"}, Endpoint: "chat", Model: "sim",
		Server: json.RawMessage("null"), Streaming: true, Engine: "http", Prompt: "text", Timing: "schedule", Seed: 7, Workers: 2, ChunkLists: "full",
		Calibration: "off", Host: rows.Host{Hostname: "lab", Kernel: "6.18", BootID: "b1", CPUs: 2, CPUsAllowed: 2}, Epoch: rows.Epoch{MonotonicNS: epoch, WallNS: 1e18}}
	out, err := rows.NewWriter(w, h, nil)
	if err != nil {
		return err
	}
	enc := rows.NewEncoder()
	seconds := p.at(p.n)/1e9 + 100
	type tally struct{ dispatched, completed, events int64 }
	by := [2][]tally{make([]tally, seconds+1), make([]tally, seconds+1)}
	flight := [2][]int64{make([]int64, seconds+1), make([]int64, seconds+1)}
	batch := func() error {
		b, _, err := enc.Batch()
		if err != nil {
			return err
		}
		return out.Requests(b)
	}
	for i := range p.n {
		if i >= p.n/2 && i < p.n/2+p.lose {
			continue
		}
		q := p.request(i)
		enc.Append(&q)
		k := by[i%2]
		k[q.DispatchedNS.V/1e9].dispatched++
		k[q.EndNS.V/1e9].completed++
		k[q.EndNS.V/1e9].events += q.TokenEvents.Or(0)
		for s := q.ConnAskedNS.V/1e9 + 1; s*1e9 < q.EndNS.V; s++ {
			flight[i%2][s]++
		}
		if enc.Len() == 1000 {
			if err := batch(); err != nil {
				return err
			}
		}
	}
	if err := batch(); err != nil {
		return err
	}
	for s := int64(1); s <= seconds; s++ {
		for w := range int64(2) {
			k := by[w][s-1]
			if err := out.Client([]rows.Client{{TNS: s * 1e9, Worker: w, PID: 100 + w, IntervalNS: formats.Some(1e9), CPUUserNS: formats.Some(1e6),
				CPUSystemNS: formats.Some(1e6), RunqueueWaitNS: formats.Some(1000), Timeslices: formats.Some(50), Dispatched: formats.Some(k.dispatched),
				Completed: formats.Some(k.completed), InFlight: formats.Some(flight[w][s]), TokenEvents: formats.Some(k.events)}}); err != nil {
				return err
			}
		}
	}
	end := rows.End{Status: p.status, Planned: int64(p.n), Detail: rows.Detail{
		Workers: []rows.WorkerExit{{Worker: 0, PID: 100, Rows: int64(p.n / 2)}, {Worker: 1, PID: 101, Rows: int64(p.n / 2), Exit: p.exit}},
		Clocks:  []rows.Clock{{Worker: 0, BootID: "b1"}, {Worker: 1, BootID: "b1"}}, ScheduleSHA256: []string{p.schedule},
		ScheduleEnd: json.RawMessage("null")}}
	if p.status != rows.Complete {
		end.Detail.Reason = "worker 1 died"
	}
	return out.Close(end)
}

// writeSchedule writes the schedule of the run and returns its hash.
func (p plan) writeSchedule(name string) (string, error) {
	f, err := os.Create(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	z, err := codec.NewZstdWriter(f)
	if err != nil {
		return "", err
	}
	w, err := schedule.NewWriter(z, schedule.Header{Build: "hydrant test", Args: []string{}, Sources: []schedule.Source{}, Transforms: []schedule.Transform{}, QuantumNS: 1})
	if err != nil {
		return "", err
	}
	for i := range p.n {
		q := schedule.Request{ID: int64(i), AtNS: formats.Some(p.at(i)), Session: fmt.Sprint("s", i), Stream: "0", Context: schedule.Whole,
			InputTokens: formats.Some(100), OutputTokens: formats.Some(4)}
		if err := w.Write(&q); err != nil {
			return "", err
		}
	}
	end, err := w.Close(schedule.Trailer{Status: "complete"})
	if err != nil {
		return "", err
	}
	return end.SHA256, z.Close()
}

// mkrun is the scripts' command that writes a run, with its schedule beside it:
// mkrun [flags] FILE.
func mkrun(args []string, stderr io.Writer) int {
	p := plan{}
	fs := flag.NewFlagSet("mkrun", flag.ContinueOnError)
	fs.SetOutput(stderr)
	fs.IntVar(&p.n, "rows", 2000, "")
	fs.DurationVar(&p.gap, "gap", 20*time.Millisecond, "")
	fs.DurationVar(&p.ttft, "ttft", 100*time.Millisecond, "")
	fs.IntVar(&p.slow, "slow", 0, "")
	fs.IntVar(&p.fail, "fail", 0, "")
	fs.DurationVar(&p.lag, "lag", 0, "")
	fs.IntVar(&p.lose, "lose", 0, "")
	fs.StringVar(&p.status, "status", rows.Complete, "")
	fs.IntVar(&p.exit, "exit", 0, "")
	columns := fs.Bool("columns", true, "")
	if err := fs.Parse(args); err != nil || fs.NArg() != 1 {
		return 2
	}
	name := fs.Arg(0)
	var err error
	if p.schedule, err = p.writeSchedule(strings.TrimSuffix(name, ".arrows") + ".sched.zst"); err == nil {
		err = p.save(name, *columns)
	}
	if err != nil {
		fmt.Fprintln(stderr, "mkrun:", err)
		return 1
	}
	return 0
}

// save writes the run, and its summary beside it.
func (p plan) save(name string, columns bool) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := p.write(f); err != nil {
		return err
	}
	return summarise(strings.TrimSuffix(name, ".arrows")+".summary.json", columns, name)
}

// summarise folds inputs into a summary, as reduce does.
func summarise(name string, columns bool, from ...string) error {
	var inputs []fold.Input
	for _, name := range from {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		inputs = append(inputs, fold.Input{Name: name, R: f})
	}
	s, err := fold.Run(ctx(), inputs, fold.Options{Build: cli.Build(), NoColumns: !columns})
	if err != nil {
		return err
	}
	out, err := os.Create(name)
	if err != nil {
		return err
	}
	defer out.Close()
	return summary.Write(out, s)
}

// mkgpu is the scripts' command that writes a gpu stream of one device over the first
// 60 s: mkgpu FILE.
func mkgpu(name string) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := gpu.NewWriter(f, gpu.Header{Build: "hydrant test", Host: "lab", BootID: "b1", PeriodNS: 1e9, Source: "nvml",
		Devices: []gpu.Device{{UUID: "GPU-1", Name: "NVIDIA H200"}}})
	if err != nil {
		return err
	}
	for s := int64(-5); s <= 60; s++ {
		if err := w.Samples([]gpu.Sample{{WallNS: 1e18 + s*1e9, MonotonicNS: epoch + s*1e9, IntervalNS: formats.Some(1e9), Host: "lab", Source: "nvml",
			UUID: "GPU-1", Name: "NVIDIA H200", UtilizationPPM: formats.Some(970_000), PowerMW: formats.Some(400_000), EnergyMJ: formats.Some(1e7 + s*400_000)}}); err != nil {
			return err
		}
	}
	return w.Close(gpu.End{Status: gpu.Complete})
}
