package link

import (
	"encoding/binary"
	"errors"
	"sync"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// Job is one planned request as a worker needs it: the line with the block ids of its
// whole prompt, so that a worker remembers no earlier line.
type Job struct {
	Request  schedule.Request // Blocks.Keep is 0 and Blocks.Add holds all ids
	Block    *schedule.Block  // block size of the part of the schedule the line is from
	Expected formats.Int      // expected_cached_tokens
	Pass     int64            // over the schedule, from 0
}

// unused are jobs to be used again: one comes and goes with each request.
var unused = sync.Pool{New: func() any { return new(Job) }}

// Release says that nobody has j any more. What it points to is not used again.
func (j *Job) Release() {
	*j = Job{}
	unused.Put(j)
}

// errJob reports a payload that AppendJob did not write.
var errJob = errors.New("internal error: malformed message between replay's processes")

// AppendJob appends the binary form of j.
func AppendJob(b []byte, j *Job) []byte {
	r := &j.Request
	b = binary.AppendVarint(b, r.ID)
	b = appendInt(b, r.AtNS)
	b = appendInts(b, r.After)
	b = appendInt(b, r.DelayNS)
	b = appendBytes(b, r.Session)
	b = appendBytes(b, r.Stream)
	b = binary.AppendVarint(b, r.Turn)
	b = appendBool(b, r.Last)
	b = appendBytes(b, r.Context)
	b = appendInt(b, r.InputTokens)
	b = appendInt(b, r.OutputTokens)
	if r.Blocks == nil {
		b = append(b, 0)
	} else {
		b = append(b, 1)
		b = appendBytes(b, r.Blocks.Scope)
		b = binary.AppendUvarint(b, uint64(len(r.Blocks.Add)))
		for _, run := range r.Blocks.Add {
			b = binary.AppendVarint(b, run[0])
			b = binary.AppendVarint(b, run[1])
		}
		b = binary.AppendVarint(b, r.Blocks.System)
	}
	b = appendBytes(b, r.Model)
	b = appendBytes(b, r.Class)
	b = appendInt(b, r.Priority)
	b = appendBytes(b, r.Body)
	b = appendBytes(b, r.Extra)
	if j.Block == nil {
		b = append(b, 0)
	} else {
		b = append(b, 1)
		b = binary.AppendVarint(b, j.Block.Tokens)
		b = appendBytes(b, j.Block.Last)
	}
	b = appendInt(b, j.Expected)
	return binary.AppendVarint(b, j.Pass)
}

// DecodeJob reads what AppendJob wrote. The job keeps no part of b.
func DecodeJob(b []byte) (*Job, error) {
	d := decoder{b: b}
	j := unused.Get().(*Job)
	r := &j.Request
	r.ID = d.varint()
	r.AtNS = d.null()
	r.After = d.ints()
	r.DelayNS = d.null()
	r.Session = d.text()
	r.Stream = d.word()
	r.Turn = d.varint()
	r.Last = d.flag()
	r.Context = d.word()
	r.InputTokens = d.null()
	r.OutputTokens = d.null()
	if d.flag() {
		r.Blocks = &schedule.Blocks{Scope: d.text(), Add: make([][2]int64, d.count(2))}
		for i := range r.Blocks.Add {
			r.Blocks.Add[i] = [2]int64{d.varint(), d.varint()}
		}
		r.Blocks.System = d.varint()
	}
	r.Model = d.text()
	r.Class = d.text()
	r.Priority = d.null()
	r.Body = d.bytes()
	r.Extra = d.bytes()
	if d.flag() {
		j.Block = &schedule.Block{Tokens: d.varint(), Last: d.text()}
	}
	j.Expected = d.null()
	j.Pass = d.varint()
	return j, d.end()
}
