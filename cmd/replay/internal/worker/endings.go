package worker

import "hydrant/formats"

// maxEndings bounds how many ended requests a worker remembers. A line that waits for
// a request which ended longer ago than this many others is timed by its own at_ns.
// 2^18 entries take about 20 MB, reached only by runs of that length.
const maxEndings = 1 << 18

// endings remembers when the last requests ended. The zero value is ready.
type endings struct {
	at   map[int64]ending
	ring []int64 // ids in the order they ended
	head int
	cap  int // maxEndings, less in tests
}

// ending is what is left of a request.
type ending struct {
	ns   int64       // when it ended
	slip formats.Int // dispatched − at_ns
}

// add notes how request id ended.
func (e *endings) add(id int64, how ending) {
	if e.at == nil {
		e.at = map[int64]ending{}
		if e.cap == 0 {
			e.cap = maxEndings
		}
	}
	e.at[id] = how
	if len(e.ring) < e.cap {
		e.ring = append(e.ring, id)
		return
	}
	delete(e.at, e.ring[e.head])
	e.ring[e.head] = id
	e.head = (e.head + 1) % e.cap
}

// get returns how request id ended, if that is known.
func (e *endings) get(id int64) (how ending, ok bool) {
	how, ok = e.at[id]
	return
}
