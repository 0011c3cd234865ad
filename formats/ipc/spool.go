package ipc

import (
	"bytes"
	"fmt"
	"io"
)

// TableKey is the schema metadata key under which every table names itself.
const TableKey = "hydrant.table"

// spoolBatch is the number of rows after which a spool makes a batch unasked.
const spoolBatch = 64

// Spool keeps the rows of a table that comes later in a part, as the Arrow
// stream it will be, without its end mark: what a killed process leaves behind
// is readable up to the last batch. One goroutine owns it.
type Spool[T any] struct {
	name  string
	rws   io.ReadWriteSeeker
	enc   *Encoder[T]
	empty []byte
	err   error
}

// NewSpool starts the stream of table name in rws, which must be empty; with nil
// it is kept in memory.
func NewSpool[T any](name string, cols []Column[T], rws io.ReadWriteSeeker) (*Spool[T], error) {
	if rws == nil {
		rws = &inMemory{}
	}
	s := &Spool[T]{name: name, rws: rws, enc: NewEncoder(cols)}
	schema, empty, err := Begin(name, s.enc, cols, nil, nil)
	if err != nil {
		return nil, err
	}
	s.empty = empty
	return s, s.write(schema)
}

// Begin returns the schema message of a table and its batch of no rows.
//
// The table's name comes last in the metadata: flatbuffers are built backwards,
// so it stands near the first byte, where Sniff looks.
func Begin[T any](name string, enc *Encoder[T], cols []Column[T], keys, values []string) (schema, empty []byte, err error) {
	if schema, err = SchemaMessage(Fields(cols), append(keys, TableKey), append(values, name)); err != nil {
		return nil, nil, err
	}
	m, err := enc.Encode(true)
	return schema, m.Bytes, err
}

func (s *Spool[T]) write(b []byte) error {
	if _, err := s.rws.Write(b); err != nil {
		s.err = fmt.Errorf("spool of table %s: %w", s.name, err)
	}
	return s.err
}

// Append adds rows. They leave the encoder in batches of 64, or with Flush.
func (s *Spool[T]) Append(rows []T) error {
	for i := range rows {
		s.enc.Append(&rows[i])
		if s.enc.Len() >= spoolBatch {
			if err := s.Flush(); err != nil {
				return err
			}
		}
	}
	return s.err
}

// Flush writes the rows that wait in the encoder.
func (s *Spool[T]) Flush() error {
	if s.err != nil || s.enc.Len() == 0 {
		return s.err
	}
	m, err := s.enc.Encode(false)
	if err != nil {
		s.err = err
		return err
	}
	return s.write(m.Bytes)
}

// Into flushes and appends the spooled stream to a part as its next table.
func (s *Spool[T]) Into(p *PartWriter) error {
	if err := s.Flush(); err != nil {
		return err
	}
	if _, err := s.rws.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("spool of table %s: %w", s.name, err)
	}
	return p.copy(s.rws, s.empty, "spool of table "+s.name)
}

// inMemory is a spool without a file: written to its end, then read from any place.
type inMemory struct {
	bytes.Buffer
	r *bytes.Reader
}

func (m *inMemory) Seek(offset int64, whence int) (int64, error) {
	m.r = bytes.NewReader(m.Bytes())
	return m.r.Seek(offset, whence)
}

func (m *inMemory) Read(p []byte) (int, error) {
	if m.r == nil {
		return 0, io.EOF
	}
	return m.r.Read(p)
}
