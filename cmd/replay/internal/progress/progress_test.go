package progress

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hydrant/cmd/replay/internal/drive"
	"hydrant/formats/run"
)

func TestLine(t *testing.T) {
	s := drive.Snapshot{Elapsed: 252 * time.Second, Planned: 12031, Whole: true, Span: time.Hour, Sent: 861, InFlight: 29,
		SentRate: 3.4, PlanRate: 3.41, EventRate: 1180.4, LagP99: 100 * time.Microsecond, CPU: 0.06}
	const whole = "04:12/60:00 861/12k 3.4/s of 3.41 29 open 1,180 tok/s 0 err lag 0.1ms cpu 3%"
	var b bytes.Buffer
	(&Line{W: &b, Workers: 2}).Show(s)
	if got := b.String(); got != whole+"\n" {
		t.Errorf("line = %q; want %q", got, whole)
	}
	b.Reset()
	l := &Line{W: &b, Terminal: true, Workers: 2}
	s.Whole = false // the plan is still coming through a pipe
	l.Show(s)
	l.Done()
	if want := "\r04:12 861 3.4/s of 3.41 29 open 1,180 tok/s 0 err lag 0.1ms cpu 3%\x1b[K\r\x1b[K"; b.String() != want {
		t.Errorf("terminal = %q; want %q", b.String(), want)
	}
}

func TestLineKeepsTheWidthOfATerminal(t *testing.T) {
	s := drive.Snapshot{Elapsed: 99 * time.Hour, Planned: 123_456_789, Whole: true, Span: 100 * time.Hour, Sent: 122_345_678, InFlight: 49_876,
		SentRate: 4987.6, PlanRate: 4998.4, EventRate: 2_345_678, Errors: 1234, LagP99: 12_345 * time.Millisecond, CPU: 1.87}
	for slowed, want := range map[string]string{
		"":                     "5940:00/6000:00 122M/123M 4,988/s of 4,998 1,234 err lag 12,345ms cpu 93.5%",
		"--client-stall 200us": "SLOWED by --client-stall 200us 5940:00/6000:00 1,234 err lag 12,345ms cpu 93.5%",
	} {
		if got := line(s, 2, slowed); got != want || len(got) > columns {
			t.Errorf("line = %q, %d columns; want %q, at most %d", got, len(got), want, columns)
		}
	}
}

func TestBriefTakesSixCharacters(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 3.412: "3.41", 861: "861", 9999: "9,999", 9999.6: "10k", 12031: "12k", 12346: "12.3k", 999_600: "1M", 1_234_567: "1.23M", 2.5e12: "2.5T"} {
		if got := brief(v); got != want || len(got) > 6 {
			t.Errorf("brief(%v) = %q; want %q", v, got, want)
		}
	}
}

func TestBlock(t *testing.T) {
	r := &drive.Result{Status: run.Complete, Planned: 12031, Sent: 12031, Workers: 2, LagP50: 30 * time.Microsecond, LagP99: 140 * time.Microsecond,
		CPUP95: 0.04, CPUPerEvent: 5300 * time.Nanosecond, SHA256: "3f1c0000ffff", ScheduleSHA256: []string{"9a77000011"},
		Outcomes: []run.Outcome{{Name: run.OK, N: 12027}, {Name: run.HTTPError}, {Name: run.TimeoutFirstByte, N: 3}, {Name: run.StreamError, N: 1}}}
	for name, c := range map[string]struct {
		change func()
		want   string
	}{
		"1 whole": {func() {}, `replay: 12,031 planned = 12,031 sent: 12,027 ok, 3 timeout_first_byte, 1 stream_error
  lag p50 0.03 ms p99 0.14 ms · client CPU p95 4 % of 2 workers, 5.3 µs per token event
  run.arrows 31 MB  sha256 3f1c0000…  schedule 9a770000…
`},
		"2 failed": {func() {
			r.Status, r.Reason, r.Sent, r.Workers, r.CPUP95 = run.Failed, "worker 1 (pid 7) was killed", 12000, 1, 0
		}, `replay: 12,031 planned, 12,000 sent: 12,027 ok, 3 timeout_first_byte, 1 stream_error
  failed: worker 1 (pid 7) was killed
  lag p50 0.03 ms p99 0.14 ms · client CPU of 1 worker, 5.3 µs per token event
  run.arrows 31 MB  sha256 3f1c0000…  schedule 9a770000…
`},
		"3 nothing": {func() {
			*r = drive.Result{Status: run.Interrupted, Reason: run.Interrupted, SHA256: "ab"}
		}, `replay: 0 planned = 0 sent: nothing to send
  interrupted by a signal
  run.arrows 31 MB  sha256 ab
`},
	} {
		if name == "1 whole" {
			if d := cmp.Diff(c.want, Block(Summary{Result: r, Output: "run.arrows", Bytes: 31e6})); d != "" {
				t.Errorf("%s: %s", name, d)
			}
			continue
		}
		before := *r
		c.change()
		if d := cmp.Diff(c.want, Block(Summary{Result: r, Output: "run.arrows", Bytes: 31e6})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		*r = before
	}
}

func TestFigures(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.004: "0", 0.034: "0.03", 3.4: "3.4", 9.999: "10", 12.34: "12.3", 99.97: "100", 1234.5: "1,235"} {
		if got := figure(v); got != want {
			t.Errorf("figure(%v) = %q; want %q", v, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := Count(n); got != want {
			t.Errorf("Count(%d) = %q; want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{12: "12 bytes", 1500: "1.5 kB", 31e6: "31 MB", 2e9: "2 GB"} {
		if got := size(n); got != want {
			t.Errorf("size(%d) = %q; want %q", n, got, want)
		}
	}
}
