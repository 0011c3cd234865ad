package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"hydrant/cmd/replay/internal/endpoint"
	"hydrant/formats"
	"hydrant/formats/run"
)

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
	s := a.listen()
	err := a.read(resp.Body, func(b []byte) error {
		fault := s.take(b, a.arrived())
		if s.done && !a.drains {
			a.drains = true
			a.arm(drainLimit, errDrained)
		}
		return fault
	})
	outcome, text = s.outcome(causeOf(ctx), a.faulty(err))
	s.fill(a.row)
	return outcome, text
}

// listen begins to read the events of an answer.
func (a *attempt) listen() *stream {
	a.stream = &stream{}
	a.stream.init(a.p.Kind, a.p.reply(), newDesk(&a.e.o, a.e.counters, a.e.drag))
	return a.stream
}

// arrived tells with which read of the connection the newest bytes of the body came.
func (a *attempt) arrived() arrival {
	if c := a.own(); c != nil {
		k := c.lastKernel.Load()
		return arrival{read: c.reads.Load(), kernelNS: k, stamped: k != unstamped}
	}
	return arrival{}
}

// faulty tells an answer that breaks the rules of HTTP from one that is cut short: the
// parser gave up before the connection did.
func (a *attempt) faulty(err error) error {
	if c := a.own(); c != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !c.ended.Load() {
		var long *TooLongError
		if !errors.As(err, &long) {
			return &brokenError{err}
		}
	}
	return err
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
			if !a.firstByte() && a.phase != nil && !a.drains {
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
		if k := c.lastKernel.Load(); k != unstamped {
			a.row.FirstByteKernelNS = formats.Some(k)
		}
	}
	a.row.FirstByteNS = formats.Some(at)
	a.arm(a.e.o.IdleTimeout, a.e.limits.idle)
	return true
}

// refusal reads the body of a status that is not 2xx.
func (a *attempt) refusal(resp *http.Response) (outcome, text string) {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body.Close() // not a body but the connection, which ends with no request and no timer
		return run.HTTPError, resp.Status
	}
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
