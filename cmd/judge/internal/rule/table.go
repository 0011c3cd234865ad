// Package rule holds the checks by which a run is judged, in one table, and the
// procedure that turns their results and the decisions on the objectives into a
// verdict. Judge is its one entry; Checks lists the table for help and docs.
package rule

import "math"

// Limits is the version of the table of limits; it changes with any default limit.
const Limits = "v2"

// Units of a limit.
const (
	nanoseconds = "ns"
	share       = "share"
	ratio       = "ratio"
	count       = "count"
)

// Directions of a limit.
const (
	atMost  = "<="
	atLeast = ">="
)

// What a BAD check does to the picture of the server.
const (
	hides    = "hides"    // it looks better than it is
	inflates = "inflates" // it looks worse
	both     = "both"
)

// none stands for "no such limit" in the table.
var none = math.NaN()

// Check is one rule.
type Check struct {
	ID       string
	Title    string // what it asks
	Fault    string // what is wrong when it is BAD
	Hint     string // the next step then
	Required bool   // B6 only when a turn or a cap exists
	Bias     string
	Formula  string
	Source   string // of the limits
	Terms    []Term
	judge    func(*state, *finding)
}

// Term is one number of a check with its default limit.
type Term struct {
	Name  string // limit id is Check.ID + "." + Name
	What  string // the number in words
	Unit  string
	Op    string
	Limit float64
	Warn  float64 // limit for WARN, none where there is none
}

// later is why a check is UNKNOWN for every run.
const later = "not judged in this version"

// Where limits come from.
const (
	exact    = "definition: nothing may be lost or counted twice"
	proposed = "proposal, measured on one shared 2-CPU machine; to be calibrated"
	measured = "from fault injection on one shared 2-CPU machine; to be calibrated"
	agentX   = "AgentX uses 98 %"
	mlperf   = "MLPerf Inference: at least 600 s"
	practice = "practical size of effect"
)

// Checks returns the table, in the order of the report.
func Checks() []Check {
	return append(append(append(integrity(), load()...), client()...), steady()...)
}

func integrity() []Check {
	return []Check{
		{ID: "A1", Title: "every planned request has one row, and the run ended well", Required: true, Bias: both,
			Fault: "the run is not whole", Hint: "find out what ended it (status, worker exits), then run again",
			Formula: "rows = distinct request_id = planned in end = schedule trailer; status complete; worker exits 0; planned − Σ outcomes = 0",
			Source:  exact, judge: wholeRun,
			Terms: []Term{
				{"missing", "planned requests without a row", count, atMost, 0, none},
				{"duplicate", "rows beyond one per request", count, atMost, 0, none},
				{"conservation", "planned − Σ outcomes", count, atMost, 0, none},
				{"incomplete", "parts whose status is not complete", count, atMost, 0, none},
				{"exits", "workers that ended badly", count, atMost, 0, none},
				{"rows", "rows per table that differ from what the end states", count, atMost, 0, none},
			}},
		{ID: "A2", Title: "the stamps of each row are in order", Required: true, Bias: both,
			Fault: "stamps are out of order", Hint: "a clock or the client's own bookkeeping is at fault; see the rows named in the summary",
			Formula: "due ≤ dispatched ≤ conn_asked ≤ … ≤ last_token ≤ end, kernel stamp ≤ user stamp, chunk times ascending, no early sends",
			Source:  proposed, judge: order,
			Terms: []Term{
				{"share", "rows out of order", share, atMost, 0.0001, none},
				{"most", "largest step back", nanoseconds, atMost, 50e3, none},
				{"early", "rows sent before they were due", share, atMost, 0.0001, none},
			}},
		{ID: "A3", Title: "the clock was not set while it ran", Required: true, Bias: both,
			Fault: "a clock moved", Hint: "stop what steps the wall clock (ntpd, a suspended machine), then run again",
			Formula: "|(wall − mono) at the end − at the start| per worker; one boot id",
			Source:  proposed, judge: clock,
			Terms: []Term{
				{"drift", "wall against monotonic, worst worker", nanoseconds, atMost, 1e6, none},
				{"boots", "workers of another boot", count, atMost, 0, none},
			}},
		{ID: "A4", Title: "two independent counts agree", Required: true, Bias: both,
			Fault: "the client's counters and its rows disagree", Hint: "a worker lost rows or counted wrongly; compare per worker in the summary",
			Formula: "Σ client.dispatched = rows with dispatched_ns; Σ client.completed = those with end_ns, of workers with a client table; |mean in flight by rows − by counters|/max(1, mean)",
			Source:  proposed, judge: counts,
			Terms: []Term{
				{"dispatched", "dispatched by counters less by rows", count, atMost, 0, none},
				{"completed", "completed by counters less by rows", count, atMost, 0, none},
				{"in_flight", "gap of the two in-flight counts", share, atMost, 0.02, none},
				{"unseen", "requests of workers without a client table", share, atMost, 0.01, none},
			}},
		{ID: "A5", Title: "the server's own counters agree", Bias: both,
			Fault: "the server counted otherwise", Hint: "look for other traffic on the server",
			Formula: "server finished = ok rows; server tokens = Σ output_tokens, Σ input_tokens, from before the first send to after the last end",
			Source:  practice, judge: serverCounters,
			Terms: []Term{
				{"requests", "finished by server less ok rows", count, atMost, 0, none},
				{"tokens", "relative gap of token sums", share, atMost, 0.01, none},
			}},
		{ID: "A6", Title: "one way of measuring", Bias: both,
			Fault: "the rows were measured in more than one way", Hint: "do not mix endpoints or servers in one run",
			Formula: "distinct (endpoint, streaming, engine); distinct token_source − 1; rows with assumed first_chunk_tokens while tokens_per_event > 1.02",
			Source:  exact, judge: oneWay,
			Terms: []Term{
				{"modes", "ways of asking", count, atMost, 1, none},
				{"sources", "further token sources", count, atMost, 0, none},
				{"assumed", "rows whose TPOT assumes a first chunk of one token", count, atMost, 0, none},
			}},
		{ID: "A7", Title: "observations cover the window", Bias: hides,
			Fault: "too many answers show no tokens or gaps", Hint: "check that the server streams, and --chunks full",
			Formula: "token_event_share of streamed ok rows; rows with ≥ 2 tokens that have a gap",
			Source:  agentX, judge: coverage,
			Terms: []Term{
				{"tokens", "ok rows with a first token", share, atLeast, 0.98, none},
				{"gaps", "rows with ≥ 2 tokens that have a gap", share, atLeast, 0.98, none},
			}},
		{ID: "A8", Title: "no reuse that the trace does not have", Bias: hides,
			Fault: "the server reused more than the plan shares", Hint: "restart the server or clear its cache before the run",
			Formula: "(Σ cached_tokens − Σ expected_cached_tokens)/Σ input over rows that have both",
			Source:  practice, judge: excess,
			Terms: []Term{{"excess", "cached beyond plan, of input tokens", share, atMost, 0.01, none}}},
	}
}

func load() []Check {
	return []Check{
		{ID: "B1", Title: "the requests were sent", Required: true, Bias: hides,
			Fault: "requests were not sent", Hint: "look at the rows with outcome not_sent and connect_error: ports, descriptors, workers",
			Formula: "sent rows/planned rows; not_sent and local connect errors are not sent",
			Source:  practice, judge: sent,
			Terms: []Term{{"share", "requests sent", share, atLeast, 0.999, none}}},
		{ID: "B2", Title: "the requests were sent on time", Required: true, Bias: both,
			Fault: "the generator was late", Hint: "free a core, add --workers where CPUs are left, or lower the rate",
			Formula: "send_lag = conn_asked − due: p99 ≤ min(10 ms, 5 % of the tightest TTFT limit), max ≤ that limit",
			Source:  proposed, judge: lag,
			Terms: []Term{
				{"p99", "send lag p99", nanoseconds, atMost, 10e6, 2e6},
				{"max", "largest send lag", nanoseconds, atMost, none, none},
			}},
		{ID: "B3", Title: "the planned rate was kept", Required: true, Bias: hides,
			Fault: "the rate fell behind the plan", Hint: "free a core, add --workers where CPUs are left, or lower the rate",
			Formula: "share of sub-windows with sent/planned < 0.95, of fewer than 100 always one allowed; sent/planned over the window",
			Source:  proposed, judge: rate,
			Terms: []Term{
				{"windows", "sub-windows below 0.95 of plan", share, atMost, 0.01, none},
				{"rate", "sent/planned", ratio, atLeast, 0.995, none},
			}},
		{ID: "B4", Title: "bursts were kept", Required: true, Bias: hides,
			Fault: "the shape of the arrivals was changed", Hint: "a busy generator smooths bursts: free a core, add --workers where CPUs are left, or lower the rate",
			Formula: "index of dispersion of counts sent/planned at 0.1, 1, 10 s; scales with idc ≥ 0.05, ≥ 5 a window, ≥ 30 windows",
			Source:  proposed, judge: bursts,
			Terms: []Term{
				{"low", "smallest burst ratio", ratio, atLeast, 0.90, none},
				{"high", "largest burst ratio", ratio, atMost, 1.10, none},
			}},
		{ID: "B5", Title: "the plan is the schedule that was given", Bias: hides,
			Fault: "the run's plan is not the schedule", Hint: "judge with the schedule the run was made from",
			Formula: "trace: count, tokens and span of the schedule against those of the run, under equal hashes",
			Source:  exact, judge: plan,
			Terms: []Term{
				{"requests", "requests planned less in schedule", count, atMost, 0, none},
				{"tokens", "tokens planned less in schedule", count, atMost, 0, none},
				{"span", "span of plan less of schedule", nanoseconds, atMost, 1e6, none},
			}},
		{ID: "B6", Title: "turns kept their order and think time", Required: true, Bias: hides,
			Fault: "turns were disturbed", Hint: "free a core, add --workers where CPUs are left, or lower the rate",
			Formula: "turn_disorder = 0; send_lag p99 of rows with turn > 0; seconds in which a declared cap delayed a row",
			Source:  proposed, judge: turns,
			Terms: []Term{
				{"disorder", "turns sent before their predecessor ended", count, atMost, 0, none},
				{"lag", "send lag p99 of later turns", nanoseconds, atMost, 10e6, none},
				{"cap", "seconds in which a cap delayed a row", count, atMost, 0, none},
			}},
		{ID: "B7", Title: "prompts and answers have the planned length", Bias: hides,
			Fault: "prompts or answers differ from the plan", Hint: "pin the output length (ignore_eos), check the tokenizer",
			Formula: "|input_error|, |output_error|, length_miss_share",
			Source:  practice, judge: lengths,
			Terms: []Term{
				{"input", "input tokens against plan", share, atMost, 0.01, none},
				{"output", "output tokens against plan", share, atMost, 0.02, none},
				{"length", "answers of another length", share, atMost, 0.01, none},
			}},
		{ID: "B8", Title: "connections cost nothing", Bias: inflates,
			Fault: "the client's connections cost time", Hint: "check the pool, ports and descriptors of the client",
			Formula: "share of rows with conn_wait + dial > 1 ms after a connection's first use; local_errors",
			Source:  practice, judge: connections,
			Terms: []Term{
				{"slow", "rows that waited for a connection", share, atMost, 0.01, none},
				{"local", "errors with a local cause", count, atMost, 0, none},
			}},
	}
}

func client() []Check {
	return []Check{
		{ID: "C1", Title: "the generator has headroom", Required: true, Bias: both,
			Fault: "the generator has too little headroom", Hint: "add --workers where CPUs are left, use a faster host, or split the schedule over hosts",
			Formula: "calibrated ceiling/offered mean, the least of req/s, events/s, bytes/s; ceiling/p99 second; without kernel stamps 4 times are asked for tier T1",
			Source:  proposed, judge: headroom,
			Terms: []Term{
				{"headroom", "ceiling/offered load", ratio, atLeast, 2, 3},
				{"peak", "ceiling/p99 second", ratio, atLeast, none, 1.2},
				{"t1", "headroom in place of kernel stamps", ratio, atLeast, none, 4},
			}},
		{ID: "C2", Title: "the client had CPU to spare", Required: true, Bias: inflates,
			Fault: "the client's CPUs are too busy", Hint: "free a core, add --workers where CPUs are left, or lower the rate",
			Formula: "p95 over seconds of cpu_share of the busiest worker; host_cpu_share",
			Source:  measured, judge: cpu,
			Terms: []Term{
				{"cpu", "CPU share of the busiest worker, p95", share, atMost, 0.70, 0.60},
				{"host", "CPU share of all workers, p95", share, atMost, 0.70, 0.60},
			}},
		{ID: "C3", Title: "the client got the CPU when it wanted it", Required: true, Bias: inflates,
			Fault: "the client waited for a CPU", Hint: "stop what else runs on the client's CPUs, or use fewer --workers than CPUs",
			Formula: "Σ run-queue wait/Σ timeslices, worst worker; Σ run-queue wait/Σ CPU, worst of the workers above 100 µs a slice; without schedstat psi_share, else hiccup_thread",
			Source:  measured, judge: waits,
			Terms: []Term{
				{"slice", "wait per timeslice", nanoseconds, atMost, 300e3, none},
				{"ratio", "wait/CPU", ratio, atMost, 2, none},
				{"psi", "time in which some task waited", share, atMost, 0.05, none},
				{"hiccup", "worker-seconds with a late thread", share, atMost, 0.10, none},
			}},
		{ID: "C4", Title: "nobody throttled the client", Required: true, Bias: inflates,
			Fault: "the client was stopped from outside", Hint: "raise or remove the CPU quota; move to a host that is not overcommitted",
			Formula: "throttled time of the cgroup; share of CPU time stolen by the hypervisor",
			Source:  proposed, judge: throttle,
			Terms: []Term{
				{"throttled", "time stopped by a quota", nanoseconds, atMost, 0, none},
				{"steal", "CPU time stolen", share, atMost, 0.05, 0.01},
			}},
		{ID: "C5", Title: "no hiccups", Required: true, Bias: inflates,
			Fault: "the client stalled", Hint: "stop what else runs on the host; look at the worker and the second named",
			Formula: "share of worker-seconds whose hiccup p99.9 > 2 ms, thread and goroutine; largest ≤ min(5 % of the tightest TTFT limit, half the tightest gap limit)",
			Source:  proposed, judge: hiccups,
			Terms: []Term{
				{"thread", "worker-seconds with a late thread", share, atMost, 0.10, 0.05},
				{"goroutine", "worker-seconds with a late goroutine", share, atMost, 0.10, 0.05},
				{"max", "largest hiccup", nanoseconds, atMost, none, none},
			}},
		{ID: "C6", Title: "reads were not coalesced", Required: true, Bias: inflates,
			Fault: "the receive side is saturated: reads gather several segments", Hint: "add --workers where CPUs are left, or lower the rate",
			Formula: "kappa − kappa of the null run at the offered rate",
			Source:  measured, judge: coalescing,
			Terms: []Term{{"kappa", "segments per read beyond the null run", ratio, atMost, 0.05, none}}},
		{ID: "C7", Title: "events were read when they came", Required: true, Bias: inflates,
			Fault: "the receive side is late: events wait for the client", Hint: "add --workers where CPUs are left, or lower the rate",
			Formula: "p99 of user stamp less kernel stamp over chunks ≤ min(2 ms, 5 % of the tightest gap and TTFT limit); without chunk lists client.read_delay p99, above it in ≤ 1 % of the seconds, of fewer than 100 in one",
			Source:  measured, judge: readDelay,
			Terms: []Term{{"delay", "read delay p99", nanoseconds, atMost, 2e6, none}}},
		{ID: "C8", Title: "user and wire times decide alike", Required: true, Bias: inflates,
			Fault: "the client decides the result", Hint: "the server meets the objective, the client's own time makes it fail: lower that part first",
			Formula: "each objective decided from user and from wire times with one tau",
			Source:  practice, judge: invariance,
			Terms: []Term{
				{"client", "objectives that the client's own time decides", count, atMost, 0, none},
				{"open", "objectives that fail from user times alone", count, atMost, none, 0},
			}},
		{ID: "C9", Title: "the client's part of TTFT is small in the tail", Bias: inflates,
			Fault: "the client has a part in the tail of TTFT", Hint: "compare the user and the wire column; free a core or lower the rate",
			Formula: "mean of client_time/ttft_user over the rows at or above the level of a TTFT objective",
			Source:  practice, judge: clientShare,
			Terms: []Term{{"share", "client's part of TTFT in the tail", share, atMost, 0.05, none}}},
		{ID: "C10", Title: "the client's runtime was quiet", Bias: inflates,
			Fault: "the Go runtime of the client was not quiet", Hint: "look at the worker and the second named",
			Formula: "largest per-second p99 of scheduler latency; longest GC pause; share of time in GC pauses; queues at their bound",
			Source:  proposed, judge: runtimeQuiet,
			Terms: []Term{
				{"sched", "scheduler latency p99, worst second", nanoseconds, atMost, 1e6, none},
				{"gc_max", "longest GC pause", nanoseconds, atMost, 1e6, none},
				{"gc_share", "time in GC pauses", share, atMost, 0.001, none},
				{"queue", "queues at their bound", count, atMost, 0, none},
			}},
		{ID: "C11", Title: "a packet witness agrees", Bias: inflates,
			Fault: "a packet witness disagrees", Hint: "record one, or leave --evidence at t2",
			Formula: "|p99 ICL user − witness|; witness drops",
			Source:  proposed, judge: witness,
			Terms: []Term{
				{"gap", "p99 of ICL against the witness", nanoseconds, atMost, 1e6, none},
				{"drops", "packets that the witness lost", count, atMost, 0, none},
			}},
		{ID: "C12", Title: "the link was not full", Bias: both,
			Fault: "the link between client and server is a part of the result", Hint: "use a faster link, or a client nearer to the server",
			Formula: "bytes a second/link rate; retransmit_share",
			Source:  proposed, judge: link,
			Terms: []Term{
				{"use", "link use", share, atMost, 0.50, none},
				{"retransmits", "segments sent again", share, atMost, 0.001, none},
			}},
		{ID: "C13", Title: "nobody bundled the events", Bias: both,
			Fault: "the server or a proxy bundles events", Hint: "switch response buffering off in the proxy; TTFT and gaps of bundled events are not the server's",
			Formula: "same_read_gaps − that of the null run, while C6 is OK; median TTFT/median E2E of answers of ≥ 10 token events",
			Source:  proposed, judge: bundling,
			Terms: []Term{
				{"same_read", "gaps inside one read beyond the null run", share, atMost, 0.05, none},
				{"late", "median TTFT/median E2E", ratio, atMost, 0.90, none},
			}},
	}
}

func steady() []Check {
	return []Check{
		{ID: "D1", Title: "the window is long enough", Required: true, Bias: both,
			Fault: "the steady window is too short", Hint: "run longer, or --short to accept 30 s as not publishable",
			Formula: "|W| ≥ 600 s and ≥ 10 × p99 e2e_user; --short: 30 s alone",
			Source:  mlperf, judge: duration,
			Terms: []Term{
				{"window", "steady window", nanoseconds, atLeast, 600e9, none},
				{"e2e", "steady window/p99 of E2E", ratio, atLeast, 10, none},
			}},
		{ID: "D2", Title: "the run became steady", Required: true, Bias: both,
			Fault: "the run never became steady", Hint: "run longer, or set a longer --warmup",
			Formula: "MSER-5 cut/batches of in-flight, median TTFT and output tok/s, the largest; --short: WARN at most below 120 batches, n/a below 10",
			Source:  proposed, judge: warmup,
			Terms: []Term{{"cut", "warm-up/load", share, atMost, 0.5, none}}},
		{ID: "D3", Title: "the backlog did not grow", Required: true, Bias: both,
			Fault: "the backlog grew: percentiles grow with the length of the run", Hint: "lower the rate",
			Formula: "1 − ended/planned after the first fifth ≤ max(0.02, 3√2·deviation of in-flight about its line/arrivals)",
			Source:  proposed, judge: growth,
			Terms: []Term{{"growth", "requests planned and not ended", share, atMost, 0.02, none}}},
		{ID: "D4", Title: "both halves agree", Bias: both,
			Fault: "the halves of the window differ", Hint: "look at the series: a drift, a neighbour or a cache may still be moving",
			Formula: "larger half/smaller half: TTFT p50, p90; out_tps",
			Source:  practice, judge: halves,
			Terms: []Term{
				{"ttft_p50", "TTFT p50, half against half", ratio, atMost, 1.10, none},
				{"ttft_p90", "TTFT p90, half against half", ratio, atMost, 1.10, none},
				{"out_tps", "output tok/s, half against half", ratio, atMost, 1.03, none},
			}},
		{ID: "D5", Title: "the objectives rest on enough requests", Required: true, Bias: both,
			Fault: "too few independent requests for a PASS", Hint: "run longer: see the projected number of requests",
			Formula: "n_eff·(1−p) of each objective, tau settled",
			Source:  practice, judge: enough,
			Terms: []Term{
				{"n_eff", "smallest n_eff·(1−p)", count, atLeast, 10, none},
				{"unsettled", "objectives whose tau did not settle", count, atMost, 0, none},
			}},
		{ID: "D6", Title: "nothing was cut off by the end", Required: true, Bias: both,
			Fault: "the end of the run cut answers off", Hint: "raise --grace, or plan the load to end earlier",
			Formula: "planned rows cancelled by the end of the run, or open at the end of grace",
			Source:  exact, judge: cutOff,
			Terms: []Term{{"rows", "planned rows cut off", count, atMost, 0, none}}},
	}
}
