package fold

// perWorker is something of each worker of each part, looked up for every row.
type perWorker[T any] struct {
	none T
	near [][]*T // by part and worker, where these numbers are small
	all  map[workerID]*T
}

type workerID struct{ part, worker int64 }

const (
	nearParts   = 1 << 8
	nearWorkers = 1 << 10
)

// newPerWorker returns one in which each worker has none at first.
func newPerWorker[T any](none T) *perWorker[T] {
	return &perWorker[T]{none: none, all: map[workerID]*T{}}
}

// of is that of a worker. It may be changed.
func (p *perWorker[T]) of(part, worker int64) *T {
	if uint64(part) < uint64(len(p.near)) {
		if row := p.near[part]; uint64(worker) < uint64(len(row)) && row[worker] != nil {
			return row[worker]
		}
	}
	return p.find(part, worker)
}

// find is of, for what is not near, or not there yet.
func (p *perWorker[T]) find(part, worker int64) *T {
	k := workerID{part, worker}
	v, ok := p.all[k]
	if !ok {
		v = new(T)
		*v = p.none
		p.all[k] = v
	}
	if uint64(part) < nearParts && uint64(worker) < nearWorkers {
		for int64(len(p.near)) <= part {
			p.near = append(p.near, nil)
		}
		for int64(len(p.near[part])) <= worker {
			p.near[part] = append(p.near[part], nil)
		}
		p.near[part][worker] = v
	}
	return v
}
