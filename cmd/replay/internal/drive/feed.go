package drive

import (
	"hash/fnv"
	"io"
	"strconv"
	"sync/atomic"
	"time"

	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/worker"
	"hydrant/formats"
	"hydrant/formats/schedule"
)

// line is one planned request on its way from the schedule to a worker.
type line struct {
	id      int64
	at      formats.Int
	place   int64 // at, or the latest before it: where the line stands in the schedule's time
	worker  int
	waits   bool   // for others
	job     []byte // for the worker
	slim    []byte // without prompt and body, for the ledger
	in, out formats.Int
}

// feeder reads the schedule and turns lines into jobs: whole ids of each prompt, what a
// server could have cached, and the worker of the session. One goroutine owns it.
type feeder struct {
	r           *schedule.Reader
	workers     int
	serverBlock int64
	requests    int64         // 0: all
	duration    time.Duration // lines from then on are not in the plan; 0: all are
	timing      string
	over        atomic.Bool // the plan has ended
	loop        loop

	chains  schedule.Chains
	cache   schedule.Cache
	kin     kin
	part    int
	latest  int64 // at of the lines so far
	read    int64
	whole   bool // the schedule was read to its trailer
	planEnd bool // --requests or --duration ended the plan before the schedule did
}

// next returns the next line of the plan; io.EOF at its end.
func (f *feeder) next() (*line, error) {
	if f.requests > 0 && f.read == f.requests || f.over.Load() {
		f.planEnd = true
		return nil, io.EOF
	}
	r, err := f.r.Next()
	if err == io.EOF && f.loop.Again != nil {
		if err = f.again(); err == nil {
			if r, err = f.r.Next(); err == io.EOF {
				err = f.loop.changed()
			}
		}
	}
	if err != nil {
		f.whole = err == io.EOF
		return nil, err
	}
	if err := reachable(r); err != nil {
		return nil, err
	}
	r = f.loop.place(r)
	if f.timing == worker.Strict {
		if err := strict(r); err != nil {
			return nil, err
		}
	}
	if f.duration > 0 && r.AtNS.Valid && r.AtNS.V >= int64(f.duration) {
		f.planEnd = true
		return nil, io.EOF
	}
	if p := f.r.Part(); p != f.part {
		// Sessions are renamed per part and block ids stay shared, so the cache goes on.
		f.part, f.chains = p, schedule.Chains{}
	}
	if err := f.kin.add(r); err != nil {
		return nil, err
	}
	block := f.r.Header().Block
	j := link.Job{Request: *r, Block: block, Pass: f.loop.pass}
	ids, err := f.chains.IDs(r)
	if err != nil {
		return nil, err
	}
	if r.Blocks != nil {
		blocks := *r.Blocks
		_, tokens := f.cache.Add(r, block)
		blocks.Keep, blocks.Add = 0, ids
		j.Request.Blocks = &blocks
		if r.Context == schedule.Whole {
			j.Expected = formats.Some(tokens - tokens%f.serverBlock)
		}
	}
	f.read++
	f.latest = max(f.latest, r.AtNS.Or(0))
	l := &line{id: r.ID, at: r.AtNS, place: f.latest, worker: WorkerOf(r.Session, f.workers), waits: len(r.After) > 0, in: r.InputTokens, out: r.OutputTokens}
	l.job = link.AppendJob(nil, &j)
	j.Request.Blocks, j.Request.Body, j.Request.Extra = nil, nil, nil
	l.slim = link.AppendJob(nil, &j)
	return l, nil
}

// farthest is how far ahead a line may lie, and how long it may wait: 18 years, so that
// every instant of a run stays within the 36 that reduce accepts.
const farthest = 1 << 59

// reachable refuses a line whose instant would be beyond all runs.
func reachable(r *schedule.Request) error {
	for _, v := range []struct {
		what string
		ns   int64
	}{{"at_ns", r.AtNS.Or(0)}, {"delay_ns", r.DelayNS.Or(0)}} {
		if v.ns > farthest {
			return &formats.SyntaxError{Place: "schedule request " + strconv.FormatInt(r.ID, 10), What: v.what, Got: strconv.FormatInt(v.ns, 10),
				Want: strconv.FormatInt(farthest, 10) + ", 18 years, at most"}
		}
	}
	return nil
}

// strict refuses a line that an instant alone cannot time.
func strict(r *schedule.Request) error {
	fault := &formats.SyntaxError{Place: "schedule request " + strconv.FormatInt(r.ID, 10), Help: "--timing schedule waits for dependencies"}
	switch {
	case r.Context == schedule.Delta:
		fault.What, fault.Got, fault.Want = "context", schedule.Delta, "whole prompts under --timing strict: a delta needs the reply before it"
	case !r.AtNS.Valid:
		fault.What, fault.Got, fault.Want = "at_ns", "null", "a time on every line under --timing strict"
	default:
		return nil
	}
	return fault
}

// WorkerOf gives a session to one of so many workers, always the same one.
//
// Note: the least loaded worker would need a table of all open sessions and would
// depend on timing.
func WorkerOf(session string, workers int) int {
	h := fnv.New64a()
	h.Write([]byte(session))
	x := h.Sum64()
	x ^= x >> 32 // the low bits of FNV alone spread short, similar names badly
	return int(x * 0x9e3779b97f4a7c15 >> 33 % uint64(workers))
}

// kin refuses a line that waits for a request of another session: sessions live in
// different processes. It remembers the last lines only, so that memory stays flat; a
// line further back than that has ended long ago.
type kin struct {
	ids      []int64
	sessions []uint64
	head     int
}

const kinLines = 1 << 16

func (k *kin) add(r *schedule.Request) error {
	h := fnv.New64a()
	h.Write([]byte(r.Session))
	own := h.Sum64()
	for _, id := range r.After {
		if s, ok := k.find(id); ok && s != own {
			return &formats.SyntaxError{Place: "schedule request " + strconv.FormatInt(r.ID, 10), What: "after", Got: strconv.FormatInt(id, 10),
				Want: "requests of its own session " + strconv.Quote(r.Session),
				Help: "requests that depend on each other belong into one session"}
		}
	}
	if len(k.ids) < kinLines {
		k.ids, k.sessions = append(k.ids, r.ID), append(k.sessions, own)
		return nil
	}
	k.ids[k.head], k.sessions[k.head] = r.ID, own
	k.head = (k.head + 1) % kinLines
	return nil
}

// find looks an id up; ids ascend along the ring.
func (k *kin) find(id int64) (session uint64, ok bool) {
	low, high := 0, len(k.ids)
	for low < high {
		mid := (low + high) / 2
		if k.ids[k.at(mid)] < id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	if low < len(k.ids) && k.ids[k.at(low)] == id {
		return k.sessions[k.at(low)], true
	}
	return 0, false
}

func (k *kin) at(i int) int { return (k.head + i) % len(k.ids) }
