// Package arrivals draws when requests arrive: gaps of a stated shape, rates that
// change over time, and the named random streams behind them.
//
// Stream and Uniform give randomness by name, so that two purposes never share a draw
// and a new one moves none of the others. A Process is a shape of gaps; Times turns it
// into instants along a rate, Spread into instants that fill a given span.
package arrivals

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Stream returns the random stream of a purpose and a key: ChaCha8 seeded with the
// SHA-256 of seed, purpose and key. It never changes: schedules depend on it.
func Stream(seed int64, purpose, key string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sum(seed, purpose, key)))
}

// Uniform returns 64 random bits for a thing with a name, the first eight bytes
// (big-endian) of SHA-256 of seed, purpose and keys. It never changes: what a sample
// holds depends on it.
func Uniform(seed int64, purpose string, keys ...string) uint64 {
	h := sum(seed, purpose, keys...)
	return binary.BigEndian.Uint64(h[:8])
}

// Fraction is Uniform as a number of at least 0 and below 1, of 53 bits.
func Fraction(seed int64, purpose string, keys ...string) float64 {
	return float64(Uniform(seed, purpose, keys...)>>11) / (1 << 53)
}

// Int is a whole number as a key: eight bytes, big-endian, two's complement.
func Int(v int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(v)))
}

// sum hashes the fields, each preceded by its length as eight bytes, big-endian, so
// that no two lists of fields meet.
func sum(seed int64, purpose string, keys ...string) [sha256.Size]byte {
	b := make([]byte, 0, 128)
	field := func(s string) {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	field(Int(seed))
	field(purpose)
	for _, k := range keys {
		field(k)
	}
	return sha256.Sum256(b)
}
