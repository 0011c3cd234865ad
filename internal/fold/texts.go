package fold

import "hash/maphash"

// texts keeps each text once. It is a hash table of its own because nearly every row asks for
// its session: a text is found by its bytes in a batch, without a copy.
type texts struct {
	all    []string
	hashes []uint32
	table  []int32 // number of a text + 1 by its hash, or in a place behind; 0: none
	seed   maphash.Seed
}

func newTexts() texts { return texts{table: make([]int32, 1<<8), seed: maphash.MakeSeed()} }

// index is the number of a text, whose bytes are not kept.
func (t *texts) index(text []byte) int64 {
	hash := uint32(maphash.Bytes(t.seed, text))
	mask := uint32(len(t.table) - 1)
	k := hash & mask
	for ; t.table[k] != 0; k = (k + 1) & mask {
		if i := t.table[k] - 1; t.hashes[i] == hash && t.all[i] == string(text) {
			return int64(i)
		}
	}
	t.all, t.hashes = append(t.all, string(text)), append(t.hashes, hash)
	t.table[k] = int32(len(t.all))
	if 2*len(t.all) > len(t.table) {
		t.grow()
	}
	return int64(len(t.all) - 1)
}

// grow doubles the table.
func (t *texts) grow() {
	t.table = make([]int32, 2*len(t.table))
	mask := uint32(len(t.table) - 1)
	for i, hash := range t.hashes {
		k := hash & mask
		for t.table[k] != 0 {
			k = (k + 1) & mask
		}
		t.table[k] = int32(i + 1)
	}
}

// lastText is a text of the row before: most rows have the same.
type lastText struct {
	text string
	at   int64
	any  bool
}

// index is the number of a text.
func (l *lastText) index(t *texts, text []byte) int64 {
	if !l.any || l.text != string(text) {
		at := t.index(text)
		*l = lastText{t.all[at], at, true}
	}
	return l.at
}
