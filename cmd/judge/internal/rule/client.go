package rule

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hydrant/cmd/judge/internal/decide"
	"hydrant/formats/run"
	"hydrant/formats/verdict"
	"hydrant/internal/slo"
)

// tinySlice is the wait per timeslice below which the ratio of wait to CPU is not
// judged: with tiny slices it grows without any shortage.
const tinySlice = 100e3

// ofLimit is the part of an objective's limit that a delay of the client may take.
const ofLimit = 0.05

// headroom judges the calibration. The limit that stands in for kernel stamps makes a
// WARN of the check: it decides the tier, not the check.
func headroom(s *state, f *finding) {
	s.take(f, "headroom", "headroom", nil)
	s.take(f, "peak", "headroom_peak", nil)
	if s.stamped() {
		f.skip("t1", "kernel stamps")
	} else {
		s.take(f, "t1", "headroom", nil)
	}
}

func cpu(s *state, f *finding) {
	s.take(f, "cpu", "cpu_share", nil)
	s.take(f, "host", "host_cpu_share", nil)
}

// waits judges by the scheduler's own counts, else by the pressure of the cgroup, else
// by the probe.
func waits(s *state, f *finding) {
	const counted = "schedstat is there"
	if s.take(f, "slice", "wait_per_slice", nil) {
		s.waitRatio(f)
		f.skip("psi", counted)
		f.skip("hiccup", counted)
		return
	}
	const reason = "no schedstat"
	if x := s.scalar("psi_share"); x.Value != nil {
		f.skipAll(reason)
		s.take(f, "psi", "psi_share", nil)
		f.skip("hiccup", "pressure stands in")
		return
	}
	if x := s.scalar("hiccup_thread"); x.Value != nil {
		f.skipAll(reason + " and no pressure")
		s.take(f, "hiccup", "hiccup_thread", nil)
		return
	}
	for _, t := range f.check.Terms {
		f.unknown(t.Name, "no schedstat, no pressure and no hiccup probe")
	}
}

// waitRatio judges the worst worker among those that wait long per slice.
func (s *state) waitRatio(f *finding) {
	worst, n, who := math.NaN(), int64(0), ""
	for _, c := range s.sum.Clients {
		wait, sliced := c.Values["wait_per_slice_ns"]
		r, known := c.Values["run_wait_ratio"]
		if !sliced || !known || wait <= tinySlice {
			continue
		}
		if n++; !(r <= worst) {
			worst, who = r, fmt.Sprintf("worker %d", c.Worker)
		}
	}
	if n == 0 {
		f.skip("ratio", "no worker waits more than 100 µs a slice")
		return
	}
	f.value("ratio", worst, n)
	f.see("ratio", who)
}

// throttle judges what stops a process from outside. Neither is known outside of a
// quota on bare metal, as the header has to say.
func throttle(s *state, f *finding) {
	bare := s.bareMetal()
	for term, id := range map[string]string{"throttled": "throttled", "steal": "steal_share"} {
		if x := s.scalar(id); x.Value == nil && bare {
			f.skip(term, "no quota, and bare metal by --label")
			continue
		}
		s.take(f, term, id, nil)
	}
}

// bareMetal says whether every part states that it ran on bare metal, outside of a quota.
func (s *state) bareMetal() bool {
	for _, h := range s.headers {
		if h.Host.CPUQuota != nil || h.Labels["bare-metal"] != "yes" {
			return false
		}
	}
	return len(s.headers) > 0
}

func hiccups(s *state, f *finding) {
	s.take(f, "thread", "hiccup_thread", nil)
	s.take(f, "goroutine", "hiccup_goroutine", nil)
	f.limit("max", least(ofLimit*s.ttft, s.gap/2))
	thread, goroutine := s.scalar("hiccup_thread_max"), s.scalar("hiccup_goroutine_max")
	switch {
	case thread.Value == nil:
		f.unknown("max", thread.Reason)
	case goroutine.Value != nil && *goroutine.Value > *thread.Value:
		f.value("max", *goroutine.Value, goroutine.N)
		f.see("max", "goroutine, "+goroutine.Evidence)
	default:
		f.value("max", *thread.Value, thread.N)
		f.see("max", "thread, "+thread.Evidence)
	}
}

func coalescing(s *state, f *finding) {
	if len(s.headers) > 0 && !slices.ContainsFunc(s.headers, func(h run.Header) bool { return h.Streaming }) {
		f.skipAll("answers are not streamed: one read more or less hides no token")
		return
	}
	if s.waived(f) {
		return
	}
	s.take(f, "kappa", "kappa_excess", nil)
}

// readDelay judges the chunks, else the seconds of the client table.
func readDelay(s *state, f *finding) {
	if s.waived(f) {
		return
	}
	f.limit("delay", least(f.check.Terms[0].Limit, least(ofLimit*s.gap, ofLimit*s.ttft)))
	if x := s.scalar("recv_delay_p99"); x.Value == nil {
		if s.take(f, "delay", "read_delay_seconds_p99", nil) {
			f.see("delay", "by seconds of the client table: no chunk lists")
		}
		return
	}
	s.take(f, "delay", "recv_delay_p99", nil)
	if x := s.scalar("read_delay_p99"); x.Value != nil {
		f.see("delay", "worst second: "+x.Evidence)
	}
}

// clientShare judges the worst of the TTFT objectives at their own levels.
func clientShare(s *state, f *finding) {
	worst, n, where, asked := math.NaN(), int64(0), "", false
	for _, d := range s.decisions {
		o := d.Objective
		if o.Kind != slo.Quantile || o.Limit.Metric != "ttft" {
			continue
		}
		asked = true
		v, rows := s.shareAt(o.P)
		if !math.IsNaN(v) && !(v <= worst) {
			worst, n, where = v, rows, o.Text
		}
	}
	switch {
	case !asked:
		f.skipAll("no TTFT objective")
	case n == 0:
		f.unknown("share", "no ok row has a first token, or the summary has no per-request columns")
	default:
		f.value("share", worst, n)
		f.see("share", where)
		if !s.stamped() {
			f.see("share", where+"; lower bound: no kernel stamps")
		}
	}
}

// shareAt is client_share at a level: from the rows, else one of those published.
func (s *state) shareAt(p float64) (float64, int64) {
	if s.Columns != nil {
		return s.rows.ClientShare(p)
	}
	for id, level := range map[string]float64{"client_share_p50": 0.5, "client_share_p90": 0.9, "client_share_p99": 0.99} {
		if x := s.scalar(id); level == p && x.Value != nil {
			return *x.Value, x.N
		}
	}
	return math.NaN(), 0
}

func runtimeQuiet(s *state, f *finding) {
	s.take(f, "sched", "sched_p99", nil)
	s.take(f, "gc_max", "gc_pause_max", nil)
	s.take(f, "gc_share", "gc_pause_share", nil)
	x := s.scalar("backlog_rows_max")
	if x.Value == nil {
		f.unknown("queue", x.Reason)
		return
	}
	full := 0.0
	if *x.Value >= run.RowBacklog {
		full = 1
		f.see("queue", "finished rows, "+x.Evidence)
	}
	f.value("queue", full, x.N)
}

// link judges the way between the hosts. On the host itself there is none.
func link(s *state, f *finding) {
	s.take(f, "retransmits", "retransmit_share", nil)
	if s.onHost() {
		f.skip("use", "the server is on the same host")
		return
	}
	f.unknown("use", "the run does not state the rate of the link")
}

// onHost says whether every address that answered is one of the client's own host.
func (s *state) onHost() bool {
	var seen []string
	if s.Columns != nil {
		seen = slices.Compact(slices.Sorted(slices.Values(s.Columns.Strings["remote_addr"])))
	} else {
		for _, h := range s.headers {
			seen = append(seen, h.Target...)
		}
	}
	any := false
	for _, a := range seen {
		if a == "" {
			continue
		}
		any = true
		_, after, scheme := strings.Cut(a, "://")
		if scheme {
			a = after
		}
		if !strings.HasPrefix(a, "127.") && !strings.HasPrefix(a, "[::1]") && !strings.HasPrefix(a, "localhost") &&
			!strings.HasPrefix(a, "/") && !strings.HasPrefix(a, "unix") && !strings.HasPrefix(a, "@") {
			return false
		}
	}
	return any
}

// bundling tells events that came together from events that were read together: only
// while C6 is OK.
func bundling(s *state, f *finding) {
	if c := s.check("C6"); c.Status == verdict.OK && !strings.HasPrefix(c.Evidence, "n/a") {
		s.take(f, "same_read", "same_read_excess", nil)
	} else {
		f.skip("same_read", "C6 is not OK: the reader itself may bundle")
	}
	x := s.scalar("ttft_of_e2e")
	if x.Value == nil {
		f.skip("late", x.Reason)
		return
	}
	s.take(f, "late", "ttft_of_e2e", nil)
}

// invariance decides every objective from both sides.
func invariance(s *state, f *finding) {
	switch {
	case len(s.Set) == 0:
		f.skipAll("no objective")
		return
	case s.Columns == nil:
		for _, t := range f.check.Terms {
			f.unknown(t.Name, "the summary has no per-request columns")
		}
		return
	case len(s.pairs) == 0:
		f.skipAll("no objective over latencies that the " + s.side() + " side measures as well")
		return
	}
	var decided, open float64
	for _, p := range s.pairs {
		cell := s.cell(p)
		s.cells[p.At] = cell
		d := &s.decisions[p.At]
		switch cell.Status {
		case verdict.Bad:
			if decided++; decided == 1 {
				f.see("client", d.Objective.Text+": "+cell.Text)
			}
		case verdict.Warn:
			if open++; open == 1 {
				f.see("open", d.Objective.Text+": "+cell.Text)
			}
			if p.User.Result == decide.Fail && !s.uploadStands(p) && d.Result == decide.Fail {
				d.Result, d.Reason = decide.Inconclusive, cell.Text
			}
		}
	}
	f.value("client", decided, int64(len(s.pairs)))
	f.value("open", open, int64(len(s.pairs)))
}

// uploadStands says whether a FAIL that only the upload makes is the server's: its
// receive window was the cause when the link was not.
func (s *state) uploadStands(p decide.Pair) bool {
	return p.Part == decide.Upload && p.Served.Result == decide.Fail && s.check("C12").Status == verdict.OK
}

// cell is one cell of the table of docs/validity.md 5.
func (s *state) cell(p decide.Pair) verdict.Invariance {
	c := verdict.Invariance{Side: p.Side, User: p.User.Result, Other: p.Other.Result, Status: verdict.OK, Tau: &p.User.Tau}
	if p.User.Result != decide.Fail || p.Other.Result == decide.Fail {
		return c
	}
	if c.Part = p.Part; p.Other.Result == decide.Inconclusive {
		c.Status, c.Text = verdict.Warn, "fails from user times, undecided on the "+p.Side+" side"
		return c
	}
	if p.Part != decide.Upload {
		c.Status, c.Text = verdict.Bad, "passes on the "+p.Side+" side, "+p.Part+" makes it fail"
		return c
	}
	c.Status, c.Text = verdict.Warn, "passes on the "+p.Side+" side, the upload makes it fail"
	if !s.uploadStands(p) {
		c.Text += ", which is not the server's for certain"
	}
	return c
}
