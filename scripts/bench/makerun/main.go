// Command makerun writes a run of a server that nobody had to serve: as many rows as are asked
// for, in the order of their ends, with the stamps, counts and failures of a plausible one.
// The same arguments give the same bytes.
//
//	makerun ROWS EVENTS > run.arrows
//
// EVENTS is how many token events an answer has, with their chunk lists; 0 leaves the lists
// out and gives an answer some 300 tokens.
package main

import (
	"bufio"
	"container/heap"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/run"
)

func main() {
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	err := makeRun(w, os.Args[1:])
	if err == nil {
		err = w.Flush()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "makerun: error:", err)
		os.Exit(1)
	}
}

const (
	perSecond = 1000 // requests
	us        = 1000 // ns
	ms        = 1000 * us
	workers   = 2
)

func makeRun(out io.Writer, args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("got %d arguments, want ROWS EVENTS", len(args))
	}
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	events, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	h := run.Header{Build: "makerun", Schedule: json.RawMessage(`{"seed":1}`), Endpoint: "chat", Streaming: true, Timing: "schedule", Workers: workers, WorkerProcs: 1,
		Host: run.Host{BootID: "boot", CPUs: workers, CPUsAllowed: workers}, Epoch: run.Epoch{MonotonicNS: 1_000_000_000, WallNS: 1_790_000_000_000_000_000}}
	w, err := run.NewWriter(out, h, nil)
	if err != nil {
		return err
	}
	m := maker{r: rand.New(rand.NewPCG(1, uint64(n))), events: events, w: w, e: run.NewEncoder()}
	for i := range n {
		m.due += int64(m.r.ExpFloat64() * 1e9 / perSecond)
		heap.Push(&m.open, m.request(int64(i)))
		for m.open[0].EndNS.V < m.due {
			if err := m.write(); err != nil {
				return err
			}
		}
	}
	for len(m.open) > 0 {
		if err := m.write(); err != nil {
			return err
		}
	}
	if err := m.flush(); err != nil {
		return err
	}
	for s := range m.last/(1000*ms) + 1 {
		for k := range int64(workers) {
			c := run.Client{TNS: (s + 1) * 1000 * ms, Worker: k, PID: 100 + k, IntervalNS: formats.Some(1000 * ms), CPUUserNS: formats.Some(200 * ms), CPUSystemNS: formats.Some(100 * ms)}
			if err := w.Client([]run.Client{c}); err != nil {
				return err
			}
		}
	}
	return w.Close(run.End{Status: run.Complete, Planned: int64(n)})
}

// maker makes rows and hands them out as they end.
type maker struct {
	r      *rand.Rand
	events int
	due    int64
	last   int64
	open   ending
	w      *run.Writer
	e      *run.Encoder
}

func (m *maker) write() error {
	q := heap.Pop(&m.open).(*run.Request)
	m.last = q.EndNS.V
	if m.e.Append(q); m.e.Full() {
		return m.flush()
	}
	return nil
}

func (m *maker) flush() error {
	if m.e.Len() == 0 {
		return nil
	}
	b, _, err := m.e.Batch()
	if err != nil {
		return err
	}
	return m.w.Requests(b)
}

// request makes one row; one in fifty fails.
func (m *maker) request(id int64) *run.Request {
	r, some := m.r, formats.Some
	at := m.due
	next := func(least, spread int64) formats.Int {
		at += least + r.Int64N(spread)
		return some(at)
	}
	in := int64(200 * math.Exp(r.NormFloat64()))
	q := &run.Request{RequestID: id, Session: "s" + strconv.FormatInt(id/8, 10), Stream: "0", Turn: id % 8, Class: "chat", Model: "m", ScheduledNS: some(at), DueNS: some(at),
		PlannedInputTokens: some(in), ExpectedCachedTokens: some(in / 16 * 16), Worker: some(id / 8 % workers), Outcome: run.OK, TokenSource: run.Usage, HTTPStatus: some(200),
		PreparedNS: some(at - 50*ms - r.Int64N(50*ms)), RemoteAddr: "127.0.0.1:8000", ConnReused: some(1), ConnID: some(r.Int64N(512))}
	if q.Turn > 0 {
		q.After = []int64{id - 1}
	}
	q.DispatchedNS, q.ConnAskedNS, q.ConnReadyNS, q.WriteDoneNS = next(10*us, 40*us), next(us, 3*us), next(us, 3*us), next(20*us, 30*us)
	q.BytesSent, q.Retransmits, q.MultiEventReads = some(300+5*in), some(0), some(0)
	if id%50 == 7 {
		q.Outcome, q.HTTPStatus, q.TokenSource, q.Error = run.HTTPError, some(503), "", "status 503"
		q.HeadersNS, q.EndNS = next(ms, 20*ms), next(us, 10*us)
		q.PlannedOutputTokens = some(300)
		return q
	}
	q.HeadersNS, q.FirstByteKernelNS = next(ms, 2*ms), next(20*ms, int64(1e6*200*math.Exp(r.NormFloat64()/2)))
	kernel := at
	q.FirstByteNS, q.FirstEventNS = next(10*us, 40*us), next(us, 3*us)
	q.FirstTokenKernelNS, q.FirstAnswerKernelNS = some(kernel), some(kernel)
	q.FirstTokenNS = next(us, 3*us)
	q.FirstAnswerNS = q.FirstTokenNS
	count, pace := m.events, int64(1e6*(8+4*r.Float64()))
	if count == 0 {
		count = 1 + int(300*r.ExpFloat64())
		at += pace * int64(count-1) * (95 + r.Int64N(10)) / 100
	} else {
		q.ChunkGapUS, q.ChunkDelayUS = make([]int64, 0, count-1), make([]formats.Int, 0, count)
		for i := range count {
			if i > 0 {
				gap := pace/us + r.Int64N(400) - 200
				at += gap * us
				q.ChunkGapUS = append(q.ChunkGapUS, gap)
			}
			q.ChunkDelayUS = append(q.ChunkDelayUS, some(20+r.Int64N(40)))
		}
	}
	q.LastTokenNS, q.LastTokenKernelNS = some(at), some(at-30*us)
	if count == 1 {
		q.LastTokenKernelNS = q.FirstTokenKernelNS
	}
	q.PlannedOutputTokens, q.OutputTokens, q.TokenEvents, q.FirstChunkTokens = some(int64(count)), some(int64(count)), some(int64(count)), some(1)
	q.InputTokens, q.CachedTokens, q.FinishReason = some(in+4), some(in/32*16), "length"
	q.BytesReceived, q.Reads, q.Events, q.SegmentsIn = some(int64(400+245*count)), some(int64(count)), some(int64(count)+2), some(int64(count))
	q.EndNS = next(10*us, 2*ms)
	return q
}

// ending is a heap of rows by their end.
type ending []*run.Request

func (e ending) Len() int           { return len(e) }
func (e ending) Less(i, j int) bool { return e[i].EndNS.V < e[j].EndNS.V }
func (e ending) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *ending) Push(x any)        { *e = append(*e, x.(*run.Request)) }
func (e *ending) Pop() any {
	old := *e
	q := old[len(old)-1]
	old[len(old)-1] = nil
	*e = old[:len(old)-1]
	return q
}
