package fold

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"hydrant/formats"
)

// settle puts the parts and rows in their order, finds the window and computes
// everything but the devices.
func (f *fold) settle(ctx context.Context) error {
	position, err := f.align()
	if err != nil {
		return err
	}
	f.position = position
	f.arrange(position)
	if err := f.identify(); err != nil {
		return err
	}
	return f.compute(ctx)
}

// align numbers the parts by their start and moves all times to the earliest epoch,
// by wall clock. It returns the number of each part as read.
func (f *fold) align() (position []int32, err error) {
	for _, p := range f.parts { // as given: the later input is the odd one
		if err := sameSchedule(f.parts[0], p); err != nil {
			return nil, err
		}
	}
	order := make([]int32, len(f.parts))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		p, q := f.parts[a], f.parts[b]
		return cmp.Or(cmp.Compare(p.header.Epoch.WallNS, q.header.Epoch.WallNS), cmp.Compare(p.end.SHA256, q.end.SHA256))
	})
	position = make([]int32, len(order))
	parts := make([]*part, len(order))
	for i, k := range order {
		position[k], parts[i] = int32(i), f.parts[k]
	}
	f.parts = parts
	if len(parts) == 0 {
		return position, nil
	}
	f.epoch = parts[0].header.Epoch
	for _, p := range parts {
		if p.offset = p.header.Epoch.WallNS - f.epoch.WallNS; p.offset < 0 || p.offset > maxTime {
			return nil, &formats.SyntaxError{Place: p.place, What: "epoch.wall_ns", Got: fmt.Sprint(p.header.Epoch.WallNS),
				Want: "within 36 years of the other parts"}
		}
	}
	for i := range f.clients {
		c := &f.clients[i]
		c.part = position[c.part]
		c.t += parts[c.part].offset
	}
	slices.SortFunc(f.clients, func(a, b client) int {
		return cmp.Or(cmp.Compare(a.part, b.part), cmp.Compare(a.worker, b.worker), cmp.Compare(a.t, b.t), cmp.Compare(a.pid, b.pid))
	})
	return position, nil
}

// arrange puts the rows in the order of planned time and id, with the numbers of their parts
// and all times from one epoch.
func (f *fold) arrange(position []int32) {
	f.rows.close()
	u, id := make([]int64, f.rows.n), make([]int64, f.rows.n)
	moved := false // some row is not as it has to be
	f.rows.frames(0, f.rows.n, func(x *frame) {
		copy(u[x.first:], x.u()[:x.n])
		copy(id[x.first:], x.col(cID)[:x.n])
		for i, read := range x.col(cPart)[:x.n] {
			p := position[read]
			if off := f.parts[p].offset; off != 0 || int64(p) != read {
				if moved = true; u[x.first+i] != null {
					u[x.first+i] += off
				}
			}
		}
	})
	order := f.byPlan(u, id)
	f.ids.all = id
	if order == nil && !moved {
		return
	}
	from := f.rows
	f.rows = store{}
	f.ids.all = make([]int64, len(id))
	f.place = make([]int32, len(id))
	if order == nil {
		order = make([]int32, len(id))
		for i := range order {
			order[i] = int32(i)
		}
	}
	for i, k := range order {
		f.place[k], f.ids.all[i] = int32(i), id[k]
	}
	var change func(m *mover, n int)
	if moved {
		change = func(m *mover, n int) { f.renumber(m, n, position) }
	}
	m := new(mover)
	for n := 0; len(order) > 0; order = order[n:] {
		n = min(moverRows, len(order))
		m.move(&from, &f.rows, order[:n], change)
	}
}

// renumber gives n rows the numbers of their parts and moves their times to the one epoch.
func (f *fold) renumber(m *mover, n int, position []int32) {
	part := &m.v[cPart]
	for i := range n {
		part[i] = int64(position[part[i]])
		if off := f.parts[part[i]].offset; off != 0 {
			m.shift(i, off)
		}
	}
}

// byPlan returns the rows in the order of u and id, nil when they are in that order. Planned
// times lie more or less evenly: rows are dealt out to buckets by time, and each is sorted.
func (f *fold) byPlan(u, id []int64) []int32 {
	sorted := true
	low, high := int64(miss), int64(null)
	for i, t := range u {
		if i > 0 && (u[i-1] > t || u[i-1] == t && id[i-1] >= id[i]) {
			sorted = false
		}
		if t != null {
			low, high = min(low, t), max(high, t)
		}
	}
	if sorted {
		return nil
	}
	width := max(0, high-low)/int64(len(u)/8+1) + 1
	bucket := func(t int64) int64 {
		if t == null {
			return 0
		}
		return (t-low)/width + 1
	}
	ends := make([]int32, max(0, high-low)/width+2)
	for _, t := range u {
		ends[bucket(t)]++
	}
	for i := 1; i < len(ends); i++ {
		ends[i] += ends[i-1]
	}
	order := make([]int32, len(u))
	for i := len(u) - 1; i >= 0; i-- {
		b := bucket(u[i])
		ends[b]--
		order[ends[b]] = int32(i)
	}
	by := func(a, b int32) int {
		if c := cmp.Or(cmp.Compare(u[a], u[b]), cmp.Compare(id[a], id[b])); c != 0 || a == b {
			return c
		}
		return f.tie(a, b)
	}
	for i, from := range ends { // now where each begins
		to := int32(len(u))
		if i+1 < len(ends) {
			to = ends[i+1]
		}
		slices.SortFunc(order[from:to], by)
	}
	return order
}

// tie orders rows of one id. It only matters for ids that stand twice in one part.
func (f *fold) tie(a, b int32) int {
	p, q := f.rows.read(a), f.rows.read(b)
	return cmp.Or(cmp.Compare(p.part, q.part), cmp.Compare(p.worker, q.worker), cmp.Compare(p.asked, q.asked),
		cmp.Compare(p.end, q.end), cmp.Compare(p.outcome, q.outcome))
}

// ids finds rows by id: in a table where ids lie close together and each stands once, else
// in a sorted list.
type ids struct {
	all   []int64 // of each row
	low   int64
	table []int32 // row + 1 of each id from low on
	byID  []int32
}

// identify counts the ids and refuses one that two parts share.
func (f *fold) identify() error {
	x := &f.ids
	f.plan.Rows = int64(len(x.all))
	f.plan.Distinct = f.plan.Rows
	if len(x.all) == 0 || x.tabulate() {
		return nil
	}
	x.byID = make([]int32, len(x.all))
	for i := range x.byID {
		x.byID[i] = int32(i)
	}
	slices.SortFunc(x.byID, func(a, b int32) int {
		if c := cmp.Compare(x.all[a], x.all[b]); c != 0 || a == b {
			return c
		}
		return f.tie(a, b)
	})
	for i := 1; i < len(x.byID); i++ {
		a, b := x.byID[i-1], x.byID[i]
		if x.all[a] != x.all[b] {
			continue
		}
		if p, q := f.rows.read(a), f.rows.read(b); p.part != q.part {
			return &formats.SyntaxError{Place: f.parts[q.part].place, What: "request_id", Got: fmt.Sprint(q.id),
				Want: fmt.Sprintf("an id that %s lacks", f.parts[p.part].place), Help: "the same run was given twice, or two runs replay the same requests"}
		}
		f.plan.Distinct--
		f.plan.Duplicates++
	}
	return nil
}

// tabulate fills the table; false when ids are too far apart for one, or stand twice.
func (x *ids) tabulate() bool {
	x.low = slices.Min(x.all)
	reach := uint64(slices.Max(x.all)) - uint64(x.low)
	if reach > 4*uint64(len(x.all))+1000 {
		return false
	}
	x.table = make([]int32, reach+1)
	for i, id := range x.all {
		k := uint64(id) - uint64(x.low)
		if x.table[k] != 0 {
			x.table = nil
			return false
		}
		x.table[k] = int32(i + 1)
	}
	x.all = nil // the table has them
	return true
}

// find returns the first row with an id, −1 when there is none.
func (x *ids) find(id int64) int {
	if x.table != nil {
		k := uint64(id) - uint64(x.low)
		if k >= uint64(len(x.table)) {
			return -1
		}
		return int(x.table[k]) - 1
	}
	i, ok := slices.BinarySearchFunc(x.byID, id, func(i int32, id int64) int { return cmp.Compare(x.all[i], id) })
	if !ok {
		return -1
	}
	return int(x.byID[i])
}

// placed is the number of a row that was the ith to be read.
func (f *fold) placed(i int32) int32 {
	if f.place == nil {
		return i
	}
	return f.place[i]
}

// room is memory for a value of each row.
func (f *fold) room() []int64 {
	if n := len(f.rooms); n > 0 {
		v := f.rooms[n-1]
		f.rooms = f.rooms[:n-1]
		return v
	}
	return make([]int64, 0, f.rows.n)
}

// free gives room back, for the next that asks.
func (f *fold) free(rooms ...[]int64) {
	for _, v := range rooms {
		if cap(v) >= f.rows.n {
			f.rooms = append(f.rooms, v[:0])
		}
	}
}

// each shows all rows in order.
func (f *fold) each(do func(x *frame)) { f.rows.frames(0, f.rows.n, do) }

// among shows some rows, which ascend; nil are all.
func (f *fold) among(rows []int32, do func(x *frame)) {
	if rows == nil {
		f.each(do)
		return
	}
	f.rows.picked(rows, do)
}
