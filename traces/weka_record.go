package traces

import (
	"encoding/binary"
	"errors"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// append appends the trace in the form in which it waits for the second pass.
func (t *wekaTrace) append(b []byte) []byte {
	text := func(s string) {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	number := func(v int64) { b = binary.AppendVarint(b, v) }
	null := func(v formats.Int) {
		if !v.Valid {
			v.V = -1
		}
		number(v.V)
	}
	text(t.id)
	text(t.scope)
	number(t.system)
	number(int64(len(t.agents)))
	for i := range t.agents {
		a := &t.agents[i]
		number(int64(a.at))
		text(a.id)
		text(a.class)
		text(a.status)
		number(a.t)
		null(a.duration)
		number(int64(a.requests))
		number(a.system)
	}
	number(int64(len(t.requests)))
	for i := range t.requests {
		r := &t.requests[i]
		number(int64(r.at))
		number(int64(r.agent))
		number(r.t)
		null(r.api)
		null(r.ttft)
		null(r.think)
		number(r.in)
		number(r.out)
		text(r.model)
		number(r.ids)
		number(int64(r.to - r.from))
		for _, run := range t.runs[r.from:r.to] {
			number(run[0])
			number(run[1])
		}
	}
	return b
}

var errRecord = errors.New("temporary file: not what was written")

// decode reads what append wrote.
func (t *wekaTrace) decode(b []byte) error {
	ok := true
	number := func() int64 {
		v, n := binary.Varint(b)
		if n <= 0 {
			ok = false
			return 0
		}
		b = b[n:]
		return v
	}
	count := func() int {
		n := number()
		if n < 0 || n > int64(len(b)) { // each takes a byte at least
			ok = false
			return 0
		}
		return int(n)
	}
	last := ""
	text := func() string {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > uint64(len(b)-n) {
			ok = false
			return ""
		}
		s := b[n : n+int(v)]
		b = b[n+int(v):]
		if string(s) != last { // models repeat
			last = string(s)
		}
		return last
	}
	null := func() formats.Int {
		v := number()
		if v < 0 {
			return formats.Int{}
		}
		return formats.Some(v)
	}
	*t = wekaTrace{id: text(), scope: text(), system: number(), requests: t.requests[:0], agents: t.agents[:0], runs: t.runs[:0]}
	for range count() {
		t.agents = append(t.agents, wekaAgent{at: int(number()), id: text(), class: text(), status: text(), t: number(), duration: null(), requests: int(number()), system: number()})
	}
	for range count() {
		r := wekaRequest{at: int(number()), agent: int(number()), t: number(), api: null(), ttft: null(), think: null(), in: number(), out: number(), model: text(), ids: number(), from: len(t.runs)}
		for range count() {
			t.runs = append(t.runs, schedule.Run{number(), number()})
		}
		r.to = len(t.runs)
		t.requests = append(t.requests, r)
	}
	if !ok || len(b) > 0 {
		return errRecord
	}
	return nil
}
