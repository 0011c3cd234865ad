package fold

import (
	"hydrant/formats"
	"hydrant/formats/rows"
	"hydrant/formats/run"
)

// rowColumns says what each column of the table of per-request metrics holds, beside
// those named like a metric.
var rowColumns = map[string]func(*rec) int64{
	"part": intColumns["part"], "request_id": intColumns["request_id"], "turn": intColumns["turn"], "worker": intColumns["worker"],
	"in_window": intColumns["in_window"], "sent": intColumns["sent"], "u_ns": (*rec).u,
	"dispatched_ns": func(r *rec) int64 { return r.dispatched }, "conn_asked_ns": func(r *rec) int64 { return r.asked },
	"first_token_ns": func(r *rec) int64 { return r.first }, "last_token_ns": func(r *rec) int64 { return r.last }, "end_ns": func(r *rec) int64 { return r.end },
	"planned_input_tokens": func(r *rec) int64 { return r.plannedIn }, "planned_output_tokens": func(r *rec) int64 { return r.plannedOut },
	"expected_cached_tokens": func(r *rec) int64 { return r.expected }, "input_tokens": func(r *rec) int64 { return r.in },
	"output_tokens": func(r *rec) int64 { return r.out }, "reasoning_tokens": func(r *rec) int64 { return r.reasoning },
	"cached_tokens": func(r *rec) int64 { return r.cached }, "token_events": func(r *rec) int64 { return r.tokens },
	"tokens_in_window": func(r *rec) int64 { return r.arrived },
}

// rowTexts does the same for text.
var rowTexts = map[string]func(*fold, *rec) string{
	"outcome": func(_ *fold, r *rec) string { return run.Outcomes[r.outcome] }, "class": stringColumns["class"], "model": stringColumns["model"],
	"session": stringColumns["session"], "remote_addr": stringColumns["remote_addr"],
	"token_source": func(_ *fold, r *rec) string { return sources[r.source] },
}

// rowTable hands out the table of per-request metrics, by planned time and request id.
func (f *fold) rowTable() rows.Source {
	var ints [len(rows.Ints)]func(*rec) int64
	for i, c := range rows.Ints {
		of, known := rowColumns[c.Name]
		switch {
		case c.Name == "u_unix_ns":
			of = func(r *rec) int64 { return plus(r.u(), f.epoch.WallNS) }
		case !known:
			of = timingOf(c.Name).value
		}
		ints[i] = of
	}
	var texts [len(rows.Texts)]func(*fold, *rec) string
	for i, c := range rows.Texts {
		texts[i] = rowTexts[c.Name]
	}
	stored := f.rows.cursor()
	return rows.Source{N: f.rows.n, Fill: func(i int, out *rows.Row) {
		r := stored.row(i)
		for j, of := range ints {
			out.Ints[j] = formats.Int{}
			if v := of(r); v != null {
				out.Ints[j] = formats.Some(v)
			}
		}
		for j, of := range texts {
			out.Texts[j] = of(f, r)
		}
	}}
}
