package fold

import (
	"bytes"

	"hydrant/formats/run"
)

// Rows are taken in column by column, up to a block of them at once, with
// the checks that take makes of one row. Where one does not hold the rows are left to take,
// which says what is wrong.

// instant is a column of times: where it stands in a row of a run and in a frame, −1 for one
// that is only checked, and whether it happened in the run. They are in the order of timeNames.
type instant struct {
	from, to int
	happened bool
}

var instants = func() (all [len(timeNames)]instant) {
	to := [len(timeNames)]int{cScheduled, cDue, cPrepared, cDispatched, cAsked, cReady, cDNS, cConnect, cTLS, cWrote, cFirstByteKernel, cFirstByte, -1,
		cFirstKernel, cFirst, cAnswerKernel, cAnswer, cLastKernel, cLast, cEnd}
	for i, name := range timeNames {
		all[i] = instant{run.ColumnIndex(name), to[i], i >= unhappened}
	}
	return all
}()

// amount is a column of counts, and what each is at most. They are in the order of countLimits.
type amount struct {
	from, to int
	most     uint64
}

var amounts = func() (all [len(countLimits)]amount) {
	to := [len(countLimits)]int{cPlannedIn, cPlannedOut, cExpected, cIn, cOut, cReasoning, cCached, cFirstChunk, cTokens, cWorker, cSent, cReads, cMulti,
		cCapWait, cSegments, cRetransmits}
	for i, l := range countLimits {
		all[i] = amount{run.ColumnIndex(l.name), to[i], uint64(l.most)}
	}
	return all
}()

// Other columns that are taken in.
var (
	runID, runTurn        = run.ColumnIndex("request_id"), run.ColumnIndex("turn")
	runOutcome, runSource = run.ColumnIndex("outcome"), run.ColumnIndex("token_source")
	runReused, runEarly   = run.ColumnIndex("conn_reused"), run.ColumnIndex("early_response")
	runError, runAfter    = run.ColumnIndex("error"), run.ColumnIndex("after")
	runTexts              = [...]struct{ from, to int }{{run.ColumnIndex("session"), cSession}, {run.ColumnIndex("class"), cClass},
		{run.ColumnIndex("model"), cModel}, {run.ColumnIndex("remote_addr"), cAddr}}
	runLists = [...]int{run.ColumnIndex("chunk_gap_us"), run.ColumnIndex("chunk_delay_us"), run.ColumnIndex("chunk_tokens")}
)

// unread are the columns of a run that no metric looks at.
var unread = []int{run.ColumnIndex("pass"), run.ColumnIndex("stream"), run.ColumnIndex("conn_id"), run.ColumnIndex("headers_ns"),
	run.ColumnIndex("bytes_received"), run.ColumnIndex("events"), run.ColumnIndex("rtt_us"), run.ColumnIndex("http_status"), run.ColumnIndex("finish_reason")}

// bulk is the scratch memory of takeRows.
type bulk struct {
	firstEvent column
	early      [blockRows]bool
	anyEarly   bool
	low        column // the lowest of 0, gaps and delays of a row, µs
	lists      chunks // of the row at hand
	delays     []int64
	tokens     []int64
	outcome    lastWord
	source     lastWord
}

// lastWord is a word of the row before, and its number in a list.
type lastWord struct {
	word []byte
	at   int
}

// in is the number of a word in a list, −1 for one that it lacks.
func (l *lastWord) in(list []string, word []byte) int {
	if l.word != nil && bytes.Equal(word, l.word) {
		return l.at
	}
	for i, s := range list {
		if s == string(word) {
			l.word, l.at = append(l.word[:0], word...), i
			if l.word == nil {
				l.word = []byte{}
			}
			return i
		}
	}
	return -1
}

// takeRows takes in n rows of a part that are at hand, for which there is room in a block; false
// when they have to be taken one by one.
func (f *fold) takeRows(q *part, p *run.Part, n, part int) (ok bool, err error) {
	b := &f.bulk
	x, at := f.rows.room()
	if f.o.Row != nil || f.o.Fluidity != nil || f.rows.n+n >= 1<<31-1 {
		return false, nil
	}
	lists := false
	for _, i := range runLists {
		lists = lists || !p.Cells(i).Empty(n)
	}
	most := int64(null)
	for _, c := range instants {
		to := &b.firstEvent
		if c.to >= 0 {
			to = &x.v[c.to]
		}
		cells := p.Cells(c.from)
		if c.to >= 0 && cells.AllNull() {
			x.set(c.to, at, n, null)
			continue
		}
		least := int64(-maxTime)
		if c.happened {
			least = -clockSlack
		}
		v := to[at : at+n]
		nulls := cells.Ints(v, null)
		if c.to >= 0 {
			x.mixed(c.to, at, nulls > 0)
		}
		latest, ok := within(v, nulls, least, maxTime)
		if !ok {
			return false, nil
		}
		if c.happened {
			most = max(most, latest)
		}
	}
	for _, c := range amounts {
		cells := p.Cells(c.from)
		if cells.AllNull() {
			x.set(c.to, at, n, null)
			continue
		}
		v := x.v[c.to][at : at+n]
		nulls := cells.Ints(v, null)
		x.mixed(c.to, at, nulls > 0)
		if _, ok := within(v, nulls, 0, int64(c.most)); !ok {
			return false, nil
		}
	}
	turn := x.v[cTurn][at : at+n]
	if _, ok := within(turn, p.Cells(runTurn).Ints(turn, null), 0, maxCount); !ok {
		return false, nil
	}
	p.Cells(runID).Ints(x.v[cID][at:at+n], null)
	if !b.takeFlags(q, p, x.v[cFlags][at:at+n]) {
		return false, nil
	}

	// Nothing can be wrong from here on but the lists.
	for i, w := range x.v[cWorker][at : at+n] {
		if w == null {
			x.v[cWorker][at+i] = -1
		}
	}
	x.mixed(cWorker, at, false)
	for _, c := range [...]int{cTurn, cID, cFlags} {
		x.mixed(c, at, c == cID) // an id may be any number
	}
	x.set(cFluidity, at, n, -1)
	x.set(cPart, at, n, int64(part))
	f.takeTexts(p, x, at, n)
	f.takeAfter(p, x, at, n)
	if most > f.latest.at {
		f.latest = b.latestOf(x, at, n, most)
	}
	if q.header.Timing == "asap" {
		x.mixed(cScheduled, at, true)
		for i := at; i < at+n; i++ {
			if x.v[cDue][i] == null {
				x.v[cScheduled][i] = null // the schedule's times do not say when it would have been sent
			}
		}
	}
	clear(b.low[:n])
	if lists {
		if ok, err := f.takeLists(p, x, at, n); !ok {
			return false, err
		}
	} else {
		x.set(cGapSum, at, n, null)
		x.set(cGapP99, at, n, null)
		x.set(cGapMax, at, n, null)
		x.set(cGapN, at, n, 0)
	}
	if q.told == nil {
		f.order.addRows(x, at, n, b)
	}
	f.rows.added(n)
	return true, nil
}

// set fills rows of a frame with one value.
func (x *frame) set(c, at, n int, v int64) {
	x.steady = true
	if at == 0 {
		if !x.same[c].all || x.same[c].value != v {
			for i := range x.v[c] {
				x.v[c][i] = v
			}
		}
		x.same[c] = same{value: v, all: true}
		return
	}
	if x.same[c].all && x.same[c].value == v {
		return
	}
	x.mixed(c, at, v == null)
	for i := at; i < at+n; i++ {
		x.v[c][i] = v
	}
}

// mixed says of a column that its rows from one on have several values, null among them or not.
func (x *frame) mixed(c, at int, nulls bool) {
	was := x.same[c]
	full := at == 0 || was.full || was.all && was.value != null
	x.same[c], x.steady = same{full: full && !nulls}, true
}

// within says whether all values lie between two limits but for the nulls, of which there are
// so many, and returns the largest.
func within(v []int64, nulls int, least, most int64) (largest int64, ok bool) {
	largest = null
	reach := uint64(most) - uint64(least)
	for _, t := range v {
		largest = max(largest, t)
		if uint64(t)-uint64(least) > reach {
			if t != null {
				return 0, false
			}
			nulls--
		}
	}
	return largest, nulls == 0
}

// takeFlags takes in what is no number.
func (b *bulk) takeFlags(q *part, p *run.Part, flags []int64) bool {
	outcomes, tokens, reused, early, failed := p.Cells(runOutcome), p.Cells(runSource), p.Cells(runReused), p.Cells(runEarly), p.Cells(runError)
	noError, noEarly := failed.AllNull(), early.AllNull()
	b.anyEarly = false
	var r rec
	r.whole = !q.header.Streaming
	for i := range flags {
		outcome, source := b.outcome.in(run.Outcomes[:], outcomes.Text(i)), b.source.in(sources[:], tokens.Text(i))
		if outcome < 0 || source < 0 {
			return false
		}
		r.outcome, r.source, r.reused = uint8(outcome), uint8(source), -1
		if !reused.Null(i) {
			r.reused = int8(bit(reused.Bool(i)))
		}
		r.early = !noEarly && !early.Null(i) && early.Bool(i)
		b.early[i], b.anyEarly = r.early, b.anyEarly || r.early
		r.local = !noError && bytes.HasPrefix(failed.Text(i), []byte(run.LocalPrefix))
		flags[i] = r.flags()
	}
	return true
}

// takeTexts takes in the texts.
func (f *fold) takeTexts(p *run.Part, x *frame, at, n int) {
	for _, c := range runTexts {
		cells, last := p.Cells(c.from), &f.last[c.to-cSession]
		all, first := true, int64(0)
		v := x.v[c.to][at : at+n]
		for i := range v {
			v[i] = last.index(&f.text, cells.Text(i))
			if i == 0 {
				first = v[0]
			}
			all = all && v[i] == first
		}
		if all {
			x.set(c.to, at, n, first)
		} else {
			x.mixed(c.to, at, false)
		}
	}
}

// takeAfter takes in the ids that had to end first.
func (f *fold) takeAfter(p *run.Part, x *frame, at, n int) {
	cells := p.Cells(runAfter)
	if cells.Empty(n) {
		x.set(cAfter, at, n, null)
		x.set(cAfterN, at, n, 0)
		return
	}
	x.mixed(cAfter, at, true)
	x.mixed(cAfterN, at, false)
	for i := range n {
		list := cells.List(i)
		after := int64(null)
		switch len(list) {
		case 0:
		case 1:
			after, f.dependent = list[0], true
		default:
			after = int64(len(f.after))
			f.after, f.dependent = append(f.after, list...), true
		}
		x.v[cAfter][at+i], x.v[cAfterN][at+i] = after, int64(len(list))
	}
}

// latestOf finds the first stamp with the value of the latest one.
func (b *bulk) latestOf(x *frame, at, n int, most int64) latest {
	row, name := n, ""
	for k, c := range instants {
		if !c.happened {
			continue
		}
		v := &b.firstEvent
		if c.to >= 0 {
			v = &x.v[c.to]
		}
		for i, t := range v[at : at+min(n, row+1)] {
			if t == most && i < row {
				row, name = i, timeNames[k]
				break
			}
		}
	}
	return latest{most, x.v[cID][at+row], name}
}

// before are the instants of a row in the order in which they come to pass, but for those from
// the write on.
var before = [...]int{cDue, cDispatched, cAsked, cDNS, cConnect, cTLS, cReady}

// addRows is add for rows of a frame.
func (o *order) addRows(x *frame, at, n int, b *bulk) {
	var last, breach column
	for i := range n {
		last[i], breach[i] = null, 0
	}
	broken := false
	for i, low := range b.low[:n] {
		if low < 0 {
			breach[i], broken = -1000*low, true
		}
	}
	step := func(v []int64) {
		for i, t := range v {
			switch {
			case t >= last[i]:
				last[i] = t
			case t != null:
				breach[i], broken = max(breach[i], last[i]-t), true
			}
		}
	}
	for _, c := range before {
		if !x.nulls(c) {
			step(x.v[c][at : at+n])
		}
	}
	if !b.anyEarly {
		step(x.v[cWrote][at : at+n])
	} else {
		for i, t := range x.v[cWrote][at : at+n] {
			switch {
			case t == null:
			case t >= last[i]:
				if !b.early[i] {
					last[i] = t
				}
			default:
				breach[i], broken = max(breach[i], last[i]-t), true
			}
		}
	}
	for _, v := range [...]*column{&x.v[cFirstByte], &b.firstEvent, &x.v[cFirst], &x.v[cLast], &x.v[cEnd]} {
		step(v[at : at+n])
	}
	for _, p := range [...][2]int{{cFirstByteKernel, cFirstByte}, {cFirstKernel, cFirst}, {cAnswerKernel, cAnswer}, {cLastKernel, cLast}, {cWrote, cFirstByteKernel}} {
		v, w := x.v[p[0]][at:at+n], x.v[p[1]][at:at+n]
		for i := range v {
			if v[i] > w[i] && w[i] != null && !(b.early[i] && p[0] == cWrote) {
				breach[i], broken = max(breach[i], v[i]-w[i]), true
			}
		}
	}
	due, dispatched := x.v[cDue][at:at+n], x.v[cDispatched][at:at+n]
	for i := range due {
		if dispatched[i] < due[i] && dispatched[i] != null {
			o.early++
		}
	}
	if !broken {
		return
	}
	for i, by := range breach[:n] {
		if by > 0 {
			o.broken(by, x.v[cID][at+i])
		}
	}
}

// nulls says that a column is known to have no value.
func (x *frame) nulls(c int) bool { return x.same[c].all && x.same[c].value == null }
