package wire

import (
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/internal/fixture"
)

func TestKernelColumns(t *testing.T) { both(t, testKernelColumns) }

func testKernelColumns(t *testing.T, engine opener) {
	fixture.Need(t, warm(), "the kernel stamps no packets")
	s := serve(t, say(whole(good...)))
	e := engine(t, Options{})
	for range 3 {
		row := do(t, e, prepared(t, s.url()))
		if row.Outcome != run.OK {
			t.Fatal(row.Outcome, row.Error)
		}
		for name, at := range map[string]formats.Int{"first_byte": row.FirstByteKernelNS, "first_token": row.FirstTokenKernelNS,
			"first_answer": row.FirstAnswerKernelNS, "last_token": row.LastTokenKernelNS, "segments_in": row.SegmentsIn,
			"retransmits": row.Retransmits, "rtt_us": row.RTTUS} {
			if !at.Valid {
				t.Errorf("%s is null", name)
			}
		}
		if row.SegmentsIn.V < 1 || row.Reads.V < 1 || row.Retransmits.V != 0 || row.RTTUS.V < 0 {
			t.Errorf("segments %v, reads %v, retransmits %v, rtt %v", row.SegmentsIn, row.Reads, row.Retransmits, row.RTTUS)
		}
		if len(row.ChunkDelayUS) != 2 || !row.ChunkDelayUS[0].Valid {
			t.Errorf("chunk_delay_us %v; want two values", row.ChunkDelayUS)
		}
	}
}

// A connection that the server closes behind the answer has been counted to its end.
func TestCountersOfAClosedConnection(t *testing.T) { both(t, testCountersOfAClosedConnection) }

func testCountersOfAClosedConnection(t *testing.T, engine opener) {
	fixture.Need(t, warm(), "the kernel stamps no packets")
	s := serve(t, sayAndClose("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"+contentEvent("a")+doneEvent))
	for range 20 {
		e := engine(t, Options{})
		if row := do(t, e, prepared(t, s.url())); row.SegmentsIn.V < 1 || !row.RTTUS.Valid {
			t.Fatalf("segments %v, rtt %v; want some and a time", row.SegmentsIn, row.RTTUS)
		}
	}
}

// While the client is held up between two reads, what arrives is late for the user and
// on time for the wire, and one read holds many segments.
func TestStallShowsInUserTimes(t *testing.T) { both(t, testStallShowsInUserTimes) }

func testStallShowsInUserTimes(t *testing.T, engine opener) {
	fixture.Need(t, warm(), "the kernel stamps no packets")
	const events = 20
	first, others := make(chan struct{}), make(chan struct{})
	pieces := []string{streamHead + chunk(contentEvent("a"))}
	for range events {
		pieces = append(pieces, chunk(contentEvent("b")))
	}
	pieces = append(pieces, chunk(doneEvent)+lastChunk)
	s := serve(t, func(c net.Conn, _ *http.Request, _ []byte) bool {
		for i, p := range pieces {
			if i == 1 {
				<-first // the client is busy with it
			}
			if _, err := io.WriteString(c, p); err != nil {
				return false
			}
		}
		close(others)
		return true
	})
	p := prepared(t, s.url())
	var began, sent, ended int64
	e := engine(t, Options{})
	p.stall = func(event int64) {
		if event == 1 {
			began = clockOf(e).Now()
			close(first)
			<-others
			sent = clockOf(e).Now()
			time.Sleep(50 * time.Millisecond)
			ended = clockOf(e).Now()
		}
	}
	row := do(t, e, p)
	if row.Outcome != run.OK || row.TokenEvents.V != events+1 {
		t.Fatalf("outcome %s %q, %v tokens", row.Outcome, row.Error, row.TokenEvents)
	}
	if row.FirstTokenKernelNS.V > began || row.FirstTokenNS.V < ended {
		t.Errorf("first token in the kernel at %d and parsed at %d; want the stall from %d to %d between them",
			row.FirstTokenKernelNS.V, row.FirstTokenNS.V, began, ended)
	}
	const slack = int64(5 * time.Millisecond) // the server's thread may be late with its word
	if row.LastTokenKernelNS.V > sent+slack || row.LastTokenNS.V < ended {
		t.Errorf("last token in the kernel at %d and parsed at %d; want it sent by %d and the stall until %d between them",
			row.LastTokenKernelNS.V, row.LastTokenNS.V, sent, ended)
	}
	if d := row.ChunkDelayUS; d[0].V < (ended-began)/1000 || d[events].V < (ended-sent-slack)/1000 {
		t.Errorf("delays %v µs; want those of the stall of %v", d, time.Duration(ended-began))
	}
	// a segment that waits for its delayed acknowledgement may come twice
	if row.SegmentsIn.V < int64(len(pieces)) || row.Reads.V > 3 || row.MultiEventReads.V < 1 {
		t.Errorf("segments %v, reads %v, of several events %v; want at least %d segments in a few reads",
			row.SegmentsIn, row.Reads, row.MultiEventReads, len(pieces))
	}
}

// A server that paces its events, and a client in time: a read for each segment.
func TestOneReadPerSegment(t *testing.T) { both(t, testOneReadPerSegment) }

func testOneReadPerSegment(t *testing.T, engine opener) {
	fixture.Need(t, warm(), "the kernel stamps no packets")
	const events = 20
	parsed := make(chan struct{}, events)
	s := serve(t, func(c net.Conn, r *http.Request, b []byte) bool {
		if !say(streamHead)(c, r, b) {
			return false
		}
		for range events {
			if !say(chunk(contentEvent("b")))(c, r, b) {
				return false
			}
			<-parsed
		}
		return say(chunk(doneEvent)+lastChunk)(c, r, b)
	})
	p := prepared(t, s.url())
	p.stall = func(int64) { parsed <- struct{}{} }
	row := do(t, engine(t, Options{}), p)
	if row.Outcome != run.OK || row.SegmentsIn.V < events+2 || row.Reads.V < events || row.MultiEventReads.V != 0 {
		t.Errorf("outcome %s, segments %v, reads %v, of several events %v; want at least %d segments and a read for each event",
			row.Outcome, row.SegmentsIn, row.Reads, row.MultiEventReads, events+2)
	}
}

// Events, reads, and reads of several events are counted as they came: all in one, one by
// one, and one in many.
func TestReadsAreCounted(t *testing.T) { both(t, testReadsAreCounted) }

func testReadsAreCounted(t *testing.T, engine opener) {
	head := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, n := range []int{1, 2, 20} {
		body := strings.Repeat(chunk(contentEvent("a")), n)
		tail := chunk(doneEvent) + lastChunk
		all := head + body + tail
		one := int64(len(body) / n)
		s := serve(t, say(all))
		for _, c := range []struct {
			name         string
			cut          func(received int64) int
			reads, multi int64
		}{
			{"whole", func(int64) int { return math.MaxInt }, 1, 1},
			{"event by event", func(received int64) int {
				switch in := received - int64(len(head)); {
				case in < 0:
					return int(-in)
				case in < int64(len(body)):
					return int(one - in%one)
				}
				return math.MaxInt
			}, int64(n) + 2, 0},
			{"byte by byte", func(int64) int { return 1 }, int64(len(all)), 0},
		} {
			row := do(t, engine(t, Options{cut: c.cut}), prepared(t, s.url()))
			if row.Outcome != run.OK || row.Events.V != int64(n)+1 || row.Reads.V != c.reads || row.MultiEventReads.V != c.multi {
				t.Errorf("%d events %s: %s, %v events, %v reads, %v of several; want %d, %d, %d", n, c.name, row.Outcome,
					row.Events, row.Reads, row.MultiEventReads, n+1, c.reads, c.multi)
			}
		}
	}
}
