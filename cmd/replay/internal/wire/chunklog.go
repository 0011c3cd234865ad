package wire

import (
	"encoding/binary"

	"hydrant/formats"
)

// A chunkLog keeps when the token events of an answer came, as differences in a few bytes
// each: a stream of 500 takes some 2.5 KB while it is open, where lists of its columns
// take 12.
type chunkLog struct {
	log    []byte // for each event: µs since the one before as a varint, then delay + 1 as a varint with the sign folded in, 0: unknown
	n      int32
	timed  bool // some delay is known
	latest int64
}

// add notes n token events at an offset of the run, µs. delay is the user stamp minus the
// kernel's, µs.
func (c *chunkLog) add(n int, us int64, delay formats.Int) {
	code := uint64(0)
	if delay.Valid {
		c.timed = true
		code = fold(delay.V) + 1
	}
	for range n {
		c.log = binary.AppendVarint(c.log, us-c.latest)
		c.log = binary.AppendUvarint(c.log, code)
		c.latest = us
	}
	c.n += int32(n)
}

// lists returns the gaps between the events and the delay of each, nil where none is known.
func (c *chunkLog) lists() (gaps []int64, delays []formats.Int) {
	gaps = make([]int64, 0, c.n)
	if c.timed {
		delays = make([]formats.Int, 0, c.n)
	}
	for b := c.log; len(b) > 0; {
		gap, n := binary.Varint(b)
		b = b[n:]
		code, n := binary.Uvarint(b)
		b = b[n:]
		gaps = append(gaps, gap)
		switch {
		case !c.timed:
		case code == 0:
			delays = append(delays, formats.Int{})
		default:
			delays = append(delays, formats.Some(unfold(code-1)))
		}
	}
	return gaps[1:], delays // the first is no gap but an instant
}

// fold puts the sign of v last, so that small values of either sign give small codes.
func fold(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

func unfold(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
