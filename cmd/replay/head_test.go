package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// What is looked at is read again, whoever comes first and however the bytes come.
func TestHead(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 20_000)
	for name, in := range map[string]func() io.Reader{
		"whole":        func() io.Reader { return bytes.NewReader(want) },
		"byte by byte": func() io.Reader { return iotest.OneByteReader(bytes.NewReader(want[:3000])) },
		"data and EOF": func() io.Reader { return iotest.DataErrReader(bytes.NewReader(want)) },
	} {
		for _, most := range []int{0, 100, 100_000, 1 << 20} {
			h := &head{in: in()}
			first := make([]byte, 50)
			if _, err := io.ReadFull(h, first); err != nil {
				t.Fatal(err)
			}
			l := &look{h: h, ctx: context.Background(), most: most}
			seen, err := io.ReadAll(l)
			if l.ended != errors.Is(err, io.ErrUnexpectedEOF) || err != nil && !l.ended {
				t.Errorf("%s, %d bytes: %v, ended %v", name, most, err, l.ended)
			}
			h.letGo()
			rest, err := io.ReadAll(h)
			all := append(first, rest...)
			if err != nil || !bytes.Equal(all, want[:len(all)]) || len(all) != len(want) && name != "byte by byte" {
				t.Errorf("%s, %d bytes: read %d, %v; want %d as they are", name, most, len(all), err, len(want))
			}
			if !bytes.Equal(seen, want[:len(seen)]) || most == 1<<20 && len(seen) != len(all) || len(seen) < min(most, len(all)) {
				t.Errorf("%s, %d bytes: looked at %d", name, most, len(seen))
			}
		}
	}
}

// A look that has waited long enough leaves what comes later to the reader.
func TestHeadOfASlowPipe(t *testing.T) {
	r, w := io.Pipe()
	h := &head{in: r}
	ctx, cancel := context.WithCancel(context.Background())
	l := &look{h: h, ctx: ctx, most: 1 << 20}
	go w.Write([]byte("one "))
	b := make([]byte, 10)
	if n, err := l.Read(b); string(b[:n]) != "one " || err != nil {
		t.Fatalf("looked at %q, %v", b[:n], err)
	}
	cancel()
	if n, err := l.Read(b); n != 0 || !errors.Is(err, io.ErrUnexpectedEOF) || !l.ended {
		t.Errorf("after its time: %d bytes, %v, ended %v", n, err, l.ended)
	}
	h.letGo()
	go func() { w.Write([]byte("two")); w.Close() }()
	if all, err := io.ReadAll(h); string(all) != "one two" || err != nil {
		t.Errorf("read %q, %v; want all of it", all, err)
	}
}
