package fold

import (
	"bytes"
	"hash/maphash"
	"unsafe"
)

// texts keeps each text once, one after the other. It is a hash table of its own because nearly
// every row asks for its session: a text is found by its bytes in a batch, without a copy, and
// texts that come together lie together.
type texts struct {
	letters []byte
	ends    []int    // of each text
	table   []uint64 // by hash, or in a place behind: the hash and the number of a text + 1; 0: none
	seed    maphash.Seed
}

func newTexts() texts { return texts{table: make([]uint64, 1<<8), seed: maphash.MakeSeed()} }

// n is the number of texts.
func (t *texts) n() int { return len(t.ends) }

// of is the text with a number. Its bytes stay as they are, wherever others are put.
func (t *texts) of(i int64) string {
	b := t.bytes(i)
	return unsafe.String(unsafe.SliceData(b), len(b))
}

func (t *texts) bytes(i int64) []byte {
	from := 0
	if i > 0 {
		from = t.ends[i-1]
	}
	return t.letters[from:t.ends[i]]
}

// index is the number of a text, whose bytes are not kept.
func (t *texts) index(text []byte) int64 {
	hash := maphash.Bytes(t.seed, text) &^ numbers
	mask := uint64(len(t.table) - 1)
	k := hash >> 32 & mask
	for ; t.table[k] != 0; k = (k + 1) & mask {
		if x := t.table[k]; x&^numbers == hash && string(t.bytes(int64(x&numbers)-1)) == string(text) {
			return int64(x&numbers) - 1
		}
	}
	t.letters = append(t.letters, text...)
	t.ends = append(t.ends, len(t.letters))
	t.table[k] = hash | uint64(len(t.ends))
	if 2*len(t.ends) > len(t.table) {
		t.grow()
	}
	return int64(len(t.ends) - 1)
}

// numbers are the bits of the number in a place of the table; the hash has the others.
const numbers = 1<<32 - 1

// grow doubles the table.
func (t *texts) grow() {
	old := t.table
	t.table = make([]uint64, 2*len(old))
	mask := uint64(len(t.table) - 1)
	for _, x := range old {
		if x == 0 {
			continue
		}
		k := x >> 32 & mask
		for t.table[k] != 0 {
			k = (k + 1) & mask
		}
		t.table[k] = x
	}
}

// lastText is a text of the row before: most rows have the same.
type lastText struct {
	text []byte
	at   int64
	any  bool
}

// index is the number of a text.
func (l *lastText) index(t *texts, text []byte) int64 {
	if !l.any || !bytes.Equal(l.text, text) {
		at := t.index(text)
		*l = lastText{t.bytes(at), at, true}
	}
	return l.at
}
