package ipc

import (
	"fmt"
	"io"

	"hydrant/formats"
)

// Next returns the next row of the table with this index in the layout, valid
// until the next call (its text may be kept); io.EOF after the last. It does not
// pass over the tables before; see [Reader.SkipTo].
func Next[T any](r *Reader, table int, d *Decoder[T]) (*T, error) {
	if _, err := Ready(r, table, d); err != nil {
		return nil, err
	}
	return d.Next(), nil
}

// Ready returns the number of rows of the batch at hand, the next one where all have been
// handed out; io.EOF after the last.
func Ready[T any](r *Reader, table int, d *Decoder[T]) (int, error) {
	if d != nil && d.Left() > 0 {
		return d.Left(), nil
	}
	for {
		if r.Table() != table {
			return 0, io.EOF
		}
		fr, place, err := r.Next()
		if err != nil {
			return 0, err
		}
		if err := d.Load(fr, place); err != nil {
			return 0, r.fail(err)
		}
		if d.Left() > 0 {
			return d.Left(), nil
		}
	}
}

// SkipTo passes over the tables before the one with this index; the number of
// tables asks for the end.
func (r *Reader) SkipTo(table int) error {
	for r.table < table || table == len(r.l.Tables) && !r.done {
		if _, _, err := r.Next(); err != nil && err != io.EOF {
			return err
		}
	}
	if r.err == io.EOF {
		return nil
	}
	return r.err
}

// ReadHeader decodes the header of a part, JSON in the schema metadata under key,
// into v after checking what it says of its format and version.
func ReadHeader(t *Table, key, format string, version int, place string, v any) ([]byte, error) {
	text, ok := t.Meta[key]
	if !ok {
		return nil, &formats.SyntaxError{Place: place, What: "schema metadata", Got: "no " + key, Want: "the header of a " + format,
			Help: "this is an Arrow stream, but not a " + format}
	}
	var is struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := formats.DecodeJSON([]byte(text), place, "header", &is); err != nil {
		return nil, err
	}
	if is.Format != format || is.Version != version {
		return nil, &formats.VersionError{Place: place, Got: fmt.Sprintf("%s %d", is.Format, is.Version), Want: fmt.Sprintf("%s %d", format, version)}
	}
	if err := formats.DecodeJSON([]byte(text), place, "header", v); err != nil {
		return nil, err
	}
	return []byte(text), nil
}

// CheckName refuses a schema that names itself other than table.
func CheckName(t *Table, table, place string) error {
	if got := t.Meta[TableKey]; got != table {
		return &formats.SyntaxError{Place: place, What: TableKey, Got: got, Want: table}
	}
	return nil
}

// CheckOwn compares the checksum that the row of table end carries of its own
// facts with them; a null one is not compared.
func CheckOwn(own formats.Int, facts []byte, place string) error {
	if sum := CRC32C(facts); own.Valid && own.V != sum {
		return &formats.SyntaxError{Place: place, What: "own_crc32c", Got: fmt.Sprintf("%#08x", own.V), Want: fmt.Sprintf("%#08x, the checksum of the row", sum)}
	}
	return nil
}
