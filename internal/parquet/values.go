package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"hydrant/internal/columns"
)

// Encodings of values.
const (
	encodingPlain       = 0
	encodingPlainDict   = 2
	encodingRLE         = 3
	encodingDelta       = 5
	encodingDeltaLength = 6
	encodingDeltaBytes  = 7
	encodingDict        = 8
	encodingSplit       = 9
)

var errShort = errors.New("got fewer values than the page says")

// values yields the values of a page, one after the other, into cells.
type values interface {
	next(c *columns.Cell) error
}

// newValues returns the values in b, which are those of a page behind its levels.
func newValues(encoding int64, b []byte, physical int64, d *dictionary) (values, error) {
	w := width(physical)
	switch {
	case encoding == encodingPlain && physical == typeBool:
		return &packedBools{hybrid{b: b, width: 1, packed: true, run: 8 * len(b)}}, nil
	case encoding == encodingPlain && physical == typeByteArray:
		return &plainBytes{b: b}, nil
	case encoding == encodingPlain:
		return &plainFixed{b: b, physical: physical, width: w}, nil
	case encoding == encodingRLE && physical == typeBool:
		if len(b) < 4 || int(binary.LittleEndian.Uint32(b)) > len(b)-4 {
			return nil, errShort
		}
		return &packedBools{hybrid{b: b[4 : 4+int(binary.LittleEndian.Uint32(b))], width: 1}}, nil
	case encoding == encodingDict || encoding == encodingPlainDict:
		switch {
		case d == nil:
			return nil, errors.New("got indices without a dictionary")
		case len(b) == 0:
			return &indexed{d: d}, nil
		case b[0] > 32:
			return nil, fmt.Errorf("got indices of %d bits, want at most 32", b[0])
		}
		return &indexed{d: d, at: hybrid{b: b[1:], width: uint(b[0])}}, nil
	case encoding == encodingDelta && (physical == typeInt32 || physical == typeInt64):
		return newDelta(b, physical)
	case encoding == encodingDeltaLength && physical == typeByteArray:
		lengths, data, err := lengths(b)
		return &deltaBytes{lengths: lengths, b: data}, err
	case encoding == encodingDeltaBytes && physical == typeByteArray:
		prefixes, rest, err := lengths(b)
		if err != nil {
			return nil, err
		}
		suffixes, data, err := lengths(rest)
		return &deltaBytes{prefixes: prefixes, lengths: suffixes, b: data}, err
	case encoding == encodingSplit && w > 0:
		if len(b)%w != 0 {
			return nil, errShort
		}
		return &split{b: b, physical: physical, width: w}, nil
	}
	return nil, fmt.Errorf("got encoding %d for physical type %d, want one that fits it", encoding, physical)
}

// width is the size of a value, bytes; 0 where sizes differ.
func width(physical int64) int {
	switch physical {
	case typeInt32, typeFloat:
		return 4
	case typeInt64, typeDouble:
		return 8
	}
	return 0
}

// set stores a value of fixed width.
func set(c *columns.Cell, physical int64, b []byte) {
	switch physical {
	case typeInt32:
		c.Int = int64(int32(binary.LittleEndian.Uint32(b)))
	case typeInt64:
		c.Int = int64(binary.LittleEndian.Uint64(b))
	case typeFloat:
		c.Float = float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case typeDouble:
		c.Float = math.Float64frombits(binary.LittleEndian.Uint64(b))
	}
}

// plainFixed is values of equal width in a row.
type plainFixed struct {
	b        []byte
	physical int64
	width    int
}

func (v *plainFixed) next(c *columns.Cell) error {
	if len(v.b) < v.width {
		return errShort
	}
	set(c, v.physical, v.b)
	v.b = v.b[v.width:]
	return nil
}

// plainBytes is texts, each after its length.
type plainBytes struct{ b []byte }

func (v *plainBytes) next(c *columns.Cell) (err error) {
	c.Text, v.b, err = text(v.b)
	return err
}

// text cuts a text with its length before it.
func text(b []byte) (text, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errShort
	}
	n := binary.LittleEndian.Uint32(b)
	if int64(n) > int64(len(b)-4) {
		return nil, nil, fmt.Errorf("got a text of %d bytes, want at most %d", n, len(b)-4)
	}
	return b[4 : 4+n], b[4+n:], nil
}

type packedBools struct{ at hybrid }

func (v *packedBools) next(c *columns.Cell) error {
	bit, err := v.at.next()
	c.Int = int64(bit)
	return err
}

// split is values whose first bytes stand together, then their second bytes, and so on.
type split struct {
	b        []byte
	physical int64
	width    int
	i        int
}

func (v *split) next(c *columns.Cell) error {
	n := len(v.b) / v.width
	if v.i >= n {
		return errShort
	}
	var one [8]byte
	for k := range v.width {
		one[k] = v.b[k*n+v.i]
	}
	v.i++
	set(c, v.physical, one[:])
	return nil
}

// dictionary is the values that the pages of a chunk point at.
type dictionary struct {
	physical int64
	b        []byte
	width    int
	ends     []uint32 // of texts: where in b each one ends
}

// newDictionary keeps a copy of b.
func newDictionary(b []byte, n, physical int64) (*dictionary, error) {
	d := &dictionary{physical: physical, b: append([]byte(nil), b...), width: width(physical)}
	if d.width > 0 {
		if n != int64(len(b)/d.width) {
			return nil, errShort
		}
		return d, nil
	}
	if physical != typeByteArray {
		return nil, fmt.Errorf("got a dictionary of physical type %d, want numbers or text", physical)
	}
	for rest := d.b; len(rest) > 0; {
		_, after, err := text(rest)
		if err != nil {
			return nil, err
		}
		d.ends = append(d.ends, uint32(len(d.b)-len(after)))
		rest = after
	}
	if n != int64(len(d.ends)) {
		return nil, fmt.Errorf("got %d values, want %d", len(d.ends), n)
	}
	return d, nil
}

// text returns a text with 4 bytes of length before each.
func (d *dictionary) text(i uint32) []byte {
	start := uint32(0)
	if i > 0 {
		start = d.ends[i-1]
	}
	return d.b[start+4 : d.ends[i]]
}

// indexed is values that stand in a dictionary.
type indexed struct {
	d  *dictionary
	at hybrid
}

func (v *indexed) next(c *columns.Cell) error {
	i, err := v.at.next()
	if err != nil {
		return err
	}
	n := len(v.d.ends)
	if v.d.width > 0 {
		n = len(v.d.b) / v.d.width
	}
	if int64(i) >= int64(n) {
		return fmt.Errorf("got value %d of a dictionary of %d", i, n)
	}
	if v.d.width == 0 {
		c.Text = v.d.text(i)
		return nil
	}
	set(c, v.d.physical, v.d.b[int(i)*v.d.width:])
	return nil
}
