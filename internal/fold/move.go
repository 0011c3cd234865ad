package fold

// mover copies rows of one store into another, in an order of their own. It works on many at
// once: rows that ended in another order than they were planned in lie in many blocks, and the
// more of them are wanted of one block, the less it costs to look into it.
type mover struct {
	picks
	same   [recColumns]same
	latest [moverRows]int64
	v      [recColumns][moverRows]int64
}

// moverRows is the most rows that are copied at once.
const moverRows = 64 * blockRows

// move appends rows to a store that has whole blocks only. change, where it is given, is shown
// the n rows first.
func (m *mover) move(from, to *store, rows []int32, change func(m *mover, n int)) {
	n := len(rows)
	m.choose(from, rows)
	for c := range recColumns {
		m.unpack(c, n)
	}
	if change != nil {
		m.same = [recColumns]same{}
		change(m, n)
	}
	var columns [recColumns][]int64
	for i := 0; i < n; i += blockRows {
		for c := range columns {
			columns[c] = m.v[c][i:min(i+blockRows, n)]
		}
		to.blocks = append(to.blocks, to.packer.pack(&columns, &m.same))
	}
	to.n += n
}

// unpack fills a column; those that it is kept as the difference to stand before it.
func (m *mover) unpack(c, n int) {
	var near []int64
	timed := c >= firstTime && c <= lastTime
	switch {
	case timed:
		if near = m.latest[:n]; c == firstTime {
			for i, v := range m.v[cDue][:n] {
				near[i] = reference(v)
			}
		}
	case nearTo[c] >= 0:
		near = m.v[nearTo[c]][:n]
	}
	k, one := m.one(c, near != nil)
	if !one {
		m.same[c] = same{full: m.full(c)}
		m.fill(c, m.v[c][:], near, timed)
		return
	}
	v := k.base
	if k.nulls {
		v = null
	}
	if was := &m.same[c]; !was.all || was.value != v {
		for i := range m.v[c] {
			m.v[c][i] = v
		}
		*was = same{value: v, all: true}
	}
}

// shift moves every time of row i by ns.
func (m *mover) shift(i int, ns int64) {
	for c := cDue; c <= lastTime; c++ {
		if v := &m.v[c][i]; *v != null {
			*v += ns
		}
	}
}
