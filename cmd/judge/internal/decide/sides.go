package decide

import (
	"hydrant/formats"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
)

// Parts of the user's time that are not the server's.
const (
	Upload   = "upload"    // writing the request: client, network and the server's receive window
	Receive  = "receive"   // from the arrival to the parsed event
	SendLag  = "send_lag"  // from the planned time to asking for a connection
	ConnWait = "conn_wait" // for a connection, without the dial
)

// clientParts are those of the generator alone, in the order in which they are added
// back.
var clientParts = [...]string{Receive, SendLag, ConnWait}

// Pair is one objective decided twice with one tau: from user times and from those of
// another side. As the other side's time is never the longer one, what passes from user
// times passes from both.
type Pair struct {
	At          int    // place in the set
	Side        string // of Other: wire or sent
	User, Other Decision
	Served      Decision // from user times less the client's own part: other side and upload
	Part        string   // of a FAIL beside a PASS: the part that turns one into the other
}

// Pairs decides every objective over user latencies of which side has a twin. What has
// no twin, such as a share or a gap, is left out; nil without columns.
func Pairs(set []slo.Objective, e Evidence, side string) []Pair {
	if e.Columns == nil {
		return nil
	}
	user := All(set, e)
	var pairs []Pair
	for i := range user {
		if paired(&user[i], side) {
			pairs = append(pairs, Pair{At: i, Side: side})
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	rows := NewRows(e.Columns)
	tau := make([]float64, len(set))
	settled := make([]bool, len(set))
	for i := range user {
		tau[i], settled[i] = user[i].Tau, user[i].Settled
	}
	other := seen(user, rows, view{side: side})
	for _, p := range pairs { // the larger of the two
		tau[p.At] = max(tau[p.At], other[p.At].Tau)
		settled[p.At] = settled[p.At] && other[p.At].Settled
	}
	decide := func(all []Decision) []Decision {
		for i := range all {
			if d := &all[i]; d.Decided && d.Objective.Kind != slo.Rate {
				d.Result, d.Reason, d.Tau, d.Settled = Inconclusive, "", tau[i], settled[i]
				d.weigh()
			}
		}
		finish(all)
		return all
	}
	user, other = decide(user), decide(other)
	var served []Decision
	for k := range pairs {
		p := &pairs[k]
		p.User, p.Other = user[p.At], other[p.At]
		if p.User.Result != Fail || p.Other.Result != Pass {
			continue
		}
		v := view{side: side, upload: true}
		if served == nil {
			served = decide(seen(user, rows, v))
		}
		if p.Served = served[p.At]; p.Served.Result != Pass {
			p.Part = Upload
			continue
		}
		for _, part := range clientParts {
			v.add(part)
			if p.Part = part; decide(seen(user, rows, v))[p.At].Result == Fail {
				break
			}
		}
	}
	return pairs
}

// paired says whether some limit of the objective is on the user side and has a twin.
func paired(d *Decision, side string) bool {
	limits := d.Limits
	if d.Objective.Kind == slo.Quantile {
		limits = []slo.Limit{d.Objective.Limit}
	}
	if d.Objective.Kind == slo.Rate {
		return false
	}
	for _, l := range limits {
		if l.Side == slo.User && l.Has(side) {
			return true
		}
	}
	return false
}

// seen samples the objectives again under a view.
func seen(user []Decision, rows Rows, v view) []Decision {
	rows.view = &v
	all := make([]Decision, len(user))
	for i, d := range user {
		all[i] = Decision{Objective: d.Objective, Limits: d.Limits, Result: Inconclusive, Reason: d.Reason, Tau: 1, needed: d.needed, Rate: d.Rate}
		if d.Objective.Kind == slo.Rate {
			all[i].Result = d.Result
			continue
		}
		if s := rows.sample(d.Objective, d.Limits); all[i].count(s) {
			all[i].estimate(s)
		}
	}
	return all
}

// view is the other side's time with some of the parts added back.
type view struct {
	side                      string
	upload, receive, lag, own bool // own: the wait for a connection
}

func (v *view) add(part string) {
	switch part {
	case Receive:
		v.receive = true
	case SendLag:
		v.lag = true
	case ConnWait:
		v.own = true
	}
}

// value is the user's time of one request without the parts that the view leaves out.
// Where a stamp is missing for that, it is the user's time: nothing is taken off
// unproven.
func (v *view) value(c *summary.Columns, i int, l slo.Limit, user formats.Int) formats.Int {
	if !user.Valid {
		return user
	}
	other := v.other(c, i, l, user)
	if l.Metric == "tpot" { // between two tokens there is nothing but the server and the way to the parser
		if v.receive {
			return user
		}
		return other
	}
	upload, lag, wait := c.Ints["upload_ns"][i], c.Ints["send_lag_ns"][i], c.Ints["conn_wait_ns"][i]
	if !v.upload && !v.receive && !v.lag && !v.own {
		return other
	}
	if !upload.Valid || !lag.Valid || !wait.Valid {
		return user
	}
	x := other.V
	if v.upload {
		x += upload.V
	}
	if v.receive {
		x += user.V - other.V - upload.V - lag.V - wait.V
	}
	if v.lag {
		x += lag.V
	}
	if v.own {
		x += wait.V
	}
	return formats.Some(x)
}

// other is the time of the view's side, never above the user's. A request without a
// kernel stamp is seen from the sent side.
func (v *view) other(c *summary.Columns, i int, l slo.Limit, user formats.Int) formats.Int {
	for _, side := range [...]string{v.side, slo.Sent} {
		if l.Side = side; l.Has(side) {
			if x := c.Ints[l.Column()][i]; x.Valid {
				return formats.Some(min(x.V, user.V))
			}
		}
	}
	return user
}
