package fold

import (
	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// intColumns says what each column of integers holds, in any order.
var intColumns = map[string]func(*frame) *column{
	"part": plain(cPart), "request_id": plain(cID),
	"turn": plain(cTurn), "worker": (*frame).workers,
	"u_ns": (*frame).u, "in_window": (*frame).inWindow, "sent": (*frame).wereSent,
	"dispatched_ns": plain(cDispatched), "conn_asked_ns": plain(cAsked),
	"end_ns": plain(cEnd), "send_lag_ns": (*frame).sendLag, "conn_wait_ns": (*frame).connWait,
	"upload_ns": (*frame).upload, "client_time_ns": (*frame).clientTime,
	"ttft_user_ns": (*frame).ttftUser, "ttft_wire_ns": (*frame).ttftWire, "ttft_sent_ns": (*frame).ttftSent,
	"ttfo_user_ns": (*frame).ttfoUser, "ttfo_wire_ns": (*frame).ttfoWire, "ttfo_sent_ns": (*frame).ttfoSent,
	"tpot_user_ns": (*frame).tpotUser, "tpot_wire_ns": (*frame).tpotWire, "icl_mean_ns": (*frame).iclMean,
	"icl_p99_ns": (*frame).iclP99, "icl_max_ns": (*frame).iclMax,
	"e2e_user_ns": (*frame).e2eUser, "e2e_wire_ns": (*frame).e2eWire, "e2e_sent_ns": (*frame).e2eSent,
	"planned_input_tokens": plain(cPlannedIn), "planned_output_tokens": plain(cPlannedOut),
	"input_tokens": plain(cIn), "output_tokens": plain(cOut),
	"token_events": plain(cTokens), "tokens_in_window": (*frame).arrived,
	"tpot_applies": (*frame).tpotApplies, "icl_applies": (*frame).iclApplies,
}

// plain is a column as it stands in the rows.
func plain(c int) func(*frame) *column { return func(x *frame) *column { return x.col(c) } }

// workers are the workers of the rows, null where none took a row.
func (x *frame) workers() *column { return x.orNull(cWorkerOrNull, x.col(cWorker)) }

// inWindow is 1 for a row in the window, wereSent for one that was sent, else 0.
func (x *frame) inWindow() *column { return x.marked(cInWindow, isPlanned) }
func (x *frame) wereSent() *column { return x.marked(cWereSent, isSent) }

func (x *frame) marked(c int, mark uint8) *column {
	out, there := x.derived(c)
	if there {
		return out
	}
	for i, m := range x.marks()[:x.n] {
		out[i] = bit(m&mark > 0)
	}
	return out
}

// stringColumns does the same for text, of row i of a frame.
var stringColumns = map[string]func(f *fold, x *frame, i int) string{
	"outcome": outcomeText,
	"class":   textOf(cClass), "model": textOf(cModel),
	"session": textOf(cSession), "remote_addr": textOf(cAddr),
}

func outcomeText(_ *fold, x *frame, i int) string { return run.Outcomes[outcomeIn(x.col(cFlags)[i])] }

// textOf is the text whose number stands in a column.
func textOf(c int) func(*fold, *frame, int) string {
	return func(f *fold, x *frame, i int) string { return f.text.of(x.col(c)[i]) }
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// columns encodes the per-request columns, row by row.
func (f *fold) columns() (*summary.EncodedColumns, error) {
	var ints [len(summary.IntColumns)]func(*frame) *column
	var texts [len(summary.StringColumns)]func(*fold, *frame, int) string
	for i, name := range summary.IntColumns {
		ints[i] = intColumns[name]
	}
	for i, name := range summary.StringColumns {
		texts[i] = stringColumns[name]
	}
	rows := f.rows.cursor()
	return summary.EncodeRows(f.rows.n, func(i int, intCells []formats.Int, stringCells []string) {
		k := rows.seek(i)
		for j, of := range ints {
			intCells[j] = unpack(of(&rows.frame)[k])
		}
		for j, of := range texts {
			stringCells[j] = of(f, &rows.frame, k)
		}
	})
}
