package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"hydrant/formats"
	"hydrant/formats/ipc"
)

const (
	tableRequests = "requests"
	tableClient   = "client"
	tableEnd      = "end"

	keyHeader = "hydrant.run"   // in the schema of requests: the header as JSON
	keyTable  = "hydrant.table" // in each schema: the name of the table
)

// clientBatch is the number of client rows after which a batch is spooled
// without Flush.
const clientBatch = 64

// Writer writes one part of a run: header on open, end on Close. It neither
// opens nor closes what lies below. One goroutine owns it.
type Writer struct {
	p      *ipc.PartWriter
	spool  io.ReadWriteSeeker
	client *ipc.Encoder[Client]
	empty  []byte // the empty batch of table client
	err    error  // of the spool
}

// NewWriter starts a part on w. Client rows wait in spool, which must be empty,
// until Close appends them; spooled they are a readable Arrow stream without its
// end mark. With a nil spool they wait in memory.
func NewWriter(w io.Writer, h Header, spool io.ReadWriteSeeker) (*Writer, error) {
	h.Format, h.Version = Format, Version
	head, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("run header: %w", err)
	}
	if spool == nil {
		spool = &memory{}
	}
	wr := &Writer{p: ipc.NewPartWriter(w), spool: spool, client: ipc.NewEncoder(ClientColumns[:])}
	// The table's name comes last: flatbuffers are built backwards, so it stands
	// near the first byte, where Sniff looks.
	schema, err := ipc.SchemaMessage(ipc.Fields(Columns[:]), []string{keyHeader, keyTable}, []string{string(head), tableRequests})
	if err != nil {
		return nil, err
	}
	if len(schema) > ipc.MaxMeta {
		return nil, fmt.Errorf("run header: got %d bytes, want at most %d", len(head), ipc.MaxMeta)
	}
	empty, err := ipc.NewEncoder(Columns[:]).Encode(true)
	if err != nil {
		return nil, err
	}
	none, err := wr.client.Encode(true)
	if err != nil {
		return nil, err
	}
	wr.empty = none.Bytes
	client, err := ipc.SchemaMessage(ipc.Fields(ClientColumns[:]), []string{keyTable}, []string{tableClient})
	if err != nil {
		return nil, err
	}
	if _, err := spool.Write(client); err != nil {
		return nil, fmt.Errorf("spool of client rows: %w", err)
	}
	return wr, wr.p.Open(schema, empty.Bytes)
}

// Requests writes one encoded batch of requests as it is.
func (w *Writer) Requests(b Batch) error {
	if err := w.p.Batch(ipc.Message{Bytes: b.Message, Rows: b.Rows}); err != nil {
		return fmt.Errorf("requests: %w", err)
	}
	return nil
}

// Client adds client rows. They reach the spool in batches of 64, or with Flush.
func (w *Writer) Client(rows []Client) error {
	for i := range rows {
		w.client.Append(&rows[i])
		if w.client.Len() >= clientBatch {
			if err := w.Flush(); err != nil {
				return err
			}
		}
	}
	return w.err
}

// Flush hands the client rows that wait in memory to the spool. Requests never
// wait.
func (w *Writer) Flush() error {
	if w.err != nil || w.client.Len() == 0 {
		return w.err
	}
	m, err := w.client.Encode(false)
	if err == nil {
		_, err = w.spool.Write(m.Bytes)
	}
	if err != nil {
		w.err = fmt.Errorf("spool of client rows: %w", err)
	}
	return w.err
}

// Close appends the client table and writes the end, filling its rows, sha256 and
// index. After an error of any call it writes no end and returns that error: a
// failed write never looks whole.
func (w *Writer) Close(e End) error {
	if err := w.Flush(); err != nil {
		return err
	}
	if err := w.p.Shut(); err != nil {
		return err
	}
	if _, err := w.spool.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("spool of client rows: %w", err)
	}
	if err := w.p.Copy(w.spool, w.empty, "spool of client rows"); err != nil {
		return err
	}
	schema, err := ipc.SchemaMessage(ipc.Fields(endColumns[:]), []string{keyTable}, []string{tableEnd})
	if err != nil {
		return err
	}
	return w.p.End(schema, func(s ipc.Seal) (ipc.Message, error) {
		e.RequestsRows, e.ClientRows, e.SHA256 = s.Rows[0], s.Rows[1], s.SHA256
		e.Offsets, e.Lengths, e.CRC32C = s.Index.Offset, s.Index.Length, s.Index.CRC32C
		return e.encode()
	})
}

// encode makes the one row of table end.
func (e End) encode() (ipc.Message, error) {
	switch e.Status {
	case Complete, Interrupted, Failed:
	default:
		return ipc.Message{}, fmt.Errorf("run end: status: got %q, want complete, interrupted or failed", e.Status)
	}
	detail, err := json.Marshal(e.Detail)
	if err != nil {
		return ipc.Message{}, fmt.Errorf("run end: %w", err)
	}
	row := endRow{End: e, json: string(detail)}
	row.own = formats.Some(row.checksum())
	enc := ipc.NewEncoder(endColumns[:])
	enc.Append(&row)
	return enc.Encode(true)
}

// checksum guards what the index and the hash cannot: the facts of the end itself.
func (r *endRow) checksum() int64 {
	return ipc.CRC32C(fmt.Appendf(nil, "%s\n%d\n%s\n", r.Status, r.Planned, r.json))
}

// memory is a spool without a file.
type memory struct {
	bytes.Buffer
	r *bytes.Reader
}

func (m *memory) Seek(offset int64, whence int) (int64, error) {
	m.r = bytes.NewReader(m.Bytes())
	return m.r.Seek(offset, whence)
}

func (m *memory) Read(p []byte) (int, error) {
	if m.r == nil {
		return 0, io.EOF
	}
	return m.r.Read(p)
}
