package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	ucli "github.com/urfave/cli/v2"

	"hydrant/formats"
	"hydrant/formats/gpu"
	rows "hydrant/formats/run"
	"hydrant/internal/cli"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"reduce": main,
		"mkrun":  func() { exit(mkrun(os.Args[1:])) },
		"mkgpu":  func() { exit(mkgpu(os.Args[1])) },
	})
}

// exit ends a command of the scripts.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("HYDRANT_GOLDEN") == "write",
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"status": status, "cut": cut},
	})
}

// status runs a tool and compares its exit status: status 3 reduce run.arrows.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command [args…]")
	}
	got := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("%s: status %s; want %s", strings.Join(args[1:], " "), got, args[0])
	}
}

// cut copies all but the last bytes of a file: cut N from to.
func cut(ts *testscript.TestScript, neg bool, args []string) {
	var n int
	if _, err := fmt.Sscan(args[0], &n); neg || err != nil || len(args) != 3 {
		ts.Fatalf("usage: cut N from to")
	}
	b := ts.ReadFile(args[1])
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(b)[:len(b)-n], 0o644))
}

const (
	ms     = 1_000_000
	second = 1_000 * ms
	mono   = 50 * second
	wall   = 1_790_000_000 * second
)

func some(v int64) formats.Int { return formats.Some(v) }

// mkrun writes a made-up run: -n requests every 50 ms, the n-th of -fail refused, the
// order of the rows shuffled by -shuffle, a schedule of its own with -schedule, every other
// session with -shard.
func mkrun(args []string) error {
	fs := flag.NewFlagSet("mkrun", flag.ContinueOnError)
	n := fs.Int("n", 700, "")
	fail := fs.Int("fail", 100, "")
	shuffle := fs.Uint64("shuffle", 0, "")
	negative := fs.Bool("negative", false, "")
	schedule := fs.Int("schedule", 1, "")
	status := fs.String("status", rows.Complete, "")
	shard := fs.Int("shard", -1, "")
	if err := fs.Parse(args); err != nil {
		return err
	}
	all := make([]rows.Request, *n)
	for i := range all {
		due := int64(i) * 50 * ms
		ttft := (20 + int64(i*37%61)) * ms
		q := rows.Request{RequestID: int64(i), Session: fmt.Sprint("s", i%40), ScheduledNS: some(due), DueNS: some(due), PlannedInputTokens: some(1000), PlannedOutputTokens: some(5),
			ExpectedCachedTokens: some(250), Worker: some(int64(i % 2)), PreparedNS: some(due - ms), DispatchedNS: some(due + 20_000), ConnAskedNS: some(due + 30_000),
			ConnReadyNS: some(due + 40_000), ConnReused: some(1), WriteDoneNS: some(due + 80_000), EndNS: some(due + ttft + 45*ms), Outcome: rows.OK, TokenSource: rows.Usage,
			FirstByteNS: some(due + ttft - 2000), FirstEventNS: some(due + ttft - 1000), FirstTokenNS: some(due + ttft), FirstAnswerNS: some(due + ttft), LastTokenNS: some(due + ttft + 40*ms),
			InputTokens: some(1003), OutputTokens: some(5), CachedTokens: some(240), TokenEvents: some(5), FirstChunkTokens: some(1), ChunkGapUS: []int64{10_000, 10_000, 9_000, 11_000}}
		if *fail > 0 && i%*fail == *fail-1 {
			q = rows.Request{RequestID: q.RequestID, Session: q.Session, ScheduledNS: q.ScheduledNS, DueNS: q.DueNS, PlannedInputTokens: some(1000), PlannedOutputTokens: some(5),
				Worker: q.Worker, DispatchedNS: q.DispatchedNS, ConnAskedNS: q.ConnAskedNS, EndNS: some(due + 2*ms), Outcome: rows.ConnectError, Error: "connection refused"}
		}
		if *negative && i == 9 {
			q.PlannedInputTokens = some(-5)
		}
		all[i] = q
	}
	if *shard >= 0 {
		all = slices.DeleteFunc(all, func(q rows.Request) bool { return int(q.RequestID)%2 != *shard })
	}
	if *shuffle > 0 {
		r := rand.New(rand.NewPCG(*shuffle, 0))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return writeRun(fs.Arg(0), all, *schedule, *status)
}

// writeRun writes rows that are due within a second per 20 of them, with a client table.
func writeRun(name string, all []rows.Request, schedule int, status string) error {
	n := len(all)
	var clients []rows.Client
	for s := range int64(n/20 + 2) {
		for w := range int64(2) {
			clients = append(clients, rows.Client{TNS: (s + 1) * second, Worker: w, PID: 10 + w, IntervalNS: some(second), CPUUserNS: some(40 * ms), CPUSystemNS: some(10 * ms),
				RunqueueWaitNS: some(2 * ms), Timeslices: some(100), TokenEvents: some(50), InFlight: some(1)})
		}
	}
	var out bytes.Buffer
	w, err := rows.NewWriter(&out, rows.Header{Build: "test", Schedule: json.RawMessage(fmt.Sprintf(`{"seed":%d}`, schedule)), Endpoint: "chat", Model: "m", Streaming: true,
		Timing: "schedule", Workers: 2, Host: rows.Host{BootID: "boot", CPUs: 2, CPUsAllowed: 2}, Epoch: rows.Epoch{MonotonicNS: mono, WallNS: wall}}, nil)
	if err != nil {
		return err
	}
	e := rows.NewEncoder()
	for i := range all {
		e.Append(&all[i])
		if e.Len() == 256 || i == len(all)-1 {
			b, _, err := e.Batch()
			if err != nil {
				return err
			}
			if err := w.Requests(b); err != nil {
				return err
			}
		}
	}
	if err := w.Client(clients); err != nil {
		return err
	}
	if err := w.Close(rows.End{Status: status, Planned: int64(n), Detail: rows.Detail{Reason: map[bool]string{true: "worker 1 died"}[status == rows.Failed]}}); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}

// mkgpu writes a gpu stream of one device at 200 W, around the run.
func mkgpu(name string) error {
	var out bytes.Buffer
	w, err := gpu.NewWriter(&out, gpu.Header{Build: "test", Host: "h", BootID: "boot", PeriodNS: second})
	if err != nil {
		return err
	}
	for t := int64(-5); t < 60; t++ {
		s := gpu.Sample{WallNS: wall + t*second, MonotonicNS: mono + t*second, IntervalNS: some(second), Host: "h", Source: "nvml", UUID: "GPU-1", Name: "card",
			PowerMW: some(200_000), EnergyMJ: some((t + 5) * 200_000), UtilizationPPM: some(930_000), MemoryUsedBytes: some(70e9), TemperatureC: some(61)}
		if err := w.Samples([]gpu.Sample{s}); err != nil {
			return err
		}
	}
	if err := w.Close(gpu.End{Status: gpu.Complete}); err != nil {
		return err
	}
	return os.WriteFile(name, out.Bytes(), 0o644)
}

func TestCommandLineIsDeclaredWell(t *testing.T) {
	for _, fault := range cli.Audit(app()) {
		t.Error(fault)
	}
	shared := &ucli.App{Name: "the other tools", Flags: cli.Flags("slo", "slo-file", "output", "timeout", "force")}
	for _, fault := range cli.Same(app(), shared) {
		t.Error(fault)
	}
}

// Help goes to stdout, and fits a terminal.
func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"--help"}, strings.NewReader(""), &stdout, &stderr); code != 0 || stderr.Len() > 0 {
		t.Fatalf("--help: status %d, stderr %q", code, stderr.String())
	}
	for line := range strings.Lines(stdout.String()) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 88 {
			t.Errorf("help line of %d columns: %s", n, line)
		}
	}
}
