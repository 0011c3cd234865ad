package rule

import (
	"fmt"
	"strings"
	"testing"

	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/formats/verdict"
)

func TestSampleHasNoFault(t *testing.T) {
	in := sample()
	in.slos("ttft:p99<500ms", "error_rate<1%")
	v := judge(t, in)
	for _, c := range v.Checks {
		group := c.ID[0]
		if (group == 'A' || group == 'B' || c.ID == "D1" || c.ID == "D5") && c.Status != verdict.OK && c.ID != "A5" && c.ID != "B5" {
			t.Errorf("%s = %s (%s) %+v; want OK", c.ID, c.Status, c.Reason, c.Terms)
		}
	}
	if v.Exit != 0 || v.SLO != verdict.Pass || v.Harness != verdict.Valid {
		t.Errorf("exit %d, %s, %s; want 0, VALID, PASS", v.Exit, v.Harness, v.SLO)
	}
	const want = "VALID (unproven: C1 C2 C3 C4 C5 C6 C7 C8 D2 D3 D6) · PASS"
	if v.Headline != want {
		t.Errorf("headline %q; want %q", v.Headline, want)
	}
}

// perturb holds, for each limit, a change that puts its number at f times the limit.
// up says on which side of 1 the number is bad.
var perturb = []struct {
	limit    string
	required bool
	up       bool // bad above the limit
	exact    bool // a count: 1 beyond is bad, the limit itself is good
	put      func(in *Input, f float64)
}{
	{"A1.missing", true, true, true, func(in *Input, f float64) { in.Summary.Plan.Distinct -= int64(f); in.Summary.Plan.Rows -= int64(f) }},
	{"A1.duplicate", true, true, true, func(in *Input, f float64) { in.Summary.Plan.Rows += int64(f) }},
	{"A1.conservation", true, true, true, func(in *Input, f float64) { in.Summary.Outcomes[0].N -= int64(f) }},
	{"A1.incomplete", true, true, true, func(in *Input, f float64) {
		in.part(func(_ *run.Header, _ *run.Detail, e *summary.PartEnd) {
			if f > 0 {
				e.Status = run.Failed
			}
		})
	}},
	{"A1.exits", true, true, true, func(in *Input, f float64) {
		in.part(func(_ *run.Header, d *run.Detail, _ *summary.PartEnd) { d.Workers[1].Exit = 137 * int(f) })
	}},
	{"A1.rows", true, true, true, func(in *Input, f float64) {
		in.part(func(_ *run.Header, _ *run.Detail, e *summary.PartEnd) { e.ClientRows += int64(f) })
	}},
	{"A2.share", true, true, false, func(in *Input, f float64) { in.set("order_rows", f*0.0001*rows) }},
	{"A2.most", true, true, false, func(in *Input, f float64) { in.set("order_max_ns", f*50e3) }},
	{"A2.early", true, true, false, func(in *Input, f float64) { in.set("early_sends", f*0.0001*rows) }},
	{"A3.drift", true, true, false, func(in *Input, f float64) { in.set("clock_drift_ns", f*1e6) }},
	{"A3.boots", true, true, true, func(in *Input, f float64) {
		in.part(func(_ *run.Header, d *run.Detail, _ *summary.PartEnd) {
			if f > 0 {
				d.Clocks[1].BootID = "b2"
			}
		})
	}},
	{"A4.dispatched", true, true, true, func(in *Input, f float64) { in.set("dispatched_gap", -f) }},
	{"A4.completed", true, true, true, func(in *Input, f float64) { in.set("completed_gap", f) }},
	{"A4.in_flight", true, true, false, func(in *Input, f float64) { in.set("count_gap", f*0.02) }},
	{"A6.modes", false, true, true, func(in *Input, f float64) {
		if f > 0 {
			other := *in
			copied := *in.Summary
			other.Summary = &copied
			other.part(func(h *run.Header, _ *run.Detail, e *summary.PartEnd) {
				h.Endpoint, e.Planned, e.RequestsRows, e.ClientRows = "completions", 0, 0, 0
			})
			in.Summary.Parts = append(in.Summary.Parts, copied.Parts...)
		}
	}},
	{"A6.sources", false, true, true, func(in *Input, f float64) { in.set("mixed_source", f) }},
	{"A6.assumed", false, true, true, func(in *Input, f float64) {
		in.set("tokens_per_event", 1.5)
		in.set("tpot_first_assumed", f)
	}},
	{"A7.tokens", false, false, false, func(in *Input, f float64) { in.set("token_event_share", f*0.98) }},
	{"A7.gaps", false, false, false, func(in *Input, f float64) { in.set("gap_share", f*0.98) }},
	{"A8.excess", false, true, false, func(in *Input, f float64) { in.set("cache_excess", f*0.01) }},
	{"B1.share", true, false, false, func(in *Input, f float64) { in.set("sent_share", f*0.999) }},
	{"B2.p99", true, true, false, func(in *Input, f float64) { in.column("send_lag_ns", rows-rows/100-1, int64(f*10e6)) }},
	{"B2.max", true, true, false, func(in *Input, f float64) {
		in.slos("ttft:p99<500ms")
		in.column("send_lag_ns", rows-1, int64(f*500e6))
	}},
	{"B3.windows", true, true, false, func(in *Input, f float64) { in.set("window_short_share", f*0.01) }},
	{"B3.rate", true, false, false, func(in *Input, f float64) { in.set("rate_ratio", f*0.995) }},
	{"B4.low", true, false, false, func(in *Input, f float64) { in.set("idc_ratio_1s", f*0.90) }},
	{"B4.high", true, true, false, func(in *Input, f float64) { in.set("idc_ratio_10s", f*1.10) }},
	{"B5.requests", false, true, true, func(in *Input, f float64) { in.plan(); in.Summary.Plan.Requests += int64(f) }},
	{"B5.tokens", false, true, true, func(in *Input, f float64) { in.plan(); in.Plan.OutputTokens += int64(f) }},
	{"B5.span", false, true, false, func(in *Input, f float64) {
		in.plan()
		in.set("turn_rows", 0)
		in.Plan.SpanNS += int64(f * 1e6)
	}},
	{"B6.disorder", true, true, true, func(in *Input, f float64) { in.set("turn_disorder", f) }},
	{"B6.lag", true, true, false, func(in *Input, f float64) { in.set("turn_send_lag_p99_ns", f*10e6) }},
	{"B6.cap", true, true, true, func(in *Input, f float64) {
		in.capped()
		in.set("cap_seconds", f)
	}},
	{"B7.input", false, true, false, func(in *Input, f float64) { in.set("input_error", -f*0.01) }},
	{"B7.output", false, true, false, func(in *Input, f float64) { in.set("output_error", -f*0.02) }},
	{"B7.length", false, true, false, func(in *Input, f float64) { in.set("length_miss_share", f*0.01) }},
	{"B8.slow", false, true, false, func(in *Input, f float64) { in.set("conn_slow_share", f*0.01) }},
	{"B8.local", false, true, true, func(in *Input, f float64) { in.set("local_errors", f) }},
	{"D1.window", true, false, false, func(in *Input, f float64) { in.Summary.Window.ToNS = int64(f * 600e9) }},
	{"D1.e2e", true, false, false, func(in *Input, f float64) { in.column("e2e_user_ns", 0, int64(70e9/f)) }},
}

func (in *Input) plan() {
	in.Plan = &Plan{Place: "day.sched.zst", SHA256: []string{"aa11"}, Requests: rows, InputTokens: rows * 100,
		OutputTokens: rows * 80, SpanNS: (rows - 1) * 50e6}
}

// Each limit is tried one per cent inside and one per cent outside, and counts that
// must be zero at 0 and 1.
func TestEachLimitOfGroupsABAndD1(t *testing.T) {
	tried := map[string]bool{}
	for _, p := range perturb {
		tried[p.limit] = true
		inside, outside := 0.99, 1.01
		if !p.up {
			inside, outside = outside, inside
		}
		if p.exact {
			inside, outside = 0, 1
		}
		bad := verdict.Warn
		if p.required {
			bad = verdict.Bad
		}
		for _, at := range []struct {
			factor float64
			want   string
		}{{inside, verdict.OK}, {outside, bad}} {
			in := sample()
			p.put(&in, at.factor)
			v := judge(t, in)
			id, _, _ := strings.Cut(p.limit, ".")
			c := check(t, v, id)
			want := at.want
			if p.limit == "B2.p99" && want == verdict.OK {
				want = verdict.Warn // above 2 ms
			}
			var got verdict.Term
			for _, term := range c.Terms {
				if term.Limit == p.limit {
					got = term
				}
			}
			if got.Status != want || got.Value == nil {
				t.Errorf("%s at %v of its limit: %s %s; want %s", p.limit, at.factor, got.Status, got.Reason, want)
			}
			wantExit := 0
			if at.want == verdict.Bad && id[0] != 'D' {
				wantExit = 4
			}
			if p.limit == "B5.requests" {
				wantExit = v.Exit // A1 sees it too
			}
			if v.Exit != wantExit {
				t.Errorf("%s at %v of its limit: exit %d; want %d", p.limit, at.factor, v.Exit, wantExit)
			}
			if wantExit == 4 && p.limit != "B5.requests" && (v.Cause == nil || v.Cause.Check != id || v.Cause.Hint == "") {
				t.Errorf("%s at %v of its limit: cause %+v; want %s with a hint", p.limit, at.factor, v.Cause, id)
			}
		}
	}
	for _, c := range Checks() {
		if c.judge == nil || c.ID == "A5" || c.ID == "D5" {
			continue
		}
		for _, term := range c.Terms {
			if id := c.ID + "." + term.Name; !tried[id] {
				t.Errorf("limit %s is not tried", id)
			}
		}
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
		if got.Required != (got.Status == verdict.Bad && strings.HasPrefix(got.Reason, "unproven: ")) || v.Exit != 4 {
			t.Errorf("%s without evidence, not accepted = %s (%s), exit %d; want BAD if required, exit 4", c.check, got.Status, got.Reason, v.Exit)
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
	for _, s := range []string{"B2", "B99=1", "B2.p98=1ms", "B2=1", "B2=-1ms", "B1=120%", "A1=x", "A1=-1", "C1=2", "=1", "B3.rate=NaN", "D5.unsettled=1", "D5=0"} {
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
		if c.judge != nil && (c.Fault == "" || c.Hint == "" || len(c.Terms) == 0) {
			t.Errorf("check %s is judged and lacks fault, hint or terms", c.ID)
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
