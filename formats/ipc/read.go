package ipc

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"

	"hydrant/formats"
)

// Layout says what a part of one format looks like.
type Layout struct {
	Tables []string // in the order of the part, without "end"
	Help   string   // hint of a truncated part

	// Open is called with the schema of each table before its rows, "end" included.
	Open func(table string, t *Table, place string) error
	// End decodes the one row of table end; it is called once per part, and a
	// second time when the part was verified in advance.
	End func(fr Frame, place string) (Seal, error)
}

// Reader reads parts. It hands out frames of tables in the order of the part and
// keeps account of every byte; the end table must agree with the account. One
// goroutine owns it.
//
// When the input can seek, a part is walked and verified before its first frame
// is handed out, else while it goes by and at the end.
type Reader struct {
	l     Layout
	place string
	seek  io.ReadSeeker // nil on a pipe
	base  int64         // of the walker's first byte in seek
	walk  *Walker
	part  int // 1 for the first
	err   error

	table    int // index of the current table, len(l.Tables) for end
	batch    int // of the current table, from 1
	start    int64
	account  account
	verified bool
	done     bool // the part's end was read and agrees
	broken   bool // the framing stopped: what stood before it can be handed out
}

// account is what a part is found to be while walking it.
type account struct {
	sum  hash.Hash
	x    Index
	rows []int64
}

// NewReader returns a reader of r, which place names in errors.
func NewReader(r io.Reader, place string, l Layout) *Reader {
	rd := &Reader{l: l, place: place, done: true}
	if s, ok := r.(io.ReadSeeker); ok {
		if at, err := s.Seek(0, io.SeekCurrent); err == nil {
			rd.seek, rd.base = s, at
		}
	}
	rd.walk = NewWalker(bufio.NewReaderSize(r, 64<<10))
	return rd
}

// at names a place inside the current part.
func (r *Reader) at() string {
	s := r.place
	if r.part > 1 {
		s += fmt.Sprintf(": part %d", r.part)
	}
	s += ": " + r.name()
	if r.batch > 0 && r.table < len(r.l.Tables) {
		s += fmt.Sprintf(" batch %d", r.batch)
	}
	return s
}

func (r *Reader) name() string {
	if r.table < len(r.l.Tables) {
		return r.l.Tables[r.table]
	}
	return "end"
}

func (r *Reader) fail(err error) error {
	r.err = err
	return err
}

func (r *Reader) syntax(what, got, want string) error {
	return r.fail(&formats.SyntaxError{Place: r.at(), What: what, Got: got, Want: want})
}

// Part goes to the next part and reads the schema of its first table. The rest of
// the part before is passed over and verified. io.EOF: there is none.
func (r *Reader) Part() error {
	if err := r.Finish(); err != nil {
		return err
	}
	r.part, r.done, r.verified = r.part+1, false, false
	r.reset()
	if r.seek != nil {
		if err := r.verify(); err != nil {
			return r.fail(err)
		}
	}
	err := r.schema()
	if err == io.EOF {
		if r.part > 1 {
			r.done = true
			return r.fail(io.EOF)
		}
		return r.truncated("a part with its tables")
	}
	return err
}

func (r *Reader) reset() {
	r.table, r.batch, r.start = 0, 0, r.walk.Offset()
	r.account = account{rows: make([]int64, len(r.l.Tables))}
	if !r.verified {
		r.account.sum = sha256.New()
	}
}

func (r *Reader) truncated(want string) error {
	r.broken = true
	return r.fail(&formats.TruncatedError{Place: r.at(), Want: want, Help: r.l.Help})
}

// next walks one frame and accounts for it.
func (r *Reader) next(want string) (Frame, error) {
	if r.err != nil {
		return Frame{}, r.err
	}
	off := r.walk.Offset() - r.start
	fr, err := r.walk.Next(r.at())
	switch {
	case err == io.EOF && off == 0:
		return fr, err
	case err == io.EOF || err == errCut:
		return fr, r.truncated(want)
	case err != nil:
		var se *formats.SyntaxError
		if r.broken = errors.As(err, &se); !r.broken {
			err = fmt.Errorf("%s: %w", r.at(), err)
		}
		return fr, r.fail(err)
	}
	if r.table < len(r.l.Tables) && r.account.sum != nil {
		r.account.sum.Write(fr.Bytes)
		if fr.Type != EOS {
			r.account.x.add(off, fr.Bytes)
		}
	}
	return fr, nil
}

// schema reads the schema message of the current table.
func (r *Reader) schema() error {
	r.batch = 0
	fr, err := r.next("the schema of table " + r.name())
	if err != nil {
		return err
	}
	t, err := ParseSchema(fr, r.at())
	if err == nil {
		err = r.l.Open(r.name(), t, r.at())
	}
	if err != nil {
		return r.fail(err)
	}
	return nil
}

// Next returns the next record-batch frame of the current table, valid until the
// next call, its place and its rows. io.EOF: the table is at its end and the
// next one is open, or, after the last, the part is sealed.
func (r *Reader) Next() (Frame, string, error) {
	if r.err != nil {
		return Frame{}, "", r.err
	}
	if r.done || r.table == len(r.l.Tables) {
		return Frame{}, "", io.EOF
	}
	r.batch++
	fr, err := r.next("a record batch or the end mark")
	if err != nil {
		return fr, "", err
	}
	switch fr.Type {
	case EOS:
		r.table++
		if err := r.schema(); err != nil {
			return fr, "", err
		}
		if r.table == len(r.l.Tables) {
			if err := r.end(); err != nil {
				return fr, "", err
			}
		}
		return fr, "", io.EOF
	case RecordBatch:
		rows, err := Rows(fr, r.at())
		if err != nil {
			return fr, "", r.fail(err)
		}
		r.account.rows[r.table] += rows
		return fr, r.at(), nil
	}
	return fr, "", r.syntax("message", fr.Type.String(), "a record batch or the end mark")
}

// Table returns the index of the current table in Layout.Tables; their number
// when the part is sealed.
func (r *Reader) Table() int { return r.table }

// Finish passes over the rest of the part and verifies it.
func (r *Reader) Finish() error {
	for !r.done {
		if _, _, err := r.Next(); err != nil && err != io.EOF {
			return err
		}
	}
	return r.err
}

// end reads the one row of table end and its end mark, and compares the row with
// the account.
func (r *Reader) end() error {
	fr, err := r.next("the row of table end")
	if err != nil {
		return err
	}
	if rows, err := Rows(fr, r.at()); err != nil {
		return r.fail(err)
	} else if rows != 1 {
		return r.syntax("rows", fmt.Sprint(rows), "1")
	}
	seal, err := r.l.End(fr, r.at())
	if err != nil {
		return r.fail(err)
	}
	if fr, err = r.next("the end mark of table end"); err != nil {
		return err
	}
	if fr.Type != EOS {
		return r.syntax("message", fr.Type.String(), "the end mark")
	}
	if err := r.compare(seal); err != nil {
		return r.fail(err)
	}
	r.done = true
	return nil
}

// compare holds the account against what the end table says.
func (r *Reader) compare(s Seal) error {
	bad := func(what, got, want string) error {
		return &formats.SyntaxError{Place: r.at(), What: what, Got: got, Want: want,
			Help: "the part was changed after it was written; its rows cannot be trusted"}
	}
	for i, n := range r.account.rows {
		if s.Rows[i] != n {
			return bad("rows of table "+r.l.Tables[i], fmt.Sprint(n), fmt.Sprintf("%d as table end says", s.Rows[i]))
		}
	}
	if r.verified {
		return nil
	}
	x := r.account.x
	if len(s.Index.Offset) != len(x.Offset) || len(s.Index.Length) != len(x.Offset) || len(s.Index.CRC32C) != len(x.Offset) {
		return bad("index", fmt.Sprintf("%d messages", len(x.Offset)), fmt.Sprintf("%d as table end says", len(s.Index.Offset)))
	}
	for i := range x.Offset {
		if x.Offset[i] != s.Index.Offset[i] || x.Length[i] != s.Index.Length[i] {
			return bad("index", fmt.Sprintf("message %d at %d of %d bytes", i+1, x.Offset[i], x.Length[i]),
				fmt.Sprintf("at %d of %d bytes as table end says", s.Index.Offset[i], s.Index.Length[i]))
		}
		if x.CRC32C[i] != s.Index.CRC32C[i] {
			return bad(fmt.Sprintf("crc32c of message %d", i+1), fmt.Sprintf("%#08x", x.CRC32C[i]), fmt.Sprintf("%#08x as table end says", s.Index.CRC32C[i]))
		}
	}
	if got := hex.EncodeToString(r.account.sum.Sum(nil)); got != s.SHA256 {
		return bad("sha256", got, s.SHA256+" as table end says")
	}
	return nil
}

// verify walks the part ahead of its reading, and goes back. A part that is cut
// or whose framing is damaged is left to be read up to that place; one that is
// whole and does not agree with its end is refused here.
func (r *Reader) verify() error {
	err := r.schema()
	for err == nil && !r.done {
		if _, _, err = r.Next(); err == io.EOF {
			err = nil
		}
	}
	if err != nil && err != io.EOF && !r.broken {
		return err
	}
	r.verified, r.done, r.broken, r.err = err == nil, false, false, nil
	if _, err := r.seek.Seek(r.base+r.start, io.SeekStart); err != nil {
		return fmt.Errorf("%s: %w", r.place, err)
	}
	r.walk = &Walker{r: bufio.NewReaderSize(r.seek, 64<<10), off: r.start, buf: r.walk.buf}
	r.reset()
	return nil
}

// Sniff reports whether head, the first bytes of some input, begins an Arrow
// stream whose schema metadata holds key, or that names table.
func Sniff(head []byte, key, table string) bool {
	return bytes.HasPrefix(head, []byte{0xFF, 0xFF, 0xFF, 0xFF}) &&
		(bytes.Contains(head, []byte(key+"\x00")) || bytes.Contains(head, []byte(TableKey+"\x00")) && bytes.Contains(head, []byte(table+"\x00")))
}
