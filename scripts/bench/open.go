//go:build linux

package main

import (
	"fmt"
	"time"
)

// lengths is a closed loop at the ceiling, with answers of 100 and of 500 tokens.
var lengths = func() *scenario {
	const seconds = 5
	w := window{time.Second, seconds * time.Second}
	name := func(tokens int) string { return fmt.Sprintf("Hydrant, %d tokens", tokens) }
	closed := func(tokens int) program {
		return program{name(tokens), func(b *bench) (figures, error) {
			p, err := b.serve(b.server, 0, 1, 1)
			if err != nil {
				return nil, err
			}
			defer p.stop()
			plan, err := b.plan(group{n: seconds * 200_000 / tokens, input: 20, output: int64(tokens)})
			if err != nil {
				return nil, err
			}
			r, err := b.replay(b.client, "--url", "http://"+p.addrs[0], "--engine", "epoll", "--workers", 1, "--closed", 64, "--duration", w.to, plan)
			if err != nil {
				return nil, err
			}
			return r.perEvent(w), nil
		}}
	}
	return &scenario{name: "lengths", title: "64 requests in flight, as fast as server and client go",
		note:     "The cost is per event, not per request: both columns are of Hydrant.",
		programs: []program{closed(500), closed(100)},
		rows: []row{
			{text: "events per second, answers of 500 against 100 tokens", unit: "/s", program: name(500), figure: "events_per_s", scale: 1, against: name(100)},
			{text: "CPU per token event, whole worker", unit: "µs", program: name(500), figure: "cpu_per_event_ns", scale: 1e3, against: name(100)},
		},
	}
}()

// idle is streams in one worker that say nothing.
var idle = func() *scenario {
	const n = 15_000
	return &scenario{name: "idle", title: "15,000 open streams in one worker", rounds: 2,
		note: "Each has had one event and waits for the next. Memory is the worker's resident set, beyond that before the first request; what the kernel keeps is not in it. It holds the state of the engine and of the planned request, which tests keep within 0.7 KB, the indexes over both, and the slack of the Go heap.",
		programs: []program{{epoll, func(b *bench) (figures, error) {
			p, err := b.serve(b.server, 8*time.Second, 1, 1)
			if err != nil {
				return nil, err
			}
			defer p.stop()
			// The tail keeps the window of jobs read ahead as full as it was at the start.
			plan, err := b.plan(group{n: n, start: 1500 * time.Millisecond, gap: 300 * time.Microsecond, input: 20, output: 2},
				group{n: 9000, start: 8500 * time.Millisecond, gap: 250 * time.Microsecond, input: 20, output: 1})
			if err != nil {
				return nil, err
			}
			r, err := b.replay(b.client, "--url", "http://"+p.addrs[0], "--engine", "epoll", "--workers", 1, plan)
			if err != nil {
				return nil, err
			}
			return r.open(n), nil
		}}},
		rows: []row{
			{text: "streams open at once", program: epoll, figure: "open_streams", scale: 1, limit: n, atLeast: true},
			{text: "memory per open stream", unit: "B", program: epoll, figure: "bytes_per_stream", scale: 1, limit: 1024},
			{text: "resident set of the worker", unit: "MB", program: epoll, figure: "rss_bytes", scale: 1e6},
		},
	}
}()

// scale is more streams than one address or process has room for.
var scale = func() *scenario {
	const n, servers, workers = 50_000, 4, 4
	return &scenario{name: "scale", title: "50,000 open streams in 4 workers, on 127.0.0.1 to 127.0.0.8", rounds: 1,
		note: "Four server processes with two addresses each; nothing is pinned.",
		programs: []program{{epoll, func(b *bench) (figures, error) {
			args := []any{"--engine", "epoll", "--workers", workers}
			for i := range servers {
				p, err := b.serve("", 14*time.Second, 1+2*i, 2)
				if err != nil {
					return nil, err
				}
				defer p.stop()
				for _, a := range p.addrs {
					args = append(args, "--url", "http://"+a)
				}
			}
			plan, err := b.plan(group{n: n, start: 1500 * time.Millisecond, gap: 150 * time.Microsecond, input: 20, output: 2})
			if err != nil {
				return nil, err
			}
			r, err := b.replay("", append(args, plan)...)
			if err != nil {
				return nil, err
			}
			return r.open(n), nil
		}}},
		rows: []row{
			{text: "streams open at once", program: epoll, figure: "open_streams", scale: 1, limit: n, atLeast: true},
			{text: "resident set of all workers", unit: "MB", program: epoll, figure: "rss_bytes", scale: 1e6},
		},
	}
}()
