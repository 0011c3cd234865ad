package fold

import (
	"encoding/binary"
	"math"
	"math/bits"
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
	open   [blockRows]rec // the rows that are not packed yet
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

// Columns of a row: the numbers as they stand in rec, and its flags.
const (
	recInts    = int(unsafe.Offsetof(rec{}.outcome) / 8)
	recColumns = recInts + 1
)

// ints are the numbers of a row as a list.
func (r *rec) ints() *[recInts]int64 { return (*[recInts]int64)(unsafe.Pointer(r)) }

// columnOf is the place of a number in rec.
func columnOf(offset uintptr) int { return int(offset / 8) }

// Columns from firstTime to lastTime are instants in the order in which they come to pass:
// each is kept as the difference to the latest of those before it that is known, starting
// with due.
var (
	firstTime = columnOf(unsafe.Offsetof(rec{}.dispatched))
	lastTime  = columnOf(unsafe.Offsetof(rec{}.end))
)

// nearTo is the column that each other one is kept as the difference to, −1 for none.
var nearTo = func() (to [recInts]int) {
	for i := range to {
		to[i] = -1
	}
	for _, p := range [...][2]uintptr{{unsafe.Offsetof(rec{}.scheduled), unsafe.Offsetof(rec{}.due)}, {unsafe.Offsetof(rec{}.prepared), unsafe.Offsetof(rec{}.due)},
		{unsafe.Offsetof(rec{}.in), unsafe.Offsetof(rec{}.plannedIn)}, {unsafe.Offsetof(rec{}.out), unsafe.Offsetof(rec{}.plannedOut)},
		{unsafe.Offsetof(rec{}.tokens), unsafe.Offsetof(rec{}.out)}, {unsafe.Offsetof(rec{}.reads), unsafe.Offsetof(rec{}.tokens)},
		{unsafe.Offsetof(rec{}.segments), unsafe.Offsetof(rec{}.reads)}, {unsafe.Offsetof(rec{}.after), unsafe.Offsetof(rec{}.id)},
		{unsafe.Offsetof(rec{}.gapMax), unsafe.Offsetof(rec{}.gapP99)}} {
		to[columnOf(p[0])] = columnOf(p[1])
	}
	return to
}()

// flags packs what is no number.
func (r *rec) flags() int64 {
	return int64(r.outcome) | int64(r.source)<<8 | int64(r.reused+1)<<16 | bit(r.local)<<18 | bit(r.early)<<19 | bit(r.spooled)<<20 | bit(r.whole)<<21
}

func (r *rec) setFlags(v int64) {
	r.outcome, r.source, r.reused = uint8(v), uint8(v>>8), int8(v>>16&3)-1
	r.local, r.early, r.spooled, r.whole = v>>18&1 > 0, v>>19&1 > 0, v>>20&1 > 0, v>>21&1 > 0
}

// next returns the row that add will take in. It is valid, and may be changed, until the
// next call.
func (s *store) next() *rec { return &s.open[s.n%blockRows] }

// add takes in the row that next gave. One that was added may still be changed until next.
func (s *store) add() {
	if s.n++; s.n%blockRows == 0 {
		s.blocks = append(s.blocks, s.packer.pack(s.open[:]))
	}
}

// close packs the rows that wait.
func (s *store) close() {
	if k := s.n % blockRows; k > 0 {
		s.blocks = append(s.blocks, s.packer.pack(s.open[:k]))
	}
}

// packer is the scratch memory of pack.
type packer struct {
	latest, delta [blockRows]int64
	data          []byte
}

// pack makes a block of up to blockRows rows.
func (p *packer) pack(rows []rec) *block {
	b := &block{}
	p.data = p.data[:0]
	for i := range rows {
		p.latest[i] = reference(rows[i].due)
	}
	for c := range recInts {
		far := false // a difference that is no number of 64 bits
		switch {
		case c >= firstTime && c <= lastTime:
			for i := range rows {
				v := rows[i].ints()[c]
				if p.delta[i] = v; v != null {
					p.delta[i], p.latest[i] = v-p.latest[i], v
				}
			}
		case nearTo[c] >= 0:
			for i := range rows {
				v := rows[i].ints()[c]
				if p.delta[i] = v; v != null {
					p.delta[i] = v - reference(rows[i].ints()[nearTo[c]])
					far = far || p.delta[i] == null
				}
			}
		default:
			for i := range rows {
				p.delta[i] = rows[i].ints()[c]
			}
		}
		if b.columns[c] = p.encode(len(rows), far); b.columns[c].raw {
			for i := range rows {
				p.delta[i] = rows[i].ints()[c]
			}
			p.verbatim(len(rows))
		}
	}
	for i := range rows {
		p.delta[i] = rows[i].flags()
	}
	b.columns[recInts] = p.encode(len(rows), false)
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

// encode appends the codes of n differences. Those that are too far apart, as some are known
// to be, are left to be written verbatim.
func (p *packer) encode(n int, far bool) packed {
	low, high, nulls := int64(math.MaxInt64), int64(math.MinInt64+1), false
	for _, d := range p.delta[:n] {
		if d == null {
			nulls = true
			continue
		}
		low, high = min(low, d), max(high, d)
	}
	c := packed{at: uint32(len(p.data)), nulls: nulls}
	if low > high && !far { // nothing but nulls
		return c
	}
	reach := uint64(high) - uint64(low)
	if far || reach > 1<<62 {
		c.raw, c.width = true, 8
		return c
	}
	if c.base = low; nulls {
		c.base--
		reach++
	}
	if c.width = uint8(bits.Len64(reach)+7) / 8; c.width == 0 {
		return c
	}
	at := len(p.data)
	p.data = append(p.data, make([]byte, int(c.width)*n+8)...)
	for _, d := range p.delta[:n] {
		code := uint64(0)
		if d != null {
			code = uint64(d) - uint64(c.base)
		}
		binary.LittleEndian.PutUint64(p.data[at:], code)
		at += int(c.width)
	}
	p.data = p.data[:at]
	return c
}

func (p *packer) verbatim(n int) {
	for _, v := range p.delta[:n] {
		p.data = binary.LittleEndian.AppendUint64(p.data, uint64(v))
	}
}

// unpack fills the first so many columns of the rows of block b.
func (c *cursor) unpack(b, columns int) {
	s, out := c.s, &c.rows
	n := min(blockRows, s.n-b*blockRows)
	p := s.blocks[b]
	var latest [blockRows]int64
	for i := range min(columns, recInts) {
		c.column(&p.columns[i], i, p.data, n, &latest)
	}
	if columns < recColumns {
		return
	}
	k := &p.columns[recInts]
	data, mask := p.data[k.at:], uint64(1)<<(8*k.width)-1
	for i := range n {
		out[i].setFlags(k.base + int64(binary.LittleEndian.Uint64(data[int(k.width)*i:])&mask))
	}
	s.derive(b*blockRows, out[:n])
}

// column fills a column of n rows. latest is the latest instant of each that is known.
func (c *cursor) column(k *packed, at int, data []byte, n int, latest *[blockRows]int64) {
	out, timed, to := &c.rows, at >= firstTime && at <= lastTime, nearTo[at]
	if at == firstTime {
		for i := range n {
			latest[i] = reference(out[i].due)
		}
	}
	if k.width == 0 && (k.nulls || !timed && to < 0) { // one value, often that of the block before
		v := k.base
		if k.nulls {
			v = null
		}
		if was := &c.same[at]; !was.all || was.value != v {
			for i := range out {
				out[i].ints()[at] = v
			}
			*was = same{v, true}
		}
		return
	}
	c.same[at] = same{}
	base, step, mask := k.base, int(k.width), uint64(math.MaxUint64)
	if step < 8 {
		mask = 1<<(8*step) - 1
	}
	data = data[k.at:]
	code := func(i int) uint64 { return binary.LittleEndian.Uint64(data[step*i:]) & mask }
	switch {
	case k.raw:
		for i := range n {
			v := int64(code(i))
			if out[i].ints()[at] = v; timed && v != null {
				latest[i] = v
			}
		}
	case timed && !k.nulls:
		for i := range n {
			latest[i] += base + int64(code(i))
			out[i].ints()[at] = latest[i]
		}
	case timed:
		for i := range n {
			v := code(i)
			if v == 0 {
				out[i].ints()[at] = null
				continue
			}
			latest[i] += base + int64(v)
			out[i].ints()[at] = latest[i]
		}
	case to < 0 && !k.nulls:
		for i := range n {
			out[i].ints()[at] = base + int64(code(i))
		}
	default:
		for i := range n {
			x := code(i)
			v := base + int64(x)
			switch {
			case x == 0 && k.nulls:
				v = null
			case to >= 0:
				v += reference(out[i].ints()[to])
			}
			out[i].ints()[at] = v
		}
	}
}

// derive sets what follows from the window in rows from number first on.
func (s *store) derive(first int, rows []rec) {
	for i := range rows {
		r := &rows[i]
		u := r.u()
		r.inWindow = u != null && u >= s.from && u < s.to
		if s.arrived != nil {
			r.arrived = s.arrived[first+i]
		}
	}
}

// read returns row i.
func (s *store) read(i int32) (r rec) {
	p := s.blocks[i/blockRows]
	j := int(i % blockRows)
	latest := int64(0)
	for c := range p.columns {
		k := &p.columns[c]
		code := binary.LittleEndian.Uint64(p.data[int(k.at)+int(k.width)*j:])
		if k.width < 8 {
			code &= 1<<(8*k.width) - 1
		}
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

// cursor walks over rows, mostly in their order.
type cursor struct {
	s    *store
	at   int // block that is unpacked, −1 for none
	rows [blockRows]rec
	same [recInts]same
}

// same says that all rows of a cursor have one value in a column.
type same struct {
	value int64
	all   bool
}

func (s *store) cursor() *cursor { return &cursor{s: s, at: -1} }

// row returns row i, valid until the next call; its numbers must not be changed.
func (c *cursor) row(i int) *rec {
	if b := i / blockRows; b != c.at {
		c.unpack(b, recColumns)
		c.at = b
	}
	return &c.rows[i%blockRows]
}

// lead returns row i with the columns that its place depends on, valid until the next call.
// A cursor that has given one gives no whole rows.
func (c *cursor) lead(i int) *rec {
	if b := i / blockRows; b != c.at {
		c.unpack(b, leadColumns)
		c.at = b
	}
	return &c.rows[i%blockRows]
}

// leadColumns is the number of columns up to scheduled.
var leadColumns = columnOf(unsafe.Offsetof(rec{}.scheduled)) + 1
