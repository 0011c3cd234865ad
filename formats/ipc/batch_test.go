package ipc

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
)

func TestRoundTrip(t *testing.T) {
	schema, err := SchemaMessage(Fields(rowColumns()), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := someRows()
	want[2].Name = "bad \uFFFD utf8"
	want[2].Toks = []formats.Int{{}} // does not fit int32: unknown
	for _, plain := range []bool{true, false} {
		got, err := decode(schema, message(t, plain, someRows()...))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("plain %v (-want +got):\n%s", plain, d)
		}
	}
	if got, err := decode(schema, message(t, false)); err != nil || got != nil {
		t.Errorf("an empty batch = %v, %v; want no rows", got, err)
	}
}

// TestEncoderReuse checks that a batch carries nothing of the one before.
func TestEncoderReuse(t *testing.T) {
	e := NewEncoder(rowColumns())
	var first []byte
	for i := range 3 {
		for _, r := range someRows() {
			e.Append(&r)
		}
		if e.Len() != 3 || e.Size() == 0 {
			t.Fatalf("Len, Size = %d, %d; want 3 and more than 0", e.Len(), e.Size())
		}
		m, err := e.Encode(false)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = m.Bytes
		}
		if string(m.Bytes) != string(first) {
			t.Fatalf("batch %d of the same rows has other bytes", i)
		}
	}
}

// TestDecoderColumns reads streams whose schema is not this build's.
func TestDecoderColumns(t *testing.T) {
	all := rowColumns()
	for _, c := range []struct {
		name   string
		fields []Field
		want   string
	}{
		{"unknown column", append([]Field{{"new", ListInt32, true}}, Fields(all)...), ""},
		{"missing column that may be null", Fields(all[:5]), ""},
		{"missing column that is never null", Fields(all[1:]), `column id: got "none", want one of type int64`},
		{"other type", append([]Field{{"id", Float64, false}}, Fields(all[1:])...), `type of column id: got "float64", want int64`},
		{"twice", append([]Field{{"n", Int64, false}}, Fields(all)...), `column: got "n", want each name once`},
	} {
		schema, err := SchemaMessage(c.fields, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		fr, err := ParseFrame(schema, "f")
		if err != nil {
			t.Fatal(err)
		}
		tab, err := ParseSchema(fr, "f")
		if err == nil {
			_, err = NewDecoder(all, tab, "f")
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v; want %q", c.name, err, c.want)
		}
	}
}

// TestNullWhereNever gives a null to a column that is never null.
func TestNullWhereNever(t *testing.T) {
	cols := rowColumns()
	loose := append([]Column[row]{}, cols...)
	loose[0] = Column[row]{Name: "id", Type: Int64, Null: "bad", Field: func(r *row) any { return &r.N }}
	e := NewEncoder(loose)
	e.Append(&row{})
	m, err := e.Encode(true)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := SchemaMessage(Fields(loose), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = decode(schema, m.Bytes)
	var se *formats.SyntaxError
	if !errors.As(err, &se) || se.What != "column id" {
		t.Errorf("decode = %v; want a SyntaxError of column id", err)
	}
}

func TestWindow(t *testing.T) {
	for _, c := range []struct {
		b    string
		want int64
	}{
		{"\x28\xB5\x2F\xFD\x00\x58aa", 2 << 20},            // exponent 11
		{"\x28\xB5\x2F\xFD\x00\x5Caa", 3 << 20},            // and mantissa 4
		{"\x28\xB5\x2F\xFD\x00\xF8aa", 1 << 41},            // the largest exponent
		{"\x28\xB5\x2F\xFD\x20\x07aa", 7},                  // single segment, one byte
		{"\x28\xB5\x2F\xFD\x60\x00\x01aa", 512},            // two bytes, plus 256
		{"\x28\xB5\x2F\xFD\xA0\x00\x00\x00\x40a", 1 << 30}, // four
		{"\x28\xB5\x2F\xFD\xE0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 1 << 62},
		{"\x28\xB5\x2F\xFD\x21\x09\x07aa", 7}, // after a dictionary id of one byte
		{"\x28\xB5\x2F\xFD\xA3\x00", 0},       // cut
		{"nothing like it", 0},
	} {
		if got := window([]byte(c.b)); got != c.want {
			t.Errorf("window(% x) = %d; want %d", c.b, got, c.want)
		}
	}
}
