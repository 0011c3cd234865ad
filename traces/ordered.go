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
const chunkEntries = spill.PageEntries

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

// chunk returns the entries of chunk i, valid until the next call.
func (o *ordered) chunk(i int) []int64 {
	page, err := o.entries.Page(int64(i))
	if err != nil {
		o.keep(err)
		page = make([]int64, chunkEntries)
	}
	return page[:min(chunkEntries, o.n-int64(i)*chunkEntries)]
}

// pair takes an entry of a chunk apart.
func pair(base, e int64) (id, v int64) { return base + int64(uint64(e)>>32), int64(int32(e)) }

// from returns the entries from id on of the first chunk that has one, and its number,
// len(o.chunks) when none has.
func (o *ordered) from(id int64) (i int, entries []int64) {
	switch n := len(o.chunks); {
	case n == 0 || o.chunks[n-1].last < id:
		return n, nil
	case o.chunks[0].last >= id:
	default:
		i = sort.Search(n, func(i int) bool { return o.chunks[i].last >= id })
	}
	entries = o.chunk(i)
	base := o.chunks[i].base
	if base >= id {
		return i, entries
	}
	least := uint64(id-base) << 32 // as an entry of value 0, which is the smallest
	low, high := 0, len(entries)-1
	for low < high {
		if mid := (low + high) / 2; uint64(entries[mid]) < least {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return i, entries[low:]
}

// find returns the value of an id.
func (o *ordered) find(id int64) (v int64, ok bool) {
	if i, entries := o.from(id); i < len(o.chunks) {
		if at, v := pair(o.chunks[i].base, entries[0]); at == id {
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
	if i, entries := o.from(from); i < len(o.chunks) {
		id, v = pair(o.chunks[i].base, entries[0])
		ok = id <= to
	}
	if len(o.late) > 0 {
		o.those(from, to, func(late, value int64) {
			if !ok || late < id {
				id, v, ok = late, value, true
			}
		})
	}
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
	for i, entries := o.from(from); i < len(o.chunks) && o.chunks[i].base <= to; {
		for _, e := range entries {
			id, value := pair(o.chunks[i].base, e)
			if id > to {
				break
			}
			add(id, value)
		}
		if i++; i < len(o.chunks) && o.chunks[i].base <= to {
			entries = o.chunk(i)
		}
	}
	if len(o.late) > 0 {
		o.those(from, to, add)
	}
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
