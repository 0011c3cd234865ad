package rule

import (
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/formats/verdict"
)

// unstamped takes the kernel stamps away.
func (in *Input) unstamped() {
	in.set("stamp_share", 0)
	for _, id := range []string{"recv_delay_p99", "read_delay_p99", "read_delay_seconds_p99", "same_read_gaps", "same_read_excess"} {
		in.forget(id)
	}
	for i := range in.Columns.N {
		for _, name := range []string{"ttft_wire_ns", "e2e_wire_ns", "tpot_wire_ns"} {
			in.Columns.Ints[name][i].Valid = false
		}
	}
}

// uncalibrated takes the calibration away.
func (in *Input) uncalibrated(reason string) {
	for i := range in.Summary.Scalars {
		x := &in.Summary.Scalars[i]
		switch x.ID {
		case "headroom", "headroom_requests", "headroom_events", "headroom_bytes", "headroom_peak", "kappa_excess", "same_read_excess":
			x.Value, x.Reason = nil, reason
		}
	}
}

func TestTiers(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(in *Input)
		tier   string
		exit   int
		note   string
	}{
		{"stamps, calibration, C6 and C7", func(in *Input) {}, "T2", 0, "no packet witness"},
		{"stamps on 98.9 %", func(in *Input) { in.set("stamp_share", 0.989) }, "T1", 0, "no kernel stamps"},
		{"no stamps, headroom 5", (*Input).unstamped, "T1", 0, "no kernel stamps"},
		{"no stamps, headroom 3.9", func(in *Input) { in.unstamped(); in.set("headroom", 3.9) }, "T0", 4, "a headroom of 3.9 instead of 4"},
		{"no stamps, headroom 3.9, limit lowered", func(in *Input) { in.unstamped(); in.set("headroom", 3.9); in.limit("C1.t1.warn=3.8") }, "T1", 0, ""},
		{"no stamps, C5 warns", func(in *Input) { in.unstamped(); in.set("hiccup_thread", 0.07) }, "T1", 0, ""},
		{"no stamps, C5 bad", func(in *Input) { in.unstamped(); in.set("hiccup_thread", 0.2) }, "T0", 4, "C5 is BAD"},
		{"no stamps, C3 unknown", func(in *Input) {
			in.unstamped()
			in.forget("wait_per_slice")
			in.forget("psi_share")
			in.forget("hiccup_thread")
		}, "T0", 4, "C3 is BAD"},
		{"no stamps, no calibration", func(in *Input) { in.unstamped(); in.uncalibrated("the run was not calibrated") }, "T0", 4, "no headroom"},
		{"stamps, no calibration", func(in *Input) { in.uncalibrated("the run was not calibrated") }, "T0", 4, "the run was not calibrated"},
		{"stamps, C6 bad", func(in *Input) { in.set("kappa_excess", 0.2) }, "T0", 4, "C6 is BAD"},
		{"stamps, C7 bad", func(in *Input) { in.set("recv_delay_p99", 3e6) }, "T0", 4, "C7 is BAD"},
		{"--evidence t2 with stamps", func(in *Input) { in.Options.Evidence = "T2" }, "T2", 0, ""},
		{"--evidence t2 without", func(in *Input) { in.unstamped(); in.Options.Evidence = "T2" }, "T0", 4, "--evidence t2 asks for them"},
		{"--evidence t3", func(in *Input) { in.Options.Evidence = "T3" }, "T2", 4, "no packet witness"},
	} {
		in := sample()
		in.Options.AcceptUnproven = false
		c.change(&in)
		v := judge(t, in)
		if v.Tier != c.tier || v.Exit != c.exit || !strings.Contains(v.TierNote, c.note) {
			t.Errorf("%s: %s (%s), exit %d, cause %+v; want %s (…%s…), exit %d", c.name, v.Tier, v.TierNote, v.Exit, v.Cause, c.tier, c.note, c.exit)
		}
		if v.Tier == "T1" {
			for _, id := range []string{"C6", "C7"} {
				if got := check(t, v, id); got.Status != verdict.Unknown || got.Required || !strings.Contains(strings.Join(v.NotMeasured, "\n"), id+" (") {
					t.Errorf("%s: %s = %s, required %v; want it waived and not measured", c.name, id, got.Status, got.Required)
				}
			}
		}
	}
}

// Each row of docs/validity.md 6, "what is missing", gives exactly its outcome, without
// --accept-unproven. What ends with status 3 has its tests where runs are read.
func TestMissingEvidenceGivesItsOutcome(t *testing.T) {
	const pass = "ttft:p99<500ms"
	for _, c := range []struct {
		name   string
		change func(in *Input)
		slos   []string
		exit   int
		slo    string
		check  string // its status
		status string
		says   string // in its reason or evidence
	}{
		{"nothing missing", func(in *Input) {}, []string{pass}, 0, verdict.Pass, "C6", verdict.OK, ""},
		{"planned times: asap", func(in *Input) { in.part(func(h *run.Header, _ *run.Detail, _ *summary.PartEnd) { h.Timing = "asap" }) },
			[]string{"out_tps>=1"}, 5, verdict.Inconclusive, "B3", verdict.OK, "n/a: --timing asap"},
		{"planned times: asap, latency objective", func(in *Input) {
			in.part(func(h *run.Header, _ *run.Detail, _ *summary.PartEnd) { h.Timing = "asap" })
		}, []string{pass}, 5, verdict.Inconclusive, "B2", verdict.OK, "n/a: --timing asap"},
		{"calibration", func(in *Input) { in.uncalibrated("the run was not calibrated") }, []string{pass}, 4, verdict.Pass, "C1", verdict.Bad, "unproven headroom"},
		{"calibration of another host", func(in *Input) { in.uncalibrated("calibrated with another host: a, the run had b") }, []string{pass}, 4, verdict.Pass,
			"C6", verdict.Bad, "another host"},
		{"schedstat", func(in *Input) { in.forget("wait_per_slice"); in.forget("run_wait_ratio") }, []string{pass}, 0, verdict.Pass, "C3", verdict.OK, ""},
		{"schedstat, PSI shows 6 %", func(in *Input) { in.forget("wait_per_slice"); in.set("psi_share", 0.06) }, []string{pass}, 4, verdict.Pass, "C3", verdict.Bad, ""},
		{"schedstat and PSI", func(in *Input) { in.forget("wait_per_slice"); in.forget("psi_share") }, []string{pass}, 0, verdict.Pass, "C3", verdict.OK, ""},
		{"schedstat, PSI and probe", func(in *Input) {
			in.forget("wait_per_slice")
			in.forget("psi_share")
			in.forget("hiccup_thread")
		}, []string{pass}, 4, verdict.Pass, "C3", verdict.Bad, "unproven: no schedstat"},
		{"kernel stamps", (*Input).unstamped, []string{pass}, 0, verdict.Pass, "C7", verdict.Unknown, "waived at tier T1"},
		{"client table of a worker with 0.9 %", func(in *Input) { in.set("unseen_share", 0.009) }, []string{pass}, 0, verdict.Pass, "A4", verdict.OK, ""},
		{"client table of a worker with 1.1 %", func(in *Input) { in.set("unseen_share", 0.011) }, []string{pass}, 4, verdict.Pass, "A4", verdict.Bad, "unproven: "},
		{"chunk lists", func(in *Input) { in.forget("recv_delay_p99") }, []string{pass}, 0, verdict.Pass, "C7", verdict.OK, ""},
		{"chunk lists, an ICL objective", func(in *Input) { in.forget("recv_delay_p99") }, []string{"icl_p99:p99<1s"}, 5, verdict.Inconclusive, "C7", verdict.OK, ""},
		{"usage, a TPOT objective", func(in *Input) {
			for i := range in.Columns.N {
				in.Columns.Ints["tpot_user_ns"][i].Valid, in.Columns.Ints["tpot_wire_ns"][i].Valid = false, false
			}
		}, []string{"tpot:p99<60ms"}, 5, verdict.Inconclusive, "C8", verdict.OK, ""},
		{"cgroup", func(in *Input) { in.forget("throttled") }, []string{pass}, 4, verdict.Pass, "C4", verdict.Bad, "unproven: "},
		{"/proc/stat", func(in *Input) { in.forget("steal_share") }, []string{pass}, 4, verdict.Pass, "C4", verdict.Bad, "unproven: "},
		{"cgroup and /proc/stat on bare metal", func(in *Input) {
			in.forget("throttled")
			in.forget("steal_share")
			in.part(func(h *run.Header, _ *run.Detail, _ *summary.PartEnd) {
				h.Labels = map[string]string{"bare-metal": "yes"}
			})
		}, []string{pass}, 0, verdict.Pass, "C4", verdict.OK, "n/a: no quota, and bare metal"},
		{"cgroup on bare metal inside a quota", func(in *Input) {
			in.forget("throttled")
			quota := 1.5
			in.part(func(h *run.Header, _ *run.Detail, _ *summary.PartEnd) {
				h.Labels, h.Host.CPUQuota = map[string]string{"bare-metal": "yes"}, &quota
			})
		}, []string{pass}, 4, verdict.Pass, "C4", verdict.Bad, "unproven: "},
		{"gpu table", func(in *Input) { in.Summary.GPUNote = "no gpu stream" }, []string{pass}, 0, verdict.Pass, "C2", verdict.OK, ""},
		{"server table", func(in *Input) {}, []string{pass}, 0, verdict.Pass, "A5", verdict.Unknown, "no server counters"},
		{"schedule file", func(in *Input) {}, []string{pass}, 0, verdict.Pass, "B5", verdict.Unknown, "--plan"},
		{"batches of 5 s", func(in *Input) { in.set("mser_batches", 9) }, []string{pass}, 5, verdict.Inconclusive, "D2", verdict.Bad, "unproven: 9 batches"},
		{"batches of 5 s, --short", func(in *Input) { in.set("mser_batches", 9); in.Options.Short = true }, []string{pass}, 0, verdict.Pass, "D2", verdict.OK, "n/a: --short"},
		{"ten minutes, a late cut", func(in *Input) { in.set("mser_batches", 119); in.set("mser_ttft", 70) }, []string{pass}, 5, verdict.Inconclusive, "D2", verdict.Bad, ""},
		{"ten minutes, a late cut, --short", func(in *Input) {
			in.set("mser_batches", 119)
			in.set("mser_ttft", 70)
			in.Options.Short = true
		}, []string{pass}, 0, verdict.Pass, "D2", verdict.Warn, ""},
		{"nothing, a late cut, --short", func(in *Input) {
			in.set("mser_batches", 120)
			in.set("mser_ttft", 70)
			in.Options.Short = true
		}, []string{pass}, 5, verdict.Inconclusive, "D2", verdict.Bad, ""},
	} {
		in := sample()
		in.Options.AcceptUnproven = false
		in.slos(c.slos...)
		c.change(&in)
		v := judge(t, in)
		got := check(t, v, c.check)
		if v.Exit != c.exit || v.SLO != c.slo || got.Status != c.status {
			t.Errorf("%s: exit %d, %s, %s %s (%s); want %d, %s, %s", c.name, v.Exit, v.SLO, c.check, got.Status, got.Reason, c.exit, c.slo, c.status)
		}
		if text := got.Reason + got.Evidence + causeText(v); !strings.Contains(text, c.says) {
			t.Errorf("%s: %q; want it to say %q", c.name, text, c.says)
		}
	}
}

func causeText(v *verdict.Verdict) string {
	if v.Cause == nil {
		return ""
	}
	return v.Cause.Text
}

// C8: the table of what two sides say together.
func TestInvariance(t *testing.T) {
	for _, c := range []struct {
		name        string
		slo         string
		change      func(in *Input)
		user, other string
		status      string
		part        string
		result      string
		exit        int
	}{
		{"both pass", "ttft:p99<500ms", func(in *Input) {}, verdict.Pass, verdict.Pass, verdict.OK, "", verdict.Pass, 0},
		{"both fail", "ttft:p99<300ms", func(in *Input) {}, verdict.Fail, verdict.Fail, verdict.OK, "", verdict.Fail, 1},
		{"the reader is late", "ttft:p99<500ms", func(in *Input) { in.late("client_time_ns", 200e6) }, verdict.Fail, verdict.Pass, verdict.Bad, "receive",
			verdict.Fail, 4},
		{"the sender is late", "ttft:p99<500ms", func(in *Input) { in.late("send_lag_ns", 200e6) }, verdict.Fail, verdict.Pass, verdict.Bad, "send_lag", verdict.Fail, 4},
		{"the pool is short", "ttft:p99<500ms", func(in *Input) { in.late("conn_wait_ns", 200e6) }, verdict.Fail, verdict.Pass, verdict.Bad, "conn_wait", verdict.Fail, 4},
		{"the upload is slow, the link is not", "ttft:p99<500ms", func(in *Input) { in.late("upload_ns", 200e6) }, verdict.Fail, verdict.Pass, verdict.Warn, "upload",
			verdict.Fail, 1},
		{"the upload is slow, the link as well", "ttft:p99<500ms", func(in *Input) { in.late("upload_ns", 200e6); in.set("retransmit_share", 0.01) },
			verdict.Fail, verdict.Pass, verdict.Warn, "upload", verdict.Inconclusive, 5},
		{"the upload is slow, the link unknown", "ttft:p99<500ms", func(in *Input) {
			in.late("upload_ns", 200e6)
			for i := range in.Columns.N {
				in.Columns.Strings["remote_addr"][i] = "10.0.0.7:8000"
			}
		}, verdict.Fail, verdict.Pass, verdict.Warn, "upload", verdict.Inconclusive, 5},
		{"fails and undecided", "ttft:p99<500ms", func(in *Input) {
			in.late("client_time_ns", 200e6)
			for i := 0; i < in.Columns.N; i += 100 { // one per cent misses on the wire as well
				in.Columns.Ints["ttft_wire_ns"][i].V += 200e6
			}
		}, verdict.Fail, verdict.Inconclusive, verdict.Warn, "", verdict.Inconclusive, 5},
		{"time per token by the reader", "tpot:p99<30ms", func(in *Input) {
			for i := 0; i < in.Columns.N; i += 10 {
				in.Columns.Ints["tpot_user_ns"][i].V += 20e6
			}
		}, verdict.Fail, verdict.Pass, verdict.Bad, "receive",
			verdict.Fail, 4},
		{"a joint objective", "good(ttft<500ms,e2e<3s):p99", func(in *Input) { in.late("send_lag_ns", 200e6) }, verdict.Fail, verdict.Pass, verdict.Bad, "send_lag",
			verdict.Fail, 4},
		{"the sent side stands in", "ttft:p99<500ms", func(in *Input) { in.unstamped(); in.late("send_lag_ns", 200e6) }, verdict.Fail, verdict.Pass, verdict.Bad,
			"send_lag", verdict.Fail, 4},
	} {
		in := sample()
		in.Options.AcceptUnproven = false
		in.limit("B2.p99=60min", "B2.max=60min")
		in.slos(c.slo)
		c.change(&in)
		v := judge(t, in)
		cell := v.Objectives[0].Invariance
		if cell == nil || cell.User != c.user || cell.Other != c.other || cell.Status != c.status || cell.Part != c.part {
			t.Errorf("%s: %+v; want %s, %s, %s by %q", c.name, cell, c.user, c.other, c.status, c.part)
		}
		if v.SLO != c.result || v.Exit != c.exit || check(t, v, "C8").Status != c.status {
			t.Errorf("%s: %s, exit %d, C8 %s; want %s, %d, %s (%+v)", c.name, v.SLO, v.Exit, check(t, v, "C8").Status, c.result, c.exit, c.status, v.Cause)
		}
	}
}

// What the faults of an INVALID run cannot have made stands all the same.
func TestAFortiori(t *testing.T) {
	for _, c := range []struct {
		name   string
		slo    string
		change func(in *Input)
		stands string
		exit   int // with --directional
	}{
		{"inflated, and passes", "ttft:p99<500ms", func(in *Input) { in.set("cpu_share", 0.9) }, verdict.Pass, 0},
		{"inflated, and fails", "ttft:p99<300ms", func(in *Input) { in.set("cpu_share", 0.9) }, "", 4},
		{"hidden, and fails", "ttft:p99<300ms", func(in *Input) { in.set("sent_share", 0.9) }, verdict.Fail, 1},
		{"hidden, and passes", "ttft:p99<500ms", func(in *Input) { in.set("sent_share", 0.9) }, "", 4},
		{"hidden and inflated", "ttft:p99<300ms", func(in *Input) { in.set("sent_share", 0.9); in.set("cpu_share", 0.9) }, "", 4},
		{"both ways", "ttft:p99<500ms", func(in *Input) { in.set("order_max_ns", 1e6) }, "", 4},
		{"evidence missing", "ttft:p99<500ms", func(in *Input) { in.set("cpu_share", 0.9); in.forget("throttled") }, "", 4},
		{"too short", "ttft:p99<500ms", func(in *Input) { in.set("cpu_share", 0.9); in.Summary.Window.ToNS = 100e9 }, "", 4},
		{"a share", "error_rate<1%", func(in *Input) {
			in.set("sent_share", 0.9)
			for i := 0; i < in.Columns.N; i += 20 {
				in.Columns.Strings["outcome"][i] = run.HTTPError
			}
		}, verdict.Fail, 1},
	} {
		in := sample()
		in.Options.AcceptUnproven = false
		in.slos(c.slo)
		c.change(&in)
		v := judge(t, in)
		got := ""
		if v.AFortiori != nil {
			got = v.AFortiori.SLO
			if len(v.AFortiori.Objectives) != 1 || v.AFortiori.Text == "" {
				t.Errorf("%s: %+v; want one objective and a line", c.name, v.AFortiori)
			}
		}
		if got != c.stands || v.Exit != 4 {
			t.Errorf("%s: %q stands, exit %d; want %q, 4", c.name, got, v.Exit, c.stands)
		}
		in.Options.Directional = true
		if v := judge(t, in); v.Exit != c.exit || v.Harness != verdict.Invalid {
			t.Errorf("%s, --directional: %s, exit %d; want INVALID, %d", c.name, v.Harness, v.Exit, c.exit)
		}
	}
}

// A run whose backlog grew has no percentiles.
func TestUnstableRunShowsNoPercentiles(t *testing.T) {
	in := sample()
	in.slos("ttft:p99<500ms")
	in.Summary.Metrics = append(in.Summary.Metrics, summary.Metric{ID: "ttft_user", Population: "planned", N: rows,
		Percentiles: []summary.Percentile{{Level: 990, Value: formats.Some(400e6)}}})
	if v := judge(t, in); !v.Latencies[0].Percentiles[0].Value.Valid || !v.Objectives[0].Value.Valid {
		t.Fatal("a steady run shows no percentile; want one")
	}
	in.set("backlog_growth", 0.1)
	v := judge(t, in)
	if v.Exit != 1 || v.SLO != verdict.Fail || v.Cause.Check != "D3" || !strings.Contains(v.Cause.Text, "unstable") {
		t.Errorf("exit %d, %s, %+v; want FAIL by D3, unstable", v.Exit, v.SLO, v.Cause)
	}
	if p := v.Latencies[0].Percentiles[0]; p.Value.Valid || p.Reason == "" || v.Objectives[0].Value.Valid {
		t.Errorf("percentile %+v, objective at %v; want none", p, v.Objectives[0].Value)
	}
	in.set("backlog_spread", 1000) // much noise: 3√2·1000/11200 is 0.38
	if v := judge(t, in); v.SLO != verdict.Pass {
		t.Errorf("the same growth within its noise: %s; want PASS", v.SLO)
	}
}

func TestIndices(t *testing.T) {
	in := sample()
	v := judge(t, in)
	// 1/5 for headroom, 0.5·0.3/0.7 for CPU: the larger.
	if v.KClient.Value == nil || *v.KClient.Value < 0.2142 || *v.KClient.Value > 0.2143 || v.KServer.Value != nil || v.KServer.Reason == "" {
		t.Errorf("K_client %+v, K_server %+v; want 0.2143 and none with a reason", v.KClient, v.KServer)
	}
	for _, c := range []struct {
		id   string
		v    float64
		want float64
	}{{"headroom", 2, 0.5}, {"cpu_share", 0.7, 0.5}, {"wait_per_slice", 300e3, 0.5}, {"host_cpu_share", 1.4, 1}} {
		in := sample()
		in.set(c.id, c.v)
		if got := judge(t, in).KClient; got.Value == nil || *got.Value != c.want {
			t.Errorf("%s at %v: %+v; want %v", c.id, c.v, got, c.want)
		}
	}
	in.uncalibrated("the run was not calibrated")
	if got := judge(t, in).KClient; got.Value != nil || !strings.Contains(got.Reason, "not calibrated") {
		t.Errorf("without calibration: %+v; want none with the reason", got)
	}
}

// Of fewer than 100 sub-windows one may be short; what it loses is bounded by the rate.
func TestOneShortWindowOfFewDecidesNothing(t *testing.T) {
	for _, c := range []struct {
		windows, short float64
		want           string
	}{{50, 1, verdict.OK}, {50, 2, verdict.Bad}, {100, 1, verdict.OK}, {199, 2, verdict.Bad}, {200, 2, verdict.OK}} {
		in := sample()
		in.set("window_count", c.windows)
		in.set("window_short_share", c.short/c.windows)
		if got := check(t, judge(t, in), "B3").Status; got != c.want {
			t.Errorf("%v of %v windows short: B3 %s; want %s", c.short, c.windows, got, c.want)
		}
	}
}

// What limits a gap follows the objectives on gaps and time per token.
func TestLimitsOfGapsFollowTheObjectives(t *testing.T) {
	for _, c := range []struct {
		slo        []string
		delay, max float64
	}{
		{nil, 2e6, 0},
		{[]string{"tpot:p99<30ms"}, 1.5e6, 15e6},
		{[]string{"ttft:p99<500ms", "tpot:p99<100ms"}, 2e6, 25e6},
		{[]string{"tpot:p99<10ms"}, 2e6, 0}, // fails on the wire too
	} {
		in := sample()
		in.slos(c.slo...)
		v := judge(t, in)
		delay, largest := check(t, v, "C7").Terms[0], check(t, v, "C5").Terms[2]
		if value(delay.Bound) != c.delay || value(largest.Bound) != c.max {
			t.Errorf("%v: read delay ≤ %v, hiccup ≤ %v; want %v, %v", c.slo, value(delay.Bound), value(largest.Bound), c.delay, c.max)
		}
	}
}
