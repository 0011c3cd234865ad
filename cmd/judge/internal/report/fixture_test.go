package report

import (
	"hydrant/formats"
	"hydrant/formats/verdict"
)

func some(v float64) *float64 { return &v }

func tau(k int64, value, low, high int64, tau, neff float64) verdict.Percentile {
	return verdict.Percentile{Level: k, Value: formats.Some(value), Low: formats.Some(low), High: formats.Some(high), Tau: some(tau), Neff: some(neff)}
}

// distribution makes three levels with intervals and a refused one.
func distribution(id, side, population string, n, p50, p90, p99 int64) verdict.Latency {
	span := func(k, v int64, t float64) verdict.Percentile {
		return tau(k, v, v-v/50, v+v/40, t, float64(n)/t)
	}
	return verdict.Latency{ID: id, Side: side, Unit: "ns", Population: population, Weighting: "request", N: n,
		Percentiles: []verdict.Percentile{span(500, p50, 1.9), span(900, p90, 2.4), span(990, p99, 3.9), {Level: 999, Reason: "needs 6636 values, has 3000"}}}
}

func limited(limit, name, unit, op string, value, bound float64, status string) verdict.Term {
	return verdict.Term{Limit: limit, Name: name, Unit: unit, Op: op, Value: some(value), Bound: some(bound), N: 3000, Status: status}
}

// healthy is a VALID verdict whose objectives pass.
func healthy() *verdict.Verdict {
	return &verdict.Verdict{
		Build:    "hydrant v0.1.0",
		Inputs:   []verdict.Input{{Name: "run.arrows", Kind: "run", SHA256: "3f1c0d5e9a"}, {Name: "day.sched.zst", Kind: "schedule", SHA256: "9a77c0ffee"}},
		Headline: "VALID · PASS", Harness: verdict.Valid, Tier: "T2", TierNote: "kernel stamps and calibration", SLO: verdict.Pass, Claim: "slo",
		Options: verdict.Options{Limits: "v1", Evidence: "T1", Changed: []verdict.Change{{Limit: "B2.p99", Unit: "ns", Default: some(10e6), Value: 20e6}}},
		Checks: []verdict.Check{
			{ID: "A1", Title: "every planned request has one row, and the run ended well", Required: true, Status: verdict.OK, Bias: "both", Formula: "rows = planned",
				Terms: []verdict.Term{limited("A1.missing", "planned requests without a row", "count", "<=", 0, 0, verdict.OK)}},
			{ID: "A5", Title: "the server's own counters agree", Status: verdict.Unknown, Bias: "both", Reason: "no server counters in the summary",
				Terms: []verdict.Term{{Limit: "A5.requests", Name: "finished by server less ok rows", Unit: "count", Op: "<=", Status: verdict.Unknown, Reason: "no server counters in the summary"}}},
			{ID: "B2", Title: "the requests were sent on time", Required: true, Status: verdict.OK, Bias: "both", Formula: "send_lag = conn_asked − due",
				Terms: []verdict.Term{limited("B2.p99", "send lag p99", "ns", "<=", 0.14e6, 20e6, verdict.OK), {Limit: "B2.max", Name: "largest send lag", Unit: "ns", Op: "<=", Value: some(0.61e6), N: 3000, Status: verdict.OK}}},
			{ID: "B4", Title: "bursts were kept", Required: true, Status: verdict.OK, Bias: "hides", Evidence: "n/a: too few arrivals to have a shape",
				Terms: []verdict.Term{{Limit: "B4.low", Name: "smallest burst ratio", Unit: "ratio", Op: ">=", Status: verdict.NotApplicable}}},
			{ID: "C1", Title: "the generator has headroom", Required: true, Status: verdict.Warn, Bias: "both", Formula: "ceiling/offered",
				Terms: []verdict.Term{{Limit: "C1.headroom", Name: "headroom", Unit: "ratio", Op: ">=", Value: some(2.7), Bound: some(2), Warn: some(3), N: 1, Status: verdict.Warn, Evidence: "events"}}},
			{ID: "C3", Title: "the client got the CPU when it wanted it", Required: true, Status: verdict.OK, Bias: "inflates", Formula: "wait_per_slice, run_wait_ratio",
				Terms: []verdict.Term{limited("C3.slice", "wait for a CPU", "ns", "<=", 21e3, 300e3, verdict.OK)}},
			{ID: "D1", Title: "the window is long enough", Required: true, Status: verdict.OK, Bias: "both", Terms: []verdict.Term{limited("D1.window", "steady window", "ns", ">=", 900e9, 600e9, verdict.OK)}},
		},
		KClient: verdict.Index{Value: some(0.37), Parts: []verdict.Part{{ID: "headroom", Value: some(0.37)}, {ID: "cpu_share", Value: some(0.03)}, {ID: "send_lag", Reason: "timing asap"}}},
		KServer: verdict.Index{Reason: "no signals of the server"},
		Calibration: &verdict.Calibration{Status: "measured", AgeNS: formats.Some(6e9), DurationNS: 5e9, Host: "lab", Kernel: "6.18", Build: "hydrant v0.1.0", Engine: "epoll", Workers: 2,
			Headrooms: []verdict.Headroom{{Rate: "requests", Ceiling: some(139.4), Offered: some(3.4), Ratio: some(41)},
				{Rate: "events", Ceiling: some(18360), Offered: some(6800), Ratio: some(2.7)}, {Rate: "bytes", Ceiling: some(9e6), Reason: "not known beforehand"}}},
		Objectives: []verdict.Objective{
			{ID: "E1:ttft:p99<=5s", Text: "ttft:p99<=5s", Kind: "quantile", Metric: "ttft", Side: "user", P: some(0.99), Result: verdict.Pass, N: 3060, Misses: 3,
				Value: formats.Some(1902e6), Low: formats.Some(1864e6), High: formats.Some(1950e6), Tau: some(1.2), Settled: true, Neff: some(2550), D5: some(25.5),
				Independent: &verdict.Independent{Result: verdict.Pass},
				OtherSides:  []verdict.OtherSide{{Side: "wire", Result: verdict.Pass, Value: formats.Some(1901e6)}},
				Invariance:  &verdict.Invariance{Side: "wire", User: verdict.Pass, Other: verdict.Pass, Status: verdict.OK, Tau: some(1.2)}},
			{ID: "E1:out_tps>=1000", Text: "out_tps>=1000", Kind: "rate", Metric: "out_tps", Result: verdict.Pass,
				Rate: &verdict.Rate{Unit: "1/s", Op: ">=", Bound: 1000, Mean: some(1165), StdErr: some(11.2), Batches: 30, LagOne: some(0.05), Low: some(1138), High: some(1192)}},
		},
		Goodput: &verdict.Goodput{Limits: []string{"ttft<=5s"}, Good: 3057, N: 3060, Attainment: some(0.99902), Rate: some(3.397)},
		Latencies: []verdict.Latency{
			distribution("ttft_user", "user", "planned", 3060, 412e6, 902e6, 1902e6), distribution("ttft_wire", "wire", "planned", 3060, 411e6, 901e6, 1901e6),
			distribution("e2e_user", "user", "ok", 3060, 8.02e9, 16.4e9, 31e9),
			{ID: "icl", Side: "user", Unit: "ns", Population: "ok, by gap", Weighting: "gap", N: 24_100_000,
				Percentiles: []verdict.Percentile{{Level: 500, Value: formats.Some(21.1e6), Reason: "no interval: gaps of one stream move together"}}},
			{ID: "tpot_user", Side: "user", Unit: "ns", Population: "planned", Weighting: "request", N: 3040, Nulls: 20,
				Percentiles: []verdict.Percentile{{Level: 500, Value: formats.Some(21.4e6), Tau: some(80), Neff: some(38), Reason: "no interval"}, {Level: 990, Infinite: true}}},
			distribution("send_lag", "", "dispatched", 3060, 30e3, 70e3, 140e3),
		},
		Numbers: []verdict.Number{{ID: "client_share_p50", Unit: "share", Value: some(0.002)}, {ID: "client_share_p99", Unit: "share", Value: some(0.0006)},
			{ID: "cpu_per_event", Unit: "ns", Value: some(5300)}, {ID: "cpu_share", Unit: "share", Value: some(0.042)},
			{ID: "event_ceiling", Unit: "events/s", Value: some(377358)}, {ID: "failure_share", Unit: "share", Value: some(0.0003)}, {ID: "idc_planned_1s", Unit: "ratio", Value: some(1.02)},
			{ID: "out_tps", Unit: "tokens/s", Value: some(1165)}, {ID: "sent_rps", Unit: "1/s", Value: some(3.4)}, {ID: "window_min", Unit: "ratio", Value: some(0.97), Evidence: "second 431"}},
		Outcomes: []verdict.Outcome{{Name: "ok", N: 3059, InWindow: 3059}, {Name: "stream_error", N: 1, InWindow: 1}, {Name: "empty"}},
		Window:   verdict.Window{FromNS: 0, ToNS: 900e9, LoadTo: 900e9 - 1, Rows: 3060},
		Worst: []verdict.Worst{{ID: "ttft_user_max", FromNS: 431e9, ToNS: 432e9, Unit: "ns", Value: some(4.9e9),
			Beside: []verdict.Beside{{ID: "send_lag_max", Unit: "ns", Value: some(0.2e6)}, {ID: "in_flight", Unit: "requests", Value: some(188)}, {ID: "ttft_p50", Unit: "ns"}}}},
		Run: verdict.Run{Planned: 3060, Parts: 1, Build: "hydrant v0.1.0", ScheduleSHA256: []string{"9a77c0ffee"}, Schedule: []string{"mooncake day.jsonl", "speed factor=10"},
			Seed: 7, Timing: "schedule", Flags: []string{"calibrate=5s", "chunks=full", "engine=epoll", "gomaxprocs=4", "headers=Authorization", "seed=7", "timing=schedule", "workers=2"},
			Target: []string{"http://127.0.0.1:8000"}, Endpoint: "chat", Streaming: true, Model: "llama-3.1-8b", Server: "0.11.0", Engine: "epoll", Prompt: "text",
			Workers: 2, Host: "lab", Kernel: "6.18", CPUs: 2, Labels: []string{"site=lab"}},
		NotMeasured: []string{"GPU and energy (no gpu stream)", "A5 (no server counters in the summary)"},
	}
}

// failed is a VALID verdict of a server that missed an objective.
func failed() *verdict.Verdict {
	v := healthy()
	v.Headline, v.SLO, v.Exit = "VALID · FAIL", verdict.Fail, 1
	v.Cause = &verdict.Cause{Check: "E1:ttft:p99<=5s", Text: "ttft p99 ≤ 5s missed: 6,911 ms at 3.4 req/s (5.1 % of requests over, 1 % allowed)"}
	o := &v.Objectives[0]
	o.Result, o.Misses, o.Value, o.Low, o.High = verdict.Fail, 156, formats.Some(6911e6), formats.Some(6514e6), formats.Int{}
	o.Independent.Result, o.OtherSides[0].Result = verdict.Fail, verdict.Fail
	o.Invariance = &verdict.Invariance{Side: "wire", User: verdict.Fail, Other: verdict.Fail, Status: verdict.OK}
	v.Objectives[1].Result, v.Objectives[1].Reason = verdict.Inconclusive, "too close to tell"
	return v
}

// invalid is an INVALID verdict: the client was the limit, and its PASS stands.
func invalid() *verdict.Verdict {
	v := healthy()
	v.Headline, v.Harness, v.Tier, v.TierNote, v.Exit = "INVALID", verdict.Invalid, "T1", "no kernel stamps", 4
	v.Options.Short = true
	v.Cause = &verdict.Cause{Check: "C3", Text: "the client waited for a CPU: wait for a CPU 1.9 ms (limit 300 µs), worker 3 from 760 s on", Hint: "free a core, or use fewer --workers, then run again"}
	v.AFortiori = &verdict.AFortiori{SLO: verdict.Pass, Objectives: []string{"E1:out_tps>=1000"}, Text: "its PASS on out_tps stands all the same: this fault can only make the server look worse"}
	v.Checks[4] = verdict.Check{ID: "C1", Title: "the generator has headroom", Required: true, Status: verdict.Bad, Bias: "both", Formula: "ceiling/offered", Reason: "unproven: the run was not calibrated",
		Terms: []verdict.Term{{Limit: "C1.headroom", Name: "headroom", Unit: "ratio", Op: ">=", Status: verdict.Unknown, Reason: "the run was not calibrated"}}}
	c := &v.Checks[5]
	c.Status, c.Terms = verdict.Bad, []verdict.Term{{Limit: "C3.slice", Name: "wait for a CPU", Unit: "ns", Op: "<=", Value: some(1.9e6), Bound: some(300e3), N: 900, Status: verdict.Bad, Evidence: "worker 3, 760 s"}}
	v.Calibration = &verdict.Calibration{Status: "off", Reason: "--calibrate off"}
	v.KClient = verdict.Index{Value: some(3.17), Parts: []verdict.Part{{ID: "headroom", Reason: "the run was not calibrated"}, {ID: "wait_per_slice", Value: some(3.17)}}, Reason: "without headroom"}
	v.Run.Injected = []string{"client_stall=200us"}
	v.Objectives[0].Invariance = &verdict.Invariance{Side: "sent", User: verdict.Pass, Other: verdict.Fail, Status: verdict.Bad, Part: "receive", Text: "the time that the client took to read decides"}
	return v
}
