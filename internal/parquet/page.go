package parquet

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"hydrant/formats"
	"hydrant/internal/codec"
)

// maxPage bounds a page, bytes, as stored and as it unfolds. Writers make pages of
// about 1 MB; one holds a long prompt more than that.
const maxPage = 256 << 20

// headWindow is what is read for the head of a page at first. A head may carry the
// smallest and the largest value of its page.
const headWindow = 4 << 10

// Kinds of page.
const (
	pageData   = 0
	pageIndex  = 1
	pageDict   = 2
	pageDataV2 = 3
)

// codecs are the compressions that are read, by Parquet's number.
var codecs = map[int64]string{0: codec.KindPlain, 1: codec.KindSnappy, 2: codec.KindGzip, 6: codec.KindZstd, 7: codec.KindLZ4Block}

// head is what stands before a page.
type head struct {
	kind, plain, stored int64 // kind of page, bytes unfolded and as stored
	crc                 int64
	hasCRC              bool
	values, encoding    int64
	defs, reps          int64 // encodings of the levels, or their bytes in a page of version 2
	packed              bool  // a page of version 2 with compressed values
}

func (t *thrift) head() head {
	h := head{kind: -1, plain: -1, stored: -1, values: -1, packed: true}
	t.fields(func(id int64, typ byte) {
		switch {
		case id == 1:
			h.kind = t.whole(typ)
		case id == 2:
			h.plain = t.whole(typ)
		case id == 3:
			h.stored = t.whole(typ)
		case id == 4:
			h.crc, h.hasCRC = t.whole(typ), true
		case (id == 5 || id == 7) && typ == thriftStruct:
			t.fields(func(id int64, typ byte) {
				switch id {
				case 1:
					h.values = t.whole(typ)
				case 2:
					h.encoding = t.whole(typ)
				case 3:
					if typ == thriftTrue || typ == thriftFalse {
						return // of a dictionary: whether it is sorted
					}
					h.defs = t.whole(typ)
				case 4:
					h.reps = t.whole(typ)
				default:
					t.skip(typ)
				}
			})
		case id == 8 && typ == thriftStruct:
			t.fields(func(id int64, typ byte) {
				switch id {
				case 1:
					h.values = t.whole(typ)
				case 4:
					h.encoding = t.whole(typ)
				case 5:
					h.defs = t.whole(typ)
				case 6:
					h.reps = t.whole(typ)
				case 7:
					h.packed = typ == thriftTrue
				default:
					t.skip(typ)
				}
			})
		default:
			t.skip(typ)
		}
	})
	return h
}

// pages walks the pages of one chunk.
type pages struct {
	f     *File
	l     leaf
	c     chunk
	name  string // of the column
	group int
	at    int64 // offset of the next page
	page  int   // number of the latest, from 1
	seen  int64 // values of the pages so far
	buf   []byte

	reps, defs levels
	left       int64 // values of the page that were not read
	dict       *dictionary
	values     values
}

// fault is a rule that a page breaks.
func (p *pages) fault(what string, err error) error {
	return &formats.SyntaxError{Place: fmt.Sprintf("%s: row group %d, column %s, page %d", p.f.place, p.group+1, p.name, p.page), What: what, Err: err}
}

// next opens the next page with values. The chunk must have one.
func (p *pages) next() error {
	for {
		if p.seen == p.c.values {
			return p.fault("values", fmt.Errorf("got %d, want more for the rows of the group", p.seen))
		}
		p.page++
		h, b, err := p.load()
		if err != nil {
			return err
		}
		switch h.kind {
		case pageIndex:
			continue
		case pageDict:
			if b, err = p.unfold(b, h.plain); err != nil {
				return err
			}
			if h.encoding != encodingPlain && h.encoding != encodingPlainDict || h.values < 0 {
				return p.fault("dictionary", fmt.Errorf("got encoding %d, want plain values", h.encoding))
			}
			if p.dict, err = newDictionary(b, h.values, p.l.physical); err != nil {
				return p.fault("dictionary", err)
			}
			continue
		case pageData:
			err = p.version1(h, b)
		case pageDataV2:
			err = p.version2(h, b)
		default:
			err = p.fault("kind of page", fmt.Errorf("got %d, want a data or dictionary page", h.kind))
		}
		if err != nil {
			return err
		}
		if h.values < 0 || h.values > p.c.values-p.seen {
			return p.fault("values", fmt.Errorf("got %d, want at most %d", h.values, p.c.values-p.seen))
		}
		p.seen += h.values
		if p.left = h.values; p.left > 0 {
			return nil
		}
	}
}

// load reads the head and the stored bytes of the page at p.at.
func (p *pages) load() (h head, b []byte, err error) {
	end := p.c.start() + p.c.size
	for window := int64(headWindow); ; window *= 16 {
		n := min(window, end-p.at)
		if n <= 0 {
			return h, nil, p.fault("page", fmt.Errorf("got the end of the column, want %d values more", p.c.values-p.seen))
		}
		b := p.room(n)
		if err := p.f.read(b, p.at); err != nil {
			return h, nil, err
		}
		t := &thrift{b: b}
		h = t.head()
		if !t.bad {
			p.at += int64(t.i)
			break
		}
		if n < window || window > maxPage {
			return h, nil, p.fault("page", fmt.Errorf("got a damaged head, want that of a Parquet page"))
		}
	}
	if h.stored < 0 || h.stored > min(end-p.at, maxPage) || h.plain < 0 || h.plain > maxPage {
		return h, nil, p.fault("page", fmt.Errorf("got %d bytes that unfold to %d, want at most %d and %d", h.stored, h.plain, min(end-p.at, maxPage), maxPage))
	}
	b = p.room(h.stored)
	if err := p.f.read(b, p.at); err != nil {
		return h, nil, err
	}
	p.at += h.stored
	if sum := crc32.ChecksumIEEE(b); h.hasCRC && sum != uint32(h.crc) {
		return h, nil, p.fault("crc32", fmt.Errorf("got %#08x, want %#08x as its head says: the page is damaged", sum, uint32(h.crc)))
	}
	return h, b, nil
}

// room returns n bytes; those of a dictionary are kept, so it takes its own.
func (p *pages) room(n int64) []byte {
	if int64(cap(p.buf)) < n {
		p.buf = make([]byte, n)
	}
	return p.buf[:n]
}

func (p *pages) unfold(b []byte, size int64) ([]byte, error) {
	kind, ok := codecs[p.c.codec]
	if !ok {
		return nil, p.fault("compression", fmt.Errorf("got codec %d, want none, snappy, zstd, gzip or lz4_raw", p.c.codec))
	}
	out, err := codec.Block(kind, b, int(size))
	if err != nil {
		return nil, p.fault("compression", err)
	}
	return out, nil
}

// version1 opens a page whose levels are compressed together with its values.
func (p *pages) version1(h head, b []byte) error {
	b, err := p.unfold(b, h.plain)
	if err != nil {
		return err
	}
	part := func(max uint8, encoding int64) (l levels) {
		if max == 0 || err != nil {
			return levels{max: max}
		}
		n := uint32(0)
		if len(b) >= 4 {
			n = binary.LittleEndian.Uint32(b)
		}
		switch {
		case encoding != encodingRLE:
			err = p.fault("levels", fmt.Errorf("got encoding %d, want run lengths", encoding))
		case len(b) < 4 || int64(n) > int64(len(b)-4):
			err = p.fault("levels", fmt.Errorf("got %d bytes, want those of a page of %d", n, len(b)))
		default:
			l = levels{hybrid{b: b[4 : 4+n], width: levelBits(max)}, max}
			b = b[4+n:]
		}
		return l
	}
	p.reps = part(p.l.repeats(), h.reps)
	p.defs = part(p.l.max, h.defs)
	if err != nil {
		return err
	}
	return p.open(h, b)
}

// version2 opens a page whose levels stand uncompressed before its values.
func (p *pages) version2(h head, b []byte) error {
	if h.reps < 0 || h.defs < 0 || h.reps > int64(len(b)) || h.defs > int64(len(b))-h.reps || h.plain < h.reps+h.defs {
		return p.fault("levels", fmt.Errorf("got %d and %d bytes, want those of a page of %d", h.reps, h.defs, len(b)))
	}
	p.reps = levels{hybrid{b: b[:h.reps], width: levelBits(p.l.repeats())}, p.l.repeats()}
	p.defs = levels{hybrid{b: b[h.reps : h.reps+h.defs], width: levelBits(p.l.max)}, p.l.max}
	b = b[h.reps+h.defs:]
	if h.packed {
		if size := h.plain - h.reps - h.defs; size > 0 || len(b) > 0 {
			var err error
			if b, err = p.unfold(b, size); err != nil {
				return err
			}
		}
	}
	return p.open(h, b)
}

func (p *pages) open(h head, b []byte) (err error) {
	if p.values, err = newValues(h.encoding, b, p.l.physical, p.dict); err != nil {
		return p.fault("values", err)
	}
	return nil
}

// repeats is the largest repetition level.
func (l leaf) repeats() uint8 {
	if l.element > l.present {
		return 1
	}
	return 0
}
