package ipc

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
)

// castagnoli is the polynomial of CRC32C, the checksum of every message.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CRC32C returns the checksum of b as the index stores it.
func CRC32C(b []byte) int64 { return int64(crc32.Checksum(b, castagnoli)) }

// Index lists every message of a part before its end stream: where it starts,
// counted from the start of the part, how long it is and its CRC32C, prefix,
// metadata, padding and body included. End marks are not messages.
type Index struct {
	Offset, Length, CRC32C []int64
}

func (x *Index) add(off int64, frame []byte) {
	x.Offset = append(x.Offset, off)
	x.Length = append(x.Length, int64(len(frame)))
	x.CRC32C = append(x.CRC32C, CRC32C(frame))
}

// Seal is what the end table says of the bytes before it.
type Seal struct {
	Index  Index
	SHA256 string  // of every byte of the part before the end stream, end marks included
	Rows   []int64 // of each table, in the order of the part
}

// PartWriter writes one part: the streams of its tables one after the other, then
// the end table that seals them. One goroutine owns it. After an error every
// call returns that error and no end is written.
type PartWriter struct {
	w     io.Writer
	sum   hash.Hash
	off   int64
	seal  Seal
	empty []byte // the batch of no rows that a table without rows gets
	rows  int64
	any   bool // a batch stands in the current table
	err   error
}

// NewPartWriter returns a writer whose part starts at the next byte of w.
func NewPartWriter(w io.Writer) *PartWriter {
	return &PartWriter{w: w, sum: sha256.New()}
}

func (p *PartWriter) write(b []byte) error {
	if p.err != nil {
		return p.err
	}
	n, err := p.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	if err != nil {
		p.err = err
		return err
	}
	p.sum.Write(b)
	p.off += int64(len(b))
	return nil
}

func (p *PartWriter) message(b []byte) error {
	off := p.off
	if err := p.write(b); err != nil {
		return err
	}
	p.seal.Index.add(off, b)
	return nil
}

// Open starts the stream of a table: schema is its schema message, empty its
// batch of no rows.
func (p *PartWriter) Open(schema, empty []byte) error {
	p.empty, p.rows, p.any = empty, 0, false
	return p.message(schema)
}

// Batch writes one record-batch message, as it is, into the current table.
func (p *PartWriter) Batch(m Message) error {
	if p.err != nil {
		return p.err
	}
	fr, err := ParseFrame(m.Bytes, "record batch")
	if err == nil {
		var rows int64
		if rows, err = Rows(fr, "record batch"); err == nil && rows != m.Rows {
			err = fmt.Errorf("record batch: got %d rows, want %d", rows, m.Rows)
		}
	}
	if err != nil {
		p.err = err
		return err
	}
	p.rows += m.Rows
	p.any = true
	return p.message(m.Bytes)
}

// Shut ends the stream of the current table. A table without a batch gets one of
// no rows: some readers break on a stream without batches.
func (p *PartWriter) Shut() error {
	if !p.any {
		if err := p.message(p.empty); err != nil {
			return err
		}
	}
	p.seal.Rows = append(p.seal.Rows, p.rows)
	return p.write(eos[:])
}

// copy writes a whole spooled stream, its schema first and without an end mark,
// and shuts it.
func (p *PartWriter) copy(spool io.Reader, empty []byte, place string) error {
	walk := NewWalker(spool)
	for i := 0; ; i++ {
		fr, err := walk.Next(place)
		switch {
		case err == io.EOF && i > 0:
			return p.Shut()
		case err == io.EOF || err == errCut:
			err = fmt.Errorf("%s: cut inside message %d", place, i)
		case err == nil && i == 0:
			err = p.Open(fr.Bytes, empty)
		case err == nil:
			var rows int64
			if rows, err = Rows(fr, place); err == nil {
				err = p.Batch(Message{Bytes: fr.Bytes, Rows: rows})
			}
		}
		if err != nil {
			if p.err == nil {
				p.err = err
			}
			return p.err
		}
	}
}

// End writes the end stream. Its one row is made by row from the seal, as one
// uncompressed batch.
func (p *PartWriter) End(schema []byte, row func(Seal) (Message, error)) error {
	if p.err != nil {
		return p.err
	}
	p.seal.SHA256 = hex.EncodeToString(p.sum.Sum(nil))
	m, err := row(p.seal)
	if err != nil {
		p.err = err
		return err
	}
	for _, b := range [][]byte{schema, m.Bytes, eos[:]} {
		if err := p.write(b); err != nil {
			return err
		}
	}
	p.err = errors.New("the part is closed")
	return nil
}
