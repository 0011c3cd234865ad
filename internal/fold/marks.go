package fold

// What a row is, as bits.
const (
	isPlanned = 1 << iota // in the window
	isOK                  // belongs to the population O
	isDispatched
	isSent // left, or would have but for the peer
	isCut  // by the plan
	isWhole
	isSpooled
)

// marks are what the rows are.
func (x *frame) marks() *[blockRows]uint8 {
	if x.have[cMarks] {
		return &x.mark
	}
	x.have[cMarks], x.wholes = true, false
	flags, dispatched, u := x.col(cFlags), x.col(cDispatched), x.u()
	from, to := x.s.from, x.s.to
	var last int64 = -1
	var mark uint8
	for i := range x.n {
		if flags[i] != last {
			last, mark = flags[i], markOf(flags[i])
		}
		m := mark
		if dispatched[i] != null {
			m |= isDispatched
		}
		if u[i] >= from && u[i] < to { // null lies before every window
			m |= isPlanned
		}
		x.mark[i] = m
		x.wholes = x.wholes || m&isWhole > 0
	}
	return &x.mark
}

// markOf are the marks that flags give.
func markOf(flags int64) (m uint8) {
	var r rec
	r.setFlags(flags)
	if r.ok() {
		m |= isOK
	}
	if r.wasSent() {
		m |= isSent
	}
	if r.outcome == outcomePlanned {
		m |= isCut
	}
	if r.whole {
		m |= isWhole
	}
	if r.spooled {
		m |= isSpooled
	}
	return m
}
