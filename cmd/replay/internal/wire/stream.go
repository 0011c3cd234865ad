package wire

import (
	"bytes"
	"errors"
	"io"
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

// A stream is an answer in the course of being read, fed by either engine with the bytes
// of the body as they come. It keeps what its columns need, and fill writes them.
// An offset of 0 ns stands for null in it.
type stream struct {
	p        *Prepared
	clk      clock.Clock
	counters *Counters
	drag     *drag           // nil: none
	ev       *endpoint.Event // scratch of one event
	sse      sse
	onEvent  func(typ string, data []byte) error // takeEvent, bound once
	odd      *oddities                           // nil: the answer has been a plain event stream

	tokens tokens
	stamps []int64       // of token events, µs
	delays []formats.Int // user stamp minus kernel stamp, µs; nil: none is known

	firstEvent, firstToken, firstAnswer, lastToken       int64
	firstTokenKernel, firstAnswerKernel, lastTokenKernel int64

	finish string // reason

	events, multi int64
	read          int64 // number of the connection's read the last events came with
	inRead        int64 // events of that read
	readStamp     int64
	newEvents     int // of the bytes just taken
	newTokens     int

	newAnswer bool
	isJSON    bool
	sniffed   bool
	done      bool // [DONE]
	finished  bool // a finish reason
}

// oddities are what most answers have not, kept apart so that a stream stays small.
type oddities struct {
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

// init begins a stream. ev is scratch for one event, and may serve any number of streams
// that one goroutine feeds.
func (s *stream) init(p *Prepared, clk clock.Clock, counters *Counters, drag *drag, lineCap int, ev *endpoint.Event) {
	s.p, s.clk, s.counters, s.drag, s.ev = p, clk, counters, drag, ev
	s.sse.init(lineCap)
	if s.onEvent == nil {
		s.onEvent = s.takeEvent
	}
	p.Reply = p.Reply[:0]
}

// take reads the next bytes of the body. All events they complete get one stamp, taken
// when they have been parsed. The error is a *TooLongError, or errPlanned where the plan
// cuts the answer; the stream then takes no more.
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
		if len(odd.document)+len(p) > s.sse.limit {
			return &TooLongError{What: "document", Cap: s.sse.limit}
		}
		odd.document = append(odd.document, p...)
		odd.last = at
		return nil
	}
	s.newEvents, s.newTokens, s.newAnswer = 0, 0, false
	s.drag.enter(at)
	err := s.sse.feed(p, s.onEvent)
	s.drag.leave()
	s.stampNew(at)
	return err
}

// parse classifies the data of an event.
func (s *stream) parse(typ string, data []byte) (*endpoint.Event, error) {
	ev := s.ev
	ev.Collect, ev.Text = s.p.KeepReply, s.p.Reply
	err := s.p.Endpoint.Read(typ, data, ev)
	if err == nil && !s.done {
		s.p.Reply = ev.Text
	}
	ev.Text = nil
	return ev, err
}

// takeEvent takes one event.
func (s *stream) takeEvent(typ string, data []byte) error {
	s.newEvents++
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
	return s.count(ev)
}

// count takes in what an event says.
func (s *stream) count(ev *endpoint.Event) error {
	if ev.Error != "" && s.oddly().fault == "" {
		s.odd.fault = ev.Error
	}
	if ev.Finish != "" {
		s.finished = true
		s.finish = ev.Finish
		if (ev.Finish == "error" || ev.Finish == "abort") && s.oddly().fault == "" {
			s.odd.fault = "finish_reason " + ev.Finish
		}
	}
	s.tokens.add(ev)
	if !ev.Token() {
		return nil
	}
	s.newTokens++
	s.drag.event()
	if s.p.stall != nil {
		s.p.stall(s.tokens.events)
	}
	s.newAnswer = s.newAnswer || ev.Answer || ev.Tool
	if n := s.p.CancelTokens; n > 0 && s.tokens.events >= n {
		return errPlanned
	}
	return nil
}

func (s *stream) bad(text string) {
	if s.oddly().bad == "" {
		s.odd.bad = text
	}
}

// stampNew stamps the events of the bytes just taken, which share a read. Events that
// come of one read of the connection in two reads of the body share their stamp too.
func (s *stream) stampNew(at arrival) {
	if s.newEvents == 0 {
		return
	}
	if at.read == 0 || at.read != s.read || s.inRead == 0 {
		s.read, s.inRead = at.read, 0
		s.readStamp = s.clk.Now()
	} else if s.drag != nil {
		s.readStamp = s.clk.Now() // whoever is slow on purpose has the later ones later
	}
	if s.inRead < 2 && s.inRead+int64(s.newEvents) >= 2 {
		s.multi++
	}
	s.inRead += int64(s.newEvents)
	s.events += int64(s.newEvents)
	s.counters.Events.Add(int64(s.newEvents))

	now := s.readStamp
	setFirst(&s.firstEvent, now)
	if s.newTokens == 0 {
		return
	}
	if s.firstToken == 0 && at.stamped {
		s.firstTokenKernel = at.kernelNS
	}
	setFirst(&s.firstToken, now)
	if s.newAnswer {
		if s.firstAnswer == 0 && at.stamped {
			s.firstAnswerKernel = at.kernelNS
		}
		setFirst(&s.firstAnswer, now)
	}
	s.lastToken, s.lastTokenKernel = now, 0
	if at.stamped {
		s.lastTokenKernel = at.kernelNS
	}
	s.counters.TokenEvents.Add(int64(s.newTokens))
	if at.stamped {
		s.counters.ReadDelay.add(now-at.kernelNS, int64(s.newTokens))
	}
	if s.p.Chunks {
		s.stampChunks(now, at)
	}
}

// stampChunks keeps the stamps of the new token events.
func (s *stream) stampChunks(now int64, at arrival) {
	us := (now + 500) / 1000
	if at.stamped && s.delays == nil { // the ones before have none
		s.delays = make([]formats.Int, len(s.stamps), max(cap(s.stamps), 4))
	}
	var delay formats.Int
	if at.stamped {
		delay = formats.Some(us - (at.kernelNS+500)/1000)
	}
	for range s.newTokens {
		s.stamps = append(s.stamps, us)
		if s.delays != nil {
			s.delays = append(s.delays, delay)
		}
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
	if t := &s.tokens; t.events == 0 && t.usage.Output.Or(0) == 0 {
		return run.Empty, ""
	}
	if !s.done && !s.finished {
		return run.Truncated, "end of the stream before its finish reason or [DONE]"
	}
	return run.OK, ""
}

// takeDocument reads an answer that is one JSON document.
func (s *stream) takeDocument() {
	s.newEvents, s.newTokens, s.newAnswer = 1, 0, false
	odd := s.oddly()
	s.drag.enter(odd.last)
	defer s.drag.leave()
	ev, err := s.parse("", odd.document)
	if err != nil {
		s.bad("answer: got " + string(odd.document[:min(len(odd.document), 200)]) + ", want a JSON object")
		s.stampNew(odd.last)
		return
	}
	_ = s.count(ev) // there is nothing left to cut
	s.finished = s.finished || ev.Token()
	switch {
	case ev.Error != "":
	case s.p.Stream:
		s.bad("answer: got one JSON document, want an event stream")
	case !ev.Choices:
		s.bad("answer: got a JSON object without choices, want an answer")
	}
	s.stampNew(odd.last)
}

// fill writes the columns of the answer.
func (s *stream) fill(row *run.Request) {
	row.Events, row.MultiEventReads = formats.Some(s.events), formats.Some(s.multi)
	row.FirstEventNS, row.FirstTokenNS = stamp(s.firstEvent), stamp(s.firstToken)
	row.FirstAnswerNS, row.LastTokenNS = stamp(s.firstAnswer), stamp(s.lastToken)
	row.FirstTokenKernelNS = stamp(s.firstTokenKernel)
	row.FirstAnswerKernelNS, row.LastTokenKernelNS = stamp(s.firstAnswerKernel), stamp(s.lastTokenKernel)
	row.FinishReason = s.finish
	s.tokens.fill(row, s.p.Chunks, s.isJSON)
	if s.p.Chunks && len(s.stamps) > 0 {
		// the gaps take the place of the stamps
		gaps := s.stamps
		for i := len(gaps) - 1; i > 0; i-- {
			gaps[i] -= gaps[i-1]
		}
		row.ChunkGapUS = gaps[1:]
		row.ChunkDelayUS = s.delays
		s.stamps, s.delays = nil, nil
	}
}
