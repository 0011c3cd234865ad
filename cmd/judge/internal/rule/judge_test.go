package rule

import (
	"errors"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/formats/verdict"
)

func TestExitCodes(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(in *Input)
		harness string
		slo     string
		exit    int
	}{
		{"no objective", func(in *Input) {}, verdict.Valid, verdict.None, 0},
		{"no objective, short window", func(in *Input) { in.Summary.Window.ToNS = 50e9 }, verdict.Valid, verdict.None, 0},
		{"pass", func(in *Input) { in.slos("ttft:p99<500ms") }, verdict.Valid, verdict.Pass, 0},
		{"fail", func(in *Input) { in.slos("ttft:p99<300ms") }, verdict.Valid, verdict.Fail, 1},
		{"one of two fails", func(in *Input) { in.slos("ttft:p99<500ms", "e2e:p50<1s") }, verdict.Valid, verdict.Fail, 1},
		{"not measured", func(in *Input) { in.slos("ttfo/wire:p99<500ms") }, verdict.Valid, verdict.Inconclusive, 5},
		{"fail beats inconclusive", func(in *Input) { in.slos("ttfo/wire:p99<500ms", "e2e:p50<1s") }, verdict.Valid, verdict.Fail, 1},
		{"short window", func(in *Input) { in.slos("ttft:p99<500ms"); in.Summary.Window.ToNS = 599e9 }, verdict.Valid, verdict.Inconclusive, 5},
		{"short window bars a FAIL", func(in *Input) { in.slos("ttft:p99<300ms"); in.Summary.Window.ToNS = 599e9 }, verdict.Valid, verdict.Inconclusive, 5},
		{"--short", func(in *Input) { in.slos("ttft:p99<500ms"); in.Summary.Window.ToNS = 31e9; in.Options.Short = true }, verdict.Valid, verdict.Pass, 0},
		{"--short, too short", func(in *Input) { in.slos("ttft:p99<500ms"); in.Summary.Window.ToNS = 29e9; in.Options.Short = true }, verdict.Valid, verdict.Inconclusive, 5},
		{"long answers", func(in *Input) { in.slos("ttft:p99<500ms"); in.column("e2e_user_ns", 0, 80e9) }, verdict.Valid, verdict.Inconclusive, 5},
		{"long answers, --short", func(in *Input) { in.slos("ttft:p99<500ms"); in.column("e2e_user_ns", 0, 80e9); in.Options.Short = true }, verdict.Valid, verdict.Pass, 0},
		{"invalid beats pass", func(in *Input) { in.slos("ttft:p99<500ms"); in.set("sent_share", 0.9) }, verdict.Invalid, verdict.Pass, 4},
		{"invalid beats fail", func(in *Input) { in.slos("ttft:p99<300ms"); in.set("sent_share", 0.9) }, verdict.Invalid, verdict.Fail, 4},
		{"invalid without objective", func(in *Input) { in.set("sent_share", 0.9) }, verdict.Invalid, verdict.None, 4},
		{"unproven", func(in *Input) { in.slos("ttft:p99<500ms"); in.forget("throttled"); in.Options.AcceptUnproven = false }, verdict.Invalid, verdict.Pass, 4},
		{"steadiness unproven", func(in *Input) { in.slos("ttft:p99<500ms"); in.forget("mser_ttft"); in.Options.AcceptUnproven = false },
			verdict.Valid, verdict.Inconclusive, 5},
		{"interrupted", func(in *Input) {
			in.part(func(_ *run.Header, _ *run.Detail, e *summary.PartEnd) { e.Status = run.Interrupted })
		}, verdict.Invalid, verdict.None, 4},
		{"a warning changes nothing", func(in *Input) { in.slos("ttft:p99<500ms"); in.set("cache_excess", 0.5) }, verdict.Valid, verdict.Pass, 0},
		{"no rows", func(in *Input) {
			in.slos("ttft:p99<500ms")
			in.Columns = summary.NewColumns(0)
			in.Summary.Plan = summary.Plan{}
			in.Summary.Outcomes = nil
			in.part(func(_ *run.Header, d *run.Detail, e *summary.PartEnd) { e.Planned, e.RequestsRows = 0, 0 })
		}, verdict.Valid, verdict.Inconclusive, 5},
	} {
		in := sample()
		c.change(&in)
		v := judge(t, in)
		if v.Harness != c.harness || v.SLO != c.slo || v.Exit != c.exit {
			t.Errorf("%s: %s, %s, exit %d; want %s, %s, %d (%+v)", c.name, v.Harness, v.SLO, v.Exit, c.harness, c.slo, c.exit, v.Cause)
		}
		if (v.Exit != 0) != (v.Cause != nil && v.Cause.Text != "") {
			t.Errorf("%s: exit %d with cause %+v; want one for every exit but 0", c.name, v.Exit, v.Cause)
		}
	}
}

// The exit status is judged by group, so a check of C or D that is BAD some day has
// its place already.
func TestPrecedence(t *testing.T) {
	good := judge(t, func() Input { in := sample(); in.slos("ttft:p99<500ms"); return in }())
	for _, c := range []struct {
		bad  []string
		slo  string
		hold string // harness
	}{
		{[]string{"C3"}, verdict.Pass, verdict.Invalid},
		{[]string{"D3"}, verdict.Fail, verdict.Valid},
		{[]string{"D2"}, verdict.Inconclusive, verdict.Valid},
		{[]string{"D6"}, verdict.Inconclusive, verdict.Valid},
		{[]string{"D3", "D2", "D6"}, verdict.Fail, verdict.Valid},
		{[]string{"D4"}, verdict.Pass, verdict.Valid},
	} {
		in := sample()
		in.slos("ttft:p99<500ms")
		s, err := newState(in)
		if err != nil {
			t.Fatal(err)
		}
		checks := append([]verdict.Check(nil), good.Checks...)
		for i := range checks {
			for _, id := range c.bad {
				if checks[i].ID == id {
					checks[i].Status = verdict.Bad
					if !checks[i].Required {
						checks[i].Status = verdict.Warn
					}
				}
			}
		}
		hold, _ := harness(checks, true)
		result, _ := s.conclude(checks)
		if hold != c.hold || result != c.slo {
			t.Errorf("%v BAD: %s, %s; want %s, %s", c.bad, hold, result, c.hold, c.slo)
		}
	}
}

func TestFirstCauseIsTheEarliestInCausalOrder(t *testing.T) {
	in := sample()
	in.Options.AcceptUnproven = false
	in.set("sent_share", 0.9)         // B1
	in.column("send_lag_ns", 0, 30e6) // B2
	in.set("rate_ratio", 0.9)         // B3
	v := judge(t, in)
	if v.Cause.Check != "B2" || !strings.Contains(v.Cause.Text, "30 ms (limit 10 ms)") {
		t.Errorf("cause %+v; want B2 with 30 ms against 10 ms", v.Cause)
	}
	in.set("order_max_ns", 1e6) // A2 causes the rest
	if v := judge(t, in); v.Cause.Check != "A2" {
		t.Errorf("cause %+v; want A2", v.Cause)
	}
	in = sample()
	in.column("send_lag_ns", 0, 30e6) // B2, because of
	in.capped()
	in.set("cap_seconds", 7) // B6
	if v := judge(t, in); v.Cause.Check != "B6" || !strings.Contains(v.Cause.Text, "delayed requests in 7 seconds") {
		t.Errorf("cause %+v; want B6 by the cap", v.Cause)
	}
	in = sample()
	in.set("sent_share", 0.9)     // B1, because of
	in.set("recv_delay_p99", 9e6) // C7, where requests come when answers go
	if v := judge(t, in); v.Cause.Check != "B1" {
		t.Errorf("cause %+v; want B1: the plan had its own times", v.Cause)
	}
	in.part(func(h *run.Header, _ *run.Detail, _ *summary.PartEnd) { h.Timing = "asap" })
	if v := judge(t, in); v.Cause.Check != "C7" {
		t.Errorf("cause %+v; want C7 under --timing asap", v.Cause)
	}
	in = sample()
	in.Options.AcceptUnproven = false
	in.forget("cpu_share")
	in.forget("clock_drift_ns")
	v = judge(t, in)
	if v.Cause.Check != "A3" || !strings.Contains(v.Cause.Text, "unproven: no evidence for A3 C2") || !strings.Contains(v.Cause.Hint, "--accept-unproven") {
		t.Errorf("cause %+v; want the unproven checks and the flag", v.Cause)
	}
}

func TestScheduleOfAnotherRunIsRefused(t *testing.T) {
	in := sample()
	in.plan()
	in.Plan.SHA256 = []string{"bb22"}
	_, err := Judge(in)
	var syntax *formats.SyntaxError
	if !errors.As(err, &syntax) || syntax.Place != "day.sched.zst" || syntax.Hint() == "" || !strings.Contains(err.Error(), `got "bb22", want`) {
		t.Errorf("Judge = %v; want a syntax error that names both hashes", err)
	}
	in.plan()
	in.Plan.Requests--
	if v, err := Judge(in); err != nil || v.Exit != 4 || v.Cause.Check != "A1" {
		t.Errorf("equal hash, one request less: %+v, %v; want INVALID by A1", v.Cause, err)
	}
	in.plan()
	if v := judge(t, in); check(t, v, "B5").Status != verdict.OK || v.Exit != 0 {
		t.Errorf("the run's own schedule: B5 %+v; want OK", check(t, v, "B5"))
	}
}

func TestSummaryWithoutColumnsNamesWhatIsMissing(t *testing.T) {
	in := sample()
	in.slos("ttft:p99<500ms")
	in.Columns = nil
	v := judge(t, in)
	if v.SLO != verdict.Inconclusive || v.Exit != 5 {
		t.Errorf("%s, exit %d; want INCONCLUSIVE, 5", v.SLO, v.Exit)
	}
	if !strings.Contains(strings.Join(v.NotMeasured, "\n"), "per-request columns") || !strings.Contains(v.Objectives[0].Reason, "columns") {
		t.Errorf("not measured %q, reason %q; want the columns named", v.NotMeasured, v.Objectives[0].Reason)
	}
}

func TestHeadlines(t *testing.T) {
	in := sample()
	in.slos("ttft:p99<300ms")
	in.Options.Short = true
	v := judge(t, in)
	if want := " · FAIL · not publishable"; !strings.HasSuffix(v.Headline, want) {
		t.Errorf("headline %q; want it to end in %q", v.Headline, want)
	}
	const want = "ttft p99 ≤ 300ms missed: 400 ms at 20 req/s (100 % of requests over, 1 % allowed)"
	if v.Cause.Text != want || v.Cause.Check != "E1:ttft:p99<=300ms" {
		t.Errorf("cause %+v; want %q", v.Cause, want)
	}
	in.set("sent_share", 0)
	if v := judge(t, in); v.Headline != "INVALID" {
		t.Errorf("headline %q; want INVALID", v.Headline)
	}
}
