package traces

import (
	"fmt"
	"hash/maphash"
	"io"
	"strconv"

	"hydrant/formats/schedule"
	"hydrant/internal/spill"
)

// store holds the requests of a trace until it has been read to its end, in a sorter.
// Requests go in with an ordinal as ID, unique and, within a session, ascending, and
// with the ordinals of what they wait for in After; they come out with the ids of the
// schedule. Memory is that of the sorter, a hundred bytes for each named session, and
// some 40 bytes for each request that came out of a session that is still open, unless
// its reader knew how many wait for it and all of them came out.
type store struct {
	rows     *spill.Sorter
	sessions map[string]*stored // named ones
	in       *intake
	buf      []byte
	packed   packer
}

// stored is a named session.
type stored struct {
	left int64             // requests that have not come out
	ids  map[int64]awaited // by ordinal, those that have
}

// awaited is a request that others wait for.
type awaited struct {
	id   int64
	left uint8 // of those others that have not come out; unknown if not counted
}

// unknown stands for a number of others that is not known, or large.
const unknown = 255

func newStore(in *intake) *store {
	return &store{rows: spill.NewSorter(), sessions: map[string]*stored{}, in: in}
}

// Kinds of record.
const (
	ofSession = byte('s')
	awaitedBy = byte('c') // of a session, followed by the number of those that wait for it
	single    = byte('1')
)

// add stores a request of a named session under its sort key, ns. On equal keys the
// order of add is kept. All requests that After names must come out before this one.
func (s *store) add(key int64, r *schedule.Request) error {
	s.member(r)
	s.buf = s.packed.append(append(s.buf[:0], ofSession), r)
	return s.rows.Add(key, s.buf)
}

// counted stores a request as add does, and says how many requests wait for it.
func (s *store) counted(key int64, r *schedule.Request, waiters int) error {
	s.member(r)
	s.buf = s.packed.append(append(s.buf[:0], awaitedBy, byte(min(waiters, unknown))), r)
	return s.rows.Add(key, s.buf)
}

// member counts a request of a session.
func (s *store) member(r *schedule.Request) {
	t := s.sessions[r.Session]
	if t == nil {
		t = &stored{}
		s.sessions[r.Session] = t
	}
	t.left++
}

// single stores the request of a row that has no session: it gets one of its own, named
// after its number.
func (s *store) single(key, row int64, r *schedule.Request) error {
	r.ID, r.Session, r.Stream, r.Turn = row, "", "0", 0
	s.buf = s.packed.append(append(s.buf[:0], single), r)
	return s.rows.Add(key, s.buf)
}

// close gives back memory and the temporary file.
func (s *store) close() error { return s.rows.Close() }

// decode returns a stored request, valid until the next call.
func (s *store) decode(b []byte) (*schedule.Request, error) {
	head := 1
	if b[0] == awaitedBy {
		head = 2
	}
	r, err := s.packed.decode(b[head:])
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	if b[0] == single {
		r.Session = "r" + strconv.FormatInt(r.ID, 10)
	}
	return r, nil
}

// unsorted returns a function that yields the requests as they were stored, for an
// error that has to name one of them. No add may follow.
func (s *store) unsorted() (func() (*schedule.Request, error), error) {
	get, err := s.rows.Sorted()
	return func() (*schedule.Request, error) {
		b, err := get()
		if err != nil {
			return nil, err
		}
		return s.decode(b)
	}, err
}

// requests returns a function that yields the requests in order, each valid until the
// next call, io.EOF at the end. No add may follow.
func (s *store) requests() (func() (*schedule.Request, error), error) {
	get, err := s.rows.Sorted()
	if err != nil {
		return nil, err
	}
	id := int64(-1)
	same := newTies(s.in)
	return func() (*schedule.Request, error) {
		b, err := get()
		if err != nil {
			return nil, err
		}
		r, err := s.decode(b)
		if err != nil {
			return nil, err
		}
		if r.AtNS.Valid {
			same.note(r.AtNS.V, s.packed.body(b), b[0] == single)
		}
		id++
		if b[0] == single {
			for s.sessions[r.Session] != nil { // a session of that name
				r.Session += "_"
			}
			r.ID, r.Last = id, true
			return r, nil
		}
		waiters := uint8(unknown)
		if b[0] == awaitedBy {
			waiters = b[1]
		}
		return r, s.number(r, id, waiters)
	}, nil
}

// number turns the ordinals of a request into ids. waiters is how many wait for it.
func (s *store) number(r *schedule.Request, id int64, waiters uint8) error {
	t := s.sessions[r.Session]
	if t == nil || t.left == 0 {
		return fmt.Errorf("temporary file: %w", io.ErrUnexpectedEOF)
	}
	for i, ordinal := range r.After {
		before, ok := t.ids[ordinal]
		if !ok {
			return fmt.Errorf("session %q: request %d waits for %d, which comes later", r.Session, r.ID, ordinal)
		}
		r.After[i] = before.id
		switch before.left {
		case unknown:
		case 1:
			delete(t.ids, ordinal)
		default:
			before.left--
			t.ids[ordinal] = before
		}
	}
	ordinal := r.ID
	r.ID = id
	if t.left--; t.left == 0 {
		r.Last, t.ids = true, nil
		return nil
	}
	if waiters == 0 {
		return nil
	}
	if t.ids == nil {
		t.ids = map[int64]awaited{}
	}
	t.ids[ordinal] = awaited{id, waiters}
	return nil
}

// ties counts rows at the instant of the row before, and rows without a session that
// are equal in everything. Like all counts of a reader they are of the whole trace: a
// window takes its part afterwards.
type ties struct {
	in   *intake
	at   int64
	same map[uint64]bool // hashes of the rows at the latest instant
	seed maphash.Seed
}

func newTies(in *intake) *ties {
	return &ties{in: in, at: -1, same: map[uint64]bool{}, seed: maphash.MakeSeed()}
}

// note notes a row at an instant; what it holds besides its number counts when it is
// alone in its session.
func (t *ties) note(at int64, holds []byte, alone bool) {
	if at != t.at {
		t.at = at
		clear(t.same)
	} else {
		t.in.counts["ties_kept"]++
	}
	if !alone {
		return
	}
	switch sum := maphash.Bytes(t.seed, holds); {
	case t.same[sum]:
		t.in.counts["identical_kept"]++
	case len(t.same) < maxSame:
		t.same[sum] = true
	}
}

// maxSame is how many different rows at one instant are remembered: in a trace whose
// times are all 0 that would be every row.
const maxSame = 1 << 14
