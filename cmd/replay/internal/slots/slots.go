// Package slots caps a number over several processes: requests in flight, open
// sessions. The worker processes of a replay share one small piece of memory; taking
// and freeing a slot is a few atomic operations there, so that a cap costs no trip
// through the parent.
//
// New makes the memory, Open maps it in another process, Pool gives one of its caps
// to one process. No slot stays free while somebody waits for one. Beyond its even
// share a process yields to one that waits and holds fewer, and where there are fewer
// slots than processes the earliest goes first.
package slots

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Pools is how many caps one piece of memory holds.
const Pools = 2

// Words of a pool, each a cache line of its own: how many slots are held, the most ever
// held, how much there is to do for those that hold one, and for every process how many
// it holds and what its earliest waiter is.
const (
	wordUsed  = 0
	wordPeak  = 1
	wordWork  = 2
	wordFirst = 3 // of process 0
	perMember = 2
	line      = 64
)

// None is what a process waits for when it waits for nothing.
const None = int64(^uint64(0) >> 1)

// Memory is what the processes share.
type Memory struct {
	b       []byte
	members int
}

func size(members int) int { return Pools * (wordFirst + perMember*members) * line }

// New makes the memory for so many processes in a file without a name.
func New(members int) (*Memory, *os.File, error) {
	f, err := nameless("replay-slots")
	if err != nil {
		return nil, nil, fmt.Errorf("memory of the caps: %w", err)
	}
	if err := f.Truncate(int64(size(members))); err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("memory of the caps: %w", err)
	}
	m, err := Open(f, members)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	for p := range Pools {
		for i := range members {
			m.at(p, wordFirst+perMember*i+1).Store(None)
		}
	}
	return m, f, nil
}

// Open maps the memory that New made; f may be closed then.
func Open(f *os.File, members int) (*Memory, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, size(members), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("memory of the caps: %w", err)
	}
	return &Memory{b: b, members: members}, nil
}

// Private is memory for one process alone.
func Private() *Memory {
	m := &Memory{b: make([]byte, size(1)), members: 1}
	for p := range Pools {
		m.at(p, wordFirst+1).Store(None)
	}
	return m
}

// Close unmaps what Open mapped. No pool of it may be used any more.
func (m *Memory) Close() error { return unix.Munmap(m.b) }

func (m *Memory) at(pool, word int) *atomic.Int64 {
	return (*atomic.Int64)(unsafe.Pointer(&m.b[(pool*(wordFirst+perMember*m.members)+word)*line]))
}

// Peak returns the most slots of a pool that were ever held at once.
func (m *Memory) Peak(pool int) int64 { return m.at(pool, wordPeak).Load() }

// Used returns how many slots of a pool are held.
func (m *Memory) Used(pool int) int64 { return m.at(pool, wordUsed).Load() }

// Stuck reports whether limit slots of a pool are held and there is nothing to do for
// those that hold them.
func (m *Memory) Stuck(pool int, limit int64) bool {
	return m.at(pool, wordUsed).Load() >= limit && m.at(pool, wordWork).Load() == 0
}

// Waiting reports whether a process waits for a slot of any pool.
func (m *Memory) Waiting(member int) bool {
	for p := range Pools {
		if m.at(p, wordFirst+perMember*member+1).Load() != None {
			return true
		}
	}
	return false
}

// Pool is one cap as one process sees it. One goroutine at a time uses it.
type Pool struct {
	m     *Memory
	pool  int
	self  int
	limit func() int64
}

// Pool returns cap number pool for process self. limit says how many slots there are
// at this instant; it may grow.
func (m *Memory) Pool(pool, self int, limit func() int64) *Pool {
	return &Pool{m: m, pool: pool, self: self, limit: limit}
}

func (p *Pool) held(i int) *atomic.Int64  { return p.m.at(p.pool, wordFirst+perMember*i) }
func (p *Pool) first(i int) *atomic.Int64 { return p.m.at(p.pool, wordFirst+perMember*i+1) }

// Take takes a slot for what waits since key; false when there is none, or when it is
// another process's turn.
func (p *Pool) Take(key int64) bool {
	used, mine := p.m.at(p.pool, wordUsed), p.held(p.self)
	for {
		n, limit := used.Load(), p.limit()
		if n >= limit || p.yields(mine.Load(), limit, key) {
			return false
		}
		if !used.CompareAndSwap(n, n+1) {
			continue
		}
		mine.Add(1)
		peak := p.m.at(p.pool, wordPeak)
		for most := peak.Load(); n+1 > most && !peak.CompareAndSwap(most, n+1); most = peak.Load() {
		}
		return true
	}
}

// yields reports whether another process has a better claim to a slot than this one,
// which holds mine and waits since key.
func (p *Pool) yields(mine, limit, key int64) bool {
	if mine < limit/int64(p.m.members) {
		return false
	}
	for i := range p.m.members {
		if i == p.self {
			continue
		}
		theirs := p.first(i).Load()
		if theirs == None {
			continue
		}
		if n := p.held(i).Load(); n < mine || n == 0 && mine == 0 && (theirs < key || theirs == key && i < p.self) {
			return true
		}
	}
	return false
}

// Free gives a slot back.
func (p *Pool) Free() {
	p.held(p.self).Add(-1)
	p.m.at(p.pool, wordUsed).Add(-1)
}

// Work counts n more, or fewer, things to do for those that hold slots.
func (p *Pool) Work(n int) { p.m.at(p.pool, wordWork).Add(int64(n)) }

// Wait says since when the earliest waiter of this process waits; None: nobody does.
// Who says so takes once more afterwards, or a slot freed meanwhile is missed.
func (p *Pool) Wait(key int64) { p.first(p.self).Store(key) }

// Others reports whether a slot is free for which another process waits: it is to be
// told.
func (p *Pool) Others() bool {
	if p.m.at(p.pool, wordUsed).Load() >= p.limit() {
		return false
	}
	for i := range p.m.members {
		if i != p.self && p.first(i).Load() != None {
			return true
		}
	}
	return false
}
