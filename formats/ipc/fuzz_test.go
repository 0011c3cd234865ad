package ipc

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"hydrant/formats"
)

// FuzzDecode reads a schema and a batch that nothing has proven: no panic, no
// error but a cut or a SyntaxError, and what is accepted encodes and decodes to
// equal rows.
func FuzzDecode(f *testing.F) {
	schema, err := SchemaMessage(Fields(rowColumns()), []string{"k"}, []string{"v"})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(schema, message(f, true, someRows()...))
	f.Add(schema, message(f, false, someRows()...))
	f.Add(schema, message(f, true))
	f.Fuzz(func(t *testing.T, schema, batch []byte) {
		rows, err := decode(schema, batch)
		var se *formats.SyntaxError
		switch {
		case err != nil:
			if !errors.As(err, &se) && err != errCut && err.Error() != "EOF" {
				t.Fatalf("%T %v; want a SyntaxError or a cut", err, err)
			}
			return
		case len(rows) > 1000:
			return
		}
		own, err := SchemaMessage(Fields(rowColumns()), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(own, message(t, false, rows...))
		if err != nil {
			t.Fatal(err)
		}
		for i := range rows { // empty text is null in the file, bad UTF-8 is repaired
			rows[i].Name = again[i].Name
		}
		if d := cmp.Diff(rows, again, cmpopts.EquateNaNs()); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
	})
}
