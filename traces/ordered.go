package traces

import (
	"math"
	"sort"
)

// ordered maps ids to values. Ids that come in ascending order, as those of a trace
// mostly do, take 8 bytes each.
type ordered struct {
	chunks []orderedChunk
	late   map[int64]int64 // those that came below one before, or are too large
}

// orderedChunk holds ids base, base+offset… in ascending order.
type orderedChunk struct {
	base, last int64
	entries    []orderedEntry
}

type orderedEntry struct {
	offset uint32
	value  int32
}

// chunkEntries is how many ids lie in a chunk.
const chunkEntries = 1 << 10

// add maps id, which must not be there yet, to v.
func (o *ordered) add(id, v int64) {
	n := len(o.chunks)
	if v != int64(int32(v)) || n > 0 && id <= o.chunks[n-1].last {
		if o.late == nil {
			o.late = map[int64]int64{}
		}
		o.late[id] = v
		return
	}
	if n == 0 || len(o.chunks[n-1].entries) == chunkEntries || id-o.chunks[n-1].base > math.MaxUint32 {
		o.chunks = append(o.chunks, orderedChunk{base: id})
		n++
	}
	c := &o.chunks[n-1]
	c.last = id
	c.entries = append(c.entries, orderedEntry{uint32(id - c.base), int32(v)})
}

// chunk returns the number of the first chunk that reaches to id.
func (o *ordered) chunk(id int64) int {
	if n := len(o.chunks); n == 0 || o.chunks[n-1].last < id {
		return n
	} else if o.chunks[0].last >= id {
		return 0
	}
	return sort.Search(len(o.chunks), func(i int) bool { return o.chunks[i].last >= id })
}

// at returns the number of the first entry of a chunk from id on.
func (c *orderedChunk) at(id int64) int {
	low, high := 0, len(c.entries)
	for low < high {
		if mid := (low + high) / 2; c.base+int64(c.entries[mid].offset) < id {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

// find returns the value of an id.
func (o *ordered) find(id int64) (v int64, ok bool) {
	if i := o.chunk(id); i < len(o.chunks) && o.chunks[i].base <= id {
		c := &o.chunks[i]
		if e := c.entries[c.at(id)]; c.base+int64(e.offset) == id {
			return int64(e.value), true
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
	if i := o.chunk(from); i < len(o.chunks) {
		c := &o.chunks[i]
		e := c.entries[c.at(from)]
		id, v = c.base+int64(e.offset), int64(e.value)
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
	for i := o.chunk(from); i < len(o.chunks) && o.chunks[i].base <= to; i++ {
		c := &o.chunks[i]
		for _, e := range c.entries[c.at(from):] {
			id := c.base + int64(e.offset)
			if id > to {
				break
			}
			if n++; id == from {
				v, ok = int64(e.value), true
			}
		}
	}
	o.those(from, to, func(id, value int64) {
		if n++; id == from {
			v, ok = value, true
		}
	})
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
