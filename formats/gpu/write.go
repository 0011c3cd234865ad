package gpu

import (
	"encoding/json"
	"fmt"
	"io"

	"hydrant/formats"
	"hydrant/formats/ipc"
)

// Status values of End.
const (
	Complete    = "complete"
	Interrupted = "interrupted"
	Failed      = "failed"
)

const statuses = "complete, interrupted or failed"

func statusKnown(s string) bool { return s == Complete || s == Interrupted || s == Failed }

const (
	tableGPU    = "gpu"
	tableServer = "server"
	tableHost   = "host"
	tableEnd    = "end"

	keyHeader = "hydrant.gpu" // in the schema of table gpu: the header as JSON
)

// batchRows is the number of samples after which a batch is written without Flush.
const batchRows = 1024

// Writer writes one part of a gpu stream: header on open, end on Close. It
// neither opens nor closes what lies below. One goroutine owns it.
type Writer struct {
	p      *ipc.PartWriter
	gpu    *ipc.Encoder[Sample]
	server *ipc.Spool[Server]
	host   *ipc.Spool[Host]
}

// NewWriter starts a part on w. Rows of the tables server and host wait until
// Close: in the first and second of spools, or in memory where there is none.
func NewWriter(w io.Writer, h Header, spools ...io.ReadWriteSeeker) (*Writer, error) {
	h.Format, h.Version = Format, Version
	head, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("gpu header: %w", err)
	}
	wr := &Writer{p: ipc.NewPartWriter(w), gpu: ipc.NewEncoder(Columns[:])}
	schema, empty, err := ipc.Begin(tableGPU, wr.gpu, Columns[:], []string{keyHeader}, []string{string(head)})
	if err != nil {
		return nil, err
	}
	if len(schema) > ipc.MaxMeta {
		return nil, fmt.Errorf("gpu header: got %d bytes, want at most %d", len(head), ipc.MaxMeta)
	}
	spools = append(spools, nil, nil)
	if wr.server, err = ipc.NewSpool(tableServer, ServerColumns[:], spools[0]); err != nil {
		return nil, err
	}
	if wr.host, err = ipc.NewSpool(tableHost, HostColumns[:], spools[1]); err != nil {
		return nil, err
	}
	return wr, wr.p.Open(schema, empty)
}

// Samples adds rows of table gpu. They are written in batches of 1024, or with Flush.
func (w *Writer) Samples(rows []Sample) error {
	for i := range rows {
		w.gpu.Append(&rows[i])
		if w.gpu.Len() >= batchRows {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Writer) flush() error {
	if w.gpu.Len() == 0 {
		return nil
	}
	m, err := w.gpu.Encode(false)
	if err != nil {
		return err
	}
	if err := w.p.Batch(m); err != nil {
		return fmt.Errorf("gpu: %w", err)
	}
	return nil
}

// Server adds rows of table server.
func (w *Writer) Server(rows []Server) error { return w.server.Append(rows) }

// Host adds rows of table host.
func (w *Writer) Host(rows []Host) error { return w.host.Append(rows) }

// Flush writes the samples that wait in memory, and hands the other rows to their
// spools.
func (w *Writer) Flush() error {
	if err := w.flush(); err != nil {
		return err
	}
	if err := w.server.Flush(); err != nil {
		return err
	}
	return w.host.Flush()
}

// Close appends the tables server and host and writes the end, filling its rows,
// sha256 and index. After an error of any call it writes no end and returns that
// error: a failed write never looks whole.
func (w *Writer) Close(e End) error {
	if !statusKnown(e.Status) {
		return fmt.Errorf("gpu end: status: got %q, want %s", e.Status, statuses)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := w.p.Shut(); err != nil {
		return err
	}
	if err := w.server.Into(w.p); err != nil {
		return err
	}
	if err := w.host.Into(w.p); err != nil {
		return err
	}
	enc := ipc.NewEncoder(endColumns[:])
	schema, _, err := ipc.Begin(tableEnd, enc, endColumns[:], nil, nil)
	if err != nil {
		return err
	}
	return w.p.End(schema, func(s ipc.Seal) (ipc.Message, error) {
		e.GPURows, e.ServerRows, e.HostRows, e.SHA256 = s.Rows[0], s.Rows[1], s.Rows[2], s.SHA256
		e.Offsets, e.Lengths, e.CRC32C = s.Index.Offset, s.Index.Length, s.Index.CRC32C
		row := &endRow{End: e}
		row.own = formats.Some(ipc.CRC32C(row.facts()))
		enc.Append(row)
		return enc.Encode(true)
	})
}

// facts is what own_crc32c is taken of: what neither index nor hash covers.
func (r *endRow) facts() []byte { return fmt.Appendf(nil, "%s\n%s\n", r.Status, r.Reason) }
