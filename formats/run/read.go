package run

import (
	"io"
	"slices"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/ipc"
)

// Sniff reports whether input that begins with head is a run. 64 KiB are enough
// for any run written by this package.
func Sniff(head []byte) bool { return ipc.Sniff(head, keyHeader, tableRequests) }

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
	skip []int // columns of table requests that nobody looks at
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
	r.part = &Part{r: r.r, skip: r.skip}
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
	skip       []int
}

// Header returns the header of the part.
func (p *Part) Header() Header { return p.header }

// HeaderJSON returns the header as it stands in the file.
func (p *Part) HeaderJSON() []byte { return p.headerJSON }

// NextRequest returns the next row of table requests, valid until the next call
// (its text may be kept); io.EOF after the last.
func (p *Part) NextRequest() (*Request, error) { return ipc.Next(p.r, 0, p.requests) }

// NextClient returns the next row of table client, valid until the next call;
// io.EOF after the last. Requests not yet read are passed over.
func (p *Part) NextClient() (*Client, error) {
	if err := p.r.SkipTo(1); err != nil {
		return nil, err
	}
	return ipc.Next(p.r, 1, p.client)
}

// End passes over the rows not yet read and returns the end of the part, once all
// before it is verified.
func (p *Part) End() (*End, error) {
	if err := p.r.SkipTo(2); err != nil {
		return nil, err
	}
	return p.end, nil
}

// open takes the schema of a table, and with that of requests the header.
func (p *Part) open(table string, t *ipc.Table, place string) (err error) {
	if table == tableRequests {
		p.header = Header{}
		if p.headerJSON, err = ipc.ReadHeader(t, keyHeader, Format, Version, place, &p.header); err != nil {
			return err
		}
	}
	if err := ipc.CheckName(t, table, place); err != nil {
		return err
	}
	switch table {
	case tableRequests:
		if p.requests, err = ipc.NewDecoder(Columns[:], t, place); err == nil {
			for _, i := range p.skip {
				p.requests.Skip(i)
			}
		}
	case tableClient:
		p.client, err = ipc.NewDecoder(ClientColumns[:], t, place)
	default:
		p.ends, err = ipc.NewDecoder(endColumns[:], t, place)
	}
	return err
}

// decodeEnd reads the row of table end.
func (p *Part) decodeEnd(fr ipc.Frame, place string) (ipc.Seal, error) {
	if err := p.ends.Load(fr, place); err != nil {
		return ipc.Seal{}, err
	}
	row := p.ends.Next()
	if !statusKnown(row.Status) {
		return ipc.Seal{}, &formats.SyntaxError{Place: place, What: "status", Got: row.Status, Want: statuses}
	}
	if err := ipc.CheckOwn(row.own, row.facts(), place); err != nil {
		return ipc.Seal{}, err
	}
	e := row.End
	e.Offsets, e.Lengths, e.CRC32C = slices.Clone(e.Offsets), slices.Clone(e.Lengths), slices.Clone(e.CRC32C)
	if err := formats.DecodeJSON([]byte(row.json), place, "json", &e.Detail); err != nil {
		return ipc.Seal{}, err
	}
	if e.Planned < 0 {
		return ipc.Seal{}, &formats.SyntaxError{Place: place, What: "planned", Got: strconv.FormatInt(e.Planned, 10), Want: "a whole number of at least 0"}
	}
	p.end = &e
	return ipc.Seal{
		Index:  ipc.Index{Offset: e.Offsets, Length: e.Lengths, CRC32C: e.CRC32C},
		SHA256: e.SHA256, Rows: []int64{e.RequestsRows, e.ClientRows},
	}, nil
}
