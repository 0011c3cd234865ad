package worker

// maxEndings bounds how many ended requests a worker remembers. A line that waits for
// a request which ended longer ago than this many others is timed by its own at_ns.
// 2^18 entries take about 15 MB, reached only by runs of that length.
const maxEndings = 1 << 18

// endings remembers when the last requests ended. The zero value is ready.
type endings struct {
	at   map[int64]int64
	ring []int64 // ids in the order they ended
	head int
	cap  int // maxEndings, less in tests
}

// add notes that request id ended at ns.
func (e *endings) add(id, ns int64) {
	if e.at == nil {
		e.at = map[int64]int64{}
		if e.cap == 0 {
			e.cap = maxEndings
		}
	}
	e.at[id] = ns
	if len(e.ring) < e.cap {
		e.ring = append(e.ring, id)
		return
	}
	delete(e.at, e.ring[e.head])
	e.ring[e.head] = id
	e.head = (e.head + 1) % e.cap
}

// get returns when request id ended, if that is known.
func (e *endings) get(id int64) (ns int64, ok bool) {
	ns, ok = e.at[id]
	return
}
