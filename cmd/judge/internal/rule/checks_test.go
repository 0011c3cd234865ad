package rule

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/formats/verdict"
)

func TestSampleHasNoFault(t *testing.T) {
	in := sample()
	in.slos("ttft:p99<500ms", "error_rate<1%")
	v := judge(t, in)
	for _, c := range v.Checks {
		if c.Status != verdict.OK && c.ID != "A5" && c.ID != "B5" && c.ID != "C11" {
			t.Errorf("%s = %s (%s) %+v; want OK", c.ID, c.Status, c.Reason, c.Terms)
		}
	}
	if v.Exit != 0 || v.SLO != verdict.Pass || v.Harness != verdict.Valid {
		t.Errorf("exit %d, %s, %s; want 0, VALID, PASS", v.Exit, v.Harness, v.SLO)
	}
	const want = "VALID · PASS"
	if v.Headline != want || v.Tier != "T2" || len(v.Unproven) > 0 {
		t.Errorf("headline %q; want %q", v.Headline, want)
	}
}

// perturb holds, for each limit, what puts its number at v in a run without a fault.
// bound is the limit in effect where it follows from the objectives.
var perturb = map[string]struct {
	put   func(in *Input, v float64)
	bound float64
}{
	"A1.missing":      {put: func(in *Input, v float64) { in.Summary.Plan.Distinct -= int64(v); in.Summary.Plan.Rows -= int64(v) }},
	"A1.duplicate":    {put: func(in *Input, v float64) { in.Summary.Plan.Rows += int64(v) }},
	"A1.conservation": {put: func(in *Input, v float64) { in.Summary.Outcomes[0].N -= int64(v) }},
	"A1.incomplete": {put: func(in *Input, v float64) {
		in.part(func(_ *run.Header, _ *run.Detail, e *summary.PartEnd) {
			if v > 0 {
				e.Status = run.Failed
			}
		})
	}},
	"A1.exits": {put: func(in *Input, v float64) {
		in.part(func(_ *run.Header, d *run.Detail, _ *summary.PartEnd) { d.Workers[1].Exit = 137 * int(v) })
	}},
	"A1.rows": {put: func(in *Input, v float64) {
		in.part(func(_ *run.Header, _ *run.Detail, e *summary.PartEnd) { e.ClientRows += int64(v) })
	}},
	"A2.share": {put: func(in *Input, v float64) { in.set("order_rows", v*rows) }},
	"A2.most":  {put: func(in *Input, v float64) { in.set("order_max_ns", v) }},
	"A2.early": {put: func(in *Input, v float64) { in.set("early_sends", v*rows) }},
	"A3.drift": {put: func(in *Input, v float64) { in.set("clock_drift_ns", v) }},
	"A3.boots": {put: func(in *Input, v float64) {
		in.part(func(_ *run.Header, d *run.Detail, _ *summary.PartEnd) {
			if v > 0 {
				d.Clocks[1].BootID = "b2"
			}
		})
	}},
	"A4.dispatched": {put: func(in *Input, v float64) { in.set("dispatched_gap", -v) }},
	"A4.completed":  {put: func(in *Input, v float64) { in.set("completed_gap", v) }},
	"A4.in_flight":  {put: func(in *Input, v float64) { in.set("count_gap", v) }},
	"A4.unseen":     {put: func(in *Input, v float64) { in.set("unseen_share", v) }},
	"A6.modes": {put: func(in *Input, v float64) {
		if v > 1 {
			other := *in
			copied := *in.Summary
			other.Summary = &copied
			other.part(func(h *run.Header, _ *run.Detail, e *summary.PartEnd) {
				h.Endpoint, e.Planned, e.RequestsRows, e.ClientRows = "completions", 0, 0, 0
			})
			in.Summary.Parts = append(in.Summary.Parts, copied.Parts...)
		}
	}},
	"A6.sources": {put: func(in *Input, v float64) { in.set("mixed_source", v) }},
	"A6.assumed": {put: func(in *Input, v float64) {
		in.set("tokens_per_event", 1.5)
		in.set("tpot_first_assumed", v)
	}},
	"A7.tokens": {put: func(in *Input, v float64) { in.set("token_event_share", v) }},
	"A7.gaps":   {put: func(in *Input, v float64) { in.set("gap_share", v) }},
	"A8.excess": {put: func(in *Input, v float64) { in.set("cache_excess", v) }},
	"B1.share":  {put: func(in *Input, v float64) { in.set("sent_share", v) }},
	"B2.p99":    {put: func(in *Input, v float64) { in.column("send_lag_ns", rows-rows/100-1, int64(v)) }},
	"B2.max": {bound: 500e6, put: func(in *Input, v float64) {
		in.slos("ttft:p99<500ms")
		in.column("send_lag_ns", rows-1, int64(v))
	}},
	"B3.windows":  {put: func(in *Input, v float64) { in.set("window_short_share", v) }},
	"B3.rate":     {put: func(in *Input, v float64) { in.set("rate_ratio", v) }},
	"B4.low":      {put: func(in *Input, v float64) { in.set("idc_ratio_1s", v) }},
	"B4.high":     {put: func(in *Input, v float64) { in.set("idc_ratio_10s", v) }},
	"B5.requests": {put: func(in *Input, v float64) { in.plan(); in.Summary.Plan.Requests += int64(v) }},
	"B5.tokens":   {put: func(in *Input, v float64) { in.plan(); in.Plan.OutputTokens += int64(v) }},
	"B5.span": {put: func(in *Input, v float64) {
		in.plan()
		in.set("turn_rows", 0)
		in.Plan.SpanNS += int64(v)
	}},
	"B6.disorder": {put: func(in *Input, v float64) { in.set("turn_disorder", v) }},
	"B6.lag":      {put: func(in *Input, v float64) { in.set("turn_send_lag_p99_ns", v) }},
	"B6.cap": {put: func(in *Input, v float64) {
		in.capped()
		in.set("cap_seconds", v)
	}},
	"B7.input":    {put: func(in *Input, v float64) { in.set("input_error", -v) }},
	"B7.output":   {put: func(in *Input, v float64) { in.set("output_error", -v) }},
	"B7.length":   {put: func(in *Input, v float64) { in.set("length_miss_share", v) }},
	"B8.slow":     {put: func(in *Input, v float64) { in.set("conn_slow_share", v) }},
	"B8.local":    {put: func(in *Input, v float64) { in.set("local_errors", v) }},
	"C1.headroom": {put: func(in *Input, v float64) { in.set("headroom", v) }},
	"C1.peak":     {put: func(in *Input, v float64) { in.set("headroom_peak", v) }},
	"C1.t1":       {put: func(in *Input, v float64) { in.set("stamp_share", 0); in.set("headroom", v) }},
	"C2.cpu":      {put: func(in *Input, v float64) { in.set("cpu_share", v) }},
	"C2.host":     {put: func(in *Input, v float64) { in.set("host_cpu_share", v) }},
	"C3.slice":    {put: func(in *Input, v float64) { in.set("wait_per_slice", v) }},
	"C3.ratio":    {put: func(in *Input, v float64) { in.workers("wait_per_slice_ns", 101e3, "run_wait_ratio", v) }},
	"C3.psi":      {put: func(in *Input, v float64) { in.forget("wait_per_slice"); in.set("psi_share", v) }},
	"C3.hiccup": {put: func(in *Input, v float64) {
		in.forget("wait_per_slice")
		in.forget("psi_share")
		in.set("hiccup_thread", v)
	}},
	"C4.throttled": {put: func(in *Input, v float64) { in.set("throttled", v) }},
	"C4.steal":     {put: func(in *Input, v float64) { in.set("steal_share", v) }},
	"C5.thread":    {put: func(in *Input, v float64) { in.set("hiccup_thread", v) }},
	"C5.goroutine": {put: func(in *Input, v float64) { in.set("hiccup_goroutine", v) }},
	"C5.max": {bound: 15e6, put: func(in *Input, v float64) {
		in.slos("ttft:p99<500ms", "tpot:p99<30ms")
		in.set("hiccup_goroutine_max", v)
	}},
	"C6.kappa": {put: func(in *Input, v float64) { in.set("kappa_excess", v) }},
	"C7.delay": {put: func(in *Input, v float64) { in.set("recv_delay_p99", v) }},
	"C8.client": {put: func(in *Input, v float64) {
		in.slos("ttft:p99<500ms")
		if v > 0 {
			in.late("client_time_ns", 200e6)
		}
	}},
	"C8.open": {put: func(in *Input, v float64) {
		in.slos("ttft:p99<500ms")
		if v > 0 {
			in.late("upload_ns", 200e6)
		}
	}},
	"C9.share": {put: func(in *Input, v float64) {
		in.slos("ttft:p99<500ms")
		in.column("client_time_ns", 0, int64(v*400e6))
	}},
	"C10.sched":       {put: func(in *Input, v float64) { in.set("sched_p99", v) }},
	"C10.gc_max":      {put: func(in *Input, v float64) { in.set("gc_pause_max", v) }},
	"C10.gc_share":    {put: func(in *Input, v float64) { in.set("gc_pause_share", v) }},
	"C10.queue":       {put: func(in *Input, v float64) { in.set("backlog_rows_max", run.RowBacklog-1+v) }},
	"C12.retransmits": {put: func(in *Input, v float64) { in.set("retransmit_share", v) }},
	"C13.same_read":   {put: func(in *Input, v float64) { in.set("same_read_excess", v) }},
	"C13.late":        {put: func(in *Input, v float64) { in.set("ttft_of_e2e", v) }},
	"D1.window":       {put: func(in *Input, v float64) { in.Summary.Window.ToNS = int64(v) }},
	"D1.e2e":          {put: func(in *Input, v float64) { in.column("e2e_user_ns", 0, int64(700e9/v)) }},
	"D2.cut":          {put: func(in *Input, v float64) { in.set("mser_batches", 1000); in.set("mser_ttft", v*1000) }},
	"D3.growth":       {put: func(in *Input, v float64) { in.set("backlog_growth", v) }},
	"D4.ttft_p50":     {put: func(in *Input, v float64) { in.set("half_ttft_p50", 1/v) }},
	"D4.ttft_p90":     {put: func(in *Input, v float64) { in.set("half_ttft_p90", v) }},
	"D4.out_tps":      {put: func(in *Input, v float64) { in.set("half_out_tps", v) }},
	"D5.n_eff": {put: func(in *Input, v float64) {
		in.slos("ttft:p99<500ms")
		in.column("in_window", int(math.Round(v*100)), 0)
	}},
	"D5.unsettled": {put: func(in *Input, v float64) {
		in.slos("ttft:p90<500ms")
		if v > 0 { // one spell of misses that lasts a third of the run
			in.column("ttft_user_ns", 2*rows/3, 600e6)
		}
	}},
	"D6.rows": {put: func(in *Input, v float64) { in.set("censored", v) }},
}

// untried are the limits whose number no run of this version holds.
var untried = map[string]string{"A5.requests": "server counters", "A5.tokens": "server counters", "C11.gap": "packet witness", "C11.drops": "packet witness",
	"C12.use": "rate of the link"}

func (in *Input) plan() {
	in.Plan = &Plan{Place: "day.sched.zst", SHA256: []string{"aa11"}, Requests: rows, InputTokens: rows * 100,
		OutputTokens: rows * 80, SpanNS: (rows - 1) * 50e6}
}

// late adds ns to the user's TTFT of every tenth row, as the part that column names.
func (in *Input) late(column string, ns int64) {
	for i := 0; i < in.Columns.N; i += 10 {
		for _, name := range []string{"ttft_user_ns", column} {
			v := &in.Columns.Ints[name][i]
			*v = formats.Some(v.V + ns)
		}
	}
}

// workers sets two values of worker 1.
func (in *Input) workers(a string, x float64, b string, y float64) {
	in.Summary.Clients[1].Values = map[string]float64{a: x, b: y}
}

// Every limit of the table is tried one per cent inside and one per cent outside, and so
// is every limit of a WARN; counts that must be zero at 0 and 1.
func TestEachLimit(t *testing.T) {
	for _, c := range Checks() {
		for _, term := range c.Terms {
			id := c.ID + "." + term.Name
			p, ok := perturb[id]
			if why := untried[id]; !ok && why == "" {
				t.Errorf("limit %s is not tried", id)
			} else if ok != (why == "") {
				t.Errorf("limit %s is tried although no run has its number (%s)", id, why)
			}
			if !ok {
				continue
			}
			limit := term.Limit
			if p.bound != 0 {
				limit = p.bound
			}
			if math.IsNaN(limit) && math.IsNaN(term.Warn) {
				t.Errorf("limit %s has no bound to try", id)
			}
			for _, at := range []float64{limit, term.Warn} {
				if math.IsNaN(at) {
					continue
				}
				for _, v := range both1(term, at) {
					in := sample()
					p.put(&in, v)
					tryLimit(t, in, c, term, limit, v)
				}
			}
		}
	}
}

// both1 returns the values one per cent to each side of a limit; a count at its limit
// and one beyond.
func both1(term Term, at float64) [2]float64 {
	if term.Unit == count && term.Op == atMost || at == 0 {
		return [2]float64{at, at + 1}
	}
	return [2]float64{at * 0.99, at * 1.01}
}

// tryLimit judges a run with the number of a term at v.
func tryLimit(t *testing.T, in Input, c Check, term Term, limit, v float64) {
	t.Helper()
	id := c.ID + "." + term.Name
	want := verdict.OK
	switch {
	case beyond(v, term.Op, limit) && c.Required:
		want = verdict.Bad
	case beyond(v, term.Op, limit) || beyond(v, term.Op, term.Warn):
		want = verdict.Warn
	}
	if id == "A4.unseen" && want == verdict.Bad {
		want = verdict.Unknown // of the requests of an unseen worker nothing is known
	}
	out := judge(t, in)
	var got verdict.Term
	for _, x := range check(t, out, c.ID).Terms {
		if x.Limit == id {
			got = x
		}
	}
	if got.Status != want || got.Value == nil && want != verdict.Unknown {
		t.Errorf("%s at %v: %s %s; want %s", id, v, got.Status, got.Reason, want)
		return
	}
	exit := 0
	switch {
	case want == verdict.Bad && c.ID[0] != 'D':
		exit = 4
	case id == "B5.requests", c.ID[0] == 'D', c.ID == "C8", id == "C1.t1":
		exit, out.Exit = 0, 0 // A1 sees the plan too; without objectives D decides nothing; C8 and D5 have one
	}
	if out.Exit != exit {
		t.Errorf("%s at %v: exit %d; want %d (%+v)", id, v, out.Exit, exit, out.Cause)
	}
	if exit == 4 && (out.Cause == nil || out.Cause.Check != c.ID || out.Cause.Hint == "") {
		t.Errorf("%s at %v: cause %+v; want %s with a hint", id, v, out.Cause, c.ID)
	}
}

// Under strict timing the plan ignores the order of turns, and nobody counts it.
func TestStrictTimingHasNoOrderOfTurns(t *testing.T) {
	in := sample()
	in.part(func(h *run.Header, _ *run.Detail, _ *summary.PartEnd) { h.Timing = "strict" })
	in.forget("turn_disorder")
	if got := check(t, judge(t, in), "B6"); got.Status != verdict.OK || !got.Required {
		t.Errorf("B6 = %s; want OK by the lag of turns", got.Status)
	}
}

// Evidence that is gone makes a required check unproven, and another one UNKNOWN.
func TestMissingEvidence(t *testing.T) {
	for _, c := range []struct {
		check string
		hide  func(in *Input)
	}{
		{"A1", func(in *Input) {
			in.part(func(_ *run.Header, d *run.Detail, _ *summary.PartEnd) { d.Workers = d.Workers[:1] })
		}},
		{"A2", func(in *Input) { in.forget("order_rows") }},
		{"A3", func(in *Input) { in.forget("clock_drift_ns") }},
		{"A3", func(in *Input) {
			in.part(func(_ *run.Header, d *run.Detail, _ *summary.PartEnd) { d.Clocks = d.Clocks[:1] })
		}},
		{"A3", func(in *Input) {
			in.part(func(h *run.Header, _ *run.Detail, _ *summary.PartEnd) { h.Host.BootID = "" })
		}},
		{"A4", func(in *Input) { in.forget("count_gap") }},
		{"A6", func(in *Input) { in.forget("mixed_source") }},
		{"A7", func(in *Input) { in.forget("gap_share") }},
		{"A8", func(in *Input) { in.forget("cache_excess") }},
		{"B1", func(in *Input) { in.forget("sent_share") }},
		{"B2", func(in *Input) { in.Columns = nil }},
		{"B3", func(in *Input) { in.forget("rate_ratio") }},
		{"B4", func(in *Input) { in.forget("idc_ratio_1s") }},
		{"B5", func(in *Input) {}},
		{"B6", func(in *Input) { in.forget("turn_disorder") }},
		{"B6", func(in *Input) {
			in.capped()
			in.forget("cap_seconds")
		}},
		{"B7", func(in *Input) { in.forget("output_error") }},
		{"B8", func(in *Input) { in.forget("local_errors") }},
		{"D1", func(in *Input) { in.Columns = nil }},
	} {
		in := sample()
		c.hide(&in)
		v := judge(t, in)
		got := check(t, v, c.check)
		if got.Status != verdict.Unknown || got.Reason == "" {
			t.Errorf("%s without evidence = %s (%s); want UNKNOWN with a reason", c.check, got.Status, got.Reason)
		}
		named := strings.Contains(v.Headline, " "+c.check)
		if named != got.Required || v.Exit != 0 {
			t.Errorf("%s without evidence: headline %q, exit %d; want it named: %v, exit 0", c.check, v.Headline, v.Exit, got.Required)
		}
		in.Options.AcceptUnproven = false
		v = judge(t, in)
		got = check(t, v, c.check)
		exit := 0
		if got.Required && got.ID[0] != 'D' {
			exit = 4
		}
		if got.Required != (got.Status == verdict.Bad && strings.HasPrefix(got.Reason, "unproven: ")) || v.Exit != exit && c.check != "D1" {
			t.Errorf("%s without evidence, not accepted = %s (%s), exit %d; want BAD if required, exit %d", c.check, got.Status, got.Reason, v.Exit, exit)
		}
	}
}

func TestNotApplicable(t *testing.T) {
	for _, c := range []struct {
		check, why string
		change     func(in *Input)
	}{
		{"B2", "asap", func(in *Input) { in.part(func(h *run.Header, _ *run.Detail, _ *summary.PartEnd) { h.Timing = "asap" }) }},
		{"B3", "asap", func(in *Input) { in.part(func(h *run.Header, _ *run.Detail, _ *summary.PartEnd) { h.Timing = "asap" }) }},
		{"B4", "too few arrivals", func(in *Input) {
			for _, w := range []string{"100ms", "1s", "10s"} {
				in.set("idc_planned_"+w, 0.04)
				in.set("idc_ratio_"+w, 9)
			}
		}},
		{"B6", "no turns", func(in *Input) { in.set("turn_rows", 0) }},
		{"A7", "not streamed", func(in *Input) {
			in.part(func(h *run.Header, _ *run.Detail, _ *summary.PartEnd) { h.Streaming = false })
		}},
		{"C6", "not streamed", func(in *Input) {
			in.part(func(h *run.Header, _ *run.Detail, _ *summary.PartEnd) { h.Streaming = false })
			in.forget("kappa_excess")
		}},
		{"D5", "no objective", func(in *Input) {}},
	} {
		in := sample()
		c.change(&in)
		got := check(t, judge(t, in), c.check)
		if got.Status != verdict.OK || !strings.HasPrefix(got.Evidence, "n/a: ") || !strings.Contains(got.Evidence, c.why) {
			t.Errorf("%s = %s, evidence %q; want OK, n/a: …%s…", c.check, got.Status, got.Evidence, c.why)
		}
	}
	in := sample()
	in.set("window_count", 9)
	in.set("window_short_share", 0.5)
	if got := check(t, judge(t, in), "B3"); got.Status != verdict.OK {
		t.Errorf("B3 with 9 sub-windows = %s; want rate_ratio alone to judge", got.Status)
	}
}

func TestLimitsOfLagFollowTheObjectives(t *testing.T) {
	for _, c := range []struct {
		slo      []string
		p99, max float64 // 0: no limit
	}{
		{nil, 10e6, 0},
		{[]string{"e2e:p99<10s"}, 10e6, 0},
		{[]string{"ttft:p99<1s"}, 10e6, 1e9},
		{[]string{"ttft:p99<440ms"}, 10e6, 440e6},
		{[]string{"ttft:p99<1s", "good(ttft<410ms,ttfo<405ms):p90"}, 10e6, 410e6},
		{[]string{"ttft:p99<1us"}, 10e6, 0}, // fails on the sent side too: no client time decides it
		{[]string{"ttft:p99<100ms+3.05ms*in"}, 10e6, 405e6},
	} {
		in := sample()
		in.column("ttfo_user_ns", 0, 400e6)
		in.slos(c.slo...)
		b2 := check(t, judge(t, in), "B2")
		got := fmt.Sprint(value(b2.Terms[0].Bound), value(b2.Terms[1].Bound))
		if want := fmt.Sprint(c.p99, c.max); got != want {
			t.Errorf("%v: limits %s; want %s", c.slo, got, want)
		}
	}
	in := sample()
	in.column("ttft_user_ns", 0, 90e6)
	in.column("ttft_sent_ns", 0, 90e6)
	in.slos("ttft:p99<100ms")
	if b2 := check(t, judge(t, in), "B2"); value(b2.Terms[0].Bound) != 5e6 {
		t.Errorf("ttft < 100 ms: limit %v; want 5 ms", value(b2.Terms[0].Bound))
	}
	in.limit("B2=7ms")
	if b2 := check(t, judge(t, in), "B2"); value(b2.Terms[0].Bound) != 7e6 {
		t.Errorf("--limit B2=7ms: limit %v; want 7 ms", value(b2.Terms[0].Bound))
	}
}

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

func TestChangedLimits(t *testing.T) {
	in := sample()
	in.set("sent_share", 0.99)
	if v := judge(t, in); v.Exit != 4 {
		t.Fatalf("99 %% sent: exit %d; want 4", v.Exit)
	}
	in.limit("B1=98%", "B2.p99.warn=10us")
	v := judge(t, in)
	if v.Exit != 0 || check(t, v, "B2").Status != verdict.Warn {
		t.Errorf("limits changed: exit %d, B2 %s; want 0, WARN", v.Exit, check(t, v, "B2").Status)
	}
	if len(v.Options.Changed) != 2 || v.Options.Changed[0].Limit != "B1.share" || value(v.Options.Changed[0].Default) != 0.999 || v.Options.Changed[0].Value != 0.98 {
		t.Errorf("changed = %+v; want both, the first B1.share from 0.999 to 0.98", v.Options.Changed)
	}
}

func TestChangedD5DecidesTheObjectives(t *testing.T) {
	in := sample()
	in.slos("ttft:p99.9<500ms")
	if v := judge(t, in); v.SLO != verdict.Pass || check(t, v, "D5").Status != verdict.OK { // 14 beyond p99.9
		t.Fatalf("D5 = 14: %s, %s; want PASS, OK", v.SLO, check(t, v, "D5").Status)
	}
	in.limit("D5=15")
	if v := judge(t, in); v.SLO != verdict.Inconclusive || check(t, v, "D5").Status != verdict.Bad {
		t.Errorf("D5 = 14 with 15 needed: %s, %s; want INCONCLUSIVE, BAD", v.SLO, check(t, v, "D5").Status)
	}
}

func TestParseOverrideRefuses(t *testing.T) {
	for _, s := range []string{"B2", "B99=1", "B2.p98=1ms", "B2=1", "B2=-1ms", "B1=120%", "A1=x", "A1=-1", "C1=x", "=1", "B3.rate=NaN", "D5.unsettled=1", "D5=0"} {
		if o, err := ParseOverride(s); err == nil {
			t.Errorf("ParseOverride(%q) = %+v; want an error", s, o)
		}
	}
	o, err := ParseOverride("D1.window=2min")
	if err != nil || o.Value != 120e9 || o.ID != "D1.window" {
		t.Errorf("ParseOverride = %+v, %v; want D1.window of 120 s", o, err)
	}
}

func TestTableIsComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Checks() {
		if seen[c.ID] || c.ID == "" || c.Title == "" || c.Formula == "" || c.Source == "" || c.Bias == "" {
			t.Errorf("check %+v lacks something or stands twice", c)
		}
		seen[c.ID] = true
		if c.judge == nil || c.Fault == "" || c.Hint == "" || len(c.Terms) == 0 {
			t.Errorf("check %s lacks its function, fault, hint or terms", c.ID)
		}
	}
	for _, id := range causal {
		if !seen[id] {
			t.Errorf("causal order names %s, which is no check", id)
		}
	}
	for _, c := range Checks() {
		named := strings.Contains(" "+strings.Join(causal[:], " ")+" ", " "+c.ID+" ")
		if c.Required && c.ID[0] != 'D' && !named {
			t.Errorf("required check %s has no place in the causal order", c.ID)
		}
	}
}
