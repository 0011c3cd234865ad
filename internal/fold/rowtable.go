package fold

import (
	"hydrant/formats/rows"
)

// rowColumns says what each column of the table of per-request metrics holds, beside
// those named like a metric.
var rowColumns = map[string]func(*frame) *column{
	"part": intColumns["part"], "request_id": intColumns["request_id"], "turn": intColumns["turn"], "worker": intColumns["worker"],
	"in_window": intColumns["in_window"], "sent": intColumns["sent"], "u_ns": (*frame).u,
	"dispatched_ns": plain(cDispatched), "conn_asked_ns": plain(cAsked),
	"first_token_ns": plain(cFirst), "last_token_ns": plain(cLast), "end_ns": plain(cEnd),
	"planned_input_tokens": plain(cPlannedIn), "planned_output_tokens": plain(cPlannedOut),
	"expected_cached_tokens": plain(cExpected), "input_tokens": plain(cIn),
	"output_tokens": plain(cOut), "reasoning_tokens": plain(cReasoning),
	"cached_tokens": plain(cCached), "token_events": plain(cTokens),
	"tokens_in_window": (*frame).arrived,
}

// rowTexts does the same for text.
var rowTexts = map[string]func(*fold, *frame, int) string{
	"outcome": outcomeText, "class": stringColumns["class"], "model": stringColumns["model"],
	"session": stringColumns["session"], "remote_addr": stringColumns["remote_addr"],
	"token_source": func(_ *fold, x *frame, i int) string { return sources[sourceIn(x.col(cFlags)[i])] },
}

// unix is the planned time as Unix time, ns.
func (f *fold) unix(x *frame) *column {
	out, there := x.derived(cUnix)
	if there {
		return out
	}
	for i, u := range x.u()[:x.n] {
		out[i] = plus(u, f.epoch.WallNS)
	}
	return out
}

// rowTable hands out the table of per-request metrics, by planned time and request id.
func (f *fold) rowTable() rows.Source {
	var ints [len(rows.Ints)]func(*frame) *column
	for i, c := range rows.Ints {
		of, known := rowColumns[c.Name]
		switch {
		case c.Name == "u_unix_ns":
			of = f.unix
		case !known:
			of = timingOf(c.Name).value
		}
		ints[i] = of
	}
	var texts [len(rows.Texts)]func(*fold, *frame, int) string
	for i, c := range rows.Texts {
		texts[i] = rowTexts[c.Name]
	}
	stored := f.rows.cursor()
	return rows.Source{N: f.rows.n, Fill: func(i int, out *rows.Row) {
		k := stored.seek(i)
		for j, of := range ints {
			out.Ints[j] = unpack(of(&stored.frame)[k])
		}
		for j, of := range texts {
			out.Texts[j] = of(f, &stored.frame, k)
		}
	}}
}
