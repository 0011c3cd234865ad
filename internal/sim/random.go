package sim

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Every random choice of the server has a purpose and, where it concerns one
// request, that request's id. Its numbers depend on (seed, purpose, id) and on
// nothing else, so neither the order of arrival nor the number of clients
// changes a choice, and no two purposes share a stream.
func key(seed int64, purpose, id string) [32]byte {
	h := sha256.New()
	var n [8]byte
	part := func(s string) {
		binary.BigEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		h.Write([]byte(s))
	}
	part("hydrant/sim/1")
	binary.BigEndian.PutUint64(n[:], uint64(seed))
	h.Write(n[:])
	part(purpose)
	part(id)
	return [32]byte(h.Sum(nil))
}

// stream of random numbers for one purpose and id.
func source(seed int64, purpose, id string) *rand.Rand {
	return rand.New(rand.NewChaCha8(key(seed, purpose, id)))
}

// uniform returns one number in [0, 1) for one purpose and id.
func uniform(seed int64, purpose, id string) float64 {
	k := key(seed, purpose, id)
	return float64(binary.BigEndian.Uint64(k[:])>>11) / (1 << 53)
}
