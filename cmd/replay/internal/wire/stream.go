package wire

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"time"

	"hydrant/cmd/replay/internal/clock"
	"hydrant/cmd/replay/internal/endpoint"
	"hydrant/formats"
	"hydrant/formats/run"
)

// drainLimit is how long a server may keep the connection open behind [DONE] before we
// close it. The answer has ended, so it is no fault of the request.
const drainLimit = time.Second

// An arrival tells how the bytes that a stream is fed came in.
type arrival struct {
	read     int64 // number of the connection's read; 0: not known, a read of their own
	kernelNS int64 // when its newest segment came, on the run's clock
	stamped  bool  // whether kernelNS is known
}

// A desk is what the streams that one goroutine reads have in common.
type desk struct {
	clk      clock.Clock
	counters *Counters
	drag     *drag // nil: none
	lineCap  int
	ev       endpoint.Event // scratch of one event

	// Of the bytes being taken.
	newEvents int
	newTokens int
	newAnswer bool
}

func newDesk(o *Options, counters *Counters, drag *drag) *desk {
	d := &desk{clk: o.Clock, counters: counters, drag: drag, lineCap: o.LineCap}
	if d.lineCap <= 0 {
		d.lineCap = DefaultLineCap
	}
	return d
}

// A stream is an answer in the course of being read, fed by either engine with the bytes
// of the body as they come. It keeps what its columns need, and fill writes them.
// An offset of 0 ns stands for null in it.
type stream struct {
	kind *Kind
	keep *Prepared // where the answer's text is kept; nil: nowhere
	desk *desk
	sse  sse
	odd  *oddities // nil: the answer has been a plain event stream

	tokens tokens
	chunks chunkLog

	firstEvent, firstToken, firstAnswer, lastToken       int64
	firstTokenKernel, firstAnswerKernel, lastTokenKernel int64

	readStamp     int64
	read          uint32 // number of the connection's read the last events came with, from 1
	inRead        int32  // events of that read
	events, multi int32

	finish   uint8 // reason: its place in finishes, or else in odd
	isJSON   bool
	sniffed  bool
	done     bool // [DONE]
	finished bool // a finish reason
}

// oddities are what most answers have not, kept apart so that a stream stays small.
type oddities struct {
	finish   string  // a reason that is not among finishes
	document []byte  // the answer, when it is one JSON document
	last     arrival // of the document's bytes
	fault    string  // text of an error object
	bad      string  // the first thing that was no event of the dialect
}

func (s *stream) oddly() *oddities {
	if s.odd == nil {
		s.odd = new(oddities)
	}
	return s.odd
}

// finishes are the usual finish reasons, kept as a number.
var finishes = [...]string{"", "stop", "length", "tool_calls", "content_filter", "function_call", "abort", "error"}

// end notes a finish reason; the last one counts.
func (s *stream) end(reason string) {
	if i := slices.Index(finishes[:], reason); i >= 0 {
		s.finish = uint8(i)
		return
	}
	s.finish = 0
	s.oddly().finish = reason
}

// finishReason returns it, "" for none.
func (s *stream) finishReason() string {
	if s.finish == 0 && s.odd != nil {
		return s.odd.finish
	}
	return finishes[s.finish]
}

// init begins the answer to a request of a kind at a desk. Its text is kept in keep, where
// that is not nil.
func (s *stream) init(k *Kind, keep *Prepared, d *desk) {
	s.kind, s.keep, s.desk = k, keep, d
	s.sse.init()
	if keep != nil {
		keep.Reply = keep.Reply[:0]
	}
}

// reset empties s for another stream; memory for up to keptBuffer bytes is kept.
func (s *stream) reset() {
	open, usage := s.sse.open, s.tokens.usage
	if open != nil {
		*open = unfinished{line: small(open.line), data: small(open.data)}
	}
	if usage != nil {
		*usage = endpoint.Usage{}
	}
	*s = stream{sse: sse{open: open}, tokens: tokens{usage: usage, growth: small(s.tokens.growth)}, chunks: chunkLog{log: small(s.chunks.log)}}
}

// take reads the next bytes of the body. All events they complete get one stamp, taken
// when they have been parsed. The error is a *TooLongError; the stream then takes no more.
func (s *stream) take(p []byte, at arrival) error {
	if !s.sniffed {
		// an event stream never begins like a JSON document; line ends in front of
		// either mean nothing
		p = bytes.TrimLeft(p, "\r\n")
		if len(p) == 0 {
			return nil
		}
		s.sniffed = true
		s.isJSON = p[0] == '{' || p[0] == '['
	}
	if s.isJSON {
		odd := s.oddly()
		if len(odd.document)+len(p) > s.desk.lineCap {
			return &TooLongError{What: "document", Cap: s.desk.lineCap}
		}
		odd.document = append(odd.document, p...)
		odd.last = at
		return nil
	}
	s.fresh()
	s.desk.drag.enter(at)
	err := s.sse.feed(p, s, s.desk.lineCap)
	s.desk.drag.leave()
	s.stampNew(at)
	return err
}

// fresh begins to take bytes.
func (s *stream) fresh() { s.desk.newEvents, s.desk.newTokens, s.desk.newAnswer = 0, 0, false }

// parse classifies the data of an event.
func (s *stream) parse(typ string, data []byte) (*endpoint.Event, error) {
	ev := &s.desk.ev
	if ev.Collect = s.keep != nil; ev.Collect {
		ev.Text = s.keep.Reply
	}
	err := s.kind.Endpoint.Read(typ, data, ev)
	if ev.Collect && err == nil && !s.done {
		s.keep.Reply = ev.Text
	}
	ev.Text = nil
	return ev, err
}

// takeEvent takes one event.
func (s *stream) takeEvent(typ string, data []byte) error {
	s.desk.newEvents++
	ev, err := s.parse(typ, data)
	if err != nil {
		s.bad("event: got " + string(data[:min(len(data), 200)]) + ", want a JSON object")
		return nil
	}
	if s.done {
		if !ev.Done {
			s.bad("event behind [DONE]: " + string(data[:min(len(data), 200)]))
		}
		return nil
	}
	if ev.Done {
		s.done = true
		return nil
	}
	s.count(ev)
	return nil
}

// count takes in what an event says.
func (s *stream) count(ev *endpoint.Event) {
	if ev.Error != "" && s.oddly().fault == "" {
		s.odd.fault = ev.Error
	}
	if ev.Finish != "" {
		s.finished = true
		s.end(ev.Finish)
		if (ev.Finish == "error" || ev.Finish == "abort") && s.oddly().fault == "" {
			s.odd.fault = "finish_reason " + ev.Finish
		}
	}
	s.tokens.add(ev)
	if !ev.Token() {
		return
	}
	d := s.desk
	d.newTokens++
	d.drag.event()
	if s.kind.stall != nil {
		s.kind.stall(int64(s.tokens.events))
	}
	d.newAnswer = d.newAnswer || ev.Answer || ev.Tool
}

func (s *stream) bad(text string) {
	if s.oddly().bad == "" {
		s.odd.bad = text
	}
}

// stampNew stamps the events of the bytes just taken, which share a read. Events that
// come of one read of the connection in two reads of the body share their stamp too.
func (s *stream) stampNew(at arrival) {
	d := s.desk
	if d.newEvents == 0 {
		return
	}
	if at.read == 0 || uint32(at.read) != s.read || s.inRead == 0 {
		s.read, s.inRead = uint32(at.read), 0
		s.readStamp = d.clk.Now()
	} else if d.drag != nil {
		s.readStamp = d.clk.Now() // whoever is slow on purpose has the later ones later
	}
	n := int32(d.newEvents)
	if s.inRead < 2 && s.inRead+n >= 2 {
		s.multi++
	}
	s.inRead += n
	s.events += n
	d.counters.Events.Add(int64(n))

	now := s.readStamp
	setFirst(&s.firstEvent, now)
	if d.newTokens == 0 {
		return
	}
	if s.firstToken == 0 && at.stamped {
		s.firstTokenKernel = at.kernelNS
	}
	setFirst(&s.firstToken, now)
	if d.newAnswer {
		if s.firstAnswer == 0 && at.stamped {
			s.firstAnswerKernel = at.kernelNS
		}
		setFirst(&s.firstAnswer, now)
	}
	s.lastToken, s.lastTokenKernel = now, 0
	if at.stamped {
		s.lastTokenKernel = at.kernelNS
	}
	d.counters.TokenEvents.Add(int64(d.newTokens))
	if at.stamped {
		d.counters.ReadDelay.add(now-at.kernelNS, int64(d.newTokens))
	}
	if s.kind.Chunks {
		us, delay := (now+500)/1000, formats.Int{}
		if at.stamped {
			delay = formats.Some(us - (at.kernelNS+500)/1000)
		}
		s.chunks.add(d.newTokens, us, delay)
	}
}

func setFirst(to *int64, at int64) {
	if *to == 0 {
		*to = at
	}
}

// A brokenError is an answer that breaks the rules of HTTP.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }

func (e *brokenError) Unwrap() error { return e.err }

// outcome ends the stream. cause is why it was ended from outside, nil when it was not;
// err is why reading stopped, io.EOF at a clean end.
func (s *stream) outcome(cause, err error) (outcome, text string) {
	clean := errors.Is(err, io.EOF) || errors.Is(cause, errDrained)
	if s.isJSON && clean {
		s.takeDocument()
	}
	odd := s.odd
	if odd == nil {
		odd = &oddities{}
	}
	switch outcome, text := ended(cause); {
	case odd.fault != "":
		return run.StreamError, odd.fault
	case odd.bad != "":
		return run.Malformed, odd.bad
	case s.done: // the answer had ended, whatever came of the connection
	case outcome != "":
		return outcome, text
	case !clean:
		var long *TooLongError
		var broken *brokenError
		if errors.As(err, &long) || errors.As(err, &broken) {
			return run.Malformed, err.Error()
		}
		return run.Truncated, err.Error()
	}
	// a server that counts tokens of which none has a text has still answered
	if t := &s.tokens; t.events == 0 && t.reportedUsage().Output.Or(0) == 0 {
		return run.Empty, ""
	}
	if !s.done && !s.finished {
		return run.Truncated, "end of the stream before its finish reason or [DONE]"
	}
	return run.OK, ""
}

// takeDocument reads an answer that is one JSON document.
func (s *stream) takeDocument() {
	s.fresh()
	s.desk.newEvents = 1
	odd := s.oddly()
	s.desk.drag.enter(odd.last)
	defer s.desk.drag.leave()
	ev, err := s.parse("", odd.document)
	if err != nil {
		s.bad("answer: got " + string(odd.document[:min(len(odd.document), 200)]) + ", want a JSON object")
		s.stampNew(odd.last)
		return
	}
	s.count(ev)
	s.finished = s.finished || ev.Token()
	switch {
	case ev.Error != "":
	case s.kind.Stream:
		s.bad("answer: got one JSON document, want an event stream")
	case !ev.Choices:
		s.bad("answer: got a JSON object without choices, want an answer")
	}
	s.stampNew(odd.last)
}

// fill writes the columns of the answer.
func (s *stream) fill(row *run.Request) {
	row.Events, row.MultiEventReads = formats.Some(int64(s.events)), formats.Some(int64(s.multi))
	row.FirstEventNS, row.FirstTokenNS = stamp(s.firstEvent), stamp(s.firstToken)
	row.FirstAnswerNS, row.LastTokenNS = stamp(s.firstAnswer), stamp(s.lastToken)
	row.FirstTokenKernelNS = stamp(s.firstTokenKernel)
	row.FirstAnswerKernelNS, row.LastTokenKernelNS = stamp(s.firstAnswerKernel), stamp(s.lastTokenKernel)
	row.FinishReason = s.finishReason()
	s.tokens.fill(row, s.kind.Chunks, s.isJSON)
	if s.kind.Chunks && s.chunks.n > 0 {
		row.ChunkGapUS, row.ChunkDelayUS = s.chunks.lists()
	}
}
