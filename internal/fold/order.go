package fold

import (
	"hydrant/formats"
	"hydrant/formats/run"
)

// order counts rows whose stamps contradict the order in which things happen.
type order struct {
	rows  int64 // broken at all
	over  int64 // broken by more than orderSlack
	most  int64 // the worst, ns
	worst int64 // its request id
	early int64 // dispatched before due
}

// orderSlack is what two threads may disagree on an instant, ns.
const orderSlack = 50_000

// add checks one row: due ≤ dispatched ≤ conn_asked ≤ dns ≤ connect ≤ tls ≤
// conn_ready ≤ write_done ≤ first_byte ≤ first_event ≤ first_token ≤ last_token ≤
// end, kernel stamps not after their user stamps nor before the request was written, chunk
// times ascending: low is the lowest of 0 and what stands in its lists of gaps and delays, µs. Steps that
// did not happen are passed over; an answer that came before the request was
// written is not compared with write_done.
func (o *order) add(q *run.Request, low int64) {
	var breach int64
	last := formats.Int{}
	step := func(t formats.Int) {
		if !t.Valid {
			return
		}
		if last.Valid && last.V > t.V {
			breach = max(breach, last.V-t.V)
			return // the latest instant so far stays the measure
		}
		last = t
	}
	for _, t := range [...]formats.Int{q.DueNS, q.DispatchedNS, q.ConnAskedNS, q.DNSNS, q.ConnectNS, q.TLSNS, q.ConnReadyNS} {
		step(t)
	}
	if q.EarlyResponse.Or(0) != 1 {
		step(q.WriteDoneNS)
	} else if q.WriteDoneNS.Valid && last.Valid {
		breach = max(breach, last.V-q.WriteDoneNS.V)
	}
	for _, t := range [...]formats.Int{q.FirstByteNS, q.FirstEventNS, q.FirstTokenNS, q.LastTokenNS, q.EndNS} {
		step(t)
	}
	for _, p := range [...][2]formats.Int{{q.FirstByteKernelNS, q.FirstByteNS}, {q.FirstTokenKernelNS, q.FirstTokenNS},
		{q.FirstAnswerKernelNS, q.FirstAnswerNS}, {q.LastTokenKernelNS, q.LastTokenNS}} {
		if d := p[0].Minus(p[1]); d.Valid {
			breach = max(breach, d.V)
		}
	}
	if q.EarlyResponse.Or(0) != 1 {
		if d := q.WriteDoneNS.Minus(q.FirstByteKernelNS); d.Valid {
			breach = max(breach, d.V)
		}
	}
	breach = max(breach, -1000*low)
	if lag := q.DispatchedNS.Minus(q.DueNS); lag.Valid && lag.V < 0 {
		o.early++
	}
	if breach > 0 {
		o.broken(breach, q.RequestID)
	}
}

// broken counts a row that breaks the order by so many ns.
func (o *order) broken(breach, id int64) {
	o.rows++
	if breach > orderSlack {
		o.over++
	}
	if breach > o.most || breach == o.most && id < o.worst {
		o.most, o.worst = breach, id
	}
}

// merge adds the counts of other rows.
func (o *order) merge(p order) {
	o.rows += p.rows
	o.over += p.over
	o.early += p.early
	if p.most > o.most || p.most == o.most && p.most > 0 && p.worst < o.worst {
		o.most, o.worst = p.most, p.worst
	}
}
