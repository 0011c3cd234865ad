package run

import (
	"hydrant/formats"
	"hydrant/formats/ipc"
)

// never marks a column that is never null.
const never = ""

// v1 is a column that came with version 1.
func v1[T any](name, typ, unit, meaning, null string, field func(*T) any) ipc.Column[T] {
	return ipc.Column[T]{Name: name, Type: typ, Unit: unit, Meaning: meaning, Null: null, Since: 1, Field: field}
}

// Columns is table requests, in the order of the file. Schema, reader, writer and
// the format page are made from it.
var Columns = [...]ipc.Column[Request]{
	// plan
	v1("request_id", ipc.Int64, "", "id of the request, unique in a part; --loop adds pass × lines of the schedule", never, func(r *Request) any { return &r.RequestID }),
	v1("pass", ipc.Int64, "", "pass over the schedule, from 0", never, func(r *Request) any { return &r.Pass }),
	v1("session", ipc.UTF8, "", "session of the schedule's line", "the line names none", func(r *Request) any { return &r.Session }),
	v1("stream", ipc.UTF8, "", "stream inside the session", "the line names none", func(r *Request) any { return &r.Stream }),
	v1("turn", ipc.Int64, "", "position in the stream, from 0", never, func(r *Request) any { return &r.Turn }),
	v1("after", ipc.ListInt64, "", "ids of the requests that had to end first", "it depends on none", func(r *Request) any { return &r.After }),
	v1("class", ipc.UTF8, "", "class of the schedule's line", "the line names none", func(r *Request) any { return &r.Class }),
	v1("model", ipc.UTF8, "", "model of the schedule's line; sent is the header's, or this one when that names none", "the line names none", func(r *Request) any { return &r.Model }),
	v1("scheduled_ns", ipc.Int64, "ns", "planned instant from the schedule", "only dependencies time it", func(r *Request) any { return &r.ScheduledNS }),
	v1("due_ns", ipc.Int64, "ns", "the later of scheduled_ns and dependencies + delay; under asap the release", "a dependency never ended", func(r *Request) any { return &r.DueNS }),
	v1("planned_input_tokens", ipc.Int64, "tokens", "prompt length of the plan", "the plan does not say", func(r *Request) any { return &r.PlannedInputTokens }),
	v1("planned_output_tokens", ipc.Int64, "tokens", "answer length of the plan", "the plan does not say", func(r *Request) any { return &r.PlannedOutputTokens }),
	v1("expected_cached_tokens", ipc.Int64, "tokens", "leading prompt tokens an infinite cache would hold", "prompts have no block ids", func(r *Request) any { return &r.ExpectedCachedTokens }),
	// sender
	v1("worker", ipc.Int64, "", "worker process that owned the request, from 0", "no worker got it", func(r *Request) any { return &r.Worker }),
	v1("prepared_ns", ipc.Int64, "ns", "the body was ready", "did not happen", func(r *Request) any { return &r.PreparedNS }),
	v1("cap_wait_ns", ipc.Int64, "ns", "how long a cap (--concurrency, --sessions) kept the request waiting once it was due; part of the lag", "no cap is set, or the timing is asap", func(r *Request) any { return &r.CapWaitNS }),
	v1("dispatched_ns", ipc.Int64, "ns", "the worker released the request to its engine", "did not happen", func(r *Request) any { return &r.DispatchedNS }),
	v1("conn_asked_ns", ipc.Int64, "ns", "a connection was asked for", "did not happen", func(r *Request) any { return &r.ConnAskedNS }),
	v1("conn_ready_ns", ipc.Int64, "ns", "a connection was ready", "did not happen", func(r *Request) any { return &r.ConnReadyNS }),
	v1("conn_reused", ipc.Bool, "", "the connection had carried a request before", "no connection", func(r *Request) any { return &r.ConnReused }),
	v1("dns_ns", ipc.Int64, "ns", "name resolution finished", "this request resolved none", func(r *Request) any { return &r.DNSNS }),
	v1("connect_ns", ipc.Int64, "ns", "TCP handshake finished", "this request made none", func(r *Request) any { return &r.ConnectNS }),
	v1("tls_ns", ipc.Int64, "ns", "TLS handshake finished", "this request made none", func(r *Request) any { return &r.TLSNS }),
	v1("conn_id", ipc.Int64, "", "connection, unique in its worker", "no connection", func(r *Request) any { return &r.ConnID }),
	v1("remote_addr", ipc.UTF8, "", "address and port of the peer", "no connection", func(r *Request) any { return &r.RemoteAddr }),
	v1("write_done_ns", ipc.Int64, "ns", "the last byte of the request was handed to the kernel", "did not happen", func(r *Request) any { return &r.WriteDoneNS }),
	// receiver
	v1("headers_ns", ipc.Int64, "ns", "response header complete", "did not happen", func(r *Request) any { return &r.HeadersNS }),
	v1("first_byte_kernel_ns", ipc.Int64, "ns", "kernel arrival of the read that held the first body byte", "did not happen, or no kernel stamp", func(r *Request) any { return &r.FirstByteKernelNS }),
	v1("first_byte_ns", ipc.Int64, "ns", "first body byte read, stamped before parsing", "did not happen", func(r *Request) any { return &r.FirstByteNS }),
	v1("first_event_ns", ipc.Int64, "ns", "first event parsed, of any kind", "did not happen", func(r *Request) any { return &r.FirstEventNS }),
	v1("first_token_kernel_ns", ipc.Int64, "ns", "kernel arrival of the read that held the first token event", "did not happen, or no kernel stamp", func(r *Request) any { return &r.FirstTokenKernelNS }),
	v1("first_token_ns", ipc.Int64, "ns", "first token event parsed, any channel", "did not happen", func(r *Request) any { return &r.FirstTokenNS }),
	v1("first_answer_kernel_ns", ipc.Int64, "ns", "kernel arrival of the read that held the first answer event", "did not happen, or no kernel stamp", func(r *Request) any { return &r.FirstAnswerKernelNS }),
	v1("first_answer_ns", ipc.Int64, "ns", "first token event parsed that is not reasoning", "did not happen", func(r *Request) any { return &r.FirstAnswerNS }),
	v1("last_token_kernel_ns", ipc.Int64, "ns", "kernel arrival of the read that held the last token event", "did not happen, or no kernel stamp", func(r *Request) any { return &r.LastTokenKernelNS }),
	v1("last_token_ns", ipc.Int64, "ns", "last token event parsed", "did not happen", func(r *Request) any { return &r.LastTokenNS }),
	v1("end_ns", ipc.Int64, "ns", "the request was over, whatever its outcome", "it never started", func(r *Request) any { return &r.EndNS }),
	// wire
	v1("bytes_sent", ipc.Int64, "bytes", "request, header and body", "not counted", func(r *Request) any { return &r.BytesSent }),
	v1("bytes_received", ipc.Int64, "bytes", "response, as read", "not counted", func(r *Request) any { return &r.BytesReceived }),
	v1("reads", ipc.Int64, "", "reads that returned bytes of the response", "not counted", func(r *Request) any { return &r.Reads }),
	v1("events", ipc.Int64, "", "events parsed, of any kind", "not counted", func(r *Request) any { return &r.Events }),
	v1("multi_event_reads", ipc.Int64, "", "reads that held the end of more than one event", "not counted", func(r *Request) any { return &r.MultiEventReads }),
	v1("segments_in", ipc.Int64, "", "TCP data segments received during the request", "not counted", func(r *Request) any { return &r.SegmentsIn }),
	v1("retransmits", ipc.Int64, "", "TCP retransmissions during the request", "not counted", func(r *Request) any { return &r.Retransmits }),
	v1("rtt_us", ipc.Int64, "µs", "smoothed round trip time of the connection at the end", "not known", func(r *Request) any { return &r.RTTUS }),
	// tokens
	v1("input_tokens", ipc.Int64, "tokens", "prompt length as the server counted it", "the server said nothing", func(r *Request) any { return &r.InputTokens }),
	v1("output_tokens", ipc.Int64, "tokens", "answer length, from token_source", "not known", func(r *Request) any { return &r.OutputTokens }),
	v1("reasoning_tokens", ipc.Int64, "tokens", "part of output_tokens that was reasoning", "the server said nothing", func(r *Request) any { return &r.ReasoningTokens }),
	v1("cached_tokens", ipc.Int64, "tokens", "prompt tokens the server took from its cache; 0: it said none", "the server said nothing", func(r *Request) any { return &r.CachedTokens }),
	v1("token_source", ipc.UTF8, "", "where output_tokens comes from: usage_chunks, usage, tokenizer, events", "output_tokens is null", func(r *Request) any { return &r.TokenSource }),
	v1("first_chunk_tokens", ipc.Int64, "tokens", "tokens of the first token event", "not known", func(r *Request) any { return &r.FirstChunkTokens }),
	v1("token_events", ipc.Int64, "", "events that brought text, reasoning, tool calls or token ids", "not counted", func(r *Request) any { return &r.TokenEvents }),
	// outcome
	v1("outcome", ipc.UTF8, "", "what became of the request, one of the outcomes below", never, func(r *Request) any { return &r.Outcome }),
	v1("http_status", ipc.Int64, "", "status of the response", "no response", func(r *Request) any { return &r.HTTPStatus }),
	v1("finish_reason", ipc.UTF8, "", "finish reason as the server gave it", "the server gave none", func(r *Request) any { return &r.FinishReason }),
	v1("early_response", ipc.Bool, "", "the answer began before the request was written", "no response", func(r *Request) any { return &r.EarlyResponse }),
	v1("error", ipc.UTF8, "", "what went wrong, its first 4 KiB", "nothing", func(r *Request) any { return &r.Error }),
	// chunks
	v1("chunk_gap_us", ipc.ListInt64, "µs", "token event i+1 minus i, of offsets rounded to whole µs; n − 1 values for n token events", "not kept, or no token event", func(r *Request) any { return &r.ChunkGapUS }),
	v1("chunk_delay_us", ipc.ListInt64, "µs", "user stamp minus kernel stamp of each token event, n values; null where the kernel gave none", "not kept, or no kernel stamps", func(r *Request) any { return &r.ChunkDelayUS }),
	v1("chunk_tokens", ipc.ListInt32, "tokens", "tokens of each token event, n values; null where not known", "the server reports no usage per chunk", func(r *Request) any { return &r.ChunkTokens }),
}

// ClientColumns is table client, in the order of the file.
var ClientColumns = [...]ipc.Column[Client]{
	v1("t_ns", ipc.Int64, "ns", "end of the interval, offset from the epoch", never, func(c *Client) any { return &c.TNS }),
	v1("worker", ipc.Int64, "", "worker process, from 0", never, func(c *Client) any { return &c.Worker }),
	v1("pid", ipc.Int64, "", "its process id", never, func(c *Client) any { return &c.PID }),
	v1("interval_ns", ipc.Int64, "ns", "length of the interval that counters cover", "not known", func(c *Client) any { return &c.IntervalNS }),
	v1("cpu_user_ns", ipc.Int64, "ns", "CPU time in user mode, increase", "not known", func(c *Client) any { return &c.CPUUserNS }),
	v1("cpu_system_ns", ipc.Int64, "ns", "CPU time in the kernel, increase", "not known", func(c *Client) any { return &c.CPUSystemNS }),
	v1("runqueue_wait_ns", ipc.Int64, "ns", "time threads were runnable and waited for a CPU, summed over all threads, increase", "the kernel does not say", func(c *Client) any { return &c.RunqueueWaitNS }),
	v1("timeslices", ipc.Int64, "", "timeslices run, summed over all threads, increase", "the kernel does not say", func(c *Client) any { return &c.Timeslices }),
	v1("throttled_ns", ipc.Int64, "ns", "time the cgroup was throttled, increase", "no cgroup with a quota", func(c *Client) any { return &c.ThrottledNS }),
	v1("steal_ppm", ipc.Int64, "ppm", "share of host CPU time taken by the hypervisor", "not known", func(c *Client) any { return &c.StealPPM }),
	v1("psi_cpu_ppm", ipc.Int64, "ppm", "share of the interval in which some task waited for a CPU", "the kernel does not say", func(c *Client) any { return &c.PSICPUPPM }),
	v1("rss_bytes", ipc.Int64, "bytes", "resident memory", "not known", func(c *Client) any { return &c.RSSBytes }),
	v1("open_fds", ipc.Int64, "", "open file descriptors", "not known", func(c *Client) any { return &c.OpenFDs }),
	v1("gc_pauses", ipc.Int64, "", "stop-the-world pauses, increase", "not known", func(c *Client) any { return &c.GCPauses }),
	v1("gc_pause_ns", ipc.Int64, "ns", "time in stop-the-world pauses, increase", "not known", func(c *Client) any { return &c.GCPauseNS }),
	v1("gc_pause_max_ns", ipc.Int64, "ns", "longest stop-the-world pause of the interval", "not known", func(c *Client) any { return &c.GCPauseMaxNS }),
	v1("sched_latency_p99_ns", ipc.Int64, "ns", "p99 of the time goroutines waited to run", "not known", func(c *Client) any { return &c.SchedLatencyP99NS }),
	v1("hiccup_goroutine_p999_ns", ipc.Int64, "ns", "p99.9 lateness of a goroutine: that on the thread behind a yield, and each twentieth time one that it wakes", "no probe", func(c *Client) any { return &c.HiccupGoroutineP999NS }),
	v1("hiccup_thread_p999_ns", ipc.Int64, "ns", "p99.9 lateness of a sleeping thread", "no probe", func(c *Client) any { return &c.HiccupThreadP999NS }),
	v1("dispatched", ipc.Int64, "", "requests dispatched, increase", "not known", func(c *Client) any { return &c.Dispatched }),
	v1("in_flight", ipc.Int64, "", "requests dispatched and not ended", "not known", func(c *Client) any { return &c.InFlight }),
	v1("completed", ipc.Int64, "", "dispatched requests that ended, increase", "not known", func(c *Client) any { return &c.Completed }),
	v1("token_events", ipc.Int64, "", "token events parsed, increase", "not known", func(c *Client) any { return &c.TokenEvents }),
	v1("lag_p99_ns", ipc.Int64, "ns", "p99 of dispatched − due in the interval", "nothing was dispatched", func(c *Client) any { return &c.LagP99NS }),
	v1("lag_max_ns", ipc.Int64, "ns", "largest dispatched − due in the interval", "nothing was dispatched", func(c *Client) any { return &c.LagMaxNS }),
	v1("read_delay_p99_ns", ipc.Int64, "ns", "p99 of user stamp − kernel stamp in the interval", "no kernel stamps", func(c *Client) any { return &c.ReadDelayP99NS }),
	v1("reads", ipc.Int64, "", "reads that returned bytes, increase", "not counted", func(c *Client) any { return &c.Reads }),
	v1("segments_in", ipc.Int64, "", "TCP data segments of the requests that ended in the interval", "not counted", func(c *Client) any { return &c.SegmentsIn }),
	v1("backlog_prepare", ipc.Int64, "", "prepared bodies that wait for their instant", "not known", func(c *Client) any { return &c.BacklogPrepare }),
	v1("backlog_dispatch", ipc.Int64, "", "due requests not yet dispatched", "not known", func(c *Client) any { return &c.BacklogDispatch }),
	v1("backlog_rows", ipc.Int64, "", "finished rows not yet handed to the parent", "not known", func(c *Client) any { return &c.BacklogRows }),
}

// endRow is the one row of table end.
type endRow struct {
	End
	json string
	own  formats.Int
}

// endColumns is table end, in the order of the file.
var endColumns = [...]ipc.Column[endRow]{
	v1("status", ipc.UTF8, "", "complete, interrupted or failed", never, func(e *endRow) any { return &e.Status }),
	v1("planned", ipc.Int64, "requests", "requests in the plan after --duration, --requests and --loop", never, func(e *endRow) any { return &e.Planned }),
	v1("requests_rows", ipc.Int64, "rows", "rows of table requests", never, func(e *endRow) any { return &e.RequestsRows }),
	v1("client_rows", ipc.Int64, "rows", "rows of table client", never, func(e *endRow) any { return &e.ClientRows }),
	v1("sha256", ipc.UTF8, "hex", "of every byte of the part before the end stream", never, func(e *endRow) any { return &e.SHA256 }),
	v1("offset", ipc.ListInt64, "bytes", "start of every message before the end stream, from the start of the part", never, func(e *endRow) any { return &e.Offsets }),
	v1("length", ipc.ListInt64, "bytes", "length of each of them: prefix, metadata, padding and body", never, func(e *endRow) any { return &e.Lengths }),
	v1("crc32c", ipc.ListInt64, "", "CRC32C of each of them, 0 to 2^32 − 1", never, func(e *endRow) any { return &e.CRC32C }),
	v1("json", ipc.UTF8, "", "the rest as JSON, see below", never, func(e *endRow) any { return &e.json }),
	v1("own_crc32c", ipc.Int64, "", "CRC32C of the text of status, planned and json, a line feed after each", "sealed by another tool", func(e *endRow) any { return &e.own }),
}
