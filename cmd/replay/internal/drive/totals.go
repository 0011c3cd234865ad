package drive

import (
	"slices"
	"time"

	"hydrant/cmd/replay/internal/link"
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/internal/stats"
)

// totals counts what the header and the end of a run and the words on the terminal
// need, in constant memory. Drive's mutex guards it.
type totals struct {
	planned  int64
	input    lengths
	output   lengths
	outcomes [len(run.Outcomes)]int64
	sent     int64 // rows that were dispatched

	bytesSent, bytesReceived, tokenEvents int64

	lag     *stats.Histogram // send lag, ns
	cpu     *stats.Histogram // CPU time per second of each worker, ns
	cpuTime time.Duration    // of all workers, from the client rows
}

func newTotals() *totals {
	return &totals{lag: stats.NewHistogram(3), cpu: stats.NewHistogram(2), input: lengths{}, output: lengths{}}
}

// row counts a row by its envelope.
func (t *totals) row(r link.Row) {
	t.outcomes[r.Outcome]++
	if r.Dispatched {
		t.sent++
		if r.SendLagNS.Valid {
			t.lag.Record(r.SendLagNS.V, 1)
		}
	}
	t.bytesSent += r.BytesSent
	t.bytesReceived += r.BytesReceived
	t.tokenEvents += r.TokenEvents
}

func (t *totals) client(c *run.Client) {
	cpu := c.CPUUserNS.V + c.CPUSystemNS.V
	t.cpuTime += time.Duration(cpu)
	if i := c.IntervalNS.V; i >= int64(time.Second)/2 {
		t.cpu.Record(int64(float64(cpu)/float64(i)*float64(time.Second)), 1)
	}
}

// outcomeList returns all outcomes in their order, zeros included.
func (t *totals) outcomeList() []run.Outcome {
	list := make([]run.Outcome, len(t.outcomes))
	for i, n := range t.outcomes {
		list[i] = run.Outcome{Name: run.Outcomes[i], N: n}
	}
	return list
}

// lengths counts each planned length. There are at most as many as tokens fit in a
// context, so memory does not grow with the run.
type lengths map[int64]int64

func (l lengths) add(v formats.Int) {
	if v.Valid {
		l[v.V]++
	}
}

// remove takes back what add counted.
func (l lengths) remove(v formats.Int) {
	if v.Valid {
		if l[v.V]--; l[v.V] == 0 {
			delete(l, v.V)
		}
	}
}

// summary returns nearest-rank percentiles and sums; all null when nothing was added.
func (l lengths) summary() run.Lengths {
	values := make([]int64, 0, len(l))
	var s run.Lengths
	var sum int64
	for v, n := range l {
		values = append(values, v)
		s.N += n
		sum += v * n
	}
	if s.N == 0 {
		return s
	}
	slices.Sort(values)
	s.Sum, s.Min, s.Max = formats.Some(sum), formats.Some(values[0]), formats.Some(values[len(values)-1])
	var seen int64
	for _, v := range values {
		seen += l[v]
		for _, q := range []struct {
			level int64
			at    *formats.Int
		}{{500, &s.P50}, {900, &s.P90}, {990, &s.P99}} {
			if !q.at.Valid && seen >= stats.NearestRank(s.N, q.level) {
				*q.at = formats.Some(v)
			}
		}
	}
	return s
}
