package run

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	"hydrant/formats/ipc"
)

func TestEmptyTables(t *testing.T) {
	b := write(t, nil, nil, End{Status: Interrupted, Planned: 9, Detail: Detail{Reason: "stopped"}})
	for _, seekable := range []bool{true, false} {
		parts, err := read(b, seekable)
		if err != io.EOF || len(parts) != 1 || parts[0].Requests != nil || parts[0].Clients != nil {
			t.Fatalf("read = %+v, %v; want one part without rows", parts, err)
		}
		if e := parts[0].End; e.Status != Interrupted || e.Planned != 9 || e.Detail.Reason != "stopped" || len(e.Offsets) != 4 {
			t.Errorf("end = %+v", e)
		}
	}
	// Some readers break on a stream without batches, and on a compressed batch of
	// no rows.
	w := ipc.NewWalker(bytes.NewReader(b))
	w.Next("f")
	fr, err := w.Next("f")
	check(t, err)
	if n, err := ipc.Rows(fr, "f"); err != nil || n != 0 || len(fr.Body()) > 8*len(Columns) {
		t.Errorf("second message = %d rows in %d bytes, %v; want a plain batch of no rows", n, len(fr.Body()), err)
	}
}

func TestParts(t *testing.T) {
	one := goldenBytes(t)
	two := write(t, goldenRequests()[2:], goldenClients()[:1], End{Status: Failed, Planned: 1})
	for _, seekable := range []bool{true, false} {
		parts, err := read(append(append([]byte{}, one...), two...), seekable)
		if err != io.EOF || len(parts) != 2 || len(parts[0].Requests) != 5 || len(parts[1].Requests) != 1 || parts[1].End.Status != Failed {
			t.Fatalf("read = %d parts, %v; want 2 of 5 and 1 rows", len(parts), err)
		}
		// The second part is cut: the first is whole, the error names the second.
		parts, err = read(append(append([]byte{}, one...), two[:len(two)-1]...), seekable)
		var cut *formats.TruncatedError
		if !errors.As(err, &cut) || !strings.HasPrefix(err.Error(), "f: part 2: end: truncated: ") || len(parts) != 2 || len(parts[1].Requests) != 1 {
			t.Fatalf("read = %d parts, %v; want a cut in part 2", len(parts), err)
		}
	}
	// Parts whose rows nobody asks for are verified all the same.
	if err := skim(append(append([]byte{}, one...), two...), false); err != io.EOF {
		t.Errorf("skim = %v; want io.EOF", err)
	}
	r, _ := NewReader(bytes.NewReader(append(append([]byte{}, one...), two...)), "f")
	n := 0
	for ; ; n++ {
		if _, err := r.NextPart(); err != nil {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d parts without reading a row; want 2", n)
	}
}

// TestStartsLater reads from a file position other than 0.
func TestStartsLater(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(name, append([]byte("12345"), goldenBytes(t)...), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(5, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	r, _ := NewReader(f, "f")
	p, err := r.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	if e, err := p.End(); err != nil || e.RequestsRows != 5 {
		t.Errorf("End() = %+v, %v; want 5 rows", e, err)
	}
	if c, err := p.NextClient(); err != io.EOF {
		t.Errorf("NextClient after End = %v, %v; want io.EOF", c, err)
	}
}

// reseal writes tables anew, as another tool would, under the end of an old file
// or under one of its own.
func reseal(t *testing.T, rows []Request, end func(*endRow, ipc.Seal)) []byte {
	t.Helper()
	var out bytes.Buffer
	p := ipc.NewPartWriter(&out)
	enc := ipc.NewEncoder(Columns[:])
	whole := readGolden(t)
	schema, empty, err := ipc.Begin(tableRequests, enc, Columns[:], []string{keyHeader}, []string{whole.Header})
	check(t, err)
	check(t, p.Open(schema, empty))
	for i := range rows {
		enc.Append(&rows[i])
	}
	m, err := enc.Encode(false)
	check(t, err)
	check(t, p.Batch(m))
	check(t, p.Shut())
	client, err := ipc.NewSpool(tableClient, ClientColumns[:], nil)
	check(t, err)
	check(t, client.Append(whole.Clients))
	check(t, client.Into(p))
	ee := ipc.NewEncoder(endColumns[:])
	schema, _, err = ipc.Begin(tableEnd, ee, endColumns[:], nil, nil)
	check(t, err)
	check(t, p.End(schema, func(s ipc.Seal) (ipc.Message, error) {
		row, err := whole.End.row()
		check(t, err)
		end(row, s)
		ee.Append(row)
		return ee.Encode(true)
	}))
	return out.Bytes()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readGolden(t *testing.T) part {
	t.Helper()
	parts, err := read(goldenBytes(t), true)
	if err != io.EOF {
		t.Fatal(err)
	}
	return parts[0]
}

// TestLostRow deletes a row. Under the old end the index no longer matches; under
// a true index the file reads, and its end plans one request more than there are
// rows, which is the judge's affair.
func TestLostRow(t *testing.T) {
	rows := readGolden(t).Requests[1:]
	stale := reseal(t, rows, func(*endRow, ipc.Seal) {})
	fresh := func(e *endRow, s ipc.Seal) {
		e.Offsets, e.Lengths, e.CRC32C, e.SHA256 = s.Index.Offset, s.Index.Length, s.Index.CRC32C, s.SHA256
		e.RequestsRows = s.Rows[0]
	}
	for _, seekable := range []bool{true, false} {
		parts, err := read(stale, seekable)
		var se *formats.SyntaxError
		if !errors.As(err, &se) {
			t.Errorf("old end, seekable %v: %v; want a SyntaxError", seekable, err)
		}
		if seekable && len(parts) != 0 {
			t.Errorf("old end: rows of a file were handed out before it was verified")
		}
		parts, err = read(reseal(t, rows, fresh), seekable)
		if err != io.EOF || len(parts) != 1 || len(parts[0].Requests) != 4 || parts[0].End.Planned != 5 {
			t.Errorf("true index, seekable %v: %d parts, %v; want 4 rows of 5 planned", seekable, len(parts), err)
		}
	}
	for name, change := range map[string]func(*endRow){
		"rows of table requests": func(e *endRow) { e.RequestsRows = 5 },
		"rows of table client":   func(e *endRow) { e.ClientRows++ },
		"sha256":                 func(e *endRow) { e.SHA256 = hex.EncodeToString(make([]byte, 32)) },
		"index":                  func(e *endRow) { e.Offsets = e.Offsets[1:] },
		"index: ":                func(e *endRow) { e.Lengths = append([]int64{8}, e.Lengths[1:]...) },
		"crc32c of message 1":    func(e *endRow) { e.CRC32C = append([]int64{8}, e.CRC32C[1:]...) },
		"own_crc32c":             func(e *endRow) { e.Planned++ },
		"own_crc32c: ":           func(e *endRow) { e.json += " " },
		"status":                 func(e *endRow) { e.Status = "fine" },
		"json":                   func(e *endRow) { e.json, e.own = "{", formats.Int{} },
		"json.workers":           func(e *endRow) { e.json, e.own = `{"workers":7}`, formats.Int{} },
		"planned":                func(e *endRow) { e.Planned, e.own = -1, formats.Int{} },
	} {
		b := reseal(t, rows, func(e *endRow, s ipc.Seal) { fresh(e, s); change(e) })
		for _, seekable := range []bool{true, false} {
			err := skim(b, seekable)
			var se *formats.SyntaxError
			if !errors.As(err, &se) || !strings.HasPrefix(err.Error(), "f: end: "+strings.TrimSuffix(name, ": ")) {
				t.Errorf("%s, seekable %v: %v; want a SyntaxError of it", name, seekable, err)
			}
		}
	}
	// A tool that seals without own_crc32c is believed.
	b := reseal(t, rows, func(e *endRow, s ipc.Seal) { fresh(e, s); e.own = formats.Int{}; e.Planned = 4 })
	if parts, err := read(b, true); err != io.EOF || parts[0].End.Planned != 4 {
		t.Errorf("without own_crc32c: %v; want io.EOF", err)
	}
}

func TestForeign(t *testing.T) {
	stream := func(keys, values []string, name string) string {
		s, _, err := ipc.Begin(name, ipc.NewEncoder(Columns[:]), Columns[:], keys, values)
		check(t, err)
		return string(s)
	}
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", "f: requests: truncated: got end of input, want a part with its tables"},
		{"text", "no run at all", `f: requests: byte 0: message prefix: got "0x72206f6e", want 0xffffffff`},
		{"zeros", strings.Repeat("\x00", 64), `f: requests: byte 0: message prefix: got "0x00000000", want 0xffffffff`},
		{"end mark", "\xff\xff\xff\xff\x00\x00\x00\x00", `f: requests: message: got "end mark", want a schema`},
		{"no header", stream(nil, nil, "requests"), `f: requests: schema metadata: got "no hydrant.run", want the header of a hydrant-run`},
		{"version", stream([]string{keyHeader}, []string{`{"format":"hydrant-run","version":2}`}, "requests"), `f: requests: version: got "hydrant-run 2", want hydrant-run 1`},
		{"format", stream([]string{keyHeader}, []string{`{"format":"x","version":1}`}, "requests"), `f: requests: version: got "x 1", want hydrant-run 1`},
		{"header", stream([]string{keyHeader}, []string{`{`}, "requests"), `f: requests: header: got "end of text", want JSON: unexpected end of JSON input`},
		{"header of another type", stream([]string{keyHeader}, []string{`[1]`}, "requests"), `f: requests: header: got "array", want an object`},
		{"table", stream([]string{keyHeader}, []string{`{"format":"hydrant-run","version":1}`}, "client"), `f: requests: hydrant.table: got "client", want requests`},
		{"junk after", string(goldenBytes(t)) + "junk", `f: part 2: requests: truncated: got end of input, want the schema of table requests`},
		{"junk after it", string(goldenBytes(t)) + "junk and more", `f: part 2: requests: byte `},
	} {
		for _, seekable := range []bool{true, false} {
			if _, err := read([]byte(c.in), seekable); !typed(err) || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s, seekable %v: %v; want %s", c.name, seekable, err, c.want)
			}
		}
	}
}

func TestSniff(t *testing.T) {
	b := goldenBytes(t)
	if !Sniff(b) || !Sniff(b[:512]) || Sniff(b[:3]) || Sniff([]byte(`{"summary":{"hydrant.run":1}}`)) {
		t.Error("Sniff does not know a run from its first bytes")
	}
	h := goldenHeader()
	h.ServerConfig = &ServerConfig{Text: strings.Repeat("x", 1<<20)}
	var out bytes.Buffer
	if _, err := NewWriter(&out, h, nil); err != nil {
		t.Fatal(err)
	}
	if !Sniff(out.Bytes()[:4096]) {
		t.Error("Sniff needs more than 4 KiB of a run with a large header")
	}
}

// failing accepts n bytes.
type failing struct{ n int }

var errFull = errors.New("no space left")

func (f *failing) Write(p []byte) (int, error) {
	if f.n -= len(p); f.n < 0 {
		return 0, errFull
	}
	return len(p), nil
}

// TestWriteFails: after a failed write there is no end, and Close says why.
func TestWriteFails(t *testing.T) {
	b := goldenBytes(t)
	for n := 0; n < len(b); n += 997 {
		w, err := NewWriter(&failing{n: n}, goldenHeader(), nil)
		e := NewEncoder()
		for _, rows := range goldenRequests() {
			for i := range rows {
				e.Append(&rows[i])
			}
			batch, _, _ := e.Batch()
			if err == nil {
				err = w.Requests(batch)
			}
		}
		if err == nil {
			check(t, w.Client(goldenClients()))
		}
		if w != nil {
			err = w.Close(goldenEnd())
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("room for %d bytes: %v; want %v", n, err, errFull)
		}
	}
}

func TestRefused(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, goldenHeader(), nil)
	check(t, err)
	e := NewEncoder()
	e.Append(&goldenRequests()[0][0])
	b, _, err := e.Batch()
	check(t, err)
	at := out.Len()
	if err := w.Requests(Batch{Message: b.Message, Rows: 2}); err == nil || out.Len() != at {
		t.Errorf("a batch of 1 row said to have 2: %v, %d bytes written; want an error and none", err, out.Len()-at)
	}
	if err := w.Close(goldenEnd()); err == nil {
		t.Error("Close after a refused batch = nil; want its error")
	}
	if w, err = NewWriter(&out, goldenHeader(), nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(End{Status: "good"}); err == nil {
		t.Error("Close with an unknown status = nil; want an error")
	}
}

// TestSpool reads what a killed writer leaves behind.
func TestSpool(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "run.arrows.client"))
	check(t, err)
	defer f.Close()
	var out bytes.Buffer
	w, err := NewWriter(&out, goldenHeader(), f)
	check(t, err)
	check(t, w.Client(goldenClients()))
	check(t, w.Flush())
	b, err := os.ReadFile(f.Name())
	check(t, err)
	walk := ipc.NewWalker(bytes.NewReader(b))
	fr, err := walk.Next("spool")
	check(t, err)
	table, err := ipc.ParseSchema(fr, "spool")
	check(t, err)
	d, err := ipc.NewDecoder(ClientColumns[:], table, "spool")
	check(t, err)
	fr, err = walk.Next("spool")
	check(t, err)
	check(t, d.Load(fr, "spool"))
	var got []Client
	for c := d.Next(); c != nil; c = d.Next() {
		got = append(got, *c)
	}
	if diff := cmp.Diff(goldenClients(), got); diff != "" {
		t.Errorf("spool (-want +got):\n%s", diff)
	}
	check(t, w.Close(End{Status: Complete}))
	if parts, err := read(out.Bytes(), true); err != io.EOF || len(parts[0].Clients) != 2 {
		t.Errorf("read = %v; want 2 client rows", err)
	}
}
