package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"hydrant/cmd/replay/internal/endpoint"
	"hydrant/formats"
	"hydrant/formats/run"
)

// drainLimit is how long a server may keep the connection open behind [DONE] before we
// close it. The answer has ended, so it is no fault of the request.
const drainLimit = time.Second

// maxErrorBody is how much of an error's body is read to keep its connection.
const maxErrorBody = 64 << 10

// answer reads the response to its end and says how it ended.
func (a *attempt) answer(ctx context.Context, resp *http.Response) (outcome, text string) {
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return a.refusal(resp)
	}
	if enc := resp.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		return run.Malformed, "content-encoding: got " + enc + ", want identity"
	}
	a.stream.init(a)
	err := a.read(resp.Body, a.stream.take)
	return a.stream.outcome(ctx, err)
}

// read reads a body to its end, within the limits of its phases, and returns why it
// ended: io.EOF, the error of the connection, or the error of take.
func (a *attempt) read(body io.Reader, take func([]byte) error) error {
	buf := a.e.buffers.Get().(*[readSize]byte)
	defer a.e.buffers.Put(buf)
	defer a.arm(0, nil)
	for {
		n, err := body.Read(buf[:])
		if n > 0 {
			if !a.firstByte() && a.phase != nil && !a.stream.done {
				a.phase.Reset(a.e.o.IdleTimeout)
			}
			if fault := take(buf[:n]); fault != nil {
				return fault
			}
		}
		if err != nil {
			return err
		}
	}
}

// firstByte notes a read of the body, and reports whether it is the first.
func (a *attempt) firstByte() bool {
	if a.row.FirstByteNS.Valid {
		return false
	}
	at := a.e.o.Clock.Now()
	if c := a.own(); c != nil {
		at = c.lastRead.Load()
	}
	a.row.FirstByteNS = formats.Some(at)
	a.arm(a.e.o.IdleTimeout, a.e.limits.idle)
	return true
}

// refusal reads the body of a status that is not 2xx.
func (a *attempt) refusal(resp *http.Response) (outcome, text string) {
	var body bytes.Buffer
	_ = a.read(io.LimitReader(resp.Body, maxErrorBody), func(p []byte) error { // the status says enough
		body.Write(p)
		return nil
	})
	if body.Len() == 0 {
		return run.HTTPError, resp.Status
	}
	return run.HTTPError, endpoint.ErrorText(body.Bytes())
}

// A stream is an answer in the course of being read.
type stream struct {
	a        *attempt
	sse      *sse
	event1   func(typ string, data []byte) error // takeEvent, bound once
	document []byte                              // the answer, when it is one JSON document
	isJSON   bool
	sniffed  bool

	tokens tokens
	event  endpoint.Event
	stamps []int64 // of token events, µs

	done      bool   // [DONE]
	finished  bool   // a finish reason
	faultText string // of an error object
	badText   string // the first thing that was no event of the dialect

	events, multi int64
	read          int64 // number of the connection's read the last events came with
	inRead        int64 // events of that read
	readStamp     int64
	newEvents     int // of the bytes just taken
	newTokens     int
	newAnswer     bool
}

func (s *stream) init(a *attempt) {
	s.a = a
	s.sse = newSSE(a.e.o.LineCap)
	s.event1 = s.takeEvent
	s.event.Collect = a.p.KeepReply
	s.event.Text = a.p.Reply[:0]
	a.row.Events = formats.Some(0)
	a.row.MultiEventReads = formats.Some(0)
}

// take reads the next bytes of the body. All events they complete get one stamp, taken
// when they have been parsed.
func (s *stream) take(p []byte) error {
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
		if len(s.document)+len(p) > s.sse.limit {
			return &TooLongError{What: "document", Cap: s.sse.limit}
		}
		s.document = append(s.document, p...)
		return nil
	}
	s.newEvents, s.newTokens, s.newAnswer = 0, 0, false
	err := s.sse.feed(p, s.event1)
	s.stampNew()
	return err
}

// takeEvent takes one event.
func (s *stream) takeEvent(typ string, data []byte) error {
	s.newEvents++
	ev := &s.event
	text := len(ev.Text)
	if err := s.a.p.Endpoint.Read(typ, data, ev); err != nil {
		s.bad("event: got " + string(data[:min(len(data), 200)]) + ", want a JSON object")
		return nil
	}
	if s.done {
		if !ev.Done {
			ev.Text = ev.Text[:text]
			s.bad("event behind [DONE]: " + string(data[:min(len(data), 200)]))
		}
		return nil
	}
	if ev.Done {
		s.done = true
		s.a.arm(drainLimit, errDrained)
		return nil
	}
	return s.count(ev)
}

// count takes in what an event says.
func (s *stream) count(ev *endpoint.Event) error {
	if ev.Error != "" && s.faultText == "" {
		s.faultText = ev.Error
	}
	if ev.Finish != "" {
		s.finished = true
		s.a.row.FinishReason = ev.Finish
		if s.faultText == "" && (ev.Finish == "error" || ev.Finish == "abort") {
			s.faultText = "finish_reason " + ev.Finish
		}
	}
	s.tokens.add(ev)
	if !ev.Token() {
		return nil
	}
	s.newTokens++
	s.newAnswer = s.newAnswer || ev.Answer || ev.Tool
	if n := s.a.p.CancelTokens; n > 0 && s.tokens.events >= n {
		s.a.cancel(errPlanned)
		return errPlanned
	}
	return nil
}

func (s *stream) bad(text string) {
	if s.badText == "" {
		s.badText = text
	}
}

// stampNew stamps the events of the bytes just taken, which share a read. Events that
// come of one read of the connection in two reads of the body share their stamp too.
func (s *stream) stampNew() {
	if s.newEvents == 0 {
		return
	}
	a, row := s.a, s.a.row
	read := s.read + 1
	if c := a.own(); c != nil {
		read = c.reads.Load()
	}
	if read != s.read || s.inRead == 0 {
		s.read, s.inRead = read, 0
		s.readStamp = a.e.o.Clock.Now()
	}
	if s.inRead < 2 && s.inRead+int64(s.newEvents) >= 2 {
		s.multi++
		row.MultiEventReads = formats.Some(s.multi)
	}
	s.inRead += int64(s.newEvents)
	s.events += int64(s.newEvents)
	row.Events = formats.Some(s.events)
	a.e.counters.Events.Add(int64(s.newEvents))

	at := formats.Some(s.readStamp)
	setFirst(&row.FirstEventNS, at)
	if s.newTokens == 0 {
		return
	}
	setFirst(&row.FirstTokenNS, at)
	if s.newAnswer {
		setFirst(&row.FirstAnswerNS, at)
	}
	row.LastTokenNS = at
	a.e.counters.TokenEvents.Add(int64(s.newTokens))
	if a.p.Chunks {
		for range s.newTokens {
			s.stamps = append(s.stamps, (at.V+500)/1000)
		}
	}
}

func setFirst(to *formats.Int, at formats.Int) {
	if !to.Valid {
		*to = at
	}
}

// outcome ends the stream: err is why reading stopped, io.EOF at a clean end.
func (s *stream) outcome(ctx context.Context, err error) (outcome, text string) {
	clean := errors.Is(err, io.EOF) || errors.Is(context.Cause(ctx), errDrained)
	if s.isJSON && clean {
		s.takeDocument()
	}
	s.fill()
	switch outcome, text := ended(ctx); {
	case s.faultText != "":
		return run.StreamError, s.faultText
	case s.badText != "":
		return run.Malformed, s.badText
	case s.done: // the answer had ended, whatever came of the connection
	case outcome != "":
		return outcome, text
	case !clean:
		var long *TooLongError
		if errors.As(err, &long) {
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
	ev := &s.event
	if err := s.a.p.Endpoint.Read("", s.document, ev); err != nil {
		s.bad("answer: got " + string(s.document[:min(len(s.document), 200)]) + ", want a JSON object")
		s.stampNew()
		return
	}
	_ = s.count(ev) // there is nothing left to cut
	s.finished = s.finished || ev.Token()
	switch {
	case ev.Error != "":
	case s.a.p.Stream:
		s.bad("answer: got one JSON document, want an event stream")
	case !ev.Choices:
		s.bad("answer: got a JSON object without choices, want an answer")
	}
	s.stampNew()
}

// fill writes the token columns and the chunk lists.
func (s *stream) fill() {
	row, p := s.a.row, s.a.p
	s.tokens.fill(row, p.Chunks, s.isJSON)
	if p.KeepReply {
		p.Reply = s.event.Text
	}
	if p.Chunks && len(s.stamps) > 0 {
		row.ChunkGapUS = make([]int64, 0, len(s.stamps)-1)
		for i := 1; i < len(s.stamps); i++ {
			row.ChunkGapUS = append(row.ChunkGapUS, s.stamps[i]-s.stamps[i-1])
		}
	}
}
