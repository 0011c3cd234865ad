package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"hydrant/formats"
	format "hydrant/formats/run"
	"hydrant/formats/schedule"
)

// children returns the process ids of a process's children whose command line holds word.
func children(t *testing.T, pid int, word string) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + e.Name() + "/stat") // it may end meanwhile
		_, rest, _ := strings.Cut(string(stat), ") ")
		f := strings.Fields(rest) // state, parent, …
		if len(f) < 2 || f[1] != strconv.Itoa(pid) {
			continue
		}
		if line, _ := os.ReadFile("/proc/" + e.Name() + "/cmdline"); strings.Contains(string(line), word) {
			pids = append(pids, child)
		}
	}
	return pids
}

// until waits for something that another process does; only a hang meets the limit.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for tick := time.NewTicker(5 * time.Millisecond); !done(); <-tick.C {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

// longPlan lasts a minute, with answers that go on for as long.
func longPlan() []schedule.Request {
	requests := make([]schedule.Request, 300)
	for i := range requests {
		requests[i] = request(i, time.Duration(i)*200*time.Millisecond)
		requests[i].OutputTokens = formats.Some(300)
	}
	return requests
}

// slowServer takes half a minute for each answer of that plan.
const slowServer = "default,step=100ms,step_per_seq=0s"

// sending reads a run that is being written until rows or progress show that requests
// are in flight.
func sending(t *testing.T, p *process, n int) {
	t.Helper()
	re := regexp.MustCompile(`(\d+) open`)
	until(t, "sending", func() bool {
		for _, m := range re.FindAllStringSubmatch(p.said(), -1) {
			if k, _ := strconv.Atoi(m[1]); k >= n {
				return true
			}
		}
		return false
	})
}

func TestAKilledWorkerLosesNoRow(t *testing.T) {
	p := start(t, nil, planFile(t, longPlan()), "--sim", slowServer, "--preflight", "off", "--model", "sim", "--workers", "2", "--grace", "100ms", "--progress")
	sending(t, p, 4)
	workers := children(t, p.Process.Pid, "worker-of-replay")
	if len(workers) != 2 {
		t.Fatalf("%d worker processes; want 2", len(workers))
	}
	victim := workers[0]
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if status := p.end(); status != 3 {
		t.Fatalf("status %d; want 3\n%s", status, p.said())
	}
	run := read(t, p.out.Bytes())
	if run.end.Status != format.Failed || len(run.rows) != 300 {
		t.Errorf("status %s, %d rows; want failed, 300", run.end.Status, len(run.rows))
	}
	got := run.outcomes()
	if got[format.Truncated] == 0 || got[format.Cancelled] == 0 || got[format.NotSent] == 0 {
		t.Errorf("outcomes %v; want truncated of the dead worker, cancelled of the other, not_sent", got)
	}
	dead := -1
	for _, w := range run.end.Detail.Workers {
		if w.PID == victim {
			dead = w.Worker
			if w.Exit != 128+9 || !strings.Contains(w.Reason, "SIGKILL") {
				t.Errorf("exit %d, reason %q", w.Exit, w.Reason)
			}
		} else if w.Exit != 0 || w.Reason != "" {
			t.Errorf("the other worker: exit %d, reason %q", w.Exit, w.Reason)
		}
	}
	for id, row := range run.rows {
		if row.Outcome == format.Truncated && (row.Worker.V != int64(dead) || !strings.Contains(row.Error, "SIGKILL")) {
			t.Errorf("request %d of worker %v: %s", id, row.Worker, row.Error)
		}
	}
	want := fmt.Sprintf("replay: error: worker %d (pid %d) was killed by signal SIGKILL", dead, victim)
	if !strings.Contains(p.said(), want) {
		t.Errorf("says\n%s\nwant %q", p.said(), want)
	}
}

func TestASignalDrainsAndASecondLeaves(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "run.arrows")
	p := start(t, nil, planFile(t, longPlan()), "--sim", slowServer, "--preflight", "off", "--model", "sim", "--workers", "2", "--grace", "200ms", "--progress", "-o", out)
	sending(t, p, 2)
	if _, err := os.Stat(out + ".client"); err != nil {
		t.Errorf("no spool beside the run: %v", err)
	}
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status := p.end(); status != 130 {
		t.Fatalf("status %d; want 130\n%s", status, p.said())
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	run := read(t, b)
	got := run.outcomes()
	if run.end.Status != format.Interrupted || len(run.rows) != 300 || got[format.Cancelled] == 0 || got[format.NotSent] == 0 {
		t.Errorf("status %s, outcomes %v; want interrupted, 300 in all, some cancelled, some not sent", run.end.Status, got)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("leaves %v; want the run alone", files)
	}

	p = start(t, nil, planFile(t, longPlan()), "--sim", slowServer, "--preflight", "off", "--model", "sim", "--workers", "2", "--grace", "1h", "--progress", "-o", out)
	sending(t, p, 2)
	pids := append(children(t, p.Process.Pid, "worker-of-replay"), children(t, p.Process.Pid, "serve")...)
	if len(pids) != 3 {
		t.Errorf("%d children; want 2 workers and a server", len(pids))
	}
	for range 2 { // two at once would count as one
		if err := p.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		until(t, "the word that no more is sent", func() bool {
			return strings.Contains(p.said(), "replay: interrupted: no more requests are sent; ")
		})
	}
	if status := p.end(); status != 130 {
		t.Errorf("status %d after a second signal; want 130", status)
	}
	for _, pid := range pids {
		until(t, fmt.Sprintf("the end of child %d", pid), func() bool { return gone(pid) })
	}
}

// gone reports whether a process has ended (a zombie has).
func gone(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(rest, "Z")
}

// twoSent is a progress line of a plan whose end is not known yet.
var twoSent = regexp.MustCompile(`(?m)^\d\d:\d\d 2 `)

// A schedule that turns out cut while the run is on: what was sent is kept, the rest of
// what was read has rows, and one line says where the cut is.
func TestACutScheduleFoundLate(t *testing.T) {
	var whole bytes.Buffer
	requests := []schedule.Request{request(0, 0), request(1, 50*time.Millisecond), request(2, 11*time.Second), request(3, 12*time.Second)}
	if err := write(&whole, requests); err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(whole.String(), "\n")
	r, w := io.Pipe()
	p := start(t, r, "--null", "--workers", "1", "--progress")
	if _, err := io.WriteString(w, strings.Join(lines[:4], "")); err != nil {
		t.Fatal(err)
	}
	until(t, "two sent", func() bool { return twoSent.MatchString(p.said()) })
	w.Close()
	if status := p.end(); status != 3 {
		t.Fatalf("status %d; want 3\n%s", status, p.said())
	}
	run := read(t, p.out.Bytes())
	if run.end.Status != format.Failed || len(run.rows) != 3 || run.rows[0].Outcome != format.OK || run.rows[1].Outcome != format.OK || run.rows[2].Outcome != format.NotSent {
		t.Errorf("status %s, outcomes %v; want failed, two ok and one not sent", run.end.Status, run.outcomes())
	}
	if want := "replay: error: standard input:5: truncated: got end of input"; !strings.Contains(p.said(), want) {
		t.Errorf("says\n%s\nwant %q", p.said(), want)
	}
	if len(run.end.Detail.ScheduleSHA256) != 0 {
		t.Error("a cut schedule has no hash")
	}
}

// A line that comes late through a pipe goes out late: its instant stays, the lag shows.
func TestASlowPipeShowsAsLag(t *testing.T) {
	// The first schedule makes the run start; the second one begins late.
	var late bytes.Buffer
	if err := write(&late, []schedule.Request{request(0, 0)}); err != nil {
		t.Fatal(err)
	}
	early := new(bytes.Buffer)
	if err := write(early, []schedule.Request{request(0, 0), request(1, 1)}); err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	p := start(t, r, "--null", "--workers", "1", "--progress")
	if _, err := w.Write(early.Bytes()); err != nil {
		t.Fatal(err)
	}
	until(t, "two sent", func() bool { return twoSent.MatchString(p.said()) })
	if _, err := w.Write(late.Bytes()); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if status := p.end(); status != 0 {
		t.Fatalf("status %d; want 0\n%s", status, p.said())
	}
	run := read(t, p.out.Bytes())
	row := run.rows[2]
	if row.DueNS.V != 1 || row.DispatchedNS.V < int64(100*time.Millisecond) || row.Session != "s0@2" {
		t.Errorf("due %v, dispatched %v, session %s; want due at 1 ns as planned and sent when it came", row.DueNS, row.DispatchedNS, row.Session)
	}
}

func TestAnEmptyScheduleIsAWholeRun(t *testing.T) {
	p := replay(t, 0, planFile(t, nil), "--null", "--workers", "2")
	run := read(t, p.out.Bytes())
	if run.end.Status != format.Complete || len(run.rows) != 0 || run.end.Planned != 0 {
		t.Errorf("status %s, %d rows", run.end.Status, len(run.rows))
	}
}
