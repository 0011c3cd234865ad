//go:build linux

package main

import (
	"fmt"
	"time"
)

// scenario is a load with the programs that carry it, and what is compared.
type scenario struct {
	name, title, note string
	rounds            int  // at most; 0: as many as asked for
	soak              bool // runs only when it is named
	programs          []program
	rows              []row
}

// program is one way to carry a load.
type program struct {
	name string
	run  func(*bench) (figures, error)
}

// row is a line of the table: a figure of Hydrant, beside that of another program.
type row struct {
	text, unit      string
	program, figure string
	scale           float64 // of the unit in that of the figure
	against         string  // "": nobody
	figureAgainst   string  // "": the same
	limit           float64 // of the ratio, or of the figure when there is nothing to compare; 0: none
	atLeast         bool    // limit is a lower one
}

func (r *row) other() string {
	if r.figureAgainst != "" {
		return r.figureAgainst
	}
	return r.figure
}

// Names of programs.
const (
	epoll     = "Hydrant"
	plainHTTP = "Hydrant, --engine http"
)

const period = 20 * time.Millisecond

// chunkBytes is a token event of the paced server with the framing of its HTTP chunk.
const chunkBytes = 245 + 6

// tokens is how many events a paced stream has: ten seconds of them.
const tokens = 500

var scenarios = []*scenario{
	streams(1000),
	streams(2500),
	dispatch,
	ask,
	lengths,
	idle,
	scale,
	telemetry,
	mooncake,
	weka,
	flat,
	rows,
	chunked,
	tenMillion,
	silent,
	freeze,
	million,
}

// streams is n paced streams.
func streams(n int) *scenario {
	open := time.Duration(n) * gap
	w := window{(open + 1500*time.Millisecond).Truncate(time.Second), tokens*period - 200*time.Millisecond}
	seconds := int((tokens*period - open - 1500*time.Millisecond).Seconds())
	hydrant := func(engine string) func(*bench) (figures, error) {
		return paces(func(b *bench, addr string) (figures, error) {
			plan, err := b.plan(group{n: n, start: 200 * time.Millisecond, gap: gap, input: 20, output: tokens})
			if err != nil {
				return nil, err
			}
			r, err := b.replay(b.client, "--url", "http://"+addr, "--engine", engine, "--workers", 1, plan)
			if err != nil {
				return nil, err
			}
			f := r.perEvent(w)
			f["run_bytes_per_request"] = float64(r.bytes) / float64(len(r.rows))
			return f, nil
		})
	}
	s := &scenario{name: fmt.Sprintf("streams%d", n), title: fmt.Sprintf("%d paced streams", n),
		note: fmt.Sprintf("One event of 245 bytes per 20 ms on each of %d connections, %d events a second.", n, n*50),
		programs: []program{
			{"bare recvmsg loop", paces(func(b *bench, addr string) (figures, error) {
				return b.floor("recv", addr, n, tokens, seconds, chunkBytes)
			})},
			{epoll, hydrant("epoll")},
			{"net/http and encoding/json", paces(func(b *bench, addr string) (figures, error) {
				return b.floor("nethttp", addr, n, tokens, seconds)
			})},
			{plainHTTP, hydrant("http")},
		},
	}
	const cpu = "CPU per token event, whole worker"
	s.rows = []row{
		{text: cpu, unit: "µs", program: epoll, figure: "cpu_per_event_ns", scale: 1e3, against: "bare recvmsg loop", limit: 1.25},
		{text: cpu, unit: "µs", program: epoll, figure: "cpu_per_event_ns", scale: 1e3, against: "net/http and encoding/json", limit: 0.65},
		{text: cpu, unit: "µs", program: epoll, figure: "cpu_per_event_ns", scale: 1e3, against: plainHTTP},
		{text: "events received per second", unit: "/s", program: epoll, figure: "events_per_s", scale: 1, against: "bare recvmsg loop"},
		{text: "run bytes per request of 500 tokens", unit: "B", program: epoll, figure: "run_bytes_per_request", scale: 1, limit: 1400},
	}
	return s
}

// paces gives a program a fresh paced server, and asks it how late it was: a server that
// cannot keep its own pace measures nothing.
func paces(run func(b *bench, addr string) (figures, error)) func(*bench) (figures, error) {
	return func(b *bench) (figures, error) {
		p, err := b.serve(b.server, period, 1, 1)
		if err != nil {
			return nil, err
		}
		defer p.stop()
		f, err := run(b, p.addrs[0])
		if err != nil {
			return nil, err
		}
		s, err := p.stats()
		if err != nil {
			return nil, err
		}
		f["server_late_p99_us"] = s["late_p99_us"]
		return f, nil
	}
}

// dispatch is how late requests leave, beside streams that arrive.
var dispatch = func() *scenario {
	const (
		streams = 800
		rate    = 2000
		seconds = 5
		floor   = "bare clock_nanosleep and write, beside a bare recvmsg loop"
	)
	s := &scenario{name: "dispatch", title: "2,000 requests a second beside 800 streams",
		note: "Lateness of the dispatch. The bare loop shares its CPU with a bare recvmsg loop, another process, that reads the streams."}
	s.programs = []program{
		{floor, paces(func(b *bench, addr string) (figures, error) {
			beside := make(chan error, 1)
			go func() {
				_, err := b.floor("recv", addr, streams, tokens, seconds+2, chunkBytes)
				beside <- err
			}()
			time.Sleep(1500 * time.Millisecond) // until the streams are open
			f, err := b.floor("pace", addr, rate, seconds)
			if err2 := <-beside; err == nil {
				err = err2
			}
			return f, err
		})},
		{epoll, paces(func(b *bench, addr string) (figures, error) {
			plan, err := b.plan(group{class: "stream", n: streams, start: 200 * time.Millisecond, gap: gap, input: 20, output: 400},
				group{class: "short", n: rate * seconds, start: 1500 * time.Millisecond, gap: time.Second / rate, input: 20, output: 1})
			if err != nil {
				return nil, err
			}
			r, err := b.replay(b.client, "--url", "http://"+addr, "--engine", "epoll", "--workers", 1, plan)
			if err != nil {
				return nil, err
			}
			return r.late("short"), nil
		})},
	}
	s.rows = []row{
		{text: "lateness p50", unit: "µs", program: epoll, figure: "late_p50_us", scale: 1, against: floor, limit: 1.3},
		{text: "lateness p99", unit: "µs", program: epoll, figure: "late_p99_us", scale: 1, against: floor, limit: 1.3},
	}
	return s
}()

// ask is answers that are not streamed, on warm connections.
var ask = func() *scenario {
	const (
		rate    = 5000
		seconds = 4
		floor   = "bare write and read"
	)
	s := &scenario{name: "ask", title: "5,000 answers a second that are not streamed, on warm connections",
		note: "Requests of the same size at the same instants."}
	s.programs = []program{
		{epoll, paces(func(b *bench, addr string) (figures, error) {
			plan, err := b.plan(group{n: rate * (seconds + 1), gap: time.Second / rate, input: 200, output: 1})
			if err != nil {
				return nil, err
			}
			r, err := b.replay(b.client, "--url", "http://"+addr, "--engine", "epoll", "--stream", "off", "--workers", 1, plan)
			if err != nil {
				return nil, err
			}
			b.bodyBytes = int(r.rows[0].BytesSent.V) - 110 // what the floor's own header has
			return r.perRequest(window{time.Second, (seconds + 1) * time.Second}), nil
		})},
		{floor, paces(func(b *bench, addr string) (figures, error) {
			return b.floor("ask", addr, rate, seconds, b.bodyBytes)
		})},
	}
	s.rows = []row{
		{text: "CPU per request, whole worker", unit: "µs", program: epoll, figure: "cpu_per_request_ns", scale: 1e3, against: floor, limit: 1.3},
	}
	return s
}()
