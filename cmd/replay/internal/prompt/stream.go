package prompt

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/bits"
	"math/rand/v2"
)

// The wire constants of prompt synthesis. They never change: a prompt is part of
// what makes two runs comparable, so another derivation is another format.
const (
	version = "hydrant/prompt/1"

	domainBlock   = "block"   // fields seed, scope, id
	domainPrivate = "private" // fields seed, session, stream, turn
)

// A key names one endless stream of tokens.
type key = [sha256.Size]byte

// A stream draws tokens of one key after the other. It holds no state from one key to
// the next; it exists only to reuse the generator's memory.
type stream struct {
	hash  hash.Hash
	rng   *rand.ChaCha8
	sum   key
	field []byte
}

func newStream() *stream {
	return &stream{hash: sha256.New(), rng: rand.NewChaCha8(key{})}
}

// begin starts a key in a domain: SHA-256 over the version, the domain and the fields,
// each preceded by its length as eight bytes, big-endian.
func (s *stream) begin(domain string) {
	s.hash.Reset()
	s.str(version)
	s.str(domain)
}

func (s *stream) str(v string) {
	s.field = binary.BigEndian.AppendUint64(s.field[:0], uint64(len(v)))
	s.field = append(s.field, v...)
	s.hash.Write(s.field)
}

// int writes an integer field: eight bytes, big-endian, two's complement.
func (s *stream) int(v int64) {
	s.field = binary.BigEndian.AppendUint64(s.field[:0], 8)
	s.field = binary.BigEndian.AppendUint64(s.field, uint64(v))
	s.hash.Write(s.field)
}

// seed ends the key and points the generator at its first draw.
func (s *stream) seed() {
	s.hash.Sum(s.sum[:0])
	s.rng.Seed(s.sum)
}

// index draws the next position in a list of n entries: the high 64 bits of the
// 128-bit product draw·n, one 64-bit draw a token.
func (s *stream) index(n uint64) uint64 {
	hi, _ := bits.Mul64(s.rng.Uint64(), n)
	return hi
}
