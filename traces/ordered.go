package traces

import (
	"math"
	"sort"

	"hydrant/internal/spill"
)

// ordered maps ids to values. Ids that come in ascending order, as those of a trace
// mostly do, lie in a table, 8 bytes each, of which a small part is in memory.
type ordered struct {
	chunks  []orderedChunk // of chunkEntries ids each, but for the last
	n       int64          // ids in the table
	entries spill.Table
	late    map[int64]int64 // those that came below one before, or are too large
	err     error           // of the table; the first one stays
}

// orderedChunk says which ids a chunk has: base, base and an offset, …, last.
type orderedChunk struct{ base, last int64 }

// chunkEntries is how many ids lie in a chunk.
const chunkEntries = 256

// add maps id, which must not be there yet, to v.
func (o *ordered) add(id, v int64) {
	n := len(o.chunks)
	if v != int64(int32(v)) || n > 0 && id <= o.chunks[n-1].last || n > 0 && id-o.chunks[n-1].base > math.MaxUint32 {
		if o.late == nil {
			o.late = map[int64]int64{}
		}
		o.late[id] = v
		return
	}
	if o.n%chunkEntries == 0 {
		o.chunks = append(o.chunks, orderedChunk{base: id})
		n++
	}
	c := &o.chunks[n-1]
	c.last = id
	o.keep(o.entries.Set(o.n, (id-c.base)<<32|int64(uint32(v))))
	o.n++
}

// keep keeps the first error.
func (o *ordered) keep(err error) {
	if o.err == nil {
		o.err = err
	}
}

// entry returns entry k of chunk i.
func (o *ordered) entry(i, k int) (id, v int64) {
	e, err := o.entries.Get(int64(i)*chunkEntries + int64(k))
	o.keep(err)
	return o.chunks[i].base + int64(uint64(e)>>32), int64(int32(e))
}

// size returns how many ids chunk i has.
func (o *ordered) size(i int) int {
	return int(min(chunkEntries, o.n-int64(i)*chunkEntries))
}

// from returns the place of the first entry from id on; the chunk is len(o.chunks) when
// there is none.
func (o *ordered) from(id int64) (i, k int) {
	switch n := len(o.chunks); {
	case n == 0 || o.chunks[n-1].last < id:
		return n, 0
	case o.chunks[0].last >= id:
	default:
		i = sort.Search(n, func(i int) bool { return o.chunks[i].last >= id })
	}
	if o.chunks[i].base >= id {
		return i, 0
	}
	return i, sort.Search(o.size(i)-1, func(k int) bool {
		at, _ := o.entry(i, k)
		return at >= id
	})
}

// find returns the value of an id.
func (o *ordered) find(id int64) (v int64, ok bool) {
	if i, k := o.from(id); i < len(o.chunks) {
		if at, v := o.entry(i, k); at == id {
			return v, true
		}
	}
	if len(o.late) == 0 {
		return 0, false
	}
	v, ok = o.late[id]
	return v, ok
}

// next returns the first id from on, up to and with to, and its value.
func (o *ordered) next(from, to int64) (id, v int64, ok bool) {
	if i, k := o.from(from); i < len(o.chunks) {
		id, v = o.entry(i, k)
		ok = id <= to
	}
	o.those(from, to, func(late, value int64) {
		if !ok || late < id {
			id, v, ok = late, value, true
		}
	})
	return id, v, ok
}

// within returns how many ids there are from on, up to and with to, and the value of from
// when it is one of them.
func (o *ordered) within(from, to int64) (n, v int64, ok bool) {
	add := func(id, value int64) {
		if n++; id == from {
			v, ok = value, true
		}
	}
	for i, k := o.from(from); i < len(o.chunks) && o.chunks[i].base <= to; i, k = i+1, 0 {
		for ; k < o.size(i); k++ {
			id, value := o.entry(i, k)
			if id > to {
				break
			}
			add(id, value)
		}
	}
	o.those(from, to, add)
	return n, v, ok
}

// those calls f for the late ids from on, up to and with to, in no order.
func (o *ordered) those(from, to int64, f func(id, v int64)) {
	switch {
	case len(o.late) == 0:
	case to-from < int64(len(o.late)):
		for n := range to - from + 1 {
			if v, ok := o.late[from+n]; ok {
				f(from+n, v)
			}
		}
	default:
		for id, v := range o.late {
			if from <= id && id <= to {
				f(id, v)
			}
		}
	}
}
