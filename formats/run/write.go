package run

import (
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

	keyHeader = "hydrant.run" // in the schema of requests: the header as JSON
)

// Writer writes one part of a run: header on open, end on Close. It neither
// opens nor closes what lies below. One goroutine owns it.
type Writer struct {
	p      *ipc.PartWriter
	client *ipc.Spool[Client]
	sha256 string // of the part, once it is closed
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
	schema, empty, err := ipc.Begin(tableRequests, ipc.NewEncoder(Columns[:]), Columns[:], []string{keyHeader}, []string{string(head)})
	if err != nil {
		return nil, err
	}
	if len(schema) > ipc.MaxMeta {
		return nil, fmt.Errorf("run header: got %d bytes, want at most %d", len(head), ipc.MaxMeta)
	}
	client, err := ipc.NewSpool(tableClient, ClientColumns[:], spool)
	if err != nil {
		return nil, err
	}
	wr := &Writer{p: ipc.NewPartWriter(w), client: client}
	return wr, wr.p.Open(schema, empty)
}

// Requests writes one encoded batch of requests as it is.
func (w *Writer) Requests(b Batch) error {
	if err := w.p.Batch(ipc.Message{Bytes: b.Message, Rows: b.Rows}); err != nil {
		return fmt.Errorf("requests: %w", err)
	}
	return nil
}

// Client adds client rows. They reach the spool in batches of 64, or with Flush.
func (w *Writer) Client(rows []Client) error { return w.client.Append(rows) }

// Flush hands the client rows that wait in memory to the spool. Requests never
// wait.
func (w *Writer) Flush() error { return w.client.Flush() }

// Close appends the client table and writes the end, filling its rows, sha256 and
// index. After an error of any call it writes no end and returns that error: a
// failed write never looks whole.
func (w *Writer) Close(e End) error {
	if err := w.client.Flush(); err != nil {
		return err
	}
	if err := w.p.Shut(); err != nil {
		return err
	}
	if err := w.client.Into(w.p); err != nil {
		return err
	}
	enc := ipc.NewEncoder(endColumns[:])
	schema, _, err := ipc.Begin(tableEnd, enc, endColumns[:], nil, nil)
	if err != nil {
		return err
	}
	return w.p.End(schema, func(s ipc.Seal) (ipc.Message, error) {
		e.RequestsRows, e.ClientRows, e.SHA256 = s.Rows[0], s.Rows[1], s.SHA256
		w.sha256 = s.SHA256
		e.Offsets, e.Lengths, e.CRC32C = s.Index.Offset, s.Index.Length, s.Index.CRC32C
		row, err := e.row()
		if err != nil {
			return ipc.Message{}, err
		}
		enc.Append(row)
		return enc.Encode(true)
	})
}

// SHA256 returns the hash that Close wrote into the end, "" before.
func (w *Writer) SHA256() string { return w.sha256 }

// row makes the one row of table end.
func (e End) row() (*endRow, error) {
	if !statusKnown(e.Status) {
		return nil, fmt.Errorf("run end: status: got %q, want %s", e.Status, statuses)
	}
	detail, err := json.Marshal(e.Detail)
	if err != nil {
		return nil, fmt.Errorf("run end: %w", err)
	}
	row := &endRow{End: e, json: string(detail)}
	row.own = formats.Some(ipc.CRC32C(row.facts()))
	return row, nil
}

const statuses = "complete, interrupted or failed"

func statusKnown(s string) bool { return s == Complete || s == Interrupted || s == Failed }

// facts is what own_crc32c is taken of: what neither index nor hash covers.
func (r *endRow) facts() []byte {
	return fmt.Appendf(nil, "%s\n%d\n%s\n", r.Status, r.Planned, r.json)
}
