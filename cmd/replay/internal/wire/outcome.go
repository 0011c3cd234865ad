package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
	"unicode/utf8"

	"hydrant/formats/run"
)

// maxError bounds the error text of a row, bytes.
const maxError = 4 << 10

// A limit is the cause with which one of the engine's timers ends a request.
type limit struct {
	outcome string
	text    string
}

func (l *limit) Error() string { return l.text }

// limits are the causes of an engine's timers, made once.
type limits struct{ connect, firstByte, idle, total *limit }

func limitsOf(o *Options) limits {
	of := func(outcome, what string, d time.Duration) *limit {
		if d > 0 {
			what = fmt.Sprintf("%s after %v", what, d)
		}
		return &limit{outcome: outcome, text: what}
	}
	return limits{
		connect:   of(run.ConnectError, "connect timeout", o.ConnectTimeout),
		firstByte: of(run.TimeoutFirstByte, "no byte of the answer", o.FirstByteTimeout),
		idle:      of(run.TimeoutIdle, "nothing more of the answer", o.IdleTimeout),
		total:     of(run.TimeoutTotal, "not ended", o.TotalTimeout),
	}
}

// A phase of a request is what its engine waits for, within a limit of its own.
type phase uint8

const (
	unlimited phase = iota
	connecting
	awaiting // the first byte
	idling   // between two reads
	draining // behind [DONE]
)

// cause returns the limit of a phase.
func (l *limits) cause(p phase) *limit {
	switch p {
	case connecting:
		return l.connect
	case awaiting:
		return l.firstByte
	case idling:
		return l.idle
	case draining:
		return errDrained
	}
	return nil
}

// errDrained ends a stream whose server keeps the connection open behind [DONE]. The
// answer is whole.
var errDrained = &limit{text: "the answer has ended"}

// errPlanned cuts an answer as the plan says.
var errPlanned = &limit{outcome: run.CancelledPlanned, text: "cut as planned"}

// causeOf returns why ctx was ended, nil when it was not.
func causeOf(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return context.Cause(ctx)
}

// ended returns the outcome of a request that was ended from outside for a cause: by a
// timer, the plan or the run; "" when it was not.
func ended(cause error) (outcome, text string) {
	var l *limit
	switch {
	case cause == nil:
		return "", ""
	case errors.Is(cause, errDrained):
		return "", ""
	case errors.As(cause, &l):
		return l.outcome, l.text
	}
	return run.Cancelled, cause.Error()
}

// unconnected names the outcome of a request that never had a connection.
func (l *limits) unconnected(err error) (outcome, text string) {
	text = err.Error()
	var n net.Error
	if errors.As(err, &n) && n.Timeout() {
		text = l.connect.text + ": " + text
	}
	var record tls.RecordHeaderError
	if errors.As(err, &record) {
		text = "the server speaks HTTP, not HTTPS: " + text
	}
	if isLocal(err) {
		text = run.LocalPrefix + text
	}
	return run.ConnectError, text
}

// unanswered names the outcome of a request that failed before a response header was
// whole: received tells whether there was a byte of one, ended whether the connection
// has ended.
func unanswered(err error, received, ended bool) (outcome, text string) {
	text = err.Error()
	switch {
	case !received:
		return run.ConnectError, "connection lost before an answer: " + text
	case ended: // the parser wanted more than there was
		return run.Truncated, "response header: " + text
	}
	return run.Malformed, text
}

// clip makes a text fit for a row: valid UTF-8, without secrets, of bounded length.
func clip(text string, secrets []string) string {
	text = Redact(strings.ToValidUTF8(text, "\uFFFD"), secrets)
	if len(text) <= maxError {
		return text
	}
	end := maxError
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
