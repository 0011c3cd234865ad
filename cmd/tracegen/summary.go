package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hydrant/formats/schedule"
)

// longIdle is a wait for the first request that people should know of, ns.
const longIdle = 5e9

// summary says in a few lines what a schedule holds and what happened to the rows. idle
// is the time before its first request, in ns.
func summary(what, output string, t schedule.Trailer, idle int64) string {
	if output == "" || output == "-" {
		output = "standard output"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "tracegen: %s → %s\n", what, output)
	fmt.Fprintf(&b, "  %s  %s  %s tokens in  %s out", counted(t.Requests, "request"), span(t.SpanNS), short(t.InputTokens), short(t.OutputTokens))
	if t.BlockHitRatio != nil {
		fmt.Fprintf(&b, "  prefix reuse %.1f %% of blocks", 100**t.BlockHitRatio)
	}
	b.WriteString("\n")
	var kept []string
	for _, c := range t.Counts {
		kept = append(kept, phrase(c))
	}
	if len(kept) > 0 {
		fmt.Fprintf(&b, "  %s\n", strings.Join(kept, " · "))
	}
	if idle >= longIdle {
		fmt.Fprintf(&b, "  the first request comes after %s of idle time; --zero first starts with it\n", span(idle))
	}
	return b.String()
}

// phrases say what each count of a trailer means: before, after, and the noun that
// is counted.
var phrases = map[string]struct{ before, noun, after string }{
	"ties_kept":                 {"", "tie", " at one instant of the trace kept in file order"},
	"identical_kept":            {"kept ", "identical row", ""},
	"sorted_backward":           {"sorted ", "backward step", ""},
	"ids_short":                 {"", "row", " with too few block ids for the length"},
	"ids_dropped":               {"left out the block ids of ", "row", ", more than its length has"},
	"id_sizes_differ":           {"left out the block ids of ", "row", ", one of which stands for another size elsewhere"},
	"cancelled":                 {"kept ", "cancelled request", ""},
	"spans_other":               {"left out ", "span", " of other kinds"},
	"session_empty":             {"", "row", " with an empty name for a session"},
	"chain_breaks":              {"", "block id", " after another id than before"},
	"blank_lines":               {"ignored ", "blank line", ""},
	"failed_kept":               {"kept ", "request", " that failed upstream"},
	"failed_dropped":            {"dropped ", "request", " that failed upstream"},
	"total_differs":             {"", "row", " whose total is not the sum of its lengths"},
	"orphan_turns":              {"", "turn", " whose parent is not in the trace"},
	"parent_later":              {"", "turn", " that starts before its parent, and does not wait"},
	"time_to_parent_ignored":    {"ignored time_to_parent_chat on ", "row", ""},
	"week_wraps":                {"unwrapped ", "week", " of the clock"},
	"length_differs":            {"", "row", " whose length is not that of its components and 6 to 12"},
	"headers_dropped":           {"dropped the headers of ", "row", ""},
	"delay_without_predecessor": {"ignored the delay of ", "first row", ""},
	"sessions_whole":            {"", "session", " of whole prompts"},
	"sessions_delta":            {"", "session", " of deltas"},
	"overlapping":               {"", "request", " that started before the one listed before had ended"},
	"overlap_rounded":           {"", "end", " after the next start by less than the trace's clock shows"},
	"service_unknown":           {"", "request", " without a recorded duration"},
	"output_zero":               {"", "request", " with no token to generate"},
	"subagent_times_relative":   {"", "subagent", " whose times count from its start"},
	"subagent_times_absolute":   {"", "subagent", " whose times count from the trace's zero"},
	"subagent_t_is_start":       {"", "subagent", " whose t is its start"},
	"subagent_status_other":     {"", "subagent", " of another status than completed or async_launched"},
	"subagent_not_awaited":      {"", "subagent request", " that starts after the request that would wait for it"},
	"subagents_empty":           {"", "subagent", " without a request"},
	"totals_differ":             {"", "trace", " whose totals are not those of its requests"},
	"think_time_differs":        {"", "think time", " that is not the time since the answer before"},
	"think_time_used":           {"", "delay", " as think_time says, which counts some waits twice"},
	"files_ignored":             {"left out ", "file", " of the folder"},
	"windows_idle":              {"", "window", " of 600 s without requests"},
	"reason_ratio_dropped":      {"left out the reason ratio of ", "request", ""},
	"window_dropped":            {"", "request", " outside the window"},
	"window_sessions_cut":       {"", "session", " cut by the window"},
	"after_dropped":             {"dropped ", "wait", " for requests that are gone"},
	"merge_renamed":             {"renamed ", "session", " of later inputs"},
	"spread_moved":              {"spread ", "session", " over the step to the next instant"},
	"sample_dropped":            {"", "request", " in sessions not sampled"},
	"sample_sessions":           {"left out ", "session", " by --sample"},
	"arrivals_moved":            {"moved ", "session", " to new arrivals"},
	"clone_added":               {"added ", "request", " as copies"},
	"max_context_dropped":       {"", "request", " in sessions above --max-context"},
	"max_context_sessions":      {"dropped ", "session", " by --max-context"},
	"max_input_drop_dropped":    {"", "request", " in sessions above --max-input-drop"},
	"max_input_drop_sessions":   {"dropped ", "session", " by --max-input-drop"},
	"think_cap_cuts":            {"shortened ", "silence", " of a session"},
	"think_cap_delays":          {"shortened ", "wait", " without a time"},
	"gap_cap_cuts":              {"shortened ", "silence", ""},
	"gap_cap_delays":            {"shortened ", "wait", " without a time"},
	"max_output_cut":            {"shortened ", "answer", ""},
	"max_output_unknown":        {"", "answer", " of unknown length not limited"},
	"max_input_cut":             {"cut ", "prompt", ""},
}

func phrase(c schedule.Count) string {
	if key, ok := strings.CutPrefix(c.Name, "unknown_key:"); ok {
		return "ignored key " + strconv.Quote(key) + " on " + counted(c.N, "row")
	}
	if p, ok := phrases[c.Name]; ok {
		return p.before + counted(c.N, p.noun) + p.after
	}
	return c.Name + " " + grouped(c.N)
}

func counted(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return grouped(n) + " " + noun
}

// grouped prints 12031 as 12,031.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short prints at most four significant digits: 144.8 M.
func short(n int64) string {
	for _, u := range []struct {
		of   int64
		name string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}} {
		if n >= u.of {
			v := float64(n) / float64(u.of)
			digits := 1
			if v >= 1000 {
				digits = 0
			}
			return strconv.FormatFloat(v, 'f', digits, 64) + " " + u.name
		}
	}
	return grouped(n)
}

// span prints a length of time in the unit that fits.
func span(ns int64) string {
	switch d := time.Duration(ns); {
	case d < time.Second:
		return strconv.FormatInt(ns/1e6, 10) + " ms"
	case d < 2*time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < 2*time.Hour:
		return strconv.FormatFloat(d.Minutes(), 'f', 0, 64) + " min"
	}
	return strconv.FormatFloat(time.Duration(ns).Hours(), 'f', 1, 64) + " h"
}
