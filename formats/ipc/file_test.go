package ipc

import (
	"bytes"
	"errors"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	aipc "github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"hydrant/formats"
	"hydrant/internal/columns"
)

// FuzzOpenFile reads what nothing has proven: no panic, and no error but a typed one.
func FuzzOpenFile(f *testing.F) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Uint64, Nullable: true}, {Name: "s", Type: arrow.BinaryTypes.LargeString},
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32)}, {Name: "b", Type: arrow.FixedWidthTypes.Boolean},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := range 5 {
		b.Field(0).(*array.Uint64Builder).AppendNull()
		b.Field(1).(*array.LargeStringBuilder).Append("text")
		b.Field(2).(*array.ListBuilder).Append(true)
		b.Field(2).(*array.ListBuilder).ValueBuilder().(*array.Int32Builder).Append(int32(i))
		b.Field(3).(*array.BooleanBuilder).Append(i%2 == 0)
	}
	rec := b.NewRecord()
	for _, option := range []aipc.Option{aipc.WithSchema(schema), aipc.WithZstd(), aipc.WithLZ4()} {
		var out buffer
		w, err := aipc.NewFileWriter(&out, aipc.WithSchema(schema), option)
		if err != nil {
			f.Fatal(err)
		}
		if err := errors.Join(w.Write(rec), w.Close()); err != nil {
			f.Fatal(err)
		}
		f.Add(out.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		file, err := OpenFile(bytes.NewReader(b), int64(len(b)), "f")
		var rows columns.Rows
		if err == nil {
			var ask []int
			for i, c := range file.Columns() {
				if c.Kind != columns.Other {
					ask = append(ask, i)
				}
			}
			rows, err = file.Rows(ask)
		}
		for i := 0; err == nil && i < 10_000; i++ {
			_, err = rows.Next()
		}
		var syntax *formats.SyntaxError
		var cut *formats.TruncatedError
		if err != nil && err.Error() != "EOF" && !errors.As(err, &syntax) && !errors.As(err, &cut) {
			t.Fatalf("%T %v; want a typed error", err, err)
		}
	})
}

// buffer is a file in memory that a writer asks for its place in.
type buffer struct{ bytes.Buffer }

func (b *buffer) Seek(int64, int) (int64, error) { return int64(b.Len()), nil }
