package traces

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
	"hydrant/internal/spill"
)

// bailianBlock is the block size of the published traces. A row does not say it.
const bailianBlock = 16

// bailianQuantum is the time grain that is kept, 1 ms.
const bailianQuantum = 1_000_000

var bailianFormat = Format{
	Name:  "bailian",
	Usage: "from the JSON Lines of Alibaba's Bailian (Qwen) traces",
	Text: `Each row is a request: chat_id, parent_chat_id (-1 for none), timestamp (s),
input_length, output_length, type, turn, hash_ids. A session is a chat with all that
descend from it, found by walking parents; rows are whole prompts, and each waits for
its parent. Memory is up to some 350 bytes for each row, since a parent may be anywhere.

  tracegen bailian qwen_traceA_blksz_16.jsonl -o qwen.sched.zst
  tracegen bailian qwen_traceA_blksz_16.jsonl --window 0:10m | replay --sim default | reduce`,
	Options: []string{"block-size", "scope", "strict"},
	Block:   bailianBlock,
	Sniff:   func(head []byte, _ []string) bool { return hasKeys(head, "chat_id", "parent_chat_id") },
	Read:    Bailian,
}

// Bailian reads a trace in Bailian's JSON Lines.
//
// Errors are *formats.SyntaxError or *formats.TruncatedError with the row, or those of
// the input and of the temporary file.
func Bailian(f Input, o Options) (*Trace, error) {
	if o.BlockSize == 0 {
		o.BlockSize = bailianBlock
	}
	if o.Scope == "" {
		o.Scope = "bailian/" + stem(f.Name)
	}
	in := newIntake(f.Place, o.Strict)
	b := &bailian{intake: in, o: o, rows: spill.NewSorter(), ids: newBlockIDs(o.BlockSize)}
	t, err := b.read(f)
	if err != nil {
		b.rows.Close()
		b.ids.close()
		return nil, err
	}
	return t, nil
}

// bailian is a trace while it is read.
type bailian struct {
	*intake
	o     Options
	keys  members
	rows  *spill.Sorter // records: the index of the chat, then the request
	ids   *blockIDs
	chats family
	buf   []byte

	packed packer
}

func (b *bailian) read(f Input) (*Trace, error) {
	if err := b.lines(f.R, f.Name, b.row); err != nil {
		return nil, err
	}
	if err := b.some(); err != nil {
		return nil, err
	}
	b.count("chain_breaks", b.ids.breaks)
	if err := b.ids.close(); err != nil { // whoever writes the schedule needs memory too
		return nil, err
	}
	orphans, loop := b.chats.settle()
	if loop != nil {
		b.line = loop.line
		return nil, b.syntax(&jsonl.Fault{What: "parent_chat_id", Got: fmt.Sprintf("chat %d, which descends from itself", loop.id), Want: "parents that lead to a first chat"})
	}
	b.count("orphan_turns", orphans)
	get, err := b.rows.Sorted()
	if err != nil {
		return nil, err
	}
	return b.trace(bailianQuantum, &schedule.Block{Tokens: b.o.BlockSize, Last: schedule.Partial}, b.requests(get), b.rows.Close), nil
}

var bailianKeys = []string{"chat_id", "parent_chat_id", "timestamp", "input_length", "output_length", "turn"}

// row checks one row and stores it.
func (b *bailian) row(line []byte) (*jsonl.Fault, error) {
	m := &b.keys
	c := chat{line: b.line, parent: none, out: none}
	r := schedule.Request{ID: b.line, Session: "-", Stream: "0", Context: schedule.Whole}
	ids := int64(-1)
	var runs []schedule.Run
	unused := false
	fault := m.each(line, bailianKeys, func(key string) bool {
		switch key {
		case "chat_id":
			c.id = m.whole(0)
		case "parent_chat_id":
			c.parent = m.whole(none)
		case "timestamp":
			c.at = m.seconds(grainMS)
		case "input_length":
			r.InputTokens = formats.Some(m.whole(0))
		case "output_length":
			r.OutputTokens = formats.Some(m.whole(0))
		case "type":
			if !m.s.Null() {
				r.Class = m.text()
			}
		case "turn":
			c.turn = m.whole(1)
		case "hash_ids":
			if !m.s.Null() {
				runs, ids = m.ids()
			}
		case "time_to_parent_chat":
			if unused = !m.s.Null(); unused {
				m.seconds(grainMS)
			}
		default:
			return false
		}
		return true
	})
	if fault != nil {
		return fault, nil
	}
	if fault := b.ignored(m.unknown); fault != nil {
		return fault, nil
	}
	if c.parent == c.id {
		return &jsonl.Fault{What: "parent_chat_id", Got: strconv.FormatInt(c.id, 10), Want: "another chat than the row's own"}, nil
	}
	if fault := b.ids.row(b.intake, runs, ids, r.InputTokens.V, b.stored); fault != nil {
		return fault, nil
	}
	index, twin := b.chats.add(c)
	if twin != nil {
		return &jsonl.Fault{What: "chat_id", Got: strconv.FormatInt(c.id, 10), Want: fmt.Sprintf("another chat than on row %d", twin.line)}, nil
	}
	if unused {
		b.counts["time_to_parent_ignored"]++
	}
	b.time(c.at)
	b.n++
	r.AtNS = formats.Some(c.at)
	if ids > 0 {
		r.Blocks = &schedule.Blocks{Scope: b.o.Scope, Add: runs}
	}
	b.buf = b.packed.append(binary.LittleEndian.AppendUint64(b.buf[:0], uint64(index)), &r)
	return nil, b.rows.Add(c.at, b.buf)
}

// decode returns a stored request, valid until the next call, and the index of its chat.
func (b *bailian) decode(rec []byte) (*schedule.Request, int, error) {
	r, err := b.packed.decode(rec[8:])
	if err != nil {
		return nil, 0, fmt.Errorf("temporary file: %w", err)
	}
	return r, int(binary.LittleEndian.Uint64(rec)), nil
}

// stored yields the requests before they are sorted out.
func (b *bailian) stored() (func() (*schedule.Request, error), error) {
	get, err := b.rows.Sorted()
	return func() (*schedule.Request, error) {
		rec, err := get()
		if err != nil {
			return nil, err
		}
		r, _, err := b.decode(rec)
		return r, err
	}, err
}

// requests yields the requests of get with their place in the session.
func (b *bailian) requests(get func() ([]byte, error)) func() (*schedule.Request, error) {
	id := int64(-1)
	same := newTies(b.intake)
	return func() (*schedule.Request, error) {
		rec, err := get()
		if err != nil {
			if err == io.EOF {
				b.chats = family{}
			}
			return nil, err
		}
		r, index, err := b.decode(rec)
		if err != nil {
			return nil, err
		}
		same.note(r.AtNS.V, nil, false)
		id++
		c, root := b.chats.at(index)
		r.ID, r.Session, r.Turn = id, strconv.FormatInt(root.id, 10), c.rank
		c.out = id
		if root.left--; root.left == 0 {
			r.Last = true
		}
		if c.parent != none {
			if before := b.chats.list[c.parent].out; before != none {
				r.After = append(r.After[:0], before)
			} else {
				b.counts["parent_later"]++
			}
		}
		return r, nil
	}
}
