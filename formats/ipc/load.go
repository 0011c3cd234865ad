package ipc

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/klauspost/compress/zstd"

	"hydrant/formats"
)

// batch is what checkBatch found in a message: arrays in the order of the schema, a list
// before its items, and their buffers.
type batch struct {
	rows    int64
	arrays  []extent
	buffers []stored
}

// extent is the length of an array and how many of its values are null.
type extent struct{ n, nulls int64 }

// stored is a buffer as it stands in the message.
type stored struct {
	bytes []byte
	plain int64 // its length once decompressed
	zstd  bool
}

// loader takes the buffers of batches out of their messages. Its memory is used again for
// the next batch.
type loader struct {
	buffers [][]byte
}

// zstdReader decompresses whole buffers, on as many goroutines as ask.
var zstdReader = sync.OnceValue(func() *zstd.Decoder {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(MaxPlain), zstd.WithDecodeAllCapLimit(true))
	if err != nil {
		internal("zstd: %v", err)
	}
	return r
})

// parallel is how many bytes of a batch pay for a second goroutine.
const parallel = 256 << 10

// load decompresses the buffers that are wanted. What it returns is valid until the next call,
// and nothing of it lies in the message.
func (l *loader) load(b *batch, wanted []bool) ([][]byte, error) {
	for len(l.buffers) < len(b.buffers) {
		l.buffers = append(l.buffers, nil)
	}
	var plain int64
	for i, s := range b.buffers {
		if wanted[i] {
			plain += s.plain
		}
	}
	if plain < parallel || runtime.GOMAXPROCS(0) == 1 {
		for i := range b.buffers {
			if wanted[i] {
				if err := l.take(i, b.buffers[i]); err != nil {
					return nil, err
				}
			}
		}
		return l.buffers, nil
	}
	var next atomic.Int64
	var wait sync.WaitGroup
	failed := make([]error, len(b.buffers))
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(b.buffers); i = int(next.Add(1)) - 1 {
				if wanted[i] {
					failed[i] = l.take(i, b.buffers[i])
				}
			}
		})
	}
	wait.Wait()
	for _, err := range failed { // the first in the order of the message, whoever was first
		if err != nil {
			return nil, err
		}
	}
	return l.buffers, nil
}

// take fills buffer i.
func (l *loader) take(i int, s stored) error {
	// Numbers are read in place, 8 bytes at a time: a slice of at least that is aligned.
	if need := max(8, int(s.plain)); cap(l.buffers[i]) < need {
		l.buffers[i] = make([]byte, 0, need)
	}
	out := l.buffers[i][:0]
	if !s.zstd {
		l.buffers[i] = append(out, s.bytes...)
		return nil
	}
	// No byte beyond what the message states: it was held against the caps.
	got, err := zstdReader().DecodeAll(s.bytes, out[:0:s.plain])
	if err == nil && int64(len(got)) != s.plain {
		err = fmt.Errorf("%d bytes, stated are %d", len(got), s.plain)
	}
	if err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	l.buffers[i] = out[:s.plain]
	return nil
}

// values gives access to one column of the loaded batch.
type values struct {
	field any // pointer to the row's field
	typ   string

	n, none int    // rows, and those without a value
	valid   []byte // a bit per row; nil: none is null

	i64   []int64
	i32   []int32
	f64   []float64
	bits  []byte
	text  []byte
	off   []int32 // of text and lists
	items []byte  // a bit per item of the lists; nil: none is null
	ints  []int64 // reused for a row's list
	nulls []formats.Int
}

// arrays is how many arrays a column of a type has, and buffers how many buffers.
func arrays(typ string) (arrays, buffers int) {
	switch typ {
	case UTF8:
		return 1, 3
	case ListInt64, ListInt32:
		return 2, 4
	}
	return 1, 2
}

// load takes a column from its arrays and buffers, and checks what they point at: offsets
// that fall or leave their data would panic later, one row at a time.
func (v *values) load(of []extent, b [][]byte) error {
	if v.valid = nil; of[0].nulls > 0 {
		v.valid = b[0]
	}
	v.n, v.none = int(of[0].n), int(of[0].nulls)
	n := v.n
	switch v.typ {
	case Bool:
		v.bits = b[1]
	case Float64:
		v.f64 = arrow.Float64Traits.CastFromBytes(b[1])[:n]
	case Int32:
		v.i32 = arrow.Int32Traits.CastFromBytes(b[1])[:n]
	case UTF8:
		v.text = b[2]
		return v.offsets(b[1], n, len(v.text))
	case ListInt64, ListInt32:
		if v.items = nil; of[1].nulls > 0 {
			v.items = b[2]
		}
		if v.typ == ListInt32 {
			v.i32 = arrow.Int32Traits.CastFromBytes(b[3])[:of[1].n]
		} else {
			v.i64 = arrow.Int64Traits.CastFromBytes(b[3])[:of[1].n]
		}
		return v.offsets(b[1], n, int(of[1].n))
	default:
		v.i64 = arrow.Int64Traits.CastFromBytes(b[1])[:n]
	}
	return nil
}

func (v *values) offsets(b []byte, n, limit int) error {
	if n == 0 {
		v.off = nil
		return nil
	}
	v.off = arrow.Int32Traits.CastFromBytes(b)[:n+1]
	last := int32(0)
	for _, o := range v.off {
		if o < last {
			return fmt.Errorf("offset %d after %d", o, last)
		}
		last = o
	}
	if int(last) > limit {
		return fmt.Errorf("offset %d into %d values", last, limit)
	}
	return nil
}

// bit is bit i of a bitmap.
func bit(b []byte, i int) bool { return b[i>>3]>>(i&7)&1 != 0 }

// plainLength reads the length that stands before a compressed buffer; −1 is Arrow's mark for
// one that was left as it was.
func plainLength(b []byte) int64 { return int64(binary.LittleEndian.Uint64(b)) }
