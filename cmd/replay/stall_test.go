//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"hydrant/formats"
	format "hydrant/formats/run"
	"hydrant/formats/schedule"
	"hydrant/formats/summary"
	"hydrant/internal/fold"
)

// Streams of the stall test: some stream all the time, one gets its only event while the
// client stands still.
const (
	pacedStreams = 4
	stallFor     = 300 * time.Millisecond
	pace         = 5 * time.Millisecond
)

// A pacer streams events and says when all streams have begun.
type pacer struct {
	mu      sync.Mutex
	begun   int
	all     chan struct{} // all streams have begun
	stopped chan struct{} // the client stands still, or will not
	paced   sync.WaitGroup
}

func (p *pacer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	rc := http.NewResponseController(w)
	say := func(text string) {
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{%s}}]}\n\n", text)
		_ = rc.Flush()
	}
	say(`"role":"assistant"`)
	p.mu.Lock()
	if p.begun++; p.begun == pacedStreams+1 {
		close(p.all)
	}
	p.mu.Unlock()
	if id, _ := strconv.Atoi(r.Header.Get("X-Request-Id")); id == pacedStreams {
		<-p.stopped
		say(`"content":"x"`)
		p.paced.Wait() // a segment read together with this one would move its stamp
	} else {
		defer p.paced.Done()
		<-p.all
		for tick, n := time.NewTicker(pace), 0; n < int(2*stallFor/pace); n++ {
			<-tick.C
			say(`"content":"x"`)
		}
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// stalled runs the streams, with a worker that stands still in their middle or not.
func stalled(t *testing.T, engine string, stop bool) (*result, []byte) {
	t.Helper()
	p := &pacer{all: make(chan struct{}), stopped: make(chan struct{})}
	p.paced.Add(pacedStreams)
	srv := httptest.NewServer(p)
	defer srv.Close()
	requests := make([]schedule.Request, pacedStreams+1)
	for i := range requests {
		requests[i] = request(i, 0)
		requests[i].OutputTokens = formats.Some(int64(2 * stallFor / pace))
	}
	run := start(t, nil, planFile(t, requests), "--url", srv.URL, "--engine", engine, "--workers", "1", "--preflight", "off", "--model", "m")
	select {
	case <-p.all:
	case <-time.After(patience):
		t.Fatalf("the streams did not begin:\n%s", run.said())
	}
	if stop {
		pid := children(t, run.Process.Pid, "worker-of-replay")[0]
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		until(t, "the stop", func() bool { return standsStill(pid) })
		close(p.stopped)
		time.Sleep(stallFor) // the stall itself
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
	} else {
		close(p.stopped)
	}
	if got := run.end(); got != 0 {
		t.Fatalf("status %d:\n%s", got, run.said())
	}
	return read(t, run.out.Bytes()), run.out.Bytes()
}

// standsStill reports whether all threads of a process are stopped.
func standsStill(pid int) bool {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, name := range all {
		b, _ := os.ReadFile(name)
		if _, state, _ := strings.Cut(string(b), ") "); !strings.HasPrefix(state, "T") {
			return false
		}
	}
	return len(all) > 0
}

// reduced returns the summary of a run.
func reduced(t *testing.T, b []byte) *summary.Summary {
	t.Helper()
	s, err := fold.Run(context.Background(), []fold.Input{{Name: "run", R: bytes.NewReader(b)}}, fold.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func scalarsOf(t *testing.T, b []byte) map[string]float64 {
	t.Helper()
	m := map[string]float64{}
	for _, v := range reduced(t, b).Scalars {
		if v.Value != nil {
			m[v.ID] = *v.Value
		}
	}
	return m
}

// A client that stands still for 300 ms shows in user times, not in wire times, and its
// reads hold several segments, which says that stamps inside them are not to be
// believed (ai-dynamo/aiperf#1424: an overloaded client stamps late and calls it the server).
func TestStallOfAWorker(t *testing.T) {
	for _, engine := range []string{"http", "epoll"} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			run, raw := stalled(t, engine, true)
			for id, row := range run.rows {
				if row.Outcome != format.OK || !row.FirstTokenKernelNS.Valid {
					t.Fatalf("request %d is %s (%s), first token in the kernel %v", id, row.Outcome, row.Error, row.FirstTokenKernelNS)
				}
			}
			var rows, seconds, delays int64
			for _, row := range run.rows {
				rows += row.SegmentsIn.V
			}
			for _, c := range run.clients {
				seconds += c.SegmentsIn.V
				delays = max(delays, c.ReadDelayP99NS.V)
			}
			if rows != seconds || rows == 0 || delays == 0 {
				t.Errorf("%d segments in the rows, %d in the client table, read delay p99 %d ns", rows, seconds, delays)
			}
			const most = int64(stallFor) * 9 / 10
			only := run.rows[pacedStreams]
			if late := only.FirstTokenNS.V - only.FirstTokenKernelNS.V; late < most {
				t.Errorf("the event of the stall was parsed %v after its arrival; want the stall of %v", time.Duration(late), stallFor)
			}
			calm, calmRaw := stalled(t, engine, false)
			if late := calm.rows[pacedStreams].FirstTokenNS.V - calm.rows[pacedStreams].FirstTokenKernelNS.V; late > most {
				t.Errorf("without a stall the event was parsed %v after its arrival", time.Duration(late))
			}
			with, without := scalarsOf(t, raw), scalarsOf(t, calmRaw)
			if with["kappa"] < without["kappa"]+0.2 {
				t.Errorf("%.2f segments per read, %.2f without the stall; want more with it", with["kappa"], without["kappa"])
			}
			if with["order_rows"] != 0 || with["disorder"] != 0 {
				t.Errorf("%v rows out of order, %v with the wire behind the user", with["order_rows"], with["disorder"])
			}
		})
	}
}
