package traces

import (
	"fmt"
	"io"

	"hydrant/formats/schedule"
	"hydrant/internal/spill"
)

// tieOrder puts requests of one instant in the order of a rank, whatever their number,
// and leaves all else as it is.
type tieOrder struct {
	get       func() (*schedule.Request, error)
	rank      func(*schedule.Request) int64
	ahead     []byte // the next request, which was read; empty: none was
	at        int64  // its time
	aheadRank int64  // its rank
	end       bool   // there is none after it
	rows      *spill.Sorter
	drain     func() ([]byte, error)
	parser    schedule.Parser
	buf       []byte // the request in hand
}

func newTieOrder(get func() (*schedule.Request, error), rank func(*schedule.Request) int64) *tieOrder {
	return &tieOrder{get: get, rank: rank}
}

// read reads one request ahead. At the end there is none.
func (t *tieOrder) read() error {
	r, err := t.get()
	if err != nil {
		t.ahead, t.end = t.ahead[:0], err == io.EOF
		if t.end {
			return nil
		}
		return err
	}
	t.at, t.aheadRank = r.AtNS.V, t.rank(r)
	t.ahead = schedule.AppendRequest(t.ahead[:0], r)
	return nil
}

// next returns the next request, valid until the next call.
func (t *tieOrder) next() (*schedule.Request, error) {
	if t.drain != nil {
		b, err := t.drain()
		if err == nil {
			return t.parse(b)
		}
		if err == io.EOF {
			err = t.close()
		}
		if err != nil {
			return nil, err
		}
	} else if len(t.ahead) == 0 && !t.end {
		if err := t.read(); err != nil {
			return nil, err
		}
	}
	if len(t.ahead) == 0 {
		return nil, io.EOF
	}
	at, rank := t.at, t.aheadRank
	t.buf, t.ahead = t.ahead, t.buf
	if err := t.read(); err != nil {
		return nil, err
	}
	if len(t.ahead) == 0 || t.at != at {
		return t.parse(t.buf)
	}
	t.rows = spill.NewSorter()
	err := t.rows.Add(rank, t.buf)
	for err == nil && len(t.ahead) > 0 && t.at == at {
		if err = t.rows.Add(t.aheadRank, t.ahead); err == nil {
			err = t.read()
		}
	}
	if err == nil {
		t.drain, err = t.rows.Sorted()
	}
	if err != nil {
		return nil, err
	}
	return t.next()
}

func (t *tieOrder) parse(b []byte) (*schedule.Request, error) {
	r, err := t.parser.Parse(b)
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	return r, nil
}

// close gives back what the requests of the instant take.
func (t *tieOrder) close() error {
	if t.rows == nil {
		return nil
	}
	s := t.rows
	t.rows, t.drain = nil, nil
	return s.Close()
}
