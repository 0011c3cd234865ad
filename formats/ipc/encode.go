package ipc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	aipc "github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"hydrant/formats"
)

// Message is one encoded record batch, ready to stand in any stream with the
// same schema.
type Message struct {
	Bytes []byte
	Rows  int64
}

// Encoder turns rows into record-batch messages. One goroutine owns it; builders
// are reused from batch to batch.
type Encoder[T any] struct {
	cols   []Column[T]
	build  []builder
	schema *arrow.Schema
	n      int
	size   int64 // of lists and text gathered so far, bytes
	plain  *aipc.Writer
	sink   sink
	zstd   *squeezer // nil before the first batch
}

// NewEncoder returns an encoder for rows with these columns.
func NewEncoder[T any](cols []Column[T]) *Encoder[T] {
	e := &Encoder[T]{cols: cols, schema: arrowSchema(Fields(cols), nil, nil)}
	for _, c := range cols {
		e.build = append(e.build, newBuilder(c.Type))
	}
	e.plain = aipc.NewWriterWithPayloadWriter(&e.sink, aipc.WithSchema(e.schema))
	return e
}

// Append adds one row; the encoder keeps nothing of it. Text that is not UTF-8
// gets replacement characters, an int32 that does not fit is null.
func (e *Encoder[T]) Append(row *T) {
	for i := range e.cols {
		e.size += e.build[i].append(e.cols[i].Field(row), e.cols[i].Null != "")
	}
	e.n++
}

// Len returns the number of rows gathered.
func (e *Encoder[T]) Len() int { return e.n }

// Size returns the bytes of text and lists gathered, before compression.
func (e *Encoder[T]) Size() int64 { return e.size }

// Encode ends the batch: it returns the message and starts anew. Bodies are zstd
// unless plain; a batch of no rows is always plain, since some readers break on
// a compressed one.
func (e *Encoder[T]) Encode(plain bool) (Message, error) {
	arrays := make([]arrow.Array, len(e.build))
	for i := range e.build {
		arrays[i] = e.build[i].finish()
		defer arrays[i].Release()
	}
	rec := array.NewRecord(e.schema, arrays, int64(e.n))
	defer rec.Release()
	m := Message{Rows: int64(e.n)}
	e.n, e.size = 0, 0
	if err := e.plain.Write(rec); err != nil {
		return Message{}, fmt.Errorf("encode a batch: %w", err)
	}
	if plain || m.Rows == 0 {
		m.Bytes = bytes.Clone(e.sink.Bytes())
		return m, nil
	}
	if e.zstd == nil {
		if err := e.model(rec.NewSlice(0, 1)); err != nil {
			return Message{}, err
		}
	}
	m.Bytes = e.zstd.squeeze(e.sink.Bytes())
	return m, nil
}

// model lets Arrow compress a row, for the metadata of such batches.
func (e *Encoder[T]) model(row arrow.Record) error {
	defer row.Release()
	var s sink
	if err := aipc.NewWriterWithPayloadWriter(&s, aipc.WithSchema(e.schema), aipc.WithZstd()).Write(row); err != nil {
		return fmt.Errorf("encode a batch: %w", err)
	}
	e.zstd = newSqueezer(s.Bytes())
	return nil
}

// sink keeps the last payload of an Arrow writer as one frame. The writer's first
// payload is its schema, which the batch after it replaces.
type sink struct{ bytes.Buffer }

func (s *sink) Start() error { return nil }
func (s *sink) Close() error { return nil }

func (s *sink) WritePayload(p aipc.Payload) error {
	meta := p.Meta()
	defer meta.Release()
	s.Reset()
	n := (meta.Len() + 7) &^ 7
	var prefix [8]byte
	binary.LittleEndian.PutUint32(prefix[:], continuation)
	binary.LittleEndian.PutUint32(prefix[4:], uint32(n))
	s.Write(prefix[:])
	s.Write(meta.Bytes())
	s.Write(make([]byte, n-meta.Len()))
	return p.SerializeBody(s)
}

// SchemaMessage encodes the schema message of a table, its metadata in the order
// given.
func SchemaMessage(fields []Field, keys, values []string) ([]byte, error) {
	var s sink
	w := aipc.NewWriterWithPayloadWriter(&s, aipc.WithSchema(arrowSchema(fields, keys, values)))
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("encode a schema: %w", err)
	}
	return s.Bytes(), nil
}

// builder gathers the values of one column.
type builder struct {
	b    array.Builder
	i64  *array.Int64Builder
	i32  *array.Int32Builder
	f64  *array.Float64Builder
	bits *array.BooleanBuilder
	text *array.StringBuilder
	list *array.ListBuilder // its values are in i64 or i32
}

func newBuilder(typ string) builder {
	mem := memory.DefaultAllocator
	var b builder
	switch b.b = array.NewBuilder(mem, arrowTypes[typ]); v := b.b.(type) {
	case *array.Int64Builder:
		b.i64 = v
	case *array.Float64Builder:
		b.f64 = v
	case *array.BooleanBuilder:
		b.bits = v
	case *array.StringBuilder:
		b.text = v
	case *array.ListBuilder:
		b.list = v
		switch v := v.ValueBuilder().(type) {
		case *array.Int64Builder:
			b.i64 = v
		case *array.Int32Builder:
			b.i32 = v
		}
	default:
		internal("no builder for %s", typ)
	}
	return b
}

func (b *builder) finish() arrow.Array {
	n := b.b.Len()
	a := b.b.NewArray()
	b.b.Reserve(n) // the next batch is about as long as this one
	return a
}

// append adds the value behind a field pointer and returns the bytes of text or
// list that it brought.
func (b *builder) append(field any, nullable bool) int64 {
	switch p := field.(type) {
	case *int64:
		b.i64.Append(*p)
	case *formats.Int:
		b.int(*p)
	case *string:
		if *p == "" && nullable {
			b.text.AppendNull()
			return 0
		}
		b.text.Append(strings.ToValidUTF8(*p, "\uFFFD"))
		return int64(len(*p))
	case *[]int64:
		if *p == nil && nullable {
			b.list.AppendNull()
			return 0
		}
		b.list.Append(true)
		b.i64.AppendValues(*p, nil)
		return 8 * int64(len(*p))
	case *[]formats.Int:
		if *p == nil && nullable {
			b.list.AppendNull()
			return 0
		}
		b.list.Append(true)
		for _, v := range *p {
			b.item(v)
		}
		if b.i32 != nil {
			return 4 * int64(len(*p))
		}
		return 8 * int64(len(*p))
	case *float64:
		b.f64.Append(*p)
	default:
		internal("no column holds a %T", field)
	}
	return 0
}

func (b *builder) int(v formats.Int) {
	switch {
	case !v.Valid:
		b.b.AppendNull()
	case b.bits != nil:
		b.bits.Append(v.V != 0)
	default:
		b.i64.Append(v.V)
	}
}

func (b *builder) item(v formats.Int) {
	switch {
	case b.i32 != nil && v.Valid && v.V >= math.MinInt32 && v.V <= math.MaxInt32:
		b.i32.Append(int32(v.V))
	case b.i32 != nil:
		b.i32.AppendNull()
	case v.Valid:
		b.i64.Append(v.V)
	default:
		b.i64.AppendNull()
	}
}
