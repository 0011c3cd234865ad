package fold

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// column is a number of each row of a frame.
type column = [blockRows]int64

// Columns of a frame: the numbers of a row where they stand in rec, its flags, and what
// follows from them.
const (
	recInts    = int(unsafe.Offsetof(rec{}.outcome) / 8)
	recColumns = recInts + 1

	cID              = int(unsafe.Offsetof(rec{}.id) / 8)
	cPart            = int(unsafe.Offsetof(rec{}.part) / 8)
	cDue             = int(unsafe.Offsetof(rec{}.due) / 8)
	cScheduled       = int(unsafe.Offsetof(rec{}.scheduled) / 8)
	cPrepared        = int(unsafe.Offsetof(rec{}.prepared) / 8)
	cDispatched      = int(unsafe.Offsetof(rec{}.dispatched) / 8)
	cAsked           = int(unsafe.Offsetof(rec{}.asked) / 8)
	cDNS             = int(unsafe.Offsetof(rec{}.dns) / 8)
	cConnect         = int(unsafe.Offsetof(rec{}.connect) / 8)
	cTLS             = int(unsafe.Offsetof(rec{}.tls) / 8)
	cReady           = int(unsafe.Offsetof(rec{}.ready) / 8)
	cWrote           = int(unsafe.Offsetof(rec{}.wrote) / 8)
	cFirstByteKernel = int(unsafe.Offsetof(rec{}.firstByteKernel) / 8)
	cFirstByte       = int(unsafe.Offsetof(rec{}.firstByte) / 8)
	cFirstKernel     = int(unsafe.Offsetof(rec{}.firstKernel) / 8)
	cFirst           = int(unsafe.Offsetof(rec{}.first) / 8)
	cAnswerKernel    = int(unsafe.Offsetof(rec{}.answerKernel) / 8)
	cAnswer          = int(unsafe.Offsetof(rec{}.answer) / 8)
	cLastKernel      = int(unsafe.Offsetof(rec{}.lastKernel) / 8)
	cLast            = int(unsafe.Offsetof(rec{}.last) / 8)
	cEnd             = int(unsafe.Offsetof(rec{}.end) / 8)
	cTurn            = int(unsafe.Offsetof(rec{}.turn) / 8)
	cPlannedIn       = int(unsafe.Offsetof(rec{}.plannedIn) / 8)
	cPlannedOut      = int(unsafe.Offsetof(rec{}.plannedOut) / 8)
	cExpected        = int(unsafe.Offsetof(rec{}.expected) / 8)
	cCapWait         = int(unsafe.Offsetof(rec{}.capWait) / 8)
	cIn              = int(unsafe.Offsetof(rec{}.in) / 8)
	cOut             = int(unsafe.Offsetof(rec{}.out) / 8)
	cReasoning       = int(unsafe.Offsetof(rec{}.reasoning) / 8)
	cCached          = int(unsafe.Offsetof(rec{}.cached) / 8)
	cFirstChunk      = int(unsafe.Offsetof(rec{}.firstChunk) / 8)
	cTokens          = int(unsafe.Offsetof(rec{}.tokens) / 8)
	cGapSum          = int(unsafe.Offsetof(rec{}.gapSum) / 8)
	cGapP99          = int(unsafe.Offsetof(rec{}.gapP99) / 8)
	cGapMax          = int(unsafe.Offsetof(rec{}.gapMax) / 8)
	cGapN            = int(unsafe.Offsetof(rec{}.gapN) / 8)
	cSent            = int(unsafe.Offsetof(rec{}.sent) / 8)
	cReads           = int(unsafe.Offsetof(rec{}.reads) / 8)
	cMulti           = int(unsafe.Offsetof(rec{}.multi) / 8)
	cSegments        = int(unsafe.Offsetof(rec{}.segments) / 8)
	cRetransmits     = int(unsafe.Offsetof(rec{}.retransmits) / 8)
	cAfter           = int(unsafe.Offsetof(rec{}.after) / 8)
	cAfterN          = int(unsafe.Offsetof(rec{}.afterN) / 8)
	cFluidity        = int(unsafe.Offsetof(rec{}.fluidity) / 8)
	cWorker          = int(unsafe.Offsetof(rec{}.worker) / 8)
	cSession         = int(unsafe.Offsetof(rec{}.session) / 8)
	cClass           = int(unsafe.Offsetof(rec{}.class) / 8)
	cModel           = int(unsafe.Offsetof(rec{}.model) / 8)
	cAddr            = int(unsafe.Offsetof(rec{}.addr) / 8)
	cFlags           = recInts
)

// frame is up to blockRows rows of a store, column by column. A column is unpacked when it is
// first asked for, so that a pass pays for those that it looks at.
type frame struct {
	s     *store
	n     int
	first int    // number of the first row of a block
	block *block // nil: rows that were picked
	picks

	have   [allColumns]bool
	same   [recColumns]same
	steady bool   // some column may have one value; of rows to be packed
	chain  int    // the next of the instants that are kept as differences
	latest column // the latest instant before it of each row
	v      [allColumns]column
	mark   [blockRows]uint8
	wholes bool // some answer was not streamed
}

// same says that all rows have one value in a column, or that none is null.
type same struct {
	value int64
	all   bool
	full  bool
}

// picks are rows of a store in an order of their own, by the blocks that they lie in. Those of
// one block are looked at together.
type picks struct {
	picks []pick
	runs  []pickRun
	ends  []int32 // scratch
}

// pick is a row that is wanted at a place.
type pick struct{ row, at int32 }

// pickRun is picked rows of one block.
type pickRun struct {
	block    *block
	from, to int
}

// choose picks rows.
func (x *picks) choose(s *store, rows []int32) {
	x.runs = x.runs[:0]
	x.picks = slices.Grow(x.picks[:0], len(rows))[:len(rows)]
	first, last := slices.Min(rows)/blockRows, slices.Max(rows)/blockRows
	x.ends = slices.Grow(x.ends[:0], int(last-first)+1)[:last-first+1]
	clear(x.ends)
	for _, r := range rows {
		x.ends[r/blockRows-first]++
	}
	from := int32(0)
	for b, n := range x.ends {
		if x.ends[b] = from; n > 0 {
			x.runs = append(x.runs, pickRun{s.blocks[int(first)+b], int(from), int(from + n)})
			from += n
		}
	}
	for i, r := range rows {
		end := &x.ends[r/blockRows-first]
		x.picks[*end] = pick{r, int32(i)}
		*end++
	}
}

// show makes a frame the rows of a block.
func (x *frame) show(s *store, b int) {
	x.s, x.first, x.block = s, b*blockRows, s.blocks[b]
	x.n = min(blockRows, s.n-x.first)
	x.have, x.chain = [allColumns]bool{}, firstTime
}

// pick makes a frame up to blockRows rows, in any order.
func (x *frame) pick(s *store, rows []int32) {
	x.s, x.n, x.first, x.block = s, len(rows), 0, nil
	x.have, x.chain = [allColumns]bool{}, firstTime
	x.choose(s, rows)
}

// col returns a column as it stands in rec.
func (x *frame) col(c int) *column {
	if !x.have[c] {
		x.unpack(c)
	}
	return &x.v[c]
}

// unpack fills a column, and first those that it is kept as the difference to.
func (x *frame) unpack(c int) {
	if c < firstTime || c > lastTime {
		var to *column
		if nearTo[c] >= 0 {
			to = x.col(nearTo[c])
		}
		x.fill(c, to, false)
		return
	}
	if x.chain == firstTime {
		for i, v := range x.col(cDue)[:x.n] {
			x.latest[i] = reference(v)
		}
	}
	for ; x.chain <= c; x.chain++ {
		x.fill(x.chain, &x.latest, true)
	}
}

// fill unpacks a column that is kept as the difference to another one, or to the latest
// instant, which it then sets.
func (x *frame) fill(c int, to *column, timed bool) {
	x.have[c] = true
	out := &x.v[c]
	if k, ok := x.one(c, to); ok { // often that of the block before
		v := k.base
		if k.nulls {
			v = null
		}
		if was := &x.same[c]; !was.all || was.value != v {
			for i := range out {
				out[i] = v
			}
			*was = same{value: v, all: true}
		}
		return
	}
	x.same[c] = same{}
	var near []int64
	if to != nil {
		near = to[:x.n]
	}
	if x.block == nil {
		x.picks.fill(c, out[:], near, timed)
		return
	}
	k := &x.block.columns[c]
	data, v := x.block.data[k.at:], out[:x.n]
	if k.raw {
		decode(v, data, 8, 0)
		if timed {
			for i, t := range v {
				if t != null {
					near[i] = t
				}
			}
		}
		return
	}
	decode(v, data, int(k.width), k.base)
	if near != nil {
		near = near[:len(v)]
	}
	switch {
	case timed && !k.nulls:
		for i := range v {
			v[i] += near[i]
			near[i] = v[i]
		}
	case timed:
		for i, d := range v {
			if d == k.base { // code 0
				v[i] = null
				continue
			}
			d += near[i]
			v[i], near[i] = d, d
		}
	case near != nil:
		for i, d := range v {
			if d == k.base && k.nulls {
				v[i] = null
				continue
			}
			v[i] = d + reference(near[i])
		}
	case k.nulls:
		for i, d := range v {
			if d == k.base {
				v[i] = null
			}
		}
	}
}

// decode reads codes of so many bytes, and adds base to each.
func decode(out []int64, data []byte, width int, base int64) {
	switch width {
	case 1:
		for i, code := range data[:len(out)] {
			out[i] = base + int64(code)
		}
	case 2:
		for i := range out {
			out[i] = base + int64(binary.LittleEndian.Uint16(data[2*i:]))
		}
	case 3:
		for i := range out {
			out[i] = base + int64(binary.LittleEndian.Uint32(data[3*i:])&0xffffff)
		}
	case 4:
		for i := range out {
			out[i] = base + int64(binary.LittleEndian.Uint32(data[4*i:]))
		}
	default:
		mask := masks[width]
		for i := range out {
			out[i] = base + int64(binary.LittleEndian.Uint64(data)&mask)
			data = data[width:]
		}
	}
}

// one returns a column that has the same value in all rows, and whether it is such a one.
func (x *frame) one(c int, to *column) (*packed, bool) {
	if x.block != nil {
		k := &x.block.columns[c]
		return k, k.width == 0 && (k.nulls || to == nil)
	}
	return x.picks.one(c, to != nil)
}

// one returns a column that has the same value in all picked rows, and whether it is such a
// one. It may be kept as differences.
func (x *picks) one(c int, near bool) (*packed, bool) {
	k := &x.runs[0].block.columns[c]
	if k.width > 0 || !k.nulls && near {
		return k, false
	}
	for _, run := range x.runs[1:] {
		if o := &run.block.columns[c]; o.width > 0 || o.nulls != k.nulls || !k.nulls && o.base != k.base {
			return k, false
		}
	}
	return k, true
}

// full says that no picked row is null in a column.
func (x *picks) full(c int) bool {
	for _, run := range x.runs {
		if run.block.columns[c].nulls {
			return false
		}
	}
	return true
}

// fill unpacks a column of the picked rows.
func (x *picks) fill(c int, out, to []int64, timed bool) {
	for _, run := range x.runs {
		fillRun(&run.block.columns[c], run.block.data, x.picks[run.from:run.to], out, to, timed)
	}
}

// fillRun fills the picked rows of one block.
func fillRun(k *packed, data []byte, picks []pick, out, to []int64, timed bool) {
	base, step, mask, nulls := k.base, int(k.width), masks[k.width], k.nulls
	data = data[k.at:]
	switch {
	case nulls && step == 0:
		for _, p := range picks {
			out[p.at] = null
		}
	case k.raw:
		for _, p := range picks {
			v := int64(binary.LittleEndian.Uint64(data[8*int(p.row%blockRows):]))
			if out[p.at] = v; timed && v != null {
				to[p.at] = v
			}
		}
	case timed:
		for _, p := range picks {
			out[p.at] = null
			if code := binary.LittleEndian.Uint64(data[step*int(p.row%blockRows):]) & mask; code != 0 || !nulls {
				v := to[p.at] + base + int64(code)
				out[p.at], to[p.at] = v, v
			}
		}
	case to != nil:
		for _, p := range picks {
			out[p.at] = null
			if code := binary.LittleEndian.Uint64(data[step*int(p.row%blockRows):]) & mask; code != 0 || !nulls {
				out[p.at] = reference(to[p.at]) + base + int64(code)
			}
		}
	default:
		for _, p := range picks {
			out[p.at] = null
			if code := binary.LittleEndian.Uint64(data[step*int(p.row%blockRows):]) & mask; code != 0 || !nulls {
				out[p.at] = base + int64(code)
			}
		}
	}
}

// masks are the lowest so many bytes.
var masks = [...]uint64{0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, 1<<64 - 1}

// put copies a row into the frame.
func (x *frame) put(i int, r *rec) {
	if x.steady {
		x.same, x.steady = [recColumns]same{}, false
	}
	for c, v := range r.ints() {
		x.v[c][i] = v
	}
	x.v[cFlags][i] = r.flags()
}

// hold makes a frame a single row.
func (x *frame) hold(r *rec) {
	x.n, x.have = 1, [allColumns]bool{}
	for c := range recColumns {
		x.have[c] = true
	}
	x.put(0, r)
}

// row copies row i out of the frame.
func (x *frame) row(i int) (r rec) {
	for c := range recInts {
		r.ints()[c] = x.col(c)[i]
	}
	r.setFlags(x.col(cFlags)[i])
	r.inWindow, r.arrived = x.marks()[i]&isPlanned > 0, x.arrived()[i]
	return r
}

// cursor walks over the rows of a store, mostly in their order.
type cursor struct {
	frame
	at int // block that is shown, −1 for none
}

func (s *store) cursor() *cursor { return &cursor{frame: frame{s: s}, at: -1} }

// seek shows the block of row i and returns its place there.
func (c *cursor) seek(i int) int {
	if b := i / blockRows; b != c.at {
		c.show(c.s, b)
		c.at = b
	}
	return i % blockRows
}

// frames shows the rows from one to before another, the first of which begins a block.
func (s *store) frames(from, to int, do func(x *frame)) {
	x := new(frame)
	for i := from; i < to; i += blockRows {
		x.show(s, i/blockRows)
		x.n = min(x.n, to-i)
		do(x)
	}
}

// picked shows some rows.
func (s *store) picked(rows []int32, do func(x *frame)) {
	x := new(frame)
	for ; len(rows) > 0; rows = rows[x.n:] {
		x.pick(s, rows[:min(blockRows, len(rows))])
		do(x)
	}
}
