package run

import (
	"encoding/json"
	"fmt"
	"io"

	"hydrant/formats"
	"hydrant/formats/ipc"
)

// Sniff reports whether input that begins with head is a run. 64 KiB are enough
// for any run written by this package.
func Sniff(head []byte) bool {
	return ipc.Sniff(head, keyHeader, tableRequests)
}

// Reader reads the parts of a run. What it hands out before an error is whole.
//
// From a file a part is verified (index, CRC32C of each message, sha256, row
// counts) before its first row is handed out; from a pipe while it goes by, and
// the rows are proven when the part has ended without an error.
//
// Errors are *formats.SyntaxError, *formats.VersionError, *formats.TruncatedError
// or what the underlying reader returned.
type Reader struct {
	r    *ipc.Reader
	part *Part
}

// NewReader returns a reader; place names r in errors. No byte is read yet.
func NewReader(r io.Reader, place string) (*Reader, error) {
	rd := &Reader{}
	rd.r = ipc.NewReader(r, place, ipc.Layout{
		Tables: []string{tableRequests, tableClient},
		Help:   "the rows before it are whole",
		Open:   func(table string, t *ipc.Table, place string) error { return rd.part.open(table, t, place) },
		End:    func(fr ipc.Frame, place string) (ipc.Seal, error) { return rd.part.decodeEnd(fr, place) },
	})
	return rd, nil
}

// NextPart goes to the next part, passing over what is left of the one before;
// io.EOF after the last. The part is valid until the next call.
func (r *Reader) NextPart() (*Part, error) {
	if err := r.r.Finish(); err != nil {
		return nil, err
	}
	r.part = &Part{r: r.r}
	if err := r.r.Part(); err != nil {
		return nil, err
	}
	return r.part, nil
}

// Part is one part of a run: a header, requests, client rows and an end.
type Part struct {
	r          *ipc.Reader
	header     Header
	headerJSON []byte
	requests   *ipc.Decoder[Request]
	client     *ipc.Decoder[Client]
	ends       *ipc.Decoder[endRow]
	end        *End
}

// Header returns the header of the part.
func (p *Part) Header() Header { return p.header }

// HeaderJSON returns the header as it stands in the file.
func (p *Part) HeaderJSON() []byte { return p.headerJSON }

// NextRequest returns the next row of table requests, valid until the next call
// (its text may be kept); io.EOF after the last.
func (p *Part) NextRequest() (*Request, error) { return next(p.r, 0, p.requests) }

// NextClient returns the next row of table client, valid until the next call;
// io.EOF after the last. Requests not yet read are passed over.
func (p *Part) NextClient() (*Client, error) {
	if err := p.skipTo(1); err != nil {
		return nil, err
	}
	return next(p.r, 1, p.client)
}

// End passes over the rows not yet read and returns the end of the part, once all
// before it is verified.
func (p *Part) End() (*End, error) {
	if err := p.skipTo(2); err != nil {
		return nil, err
	}
	return p.end, nil
}

func (p *Part) skipTo(table int) error {
	for p.r.Table() < table {
		if _, _, err := p.r.Next(); err != nil && err != io.EOF {
			return err
		}
	}
	return p.r.Err()
}

// next returns the next row of the table with this index.
func next[T any](r *ipc.Reader, table int, d *ipc.Decoder[T]) (*T, error) {
	if d != nil {
		if row := d.Next(); row != nil {
			return row, nil
		}
	}
	for {
		if r.Table() != table {
			return nil, io.EOF
		}
		fr, place, err := r.Next()
		if err != nil {
			return nil, err
		}
		if err := d.Load(fr, place); err != nil {
			return nil, r.Fail(err)
		}
		if row := d.Next(); row != nil {
			return row, nil
		}
	}
}

// open takes the schema of a table, and with that of requests the header.
func (p *Part) open(table string, t *ipc.Table, place string) (err error) {
	if table == tableRequests {
		if err := p.openHeader(t, place); err != nil {
			return err
		}
	}
	if got := t.Meta[keyTable]; got != table {
		return &formats.SyntaxError{Place: place, What: keyTable, Got: got, Want: table}
	}
	switch table {
	case tableRequests:
		p.requests, err = ipc.NewDecoder(Columns[:], t, place)
	case tableClient:
		p.client, err = ipc.NewDecoder(ClientColumns[:], t, place)
	default:
		p.ends, err = ipc.NewDecoder(endColumns[:], t, place)
	}
	return err
}

func (p *Part) openHeader(t *ipc.Table, place string) error {
	text, ok := t.Meta[keyHeader]
	if !ok {
		return &formats.SyntaxError{Place: place, What: "schema metadata", Got: "no " + keyHeader, Want: "the header of a run",
			Help: "this is an Arrow stream, but not a run written by replay"}
	}
	var v struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return &formats.SyntaxError{Place: place, What: "header", Err: err}
	}
	if v.Format != Format || v.Version != Version {
		return &formats.VersionError{Place: place, Got: fmt.Sprintf("%s %d", v.Format, v.Version), Want: fmt.Sprintf("%s %d", Format, Version)}
	}
	p.headerJSON, p.header = []byte(text), Header{}
	if err := json.Unmarshal(p.headerJSON, &p.header); err != nil {
		return &formats.SyntaxError{Place: place, What: "header", Err: err}
	}
	return nil
}

// decodeEnd reads the row of table end.
func (p *Part) decodeEnd(fr ipc.Frame, place string) (ipc.Seal, error) {
	if err := p.ends.Load(fr, place); err != nil {
		return ipc.Seal{}, err
	}
	row := p.ends.Next()
	switch row.Status {
	case Complete, Interrupted, Failed:
	default:
		return ipc.Seal{}, &formats.SyntaxError{Place: place, What: "status", Got: row.Status, Want: "complete, interrupted or failed"}
	}
	if sum := row.checksum(); row.own.Valid && row.own.V != sum {
		return ipc.Seal{}, &formats.SyntaxError{Place: place, What: "own_crc32c", Got: fmt.Sprintf("%#08x", sum), Want: fmt.Sprintf("%#08x as the row says", row.own.V)}
	}
	e := row.End
	e.Offsets, e.Lengths, e.CRC32C = keep(e.Offsets), keep(e.Lengths), keep(e.CRC32C)
	if err := json.Unmarshal([]byte(row.json), &e.Detail); err != nil {
		return ipc.Seal{}, &formats.SyntaxError{Place: place, What: "json", Err: err}
	}
	p.end = &e
	return ipc.Seal{
		Index:  ipc.Index{Offset: e.Offsets, Length: e.Lengths, CRC32C: e.CRC32C},
		SHA256: e.SHA256, Rows: []int64{e.RequestsRows, e.ClientRows},
	}, nil
}

// keep copies a list out of a reused row.
func keep(v []int64) []int64 { return append([]int64{}, v...) }
