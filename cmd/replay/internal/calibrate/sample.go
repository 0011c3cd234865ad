package calibrate

import (
	"io"
	"slices"
	"time"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// Lines and bytes of the schedule that are read ahead at most, to know the payload before
// the load. The bytes are those of the plain text.
const (
	SampleLines = 4096
	SampleBytes = 16 << 20
)

// unstated is the length of an answer that the schedule does not give, in tokens.
const unstated = 128

// Sample is what the head of the schedule says about the load. Its lines wait for nothing
// and are whole prompts, so that each can be sent at any time.
type Sample struct {
	block  *schedule.Block
	lines  []schedule.Request
	input  float64 // means per line
	text   float64
	output float64
	rate   float64 // requests per second; 0: the times do not say
}

// textBytes is about how long a token of synthesised text is: text that stands in the
// schedule becomes as long a prompt.
const textBytes = 6

// ReadSample reads the head of the plan, which ends after so many requests and before the
// duration, where they are not 0. It calls begun after the first line. With an error of the
// schedule comes what stands before it.
func ReadSample(r *schedule.Reader, requests int64, duration time.Duration, begun func()) (_ *Sample, err error) {
	s := new(Sample)
	var chains schedule.Chains
	part := r.Part()
	first, last := formats.Int{}, formats.Int{}
	for len(s.lines) < SampleLines && (requests == 0 || int64(len(s.lines)) < requests) {
		var line *schedule.Request
		if line, err = r.Next(); err != nil || duration > 0 && line.AtNS.V >= int64(duration) {
			break
		}
		if p := r.Part(); p != part {
			part, chains = p, schedule.Chains{}
		}
		var ids []schedule.Run
		if ids, err = chains.IDs(line); err != nil {
			break
		}
		if len(s.lines) == 0 {
			s.block = r.Header().Block
			begun()
		}
		if line.AtNS.Valid {
			if !first.Valid {
				first = line.AtNS
			}
			last = line.AtNS
		}
		s.add(line, ids)
	}
	if n := float64(len(s.lines)); n > 0 {
		s.input /= n
		s.text /= n
		s.output /= n
		if span := last.V - first.V; span > 0 && n > 1 {
			s.rate = (n - 1) / (float64(span) / float64(time.Second))
		}
	}
	if err == io.EOF {
		err = nil
	}
	return s, err
}

// add keeps what a line costs.
func (s *Sample) add(line *schedule.Request, ids []schedule.Run) {
	keep := schedule.Request{Context: schedule.Whole, InputTokens: formats.Some(max(line.InputTokens.Or(0), 1)), OutputTokens: formats.Some(line.OutputTokens.Or(unstated))}
	switch {
	case line.Body != nil:
		keep.InputTokens = formats.Some(int64(len(line.Body))/textBytes + 1)
		s.text += float64(len(line.Body))
	case line.Blocks != nil && line.Context == schedule.Whole:
		keep.Blocks = &schedule.Blocks{Scope: line.Blocks.Scope, Add: slices.Clone(ids)}
		s.input += float64(line.InputTokens.V)
	default:
		s.input += float64(line.InputTokens.V)
	}
	s.output += float64(keep.OutputTokens.V)
	s.lines = append(s.lines, keep)
}

// Lines returns how many lines there are.
func (s *Sample) Lines() int { return len(s.lines) }
