package fold

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"unsafe"
)

// blockRows is the number of rows that are packed together.
const blockRows = 256

// store keeps rows column by column in blocks. A value is kept as the difference to another
// one of its row, in as many bytes as the block needs for it: a row of 376 bytes takes some
// 80. One goroutine adds rows; then any number may read.
type store struct {
	n      int
	blocks []*block
	open   *frame // with the rows that are not packed yet
	packer packer

	from, to int64   // the window; none: from = to
	arrived  []int64 // tokens that arrived in the window, by row
}

// block is packed rows.
type block struct {
	columns [recColumns]packed
	data    []byte
}

// packed is a column of a block. Codes are of width bytes; code 0 is null where nulls is
// set, and any other c the difference base + c.
type packed struct {
	base  int64
	at    uint32 // of its codes in the data
	width uint8
	nulls bool
	raw   bool // codes are the values themselves
}

// ints are the numbers of a row as a list.
func (r *rec) ints() *[recInts]int64 { return (*[recInts]int64)(unsafe.Pointer(r)) }

// Columns from firstTime to lastTime are instants in the order in which they come to pass:
// each is kept as the difference to the latest of those before it that is known, starting
// with due.
const (
	firstTime = cDispatched
	lastTime  = cEnd
)

// nearTo is the column that each other one is kept as the difference to, −1 for none.
var nearTo = func() (to [recColumns]int) {
	for i := range to {
		to[i] = -1
	}
	for _, p := range [...][2]int{{cScheduled, cDue}, {cPrepared, cDue}, {cIn, cPlannedIn}, {cOut, cPlannedOut}, {cTokens, cOut}, {cReads, cTokens},
		{cSegments, cReads}, {cAfter, cID}, {cGapMax, cGapP99}} {
		to[p[0]] = p[1]
	}
	return to
}()

// flagSpooled is the flag of a row with chunk lists.
const flagSpooled = 1 << 20

// flags packs what is no number.
func (r *rec) flags() int64 {
	return int64(r.outcome) | int64(r.source)<<8 | int64(r.reused+1)<<16 | bit(r.local)<<18 | bit(r.early)<<19 | bit(r.spooled)*flagSpooled | bit(r.whole)<<21
}

// outcomeIn and sourceIn are the outcome and the token source in flags, reusedIn and localIn
// whether the connection was used before, −1 when that is not known, and whether the cause of a
// failure was local.
func outcomeIn(flags int64) uint8 { return uint8(flags) }
func sourceIn(flags int64) uint8  { return uint8(flags >> 8) }
func reusedIn(flags int64) int8   { return int8(flags>>16&3) - 1 }
func localIn(flags int64) bool    { return flags>>18&1 > 0 }

func (r *rec) setFlags(v int64) {
	r.outcome, r.source, r.reused = uint8(v), uint8(v>>8), int8(v>>16&3)-1
	r.local, r.early, r.spooled, r.whole = v>>18&1 > 0, v>>19&1 > 0, v>>20&1 > 0, v>>21&1 > 0
}

// put adds a row.
func (s *store) put(r *rec) {
	x, i := s.room()
	x.put(i, r)
	s.added(1)
}

// room returns the frame that takes the next rows and the place of the first of them.
func (s *store) room() (x *frame, at int) {
	if s.open == nil {
		s.open = &frame{}
	}
	return s.open, s.n % blockRows
}

// added says that so many rows stand in the room, which has to hold them.
func (s *store) added(n int) {
	if s.n += n; s.n%blockRows == 0 {
		s.pack(s.open, blockRows)
	}
}

// close packs the rows that wait.
func (s *store) close() {
	if k := s.n % blockRows; k > 0 {
		s.pack(s.open, k)
	}
	s.open = nil
}

// pack adds a block of the first rows of a frame.
func (s *store) pack(x *frame, n int) {
	var columns [recColumns][]int64
	for c := range columns {
		columns[c] = x.v[c][:n]
	}
	s.blocks = append(s.blocks, s.packer.pack(&columns, &x.same))
}

// packer is the scratch memory of pack.
type packer struct {
	latest, delta, codes column
	data                 []byte
}

// pack makes a block of up to blockRows rows. Some of their columns are known to have one value.
func (p *packer) pack(columns *[recColumns][]int64, known *[recColumns]same) *block {
	b := &block{}
	p.data = p.data[:0]
	for i, v := range columns[cDue] {
		p.latest[i] = reference(v)
	}
	for c := range recColumns {
		timed := c >= firstTime && c <= lastTime
		if s := known[c]; s.all && (s.value == null || !timed && nearTo[c] < 0) {
			b.columns[c] = packed{at: uint32(len(p.data)), nulls: s.value == null}
			if s.value != null {
				b.columns[c].base = s.value
			}
			continue
		}
		v := columns[c]
		delta := p.delta[:len(v)]
		var d difference
		switch full := known[c].full; {
		case timed && full:
			d = between(v, p.latest[:len(v)], delta)
			copy(p.latest[:], v)
		case timed:
			d = toLatest(v, p.latest[:len(v)], delta)
		case nearTo[c] >= 0 && full && known[nearTo[c]].full:
			d = between(v, columns[nearTo[c]], delta)
		case nearTo[c] >= 0:
			d = toNear(v, columns[nearTo[c]], delta)
		default:
			d = extremes(v)
			delta = v
		}
		b.columns[c] = p.encode(v, delta, d)
	}
	b.data = append(make([]byte, 0, len(p.data)+8), p.data...) // a code is read with what follows it
	b.data = b.data[:len(p.data)+8]
	return b
}

// reference is what a difference is taken to: 0 in place of null.
func reference(v int64) int64 {
	if v == null {
		return 0
	}
	return v
}

// difference is what there is to know of the differences of a column.
type difference struct {
	low, high int64 // of those that are not null
	nulls     bool
	far       bool // one is no number of 64 bits
}

// between takes the differences of two columns without nulls.
func between(v, of, delta []int64) difference {
	low, high := int64(math.MaxInt64), int64(math.MinInt64)
	of, delta = of[:len(v)], delta[:len(v)]
	for i, t := range v {
		x := t - of[i]
		delta[i] = x
		low, high = min(low, x), max(high, x)
	}
	return difference{low: low, high: high, far: low == null}
}

// toLatest takes the difference of each instant to the latest one, which it then is.
func toLatest(v, latest, delta []int64) difference {
	low, high, nulls := int64(math.MaxInt64), int64(math.MinInt64+1), false
	latest, delta = latest[:len(v)], delta[:len(v)]
	for i, t := range v {
		if t == null {
			delta[i], nulls = null, true
			continue
		}
		x := t - latest[i]
		delta[i], latest[i] = x, t
		low, high = min(low, x), max(high, x)
	}
	return difference{low, high, nulls, low == null}
}

// toNear takes the difference to another column.
func toNear(v, of, delta []int64) difference {
	low, high, nulls := int64(math.MaxInt64), int64(math.MinInt64+1), false
	of, delta = of[:len(v)], delta[:len(v)]
	for i, t := range v {
		if t == null {
			delta[i], nulls = null, true
			continue
		}
		x := t - reference(of[i])
		delta[i] = x
		low, high = min(low, x), max(high, x)
	}
	return difference{low, high, nulls, low == null}
}

// extremes takes a column as it is.
func extremes(v []int64) difference {
	low, high, nulls := int64(math.MaxInt64), int64(math.MinInt64+1), false
	for _, x := range v {
		if x == null {
			nulls = true
			continue
		}
		low, high = min(low, x), max(high, x)
	}
	return difference{low: low, high: high, nulls: nulls}
}

// encode appends the codes of the differences of values, or the values where those are too far
// apart.
func (p *packer) encode(values, delta []int64, d difference) packed {
	c := packed{at: uint32(len(p.data)), nulls: d.nulls}
	if d.low > d.high { // nothing but nulls
		return c
	}
	reach := uint64(d.high) - uint64(d.low)
	if d.far || reach > 1<<62 {
		c.raw, c.width = true, 8
		for _, v := range values {
			p.data = binary.LittleEndian.AppendUint64(p.data, uint64(v))
		}
		return c
	}
	if c.base = d.low; d.nulls {
		c.base--
		reach++
	}
	if c.width = uint8(bits.Len64(reach)+7) / 8; c.width == 0 {
		return c
	}
	at, n, width := len(p.data), len(values), int(c.width)
	p.data = slices.Grow(p.data, width*n+8)[:at+width*n+8]
	out, base := p.data[at:], c.base
	if d.nulls {
		codes := p.codes[:n]
		for i, x := range delta[:n] {
			if codes[i] = base; x != null {
				codes[i] = x
			}
		}
		delta = codes
	}
	switch width {
	case 1:
		for i, x := range delta {
			out[i] = byte(x - base)
		}
	case 2:
		for i, x := range delta {
			binary.LittleEndian.PutUint16(out[2*i:], uint16(x-base))
		}
	case 4:
		for i, x := range delta {
			binary.LittleEndian.PutUint32(out[4*i:], uint32(x-base))
		}
	default:
		for i, x := range delta {
			binary.LittleEndian.PutUint64(out[width*i:], uint64(x-base))
		}
	}
	p.data = p.data[:at+width*n]
	return c
}

// read returns row i.
func (s *store) read(i int32) (r rec) {
	p := s.blocks[i/blockRows]
	j := int(i % blockRows)
	latest := int64(0)
	for c := range p.columns {
		k := &p.columns[c]
		code := binary.LittleEndian.Uint64(p.data[int(k.at)+int(k.width)*j:]) & masks[k.width]
		v := k.base + int64(code)
		isNull := k.nulls && code == 0
		if c == recInts {
			r.setFlags(v)
			break
		}
		timed := c >= firstTime && c <= lastTime
		if c == firstTime {
			latest = reference(r.due)
		}
		switch {
		case k.raw:
			v = int64(code)
		case isNull:
			v = null
		case timed:
			v += latest
		case nearTo[c] >= 0:
			v += reference(r.ints()[nearTo[c]])
		}
		if r.ints()[c] = v; timed && v != null {
			latest = v
		}
	}
	u := r.u()
	r.inWindow = u != null && u >= s.from && u < s.to
	if s.arrived != nil {
		r.arrived = s.arrived[i]
	}
	return r
}
