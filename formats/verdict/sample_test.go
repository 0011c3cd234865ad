package verdict

import "hydrant/formats"

func some(v float64) *float64 { return &v }

// sample is the verdict of the golden file: a failed objective, a rate, a warning, and
// something in every list.
func sample() *Verdict {
	return &Verdict{
		Build:    "hydrant v0.1.0",
		Inputs:   []Input{{Name: "run.arrows", Kind: "run", SHA256: "3f1c"}, {Name: "day.sched.zst", Kind: "schedule", SHA256: "9a77"}},
		Headline: "VALID (unproven: C1 C2) · FAIL", Harness: Valid, Tier: "T0", TierNote: "no calibration", SLO: Fail, Claim: "slo", Exit: 1,
		Options: Options{Limits: "v1", AcceptUnproven: true, Evidence: "T1",
			Changed: []Change{{Limit: "B2.max", Unit: "ns", Value: 2e9}, {Limit: "B3.rate", Unit: "ratio", Default: some(0.995), Value: 0.99}}},
		Unproven: []string{"C1", "C2"},
		Cause: &Cause{Check: "E1:ttft:p90<=360ms", Text: "ttft p90 ≤ 360ms missed: 389 ms at 20 req/s (18.8 % of requests over, 10 % allowed)",
			Hint: ""},
		Checks: []Check{
			{ID: "B2", Title: "the requests were sent on time", Required: true, Status: Warn, Bias: "both", Formula: "send_lag = conn_asked − due", Source: "proposal",
				Terms: []Term{
					{Limit: "B2.p99", Name: "send lag p99", Unit: "ns", Value: some(2.5e6), Op: "<=", Bound: some(10e6), Warn: some(2e6), N: 1000, Status: Warn},
					{Limit: "B2.max", Name: "largest send lag", Unit: "ns", Value: some(4e6), Op: "<=", Bound: some(2e9), N: 1000, Status: OK, Evidence: "request 12, worker 1, 0.600 s"},
				}},
			{ID: "B4", Title: "bursts were kept", Required: true, Status: OK, Bias: "hides", Formula: "idc sent/planned", Source: "proposal", Evidence: "n/a: too few arrivals to have a shape",
				Terms: []Term{{Limit: "B4.low", Name: "smallest burst ratio", Unit: "ratio", Op: ">=", Status: NotApplicable, Reason: "too few arrivals to have a shape"}}},
			{ID: "C1", Title: "the generator has headroom", Required: true, Status: Unknown, Bias: "both", Formula: "ceiling/offered", Source: "proposal", Reason: "not judged in this version"},
		},
		AFortiori: &AFortiori{SLO: Pass, Objectives: []string{"E1:out_tps>=1000"}, Text: "a PASS stands"},
		KClient: Index{Value: some(0.21), Parts: []Part{{ID: "headroom", Reason: "no calibration"}, {ID: "cpu_share", Value: some(0.21)}},
			Reason: "without headroom"},
		KServer: Index{Reason: "no server signals"},
		Calibration: &Calibration{Status: "measured", AgeNS: formats.Some(6e9), DurationNS: 5e9, Host: "lab", Kernel: "6.18", Build: "hydrant v0.1.0",
			Engine: "epoll", Workers: 2, Headrooms: []Headroom{{Rate: "requests", Ceiling: some(820), Offered: some(20), Ratio: some(41)},
				{Rate: "bytes", Reason: "not known beforehand"}}},
		Objectives: []Objective{
			{ID: "E1:ttft:p90<=360ms", Text: "ttft:p90<=360ms", Kind: "quantile", Metric: "ttft", Side: "user", P: some(0.9), Result: Fail,
				N: 1000, Misses: 188, LeftOut: 2, Unmeasured: 1, Value: formats.Some(389e6), Low: formats.Some(376e6), High: formats.Some(700e6),
				Tau: some(4.251875), Settled: true, Neff: some(235.190361), D5: some(23.5190361), PPass: some(0.999985), PFail: some(3.1727e-05),
				FailBelow: some(0.05), Independent: &Independent{Result: Fail, PPass: 1, PFail: 3.4e-17},
				OtherSides: []OtherSide{{Side: "sent", Result: Fail, Misses: 187, Value: formats.Some(388e6)}},
				Invariance: &Invariance{Side: "sent", User: Fail, Other: Fail, Status: OK, Tau: some(4.251875)}},
			{ID: "E1:out_tps>=1000", Text: "out_tps>=1000", Kind: "rate", Metric: "out_tps", Result: Inconclusive, Reason: "too close to tell",
				Rate: &Rate{Unit: "1/s", Op: ">=", Bound: 1000, Mean: some(1010), StdErr: some(8), Batches: 30, LagOne: some(0.05), Low: some(990.3), High: some(1023.6)}},
		},
		Goodput: &Goodput{Limits: []string{"ttft<=360ms"}, Good: 812, N: 1000, Attainment: some(0.812), Rate: some(16.24)},
		Latencies: []Latency{{ID: "ttft_user", Side: "user", Unit: "ns", Population: "planned", Weighting: "request", N: 1000, Mean: some(2.6e8),
			Percentiles: []Percentile{
				{Level: 900, Value: formats.Some(389e6), Low: formats.Some(376e6), High: formats.Some(700e6), Tau: some(4.251875), Neff: some(235.190361)},
				{Level: 999, Reason: "needs 6636 values, has 1000"},
			}}},
		Numbers:  []Number{{ID: "cpu_per_event", Unit: "ns", Value: some(9000)}, {ID: "energy", Unit: "J", Reason: "no gpu stream"}},
		GPUs:     []GPU{{Host: "gpu1", UUID: "GPU-1", Name: "H200", Samples: 60, Values: []Value{{ID: "power_mean_w", Value: some(412.5)}, {ID: "utilization_mean"}}}},
		Outcomes: []Outcome{{Name: "ok", N: 1000, InWindow: 1000}},
		Window:   Window{ToNS: 50e9, LoadTo: 50e9 - 1, Rows: 1000},
		Worst: []Worst{{ID: "ttft_user_p99", FromNS: 4e9, ToNS: 5e9, Unit: "ns", Value: some(1.2e9),
			Beside: []Beside{{ID: "send_lag_max", Unit: "ns", Value: some(4e6)}, {ID: "in_flight", Unit: "requests"}}}},
		Run: Run{Planned: 1000, InputTokens: 100000, OutputTokens: 80000, Parts: 1, Build: "hydrant v0.1.0", ScheduleSHA256: []string{"9a77"},
			Schedule: []string{"mooncake day.jsonl", "speed by=10"}, Flags: []string{"workers=2"}, Streaming: true, Server: "0.11.0",
			Seed: 7, Timing: "schedule", Target: []string{"http://127.0.0.1:8000"}, Endpoint: "chat", Model: "sim", Engine: "http", Prompt: "text",
			Workers: 2, Host: "lab", Kernel: "6.18", CPUs: 2, Labels: []string{"site=lab"}},
		NotMeasured: []string{"wire times (no kernel stamps: the sent side stands in)"},
	}
}
