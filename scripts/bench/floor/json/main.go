//go:build linux

// Command json is the floor of a trace reader: zstd is decoded, every byte of the JSON is
// looked at once, and the same bytes are encoded again. Nothing is kept.
//
//	json FILE
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sys/unix"
)

func main() {
	f, err := os.Open(os.Args[1])
	check(err)
	in, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1))
	check(err)
	out, err := zstd.NewWriter(io.Discard, zstd.WithEncoderConcurrency(1))
	check(err)
	var s scan
	buf := make([]byte, 64<<10)
	for {
		n, err := in.Read(buf)
		s.look(buf[:n])
		_, e := out.Write(buf[:n])
		check(e)
		if err == io.EOF {
			break
		}
		check(err)
	}
	check(out.Close())
	var u unix.Rusage
	check(unix.Getrusage(unix.RUSAGE_SELF, &u))
	fmt.Printf(`{"cpu_s":%.6f,"bytes":%d,"values":%d,"sum":%d}`+"\n", float64(u.Utime.Nano()+u.Stime.Nano())/1e9, s.bytes, s.values, s.sum)
}

// scan finds values and reads whole numbers.
type scan struct {
	text, escaped, number bool
	v                     int64
	bytes, values, sum    int64
}

func (s *scan) look(b []byte) {
	s.bytes += int64(len(b))
	for _, c := range b {
		switch {
		case s.text:
			s.text = c != '"' || s.escaped
			s.escaped = c == '\\' && !s.escaped
		case c-'0' <= 9:
			s.v, s.number = s.v*10+int64(c-'0'), true
		default:
			if s.number {
				s.sum += s.v
				s.v, s.number = 0, false
				s.values++
			}
			s.text = c == '"'
		}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "json:", err)
		os.Exit(1)
	}
}
