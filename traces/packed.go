package traces

import (
	"encoding/binary"
	"errors"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// packer makes and reads the binary form of requests that wait in a store. It stays in one
// process, so it has no version: a mask of what the request has, then these fields in
// the order of the bits, last the id; numbers as varints, texts and lists with their length
// in front.
type packer struct {
	words []string // texts that many requests share
	index map[string]uint64
	r     schedule.Request // the one read last, and its memory
	b     schedule.Blocks
	after []int64
	add   []schedule.Run
	tail  int // bytes of the id at the end of the record read last
}

// Bits of a record's mask.
const (
	hasAt = 1 << iota
	hasAfter
	hasDelay
	hasSession
	hasDelta
	hasInput
	hasOutput
	hasBlocks
	hasSystem
	hasModel
	hasClass
	hasPriority
	hasTTFT
	hasE2E
	hasCached
	hasBody
	hasExtra
)

// maxWords is how many texts are kept for all requests; others stand in each record.
const maxWords = 1 << 10

// append appends r.
func (c *packer) append(b []byte, r *schedule.Request) []byte {
	mask := uint64(0)
	for _, f := range [...]struct {
		has bool
		bit uint64
	}{
		{r.AtNS.Valid, hasAt}, {len(r.After) > 0, hasAfter}, {r.DelayNS.Valid, hasDelay}, {r.Session != "", hasSession}, {r.Context == schedule.Delta, hasDelta},
		{r.InputTokens.Valid, hasInput}, {r.OutputTokens.Valid, hasOutput}, {r.Blocks != nil, hasBlocks}, {r.Blocks != nil && r.Blocks.System > 0, hasSystem},
		{r.Model != "", hasModel}, {r.Class != "", hasClass}, {r.Priority.Valid, hasPriority},
		{r.Recorded.TTFTNS.Valid, hasTTFT}, {r.Recorded.E2ENS.Valid, hasE2E}, {r.Recorded.CachedTokens.Valid, hasCached}, {r.Body != nil, hasBody}, {r.Extra != nil, hasExtra},
	} {
		if f.has {
			mask |= f.bit
		}
	}
	number := func(bit uint64, v int64) {
		if mask&bit != 0 {
			b = binary.AppendVarint(b, v)
		}
	}
	b = binary.AppendUvarint(b, mask)
	b = c.word(b, r.Stream)
	b = binary.AppendVarint(b, r.Turn)
	number(hasAt, r.AtNS.V)
	if mask&hasAfter != 0 {
		b = binary.AppendUvarint(b, uint64(len(r.After)))
		for _, id := range r.After {
			b = binary.AppendVarint(b, id)
		}
	}
	number(hasDelay, r.DelayNS.V)
	if mask&hasSession != 0 {
		b = text(b, r.Session)
	}
	number(hasInput, r.InputTokens.V)
	number(hasOutput, r.OutputTokens.V)
	if mask&hasBlocks != 0 {
		b = c.word(b, r.Blocks.Scope)
		b = binary.AppendUvarint(b, uint64(len(r.Blocks.Add)))
		next := int64(0)
		for _, run := range r.Blocks.Add {
			b = binary.AppendVarint(b, run[0]-next)
			b = binary.AppendVarint(b, run[1])
			next = run[0] + run[1]
		}
	}
	if mask&hasSystem != 0 {
		b = binary.AppendVarint(b, r.Blocks.System)
	}
	if mask&hasModel != 0 {
		b = c.word(b, r.Model)
	}
	if mask&hasClass != 0 {
		b = c.word(b, r.Class)
	}
	number(hasPriority, r.Priority.V)
	number(hasTTFT, r.Recorded.TTFTNS.V)
	number(hasE2E, r.Recorded.E2ENS.V)
	number(hasCached, r.Recorded.CachedTokens.V)
	if mask&hasBody != 0 {
		b = text(b, r.Body)
	}
	if mask&hasExtra != 0 {
		b = text(b, r.Extra)
	}
	return binary.AppendVarint(b, r.ID)
}

func text[T ~string | ~[]byte](b []byte, s T) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// word appends a text that other requests are likely to have: its number from 1, or 0
// and the text.
func (c *packer) word(b []byte, s string) []byte {
	n, ok := c.index[s]
	if !ok && len(c.words) < maxWords {
		if c.index == nil {
			c.index = map[string]uint64{}
		}
		n = uint64(len(c.words) + 1)
		c.words, c.index[s] = append(c.words, s), n
	}
	if b = binary.AppendUvarint(b, n); n == 0 {
		b = text(b, s)
	}
	return b
}

// errTorn says that a record is not what append wrote.
var errTorn = errors.New("damaged record")

// decode reads what append wrote. The request is valid until the next call; Body and
// Extra lie in b.
func (c *packer) decode(b []byte) (*schedule.Request, error) {
	d := recordReader{b: b, words: c.words}
	r := &c.r
	mask := d.uint()
	*r = schedule.Request{Stream: d.word(), Turn: d.int(), Context: schedule.Whole}
	number := func(bit uint64) (v formats.Int) {
		if mask&bit != 0 {
			v = formats.Some(d.int())
		}
		return v
	}
	r.AtNS = number(hasAt)
	if mask&hasAfter != 0 {
		c.after = c.after[:0]
		for range d.count() {
			c.after = append(c.after, d.int())
		}
		r.After = c.after
	}
	r.DelayNS = number(hasDelay)
	if mask&hasSession != 0 {
		r.Session = string(d.text())
	}
	if mask&hasDelta != 0 {
		r.Context = schedule.Delta
	}
	r.InputTokens = number(hasInput)
	r.OutputTokens = number(hasOutput)
	if mask&hasBlocks != 0 {
		c.b = schedule.Blocks{Scope: d.word()}
		c.add = c.add[:0]
		next := int64(0)
		for range d.count() {
			run := schedule.Run{next + d.int(), d.int()}
			c.add = append(c.add, run)
			next = run[0] + run[1]
		}
		c.b.Add = c.add
		r.Blocks = &c.b
	}
	if mask&hasSystem != 0 {
		c.b.System = d.int()
	}
	if mask&hasModel != 0 {
		r.Model = d.word()
	}
	if mask&hasClass != 0 {
		r.Class = d.word()
	}
	r.Priority = number(hasPriority)
	r.Recorded = schedule.Recorded{TTFTNS: number(hasTTFT), E2ENS: number(hasE2E), CachedTokens: number(hasCached)}
	if mask&hasBody != 0 {
		r.Body = d.text()
	}
	if mask&hasExtra != 0 {
		r.Extra = d.text()
	}
	c.tail = len(d.b)
	r.ID = d.int()
	if d.torn || len(d.b) > 0 {
		return nil, errTorn
	}
	return r, nil
}

// body returns what the record read last says of a request besides its id: equal requests
// have equal bytes.
func (c *packer) body(b []byte) []byte { return b[:len(b)-c.tail] }

// recordReader takes the fields of a record from its front.
type recordReader struct {
	b     []byte
	words []string
	torn  bool
}

func (d *recordReader) int() int64 {
	v, n := binary.Varint(d.b)
	d.skip(n)
	return v
}

func (d *recordReader) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.skip(n)
	return v
}

func (d *recordReader) skip(n int) {
	if n <= 0 {
		d.b, d.torn = nil, true
		return
	}
	d.b = d.b[n:]
}

// count reads the length of a list or a text, whose items take a byte at least.
func (d *recordReader) count() int {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.b, d.torn = nil, true
		return 0
	}
	return int(n)
}

func (d *recordReader) text() []byte {
	n := d.count()
	s := d.b[:n:n]
	d.b = d.b[n:]
	return s
}

func (d *recordReader) word() string {
	n := d.uint()
	switch {
	case n == 0:
		return string(d.text())
	case n > uint64(len(d.words)):
		d.torn = true
		return ""
	}
	return d.words[n-1]
}
