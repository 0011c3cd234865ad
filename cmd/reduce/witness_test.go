package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"hydrant/formats"
	rows "hydrant/formats/run"
	"hydrant/internal/fixture"
)

// Runs for the witnesses, which compute on their own what reduce prints.
const (
	healthyRun  = "healthy"  // every request is ok, with kernel stamps and counts
	mixedRun    = "mixed"    // every outcome, nulls, answers of one token and empty ones
	failuresRun = "failures" // no request is ok
)

// witnessRun writes a run of a kind and returns its name. The same kind has the same rows.
func witnessRun(t *testing.T, dir, kind string, n int) string {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(len(kind)), uint64(n)))
	all := make([]rows.Request, n)
	for i := range all {
		all[i] = witnessRow(r, int64(i), kind)
	}
	name := filepath.Join(dir, kind+".arrows")
	if err := writeRun(name, all, 1, rows.Complete); err != nil {
		t.Fatal(err)
	}
	return name
}

func witnessRow(r *rand.Rand, id int64, kind string) rows.Request {
	due := id*50*ms + r.Int64N(40*ms)
	q := rows.Request{RequestID: id, Session: fmt.Sprint("s", id%97), Turn: id / 97, ScheduledNS: some(due - r.Int64N(3*ms)), DueNS: some(due), Class: []string{"chat", "code"}[id%2],
		PlannedInputTokens: some(100 + r.Int64N(4000)), PlannedOutputTokens: some(1 + r.Int64N(40)), ExpectedCachedTokens: some(64)}
	outcome := rows.OK
	switch {
	case kind == failuresRun:
		outcome = rows.Outcomes[1+r.IntN(len(rows.Outcomes)-2)]
		if outcome == rows.CancelledPlanned {
			outcome = rows.TimeoutTotal
		}
	case kind == mixedRun && r.IntN(4) == 0:
		outcome = rows.Outcomes[1+r.IntN(len(rows.Outcomes)-1)]
	}
	q.Outcome = outcome
	if outcome == rows.NotSent {
		return q
	}
	at := due + r.Int64N(200_000)
	next := func(most int64) formats.Int {
		at += 1 + r.Int64N(most)
		return some(at)
	}
	q.Worker, q.PreparedNS, q.DispatchedNS, q.ConnAskedNS = some(id%2), some(due-5*ms), some(at), next(100_000)
	q.ConnReused = some(1)
	if id%7 == 0 {
		q.ConnReused, q.DNSNS, q.ConnectNS = some(0), next(50_000), next(900_000)
		if id%2 == 0 {
			q.TLSNS = next(900_000)
		}
	}
	q.ConnReadyNS = next(40_000)
	if outcome == rows.ConnectError {
		q.ConnReadyNS, q.EndNS, q.Error = formats.Int{}, next(ms), "connection refused"
		if kind == mixedRun && id%2 == 0 {
			q.Error = rows.LocalPrefix + "no port"
		}
		return q
	}
	q.WriteDoneNS = next(90_000)
	q.InputTokens = some(q.PlannedInputTokens.V + 3)
	if outcome == rows.HTTPError || outcome == rows.TimeoutFirstByte {
		q.HTTPStatus, q.EndNS, q.Error = some(503), next(50*ms), "overloaded"
		return q
	}
	q.HTTPStatus, q.HeadersNS, q.FirstByteKernelNS = some(200), next(20*ms), next(80*ms)
	q.FirstByteNS, q.FirstEventNS = next(30_000), next(2_000)
	q.FirstTokenKernelNS, q.FirstTokenNS = some(q.FirstByteKernelNS.V), next(2_000)
	q.FirstAnswerKernelNS, q.FirstAnswerNS = q.FirstTokenKernelNS, q.FirstTokenNS
	events := 1 + r.Int64N(40)
	if kind == mixedRun && id%5 == 0 {
		events = 1
	}
	for range events - 1 {
		gap := r.Int64N(30_000)
		q.ChunkGapUS = append(q.ChunkGapUS, gap)
		at += 1000 * gap
	}
	q.LastTokenNS = some(at)
	q.LastTokenKernelNS = some(at - r.Int64N(1_000))
	if events == 1 {
		q.LastTokenKernelNS = q.FirstTokenKernelNS
	}
	q.TokenEvents, q.FirstChunkTokens, q.OutputTokens, q.TokenSource = some(events), some(1), some(events), rows.Usage
	q.ReasoningTokens, q.CachedTokens = some(0), some(r.Int64N(64))
	q.EndNS, q.Reads, q.SegmentsIn = next(ms), some(events), some(events)
	if kind == mixedRun {
		switch id % 11 {
		case 1: // a server that counts nothing
			q.InputTokens, q.OutputTokens, q.ReasoningTokens, q.CachedTokens, q.FirstChunkTokens, q.TokenSource = formats.Int{}, formats.Int{}, formats.Int{}, formats.Int{}, formats.Int{}, ""
		case 2: // no kernel stamps
			q.FirstByteKernelNS, q.FirstTokenKernelNS, q.FirstAnswerKernelNS, q.LastTokenKernelNS = formats.Int{}, formats.Int{}, formats.Int{}, formats.Int{}
		case 3: // several tokens in the first event, and a thought without an answer
			q.FirstChunkTokens, q.OutputTokens = some(3), some(events+2)
			q.FirstAnswerKernelNS, q.FirstAnswerNS, q.ReasoningTokens = formats.Int{}, formats.Int{}, q.OutputTokens
		case 4: // one count per event
			q.TokenSource, q.FirstChunkTokens = rows.Events, formats.Int{}
		case 5: // no lists
			q.ChunkGapUS = nil
		}
	}
	if outcome != rows.OK {
		q.Error = outcome + " by the plan of this test"
	}
	if outcome == rows.Empty {
		q.FirstTokenKernelNS, q.FirstTokenNS, q.FirstAnswerKernelNS, q.FirstAnswerNS, q.LastTokenKernelNS, q.LastTokenNS = formats.Int{}, formats.Int{}, formats.Int{}, formats.Int{}, formats.Int{}, formats.Int{}
		q.ChunkGapUS, q.TokenEvents, q.OutputTokens, q.FirstChunkTokens = nil, some(0), some(0), formats.Int{}
	}
	return q
}

// environment runs a script of the project that makes a virtual environment and returns
// the python of it; without one the test is skipped, unless it is required.
func environment(t *testing.T, script string) string {
	t.Helper()
	fixture.Need(t, !testing.Short(), "-short: needs a python environment")
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(filepath.Join(fixture.Root(), "scripts", script))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	fixture.Need(t, err == nil, fmt.Sprintf("scripts/%s: %v: %s", script, err, stderr.String()))
	return string(bytes.TrimSpace(stdout.Bytes()))
}

// told reads the key=value lines of a program.
func told(t *testing.T, cmd *exec.Cmd) map[string]int {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	got := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+)=(\d+)$`).FindAllSubmatch(out, -1) {
		got[string(m[1])], _ = strconv.Atoi(string(m[2]))
	}
	if got["wrong"] > 0 {
		t.Errorf("%s", out)
	}
	return got
}

// TestIndependentComputationAgrees has a program in python compute the metrics of three
// runs from their rows: every figure is equal to the last digit.
func TestIndependentComputationAgrees(t *testing.T) {
	python := environment(t, "pyenv")
	dir := t.TempDir()
	for kind, n := range map[string]int{healthyRun: 7000, mixedRun: 3000, failuresRun: 1000} {
		t.Run(kind, func(t *testing.T) {
			run, summary := witnessRun(t, dir, kind, n), filepath.Join(dir, kind+".json")
			reduced(t, run, "--window", "0s:1h", "-o", summary)
			got := told(t, exec.Command(python, "testdata/witness/independent.py", run, summary))
			t.Logf("%s: %d cells compared, %d of them null in both", kind, got["compared"], got["nulls"])
			if got["compared"] < 200 {
				t.Errorf("%d cells compared; want at least 200", got["compared"])
			}
			if kind == healthyRun && got["nulls"] > 120 {
				t.Errorf("%d cells of a healthy run are null", got["nulls"])
			}
		})
	}
}

// TestIndependentComputationCanFail changes one figure, which has to be noticed.
func TestIndependentComputationCanFail(t *testing.T) {
	python := environment(t, "pyenv")
	dir := t.TempDir()
	run, summary := witnessRun(t, dir, mixedRun, 500), filepath.Join(dir, "changed.json")
	text := reduced(t, run, "--window", "0s:1h", "--format", "json")
	at := regexp.MustCompile(`"id": "ttft_user"[\s\S]*?"max": (\d)`).FindSubmatchIndex(text)
	if at == nil {
		t.Fatal("the summary has no ttft_user")
	}
	text[at[2]] = '0' + (text[at[2]]-'0')%9 + 1
	if err := os.WriteFile(summary, text, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "testdata/witness/independent.py", run, summary).CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("wrong=1\n")) {
		t.Errorf("a changed figure gives %v:\n%s\nwant wrong=1", err, out)
	}
}

// TestAIPerfReadsWhatWeExport has AIPerf 0.13.0 load the exported files with its own
// classes, draw them with analyze swim-lane, and numpy compute the summary from the lines.
func TestAIPerfReadsWhatWeExport(t *testing.T) {
	python := environment(t, "aiperfenv")
	root := t.TempDir()
	runs := map[string]int{healthyRun: 900, mixedRun: 600, failuresRun: 300}
	exported := exec.Command(python, "testdata/witness/exported.py")
	for kind, n := range runs {
		dir := filepath.Join(root, kind)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		run := witnessRun(t, dir, kind, n)
		reduced(t, run, "--slo", "ttft:p90<80ms", "--warmup", "2s", "--format", "aiperf", "-o", filepath.Join(dir, "profile_export_aiperf.json"))
		reduced(t, run, "--slo", "ttft:p90<80ms", "--warmup", "2s", "--format", "aiperf-jsonl", "-o", filepath.Join(dir, "profile_export.jsonl"))
		exported.Args = append(exported.Args, dir)
	}
	got := told(t, exported) // of all runs at once: AIPerf takes 7 s of CPU to be imported
	for kind := range runs {
		t.Run(kind, func(t *testing.T) {
			dir := filepath.Join(root, kind)
			sent, cancelled := aiperfRows(t, filepath.Join(dir, kind+".arrows"))
			records, frame, lanes, cells := got[kind+"_records"], got[kind+"_frame"], got[kind+"_lanes"], got[kind+"_cells"]
			t.Logf("%s: %d lines, %d lanes, %d cells compared", kind, records, lanes, cells)
			if records != sent || frame != sent || lanes != sent-cancelled {
				t.Errorf("AIPerf reads %d lines, %d to plot and %d to draw; want %d, %d and %d: cancelled ones have no lane",
					records, frame, lanes, sent, sent, sent-cancelled)
			}
			// Its swim_lane.py passes over lines with was_cancelled and those without times, of
			// which there are none: a run without cancellations has a lane for each request,
			// one with some lacks just those.
			if kind == healthyRun && (cancelled != 0 || lanes != sent) || kind == mixedRun && cancelled == 0 {
				t.Errorf("%d lanes of %d requests, %d of them cancelled; want none of a healthy run, some of a mixed one", lanes, sent, cancelled)
			}
			if kind != failuresRun && cells < 200 {
				t.Errorf("%d cells compared; want at least 200", cells)
			}
			tool := exec.Command(filepath.Join(filepath.Dir(python), "aiperf"), "analyze", "swim-lane", dir)
			tool.Env = append(os.Environ(), "HOME="+dir, "MPLCONFIGDIR="+dir)
			if out, err := tool.CombinedOutput(); err != nil {
				t.Errorf("aiperf analyze swim-lane: %v\n%s", err, out)
			}
			if f, err := os.Stat(filepath.Join(dir, "swim_lane.png")); err != nil || f.Size() < 1000 {
				t.Errorf("swim_lane.png: %v", err)
			}
			if kind == healthyRun {
				plot(t, python, dir)
			}
		})
	}
}

// TestPrometheusReadsOpenMetrics gives the text to the parser of Prometheus's own client
// library for python, which refuses what the standard does not allow.
func TestPrometheusReadsOpenMetrics(t *testing.T) {
	python := environment(t, "aiperfenv")
	const program = `
import sys
from prometheus_client.openmetrics.parser import text_fd_to_metric_families as parse
families = list(parse(open(sys.argv[1])))
print(f"families={len(families)}")
print(f"samples={sum(len(f.samples) for f in families)}")
`
	for name, args := range samples(t) {
		file := filepath.Join(t.TempDir(), "text")
		reduced(t, append(args, "--format", "openmetrics", "-o", file)...)
		got := told(t, exec.Command(python, "-c", program, file))
		t.Logf("%s: %d families, %d samples", name, got["families"], got["samples"])
		if got["families"] < 200 || got["samples"] < 500 {
			t.Errorf("%s: %d families with %d samples; want at least 200 with 500", name, got["families"], got["samples"])
		}
	}
}

// TestOtherReadersOfTheRows sums and ranks columns of the table of per-request metrics
// with pyarrow, Polars and DuckDB, from both files, and compares them with the summary.
func TestOtherReadersOfTheRows(t *testing.T) {
	python := environment(t, "pyenv")
	dir := t.TempDir()
	run := witnessRun(t, dir, mixedRun, 1500)
	for _, format := range []string{"arrow", "parquet"} {
		file := filepath.Join(dir, "rows."+format)
		reduced(t, run, "--window", "0s:1h", "--format", format, "-o", file)
		if again := reduced(t, run, "--window", "0s:1h", "--format", format, "--force"); true {
			if text, err := os.ReadFile(file); err != nil || !bytes.Equal(text, again) {
				t.Errorf("--format %s: two calls write different bytes (%v)", format, err)
			}
		}
	}
	summary := filepath.Join(dir, "summary.json")
	reduced(t, run, "--window", "0s:1h", "-o", summary)
	got := told(t, exec.Command(python, "testdata/witness/rows.py", filepath.Join(dir, "rows.arrow"), filepath.Join(dir, "rows.parquet"), summary))
	t.Logf("%d cells compared", got["compared"])
	if got["compared"] < 200 || got["readers"] != 5 {
		t.Errorf("%d readers, %d cells compared; want 5 and at least 200", got["readers"], got["compared"])
	}
}

// plot runs aiperf plot, which needs a browser for its pictures.
func plot(t *testing.T, python, dir string) {
	if _, err := exec.LookPath("chromium"); err != nil {
		t.Log("aiperf plot: not run: chromium is not installed")
		return
	}
	tool := exec.Command(filepath.Join(filepath.Dir(python), "aiperf"), "plot", dir)
	tool.Env = append(os.Environ(), "HOME="+dir)
	if out, err := tool.CombinedOutput(); err != nil {
		t.Errorf("aiperf plot: %v\n%s", err, out)
	}
	if f, err := os.Stat(filepath.Join(dir, "plots", "ttft_over_time.png")); err != nil || f.Size() < 1000 {
		t.Errorf("ttft_over_time.png: %v", err)
	}
}

// aiperfRows counts the rows of a run that were sent, and those of them cancelled.
func aiperfRows(t *testing.T, name string) (sent, cancelled int) {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	r, err := rows.NewReader(in, name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := r.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	for q, err := p.NextRequest(); err == nil; q, err = p.NextRequest() {
		if q.Outcome == rows.NotSent || q.Outcome == rows.ConnectError && len(q.Error) > 6 && q.Error[:7] == rows.LocalPrefix {
			continue
		}
		sent++
		if q.Outcome == rows.Cancelled || q.Outcome == rows.CancelledPlanned {
			cancelled++
		}
	}
	return sent, cancelled
}
