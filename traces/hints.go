package traces

import (
	"fmt"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
	"hydrant/internal/columns"
)

// hints are the block ids of a trace whose prompts are there as text: they say what
// could be shared, and nothing about what is sent. So ids that do not fit their prompt
// are counted and left out where a schedule cannot hold them.
type hints struct {
	scope string
	send  bool   // put them into the bodies as well
	size  int64  // tokens of a block, 0 as long as nobody has said it
	from  string // who did
	seen  bool   // a row has ids
	rest  bool   // a row has an id for less than a block

	block schedule.Block
	ids   *blockIDs
	runs  []schedule.Run
	extra []byte
	buf   schedule.Blocks
}

// take puts the block ids of a row into r as they stand, at says which row it is.
func (h *hints) take(r *schedule.Request, at int64, hashes, size *columns.Cell) *jsonl.Fault {
	if !size.Null {
		switch {
		case h.size == 0:
			h.size, h.from = size.Int, "as on row "+strconv.FormatInt(at, 10)
		case h.size != size.Int:
			return &jsonl.Fault{What: "block_size", Got: strconv.FormatInt(size.Int, 10), Want: fmt.Sprintf("%d %s", h.size, h.from)}
		}
	}
	h.runs = h.runs[:0]
	for _, id := range hashes.Ints {
		if id < 0 {
			return &jsonl.Fault{What: "total_hashes", Got: strconv.FormatInt(id, 10), Want: "whole numbers of at least 0 and below 2^63"}
		}
		if n := len(h.runs); n > 0 && h.runs[n-1][0]+h.runs[n-1][1] == id {
			h.runs[n-1][1]++
			continue
		}
		h.runs = append(h.runs, schedule.Run{id, 1})
	}
	m := int64(len(hashes.Ints))
	if m == 0 {
		return nil
	}
	h.seen = true
	if n := r.InputTokens.V; h.size > 0 && n%h.size != 0 && m == n/h.size+1 {
		h.rest = true
	}
	h.buf = schedule.Blocks{Scope: h.scope, Add: h.runs}
	r.Blocks = &h.buf
	return nil
}

// decide returns how ids map to tokens, once all rows are in.
func (h *hints) decide(place string) (*schedule.Block, error) {
	switch {
	case !h.seen:
		return nil, nil
	case h.size == 0:
		return nil, &formats.SyntaxError{Place: place, What: "block_size", Got: "none", Want: "the tokens of a block beside total_hashes", Help: "--block-size N says it"}
	}
	h.block = schedule.Block{Tokens: h.size, Last: schedule.Absent}
	if h.rest {
		h.block.Last = schedule.Partial
	}
	h.ids = newBlockIDs(h.size)
	return &h.block, nil
}

// settle looks at the ids of a request that is about to go out.
func (h *hints) settle(in *intake, r *schedule.Request) error {
	if r.Blocks == nil {
		return nil
	}
	if h.send {
		h.extra = append(h.extra[:0], `{"hash_ids":[`...)
		for i, run := range r.Blocks.Add {
			for j := range run[1] {
				if i > 0 || j > 0 {
					h.extra = append(h.extra, ',')
				}
				h.extra = strconv.AppendInt(h.extra, run[0]+j, 10)
			}
		}
		h.extra = strconv.AppendInt(append(h.extra, `],"block_size":`...), h.size, 10)
		r.Extra = append(h.extra, '}')
	}
	m := int64(0)
	for _, run := range r.Blocks.Add {
		m += run[1]
	}
	n := r.InputTokens.V
	switch {
	case m > schedule.FullIDs(n, &h.block):
		in.count("ids_dropped", 1)
		r.Blocks = nil
		return nil
	case m < n/h.size:
		in.count("ids_short", 1)
	}
	breaks := h.ids.breaks
	if h.ids.add(r.Blocks.Add, m, n) != nil {
		in.count("id_sizes_differ", 1)
		r.Blocks = nil
		return nil
	}
	in.count("chain_breaks", h.ids.breaks-breaks)
	return h.ids.err()
}

// close gives back memory and temporary files.
func (h *hints) close() error {
	if h.ids == nil {
		return nil
	}
	return h.ids.close()
}
