package ipc

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// A buffer gets the thorough level only where that saves what it costs, but for small ones,
// which cost nothing.
func TestLevelOfABuffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	offsets := func(n int) (b []byte) { // of requests, ns
		at := uint64(0)
		for range n {
			at += 200_000
			b = binary.LittleEndian.AppendUint64(b, at+rng.Uint64N(60_000))
		}
		return b
	}
	gaps := func(n int) (b []byte) { // of the events of a paced stream, µs
		for range n {
			b = binary.LittleEndian.AppendUint64(b, 19_990+rng.Uint64N(20))
		}
		return b
	}
	for _, c := range []struct {
		name  string
		plain []byte
		want  int // −1: the smaller
	}{
		{"offsets", offsets(1024), thorough},
		{"gaps", gaps(64 << 10), fast},
		{"few gaps", gaps(400), -1},
	} {
		s := newSqueezer(message(t, false, someRows()...))
		var sizes [2]int
		for level, enc := range s.levels {
			sizes[level] = len(enc.EncodeAll(c.plain, nil))
		}
		smaller := thorough
		if sizes[fast] < sizes[thorough] {
			smaller = fast
		}
		if c.want < 0 {
			c.want = smaller
		}
		if got := len(s.encode(0, c.plain, nil)); got != sizes[smaller] { // both are tried: the smaller is there
			t.Errorf("%s: the first batch took %d bytes; want %d, the smaller of %v", c.name, got, sizes[smaller], sizes)
		}
		s.batches++
		if got := len(s.encode(0, c.plain, nil)); s.best[0] != c.want || got != sizes[c.want] {
			t.Errorf("%s: the second batch took %d bytes at level %d; want level %d of %v", c.name, got, s.best[0], c.want, sizes)
		}
	}
}
