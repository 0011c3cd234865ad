package fold

import (
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// intColumns says what each column of integers holds, in any order.
var intColumns = map[string]func(*rec) int64{
	"part": func(r *rec) int64 { return r.part }, "request_id": func(r *rec) int64 { return r.id },
	"turn": func(r *rec) int64 { return r.turn }, "worker": func(r *rec) int64 {
		if r.worker < 0 {
			return null
		}
		return r.worker
	},
	"u_ns": (*rec).u, "in_window": func(r *rec) int64 { return bit(r.inWindow) }, "sent": func(r *rec) int64 { return bit(r.wasSent()) },
	"dispatched_ns": func(r *rec) int64 { return r.dispatched }, "conn_asked_ns": func(r *rec) int64 { return r.asked },
	"end_ns": func(r *rec) int64 { return r.end }, "send_lag_ns": (*rec).sendLag, "conn_wait_ns": (*rec).connWait,
	"upload_ns": (*rec).upload, "client_time_ns": (*rec).clientTime,
	"ttft_user_ns": (*rec).ttftUser, "ttft_wire_ns": (*rec).ttftWire, "ttft_sent_ns": (*rec).ttftSent,
	"ttfo_user_ns": (*rec).ttfoUser, "ttfo_wire_ns": (*rec).ttfoWire, "ttfo_sent_ns": (*rec).ttfoSent,
	"tpot_user_ns": (*rec).tpotUser, "tpot_wire_ns": (*rec).tpotWire, "icl_mean_ns": (*rec).iclMean,
	"icl_p99_ns": func(r *rec) int64 { return r.gapP99 }, "icl_max_ns": func(r *rec) int64 { return r.gapMax },
	"e2e_user_ns": (*rec).e2eUser, "e2e_wire_ns": (*rec).e2eWire, "e2e_sent_ns": (*rec).e2eSent,
	"planned_input_tokens": func(r *rec) int64 { return r.plannedIn }, "planned_output_tokens": func(r *rec) int64 { return r.plannedOut },
	"input_tokens": func(r *rec) int64 { return r.in }, "output_tokens": func(r *rec) int64 { return r.out },
	"token_events": func(r *rec) int64 { return r.tokens }, "tokens_in_window": func(r *rec) int64 { return r.arrived },
	"tpot_applies": func(r *rec) int64 { return bit(r.tpotApplies()) }, "icl_applies": func(r *rec) int64 { return bit(r.iclApplies()) },
}

// stringColumns does the same for text.
var stringColumns = map[string]func(*fold, *rec) string{
	"outcome": func(_ *fold, r *rec) string { return run.Outcomes[r.outcome] },
	"class":   func(f *fold, r *rec) string { return f.text.all[r.class] }, "model": func(f *fold, r *rec) string { return f.text.all[r.model] },
	"session": func(f *fold, r *rec) string { return f.text.all[r.session] }, "remote_addr": func(f *fold, r *rec) string { return f.text.all[r.addr] },
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// columns encodes the per-request columns, row by row.
func (f *fold) columns() (*summary.EncodedColumns, error) {
	var ints [len(summary.IntColumns)]func(*rec) int64
	var texts [len(summary.StringColumns)]func(*fold, *rec) string
	for i, name := range summary.IntColumns {
		ints[i] = intColumns[name]
	}
	for i, name := range summary.StringColumns {
		texts[i] = stringColumns[name]
	}
	rows := f.rows.cursor()
	return summary.EncodeRows(f.rows.n, func(i int, intCells []formats.Int, stringCells []string) {
		r := rows.row(i)
		for j, of := range ints {
			intCells[j] = unpack(of(r))
		}
		for j, of := range texts {
			stringCells[j] = of(f, r)
		}
	})
}
