//go:build linux

package main

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// silent is streams that say nothing for a minute; all of them survive.
var silent = func() *scenario {
	const n = 10_000
	const silence = time.Minute
	return &scenario{name: "silent", title: "10,000 streams, silent for a minute", soak: true,
		programs: []program{{epoll, func(b *bench) (figures, error) {
			p, err := b.serve(b.server, silence+time.Second, 1, 1) // a first event read late shortens it
			if err != nil {
				return nil, err
			}
			defer p.stop()
			plan, err := b.plan(group{n: n, start: 200 * time.Millisecond, gap: 300 * time.Microsecond, input: 20, output: 2})
			if err != nil {
				return nil, err
			}
			r, err := b.replay(b.client, "--url", "http://"+p.addrs[0], "--workers", 1, plan)
			if err != nil {
				return nil, err
			}
			var survived float64
			for i := range r.rows {
				if row := &r.rows[i]; row.TokenEvents.V == 2 && row.LastTokenNS.V-row.FirstTokenNS.V >= int64(silence) {
					survived++
				}
			}
			return figures{"survived": survived, "open_streams": r.open(n)["open_streams"]}, nil
		}}},
		rows: []row{
			{text: "streams open at once", program: epoll, figure: "open_streams", scale: 1, limit: n, atLeast: true},
			{text: "streams that went on after the minute", program: epoll, figure: "survived", scale: 1, limit: n, atLeast: true},
		},
	}
}()

// freeze is a server that stops for six seconds (SIGSTOP): whatever is due meanwhile is sent
// on time, and has the freeze in its latency from the due time on.
var freeze = func() *scenario {
	const rate, seconds = 100, 15
	return &scenario{name: "freeze", title: "100 requests a second, the server stopped for 6 seconds", soak: true,
		programs: []program{{epoll, func(b *bench) (figures, error) {
			p, err := b.serve(b.server, period, 1, 1)
			if err != nil {
				return nil, err
			}
			defer p.stop()
			plan, err := b.plan(group{n: rate * seconds, gap: time.Second / rate, input: 20, output: 5})
			if err != nil {
				return nil, err
			}
			stopped := make(chan [2]int64, 1)
			go func() {
				time.Sleep(5 * time.Second)
				var at [2]int64
				at[0] = monotonic()
				_ = unix.Kill(p.pid, unix.SIGSTOP)
				time.Sleep(6 * time.Second)
				at[1] = monotonic()
				_ = unix.Kill(p.pid, unix.SIGCONT)
				stopped <- at
			}()
			r, err := b.replay(b.client, "--url", "http://"+p.addrs[0], "--workers", 1, plan)
			if err != nil {
				return nil, err
			}
			at := <-stopped
			from, to := at[0]+int64(50*time.Millisecond)-r.epoch, at[1]-r.epoch // a signal takes a moment
			var due, shows, late float64
			for i := range r.rows {
				row := &r.rows[i]
				if row.DueNS.V < from || row.DueNS.V >= to {
					continue
				}
				due++
				if row.FirstTokenNS.V >= to {
					shows++
				}
				late = max(late, float64(row.DispatchedNS.V-row.DueNS.V))
			}
			if due == 0 {
				return nil, fmt.Errorf("no request was due in the freeze")
			}
			return figures{"due": due, "share": shows / due, "late_max_us": late / 1e3}, nil
		}}},
		rows: []row{
			{text: "requests due in the freeze", program: epoll, figure: "due", scale: 1, limit: 500, atLeast: true},
			{text: "share of them with the rest of the freeze in TTFT from the due time", program: epoll, figure: "share", scale: 1, limit: 1, atLeast: true},
			{text: "latest dispatch among them", unit: "µs", program: epoll, figure: "late_max_us", scale: 1},
		},
	}
}()

func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}
