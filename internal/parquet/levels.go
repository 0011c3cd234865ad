package parquet

import (
	"encoding/binary"
	"fmt"
	"math"

	"hydrant/internal/columns"
)

// hybrid yields numbers of some bits from runs of equal ones and runs of packed ones.
type hybrid struct {
	b      []byte
	width  uint
	run    int // numbers left in the run
	packed bool
	value  uint32 // of a run of equal ones
	bit    uint   // of a packed run: the first bit of b[0] that was not read
}

func (h *hybrid) next() (uint32, error) {
	for h.run == 0 {
		u, n := binary.Uvarint(h.b)
		if n <= 0 || u>>1 > math.MaxInt32/8 && u&1 == 1 || u>>1 > math.MaxInt32 {
			return 0, errShort
		}
		h.b = h.b[n:]
		h.run, h.packed = int(u>>1), u&1 == 1
		if h.packed {
			h.run *= 8
			continue
		}
		size := int(h.width+7) / 8
		if len(h.b) < size {
			return 0, errShort
		}
		h.value = 0
		for i := range size {
			h.value |= uint32(h.b[i]) << (8 * i)
		}
		h.b = h.b[size:]
	}
	h.run--
	if !h.packed {
		return h.value, nil
	}
	v, got := uint32(0), uint(0)
	for got < h.width {
		if len(h.b) == 0 {
			return 0, errShort
		}
		n := min(h.width-got, 8-h.bit)
		v |= uint32(h.b[0]>>h.bit&(1<<n-1)) << got
		got += n
		if h.bit += n; h.bit == 8 {
			h.b, h.bit = h.b[1:], 0
		}
	}
	return v, nil
}

// levels are the repetition or definition levels of a page.
type levels struct {
	hybrid
	max uint8
}

// next returns 0 where there is only that level.
func (l *levels) next() (uint8, error) {
	if l.max == 0 {
		return 0, nil
	}
	v, err := l.hybrid.next()
	if err == nil && v > uint32(l.max) {
		err = fmt.Errorf("got level %d, want at most %d", v, l.max)
	}
	return uint8(v), err
}

// delta yields whole numbers stored as differences, in blocks of packed miniblocks.
type delta struct {
	b        []byte
	physical int64
	left     int64 // numbers that were not read
	last     int64
	first    bool // last is yet to be handed out
	perMini  int
	minis    int
	widths   []byte // of the miniblocks of the block that were not begun
	min      int64
	mini     []byte // packed numbers of the current miniblock
	inMini   int    // of those, how many are left
	bit      uint
	width    uint
}

// maxDeltaBlock bounds the numbers in a block.
const maxDeltaBlock = 1 << 20

func newDelta(b []byte, physical int64) (*delta, error) {
	d := &delta{b: b, physical: physical, first: true}
	block, minis, count := d.uvarint(), d.uvarint(), d.uvarint()
	first := d.uvarint()
	if d.b == nil || minis == 0 || block == 0 || block > maxDeltaBlock || block%minis != 0 || block/minis%8 != 0 || count > math.MaxInt32 {
		return nil, fmt.Errorf("got blocks of %d numbers in %d parts, want those of differences", block, minis)
	}
	d.minis, d.perMini = int(minis), int(block/minis)
	d.left = int64(count)
	d.last = unzigzag(first)
	return d, nil
}

// uvarint reads a number; b is nil once it leaves the bytes.
func (d *delta) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.b = nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

func (d *delta) next(c *columns.Cell) error {
	v, err := d.number()
	c.Int = v
	return err
}

func (d *delta) number() (int64, error) {
	if d.left <= 0 {
		return 0, errShort
	}
	d.left--
	if d.first {
		d.first = false
		return d.wrap(), nil
	}
	if d.inMini == 0 {
		if err := d.miniblock(); err != nil {
			return 0, err
		}
	}
	d.inMini--
	v, got := uint64(0), uint(0)
	for got < d.width {
		n := min(d.width-got, 8-d.bit)
		v |= uint64(d.mini[0]>>d.bit&(1<<n-1)) << got
		got += n
		if d.bit += n; d.bit == 8 {
			d.mini, d.bit = d.mini[1:], 0
		}
	}
	d.last += d.min + int64(v)
	return d.wrap(), nil
}

// wrap is the latest number in the width of its type: differences may overflow it.
func (d *delta) wrap() int64 {
	if d.physical == typeInt32 {
		d.last = int64(int32(d.last))
	}
	return d.last
}

// miniblock opens the next one, in the next block if need be.
func (d *delta) miniblock() error {
	if len(d.widths) == 0 {
		d.min = unzigzag(d.uvarint())
		if len(d.b) < d.minis {
			return errShort
		}
		d.widths, d.b = d.b[:d.minis], d.b[d.minis:]
	}
	d.width = uint(d.widths[0])
	d.widths = d.widths[1:]
	size := d.perMini / 8 * int(d.width)
	if d.width > 64 || size > len(d.b) {
		return errShort
	}
	d.mini, d.b = d.b[:size], d.b[size:]
	d.inMini, d.bit = d.perMini, 0
	return nil
}

// lengths reads the differences at the start of b twice: once to find what follows.
func lengths(b []byte) (d *delta, rest []byte, err error) {
	if d, err = newDelta(b, typeInt32); err != nil {
		return nil, nil, err
	}
	for d.left > 0 {
		if _, err := d.number(); err != nil {
			return nil, nil, err
		}
	}
	rest = d.b
	d, err = newDelta(b, typeInt32)
	return d, rest, err
}

// deltaBytes is texts in a row with their lengths before all of them, and with what each
// has in common with the one before where there are prefixes.
type deltaBytes struct {
	prefixes, lengths *delta
	b                 []byte
	last              []byte
}

func (v *deltaBytes) next(c *columns.Cell) error {
	n, err := v.lengths.number()
	if err != nil {
		return err
	}
	if n < 0 || n > int64(len(v.b)) {
		return fmt.Errorf("got a text of %d bytes, want at most %d", n, len(v.b))
	}
	own := v.b[:n]
	v.b = v.b[n:]
	if v.prefixes == nil {
		c.Text = own
		return nil
	}
	same, err := v.prefixes.number()
	if err != nil {
		return err
	}
	if same < 0 || same > int64(len(v.last)) || same+n > maxPage {
		return fmt.Errorf("got %d bytes of the text before, which has %d", same, len(v.last))
	}
	v.last = append(v.last[:same], own...)
	c.Text = v.last
	return nil
}
