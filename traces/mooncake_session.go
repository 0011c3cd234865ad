package traces

import (
	"fmt"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

// talk is what is known of a session: rows with one session_id, whose order in the
// file is their order in time.
type talk struct {
	rows    int64
	line    int64  // number of the latest row
	key     int64  // sort key of the latest row, ns
	mode    string // declared context_mode
	kind    rowKind
	deltas  bool  // message_mode delta on a row after the first
	first   int64 // first id of the latest row, −1 none
	follow  int64 // rows that began with the first id of the row before
	differ  int64 // rows that did not
	blind   bool  // a row without ids among several
	context string
	join    bool // the prompt is all texts so far

	texts []byte // joined so far, while rows are handed out
}

// session adds a row to its session and returns its sort key: its timestamp, or the
// earliest it could start after the row before.
func (m *mooncake) session(row *mooncakeRow) (key int64, t *talk, _ *jsonl.Fault) {
	if row.session == "" {
		if !row.at.Valid {
			return 0, nil, &jsonl.Fault{What: "timestamp", Got: "null", Want: "a time, on a row without session_id"}
		}
		return row.at.V, nil, nil
	}
	t = m.sessions[row.session]
	if t == nil {
		t = &talk{first: -1, mode: row.context, kind: group(row.kind)}
		m.sessions[row.session] = t
	}
	switch {
	case t.rows == 0 && !row.at.Valid:
		return 0, nil, &jsonl.Fault{What: "timestamp", Got: "null", Want: "a time, on the first row of session " + strconv.Quote(row.session)}
	case row.context != t.mode:
		return 0, nil, &jsonl.Fault{What: "context_mode", Got: row.context, Want: strconv.Quote(t.mode) + " as on the first row of the session"}
	case group(row.kind) != t.kind:
		return 0, nil, &jsonl.Fault{What: kindKeys[row.kind], Got: "a row of " + kindKeys[row.kind], Want: "rows of " + kindKeys[t.kind] + " as at the start of session " + strconv.Quote(row.session)}
	case row.context == joined && row.kind != textInput && row.kind != messageList:
		return 0, nil, &jsonl.Fault{What: "context_mode", Got: joined, Want: "text_input or messages on its rows: only texts can be joined"}
	}
	first := int64(-1)
	if len(row.runs) > 0 {
		first = row.runs[0][0]
	}
	if f := t.follows(row, first, m.o.Context); f != nil {
		return 0, nil, f
	}
	key = row.at.V
	if !row.at.Valid {
		key = later(t.key, row.delay.V)
	} else if t.rows > 0 && key < t.key {
		return 0, nil, &jsonl.Fault{What: "timestamp", Got: strconv.FormatInt(key/1_000_000, 10),
			Want: fmt.Sprintf("at least %d: rows of a session stand in order of time", t.key/1_000_000)}
	}
	t.rows++
	t.key, t.first = key, first
	return key, t, nil
}

// group puts both kinds of prompt text together: a session may mix those.
func group(k rowKind) rowKind {
	if k == textInput {
		return synthesised
	}
	return k
}

// follows compares a row with the one before it: whole prompts begin with the same
// id, deltas do not.
func (t *talk) follows(row *mooncakeRow, first int64, flag string) *jsonl.Fault {
	if t.rows == 0 {
		t.deltas = row.delta
		return nil
	}
	if t.kind == messageList {
		if t.rows > 1 && row.delta != t.deltas {
			return &jsonl.Fault{What: "message_mode", Got: fmt.Sprint("delta ", row.delta), Want: fmt.Sprint("delta ", t.deltas, " as on the row before")}
		}
		t.deltas = row.delta
		return nil
	}
	switch {
	case first < 0 || t.first < 0:
		t.blind = true
	case first == t.first:
		t.follow++
	default:
		t.differ++
	}
	if t.mode == "" && flag == "" && t.follow > 0 && t.differ > 0 && !t.blind {
		return &jsonl.Fault{What: "hash_ids", Got: fmt.Sprintf("first id %d after %d", first, t.first),
			Want: "all rows of a session whole prompts, or all of them new text; --context says which"}
	}
	return nil
}

// decide settles for each session whether its rows are whole prompts, and reports
// whether the option had a say in any.
func (m *mooncake) decide() (byOption bool, _ error) {
	blind := ""
	for name, t := range m.sessions {
		switch {
		case t.mode != "":
			t.context, t.join = contextModes[t.mode], t.mode == joined
		case t.kind == messageList && t.deltas:
			t.context = schedule.Delta
		case t.kind != synthesised || t.rows == 1:
			t.context = schedule.Whole
		case m.o.Context != "":
			t.context, byOption = m.o.Context, true
		case t.blind:
			if blind == "" || name < blind { // maps have no order, errors do
				blind = name
			}
		case t.follow > 0:
			t.context = schedule.Whole
		default:
			t.context = schedule.Delta
		}
		if t.rows > 1 {
			m.counts["sessions_"+t.context]++
		}
	}
	if blind != "" {
		return false, &formats.SyntaxError{Place: m.place, What: "session " + strconv.Quote(blind), Got: "rows without hash_ids",
			Want: "ids that show whether rows are whole prompts", Help: "--context whole or --context delta says it"}
	}
	return byOption, nil
}

// settle gives a stored row what only the whole session showed.
func (m *mooncake) settle(r *schedule.Request) {
	t := m.sessions[r.Session]
	if t == nil {
		return
	}
	r.Context = t.context
	if t.join {
		t.joinTexts(r)
		if r.Last {
			t.texts = nil
		}
	}
}

// joinTexts makes the prompt of a row all texts of its session so far.
func (t *talk) joinTexts(r *schedule.Request) {
	if text := member(r.Body, "prompt"); text != nil {
		t.texts = append(t.texts, text[1:len(text)-1]...)
		r.Body = append(append([]byte(`{"prompt":"`), t.texts...), `"}`...)
		return
	}
	list := member(r.Body, "messages")
	if len(t.texts) > 0 {
		t.texts = append(t.texts, ',')
	}
	t.texts = append(t.texts, list[1:len(list)-1]...)
	body := append(append([]byte(`{"messages":[`), t.texts...), ']')
	if tools := member(r.Body, "tools"); tools != nil {
		body = append(append(body, `,"tools":`...), tools...)
	}
	r.Body = append(body, '}')
}
