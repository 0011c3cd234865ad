package wire

import (
	"math/bits"
	"sync/atomic"

	"hydrant/formats"
)

// Delays counts durations in buckets at most 1/32 wide, without locks: the loop adds
// while the ticker takes. The zero value is ready.
type Delays struct {
	buckets [(64 - 5 + 1) << 5]atomic.Int64
}

// add counts n durations of ns; below 0 counts as 0.
func (d *Delays) add(ns, n int64) { d.buckets[bucketOf(max(ns, 0))].Add(n) }

func bucketOf(ns int64) int {
	e := max(bits.Len64(uint64(ns))-6, 0)
	return e<<5 + int(ns>>e)
}

// longest returns the largest duration that bucket i holds.
func longest(i int) int64 {
	if i < 64 {
		return int64(i)
	}
	e := i>>5 - 1
	return (int64(i&31|32)+1)<<e - 1
}

// TakeP99 returns the nearest-rank p99 of what was added since the last call, rounded
// up by at most 3 %, null when nothing was.
func (d *Delays) TakeP99() formats.Int {
	var counts [len(d.buckets)]int64
	var n int64
	for i := range d.buckets {
		if d.buckets[i].Load() != 0 {
			counts[i] = d.buckets[i].Swap(0)
			n += counts[i]
		}
	}
	rank := n - n/100
	for i, c := range counts {
		if rank -= c; c > 0 && rank <= 0 {
			return formats.Some(longest(i))
		}
	}
	return formats.Int{}
}
