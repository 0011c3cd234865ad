package plan

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"
	"io"
	"sort"
	"strconv"

	"hydrant/formats/schedule"
	"hydrant/internal/spill"
)

// Part is one of several sources that become one schedule. It yields requests as a
// single source does.
type Part func() (*schedule.Request, error)

// merge joins parts by time, each by its own zero; at one instant the order is that of
// the parts. A session that has the name of one in an earlier part gets the suffix @2,
// @3 and so on, the number of its part, or a higher one where names end so already.
// shared tells that block ids of one scope mean the same text in all parts; otherwise
// scopes are told apart like sessions.
//
// Each part is read to its end before the first request comes out. The names of sessions
// are compared on disk: in memory are a bit for each session, and all scopes.
func (p *Pipeline) merge(parts []Part, shared bool) step {
	return deferred(func() (step, error) {
		m := &merger{p: p, parts: parts, shared: shared, scopes: map[string]int{}, names: spill.NewSorter()}
		defer m.names.Close()
		all, err := p.spool(m.next, m.look)
		if err != nil {
			return nil, err
		}
		if err := m.compare(); err != nil {
			return nil, err
		}
		again, err := all.read()
		if err != nil {
			return nil, err
		}
		m.part, m.sessions = 0, roster{}
		return p.moved(again, m.rename), nil
	})
}

// merger is a merge while it is made. It goes over all lines twice, part by part.
type merger struct {
	p      *Pipeline
	parts  []Part
	shared bool

	part     int     // of the line in hand
	starts   []int64 // first id of each part
	n        int64   // lines so far
	sessions roster  // of the part, numbered over all parts
	names    *spill.Sorter
	scopes   map[string]int // scope → the first part that has it
	used     int64          // greatest number in a suffix
	renamed  marks          // sessions
}

// next yields the lines of all parts, one part after the other, with ids that count on.
func (m *merger) next() (*schedule.Request, error) {
	if len(m.starts) == 0 {
		m.starts = append(m.starts, 0)
	}
	for {
		r, err := m.parts[m.part]()
		switch {
		case err == io.EOF && m.part+1 < len(m.parts):
			m.enter(m.part + 1)
			m.starts = append(m.starts, m.n)
			continue
		case err != nil:
			return nil, err
		}
		m.n++
		start := m.starts[m.part]
		r.ID += start
		for i := range r.After {
			r.After[i] += start
		}
		return r, nil
	}
}

// enter goes on to a part: sessions that are open in the one before are not its own.
func (m *merger) enter(part int) {
	m.part = part
	m.sessions = roster{n: m.sessions.n}
}

// look notes the names of a line.
func (m *merger) look(r *schedule.Request) error {
	if b := r.Blocks; b != nil && !m.shared {
		if _, known := m.scopes[b.Scope]; !known {
			m.scopes[b.Scope] = m.part
		}
		m.used = max(m.used, suffixOf(b.Scope, '@'))
	}
	number, first := m.sessions.of(r)
	if !first {
		return nil
	}
	m.used = max(m.used, suffixOf(r.Session, '@'))
	h := fnv.New64a()
	h.Write([]byte(r.Session))
	var rec [24]byte
	binary.LittleEndian.PutUint64(rec[:], h.Sum64())
	binary.LittleEndian.PutUint64(rec[8:], uint64(number))
	binary.LittleEndian.PutUint64(rec[16:], uint64(m.part))
	return m.names.Add(int64(h.Sum64()), rec[:])
}

// compare finds the sessions that have the name of one in an earlier part. Names come by
// their hash; two names of one hash are taken for the same, which costs a suffix that
// was not needed.
func (m *merger) compare() error {
	next, err := m.names.Sorted()
	if err != nil {
		return err
	}
	owner, latest := uint64(0), []byte(nil)
	for {
		rec, err := next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		part := binary.LittleEndian.Uint64(rec[16:])
		if !bytes.Equal(rec[:8], latest) {
			owner, latest = part, append(latest[:0], rec[:8]...)
		}
		if part != owner {
			m.renamed.add(int64(binary.LittleEndian.Uint64(rec[8:])))
		}
	}
}

// rename gives a line the names that it goes by.
func (m *merger) rename(r *schedule.Request) error {
	if part := sort.Search(len(m.starts), func(i int) bool { return m.starts[i] > r.ID }) - 1; part != m.part {
		m.enter(part)
	}
	suffix := "@" + strconv.FormatInt(max(m.used, 1)+int64(m.part), 10)
	if number, first := m.sessions.of(r); m.renamed.has(number) {
		if first {
			m.p.counts["merge_renamed"]++
		}
		r.Session += suffix
	}
	if b := r.Blocks; b != nil && !m.shared && m.scopes[b.Scope] < m.part {
		b.Scope += suffix
	}
	return nil
}
