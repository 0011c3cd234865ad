package schedule

// Field is one row of the Fields table of docs/formats/schedule.md.
type Field struct {
	Line    string // schedule, request or end
	Key     string // as it stands in the line, with the keys above it
	Type    string
	Unit    string // "" when it has none
	Meaning string
	Null    string // what null or an absent key means; "" when it is required
	Since   int
}

// Fields lists every key of the format, in the order in which they are written.
var Fields = [...]Field{
	{"schedule", "format", "string", "", "`hydrant-schedule`", "", 1},
	{"schedule", "version", "int64", "", "1", "", 1},
	{"schedule", "build", "string", "", "the build that wrote it", "empty: written by hand", 1},
	{"schedule", "args", "list of string", "", "effective arguments, defaults and file names left out", "none", 1},
	{"schedule", "sources", "list of {name, format, licence, url}", "", "base name, trace format and origin of each input", "none", 1},
	{"schedule", "seed", "int64", "", "seed of every random choice", "0", 1},
	{"schedule", "block", "{tokens, last}", "tokens", "block size; `last` is `partial` (the rest of a prompt has an id) or `absent` (it has none)", "the source has no block ids", 1},
	{"schedule", "transforms", "list of {name, params}", "", "what was applied, in order, with its parameters as strings", "none", 1},
	{"schedule", "quantum_ns", "int64", "ns", "time grain of the source", "0: not known", 1},
	{"schedule", "edited", "bool", "", "lines were changed by hand and sealed again", "false", 1},
	{"request", "id", "int64", "", "grows from line to line; what `after` names", "", 1},
	{"request", "at_ns", "int64", "ns", "planned start, offset from schedule zero", "only the requests in `after` time it", 1},
	{"request", "after", "list of int64", "", "ids of earlier lines that must end first", "waits for none", 1},
	{"request", "delay_ns", "int64", "ns", "wait after the last of `after` ended", "only the order is known", 1},
	{"request", "session", "string", "", "requests of one session keep their order and go to one worker", "", 1},
	{"request", "stream", "string", "", "within the session; `0` is the main one", "", 1},
	{"request", "turn", "int64", "", "within the stream, from 0", "", 1},
	{"request", "last", "bool", "", "no later line has this session, its state may be forgotten", "not known, or not the last", 1},
	{"request", "context", "string", "", "`whole`: the line is the entire prompt; `delta`: only the new text, history and live replies go in front", "", 1},
	{"request", "input_tokens", "int64", "tokens", "prompt length (delta: of the new text), as recorded", "the trace has only text", 1},
	{"request", "output_tokens", "int64", "tokens", "tokens to generate, as recorded; 0 is real", "not known", 1},
	{"request", "blocks.scope", "string", "", "where the ids mean the same text", "`blocks` null: no ids, the prompt is shared with nobody", 1},
	{"request", "blocks.keep", "int64", "blocks", "leading ids kept from the previous line of the same session and stream, same scope; 0 under `delta`", "as above", 1},
	{"request", "blocks.add", "list of [int64, int64]", "blocks", "the ids after them as runs [first id, count]", "as above", 1},
	{"request", "blocks.system", "int64", "blocks", "leading ids of the prompt that go out as a system message on a chat endpoint; not under `delta`", "0: all of the prompt is one user message", 1},
	{"request", "model", "string", "", "as recorded", "not known", 1},
	{"request", "class", "string", "", "group of requests, for reports", "none", 1},
	{"request", "priority", "int64", "", "as recorded", "none", 1},
	{"request", "recorded.ttft_ns", "int64", "ns", "time to first token that the trace measured", "not measured", 1},
	{"request", "recorded.e2e_ns", "int64", "ns", "end-to-end time that the trace measured", "not measured", 1},
	{"request", "recorded.cached_tokens", "int64", "tokens", "cached prompt tokens that the trace measured", "not measured", 1},
	{"request", "body", "object", "", "literal `{\"messages\"}`, `{\"prompt\"}` or whole payload", "the prompt is synthesised", 1},
	{"request", "extra", "object", "", "merged into the request body", "none", 1},
	{"end", "status", "string", "", "`complete`, `interrupted` or `failed`", "", 1},
	{"end", "requests", "int64", "", "request lines", "", 1},
	{"end", "sessions", "int64", "", "distinct sessions", "", 1},
	{"end", "input_tokens", "int64", "tokens", "sum over the lines, null as 0", "", 1},
	{"end", "output_tokens", "int64", "tokens", "sum over the lines, null as 0", "", 1},
	{"end", "span_ns", "int64", "ns", "largest `at_ns`, 0 when there is none", "", 1},
	{"end", "blocks", "int64", "blocks", "sum of ids listed per line, `keep` included", "", 1},
	{"end", "distinct_blocks", "int64", "blocks", "distinct ids, per scope", "", 1},
	{"end", "hit_blocks", "int64", "blocks", "sum over the lines, in order, of the longest leading run of ids all seen on earlier lines", "", 1},
	{"end", "hit_tokens", "int64", "tokens", "sum of min(hit × block.tokens, input_tokens)", "", 1},
	{"end", "block_hit_ratio", "float64", "1", "hit_blocks / blocks", "there are no blocks", 1},
	{"end", "token_hit_ratio", "float64", "1", "hit_tokens / input_tokens", "there are no blocks", 1},
	{"end", "counts", "list of {name, n}", "", "what was repaired, kept, capped or dropped, sorted by name", "none", 1},
	{"end", "sources", "list of {name, sha256, bytes}", "bytes", "each source as read, uncompressed", "none", 1},
	{"end", "sha256", "string", "", "of all uncompressed lines of this schedule before this one, with their newlines", "", 1},
}
