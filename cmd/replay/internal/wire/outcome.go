package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
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
		return &limit{outcome: outcome, text: fmt.Sprintf("%s after %v", what, d)}
	}
	return limits{
		connect:   of(run.ConnectError, "connect timeout", o.ConnectTimeout),
		firstByte: of(run.TimeoutFirstByte, "no byte of the answer", o.FirstByteTimeout),
		idle:      of(run.TimeoutIdle, "nothing more of the answer", o.IdleTimeout),
		total:     of(run.TimeoutTotal, "not ended", o.TotalTimeout),
	}
}

// errDrained ends a stream whose server keeps the connection open behind [DONE]. The
// answer is whole.
var errDrained = errors.New("the answer has ended")

// errPlanned cuts an answer as the plan says.
var errPlanned = &limit{outcome: run.CancelledPlanned, text: "cut as planned"}

// ended returns the outcome of a request that was ended from outside, by a timer, the
// plan or the run; "" when it was not.
func ended(ctx context.Context) (outcome, text string) {
	if ctx.Err() == nil {
		return "", ""
	}
	cause := context.Cause(ctx)
	var l *limit
	switch {
	case errors.Is(cause, errDrained):
		return "", ""
	case errors.As(cause, &l):
		return l.outcome, l.text
	}
	return run.Cancelled, cause.Error()
}

// unanswered names the outcome of a request whose connection failed before a response
// header was whole. received is what had arrived.
func unanswered(err error, haveConn bool, received int64) (outcome, text string) {
	var n net.Error
	switch {
	case !haveConn && errors.As(err, &n) && n.Timeout():
		text = "connect timeout: " + err.Error()
		if isLocal(err) {
			text = localPrefix + text
		}
		return run.ConnectError, text
	case !haveConn && isLocal(err):
		return run.ConnectError, localPrefix + err.Error()
	case !haveConn:
		return run.ConnectError, err.Error()
	case received == 0:
		return run.ConnectError, "connection lost before an answer: " + err.Error()
	case broken(err):
		return run.Truncated, "response header: " + err.Error()
	}
	return run.Malformed, err.Error()
}

// broken reports whether a read ended because the connection did.
func broken(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &op)
}

// clip makes a text fit for a row: valid UTF-8, without secrets, of bounded length.
func clip(text string, secrets []string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	for _, s := range secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "[secret]")
		}
	}
	if len(text) <= maxError {
		return text
	}
	end := maxError
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
