//go:build linux

package main

import (
	"fmt"
	"time"
)

// telemetry is a worker with nothing to do: what it takes goes into watching itself.
var telemetry = func() *scenario {
	const seconds = 10
	idle := func(engine string) func(*bench) (figures, error) {
		return func(b *bench) (figures, error) {
			plan, err := b.plan(group{n: 2, gap: (seconds + 1) * time.Second, input: 20, output: 1})
			if err != nil {
				return nil, err
			}
			name, _, err := b.send("", "--null", "--engine", engine, "--workers", 1, plan)
			if err != nil {
				return nil, err
			}
			r, err := read(name)
			if err != nil {
				return nil, err
			}
			var cpu, interval int64
			for _, c := range r.seconds(window{time.Second, seconds * time.Second}) {
				cpu += c.CPUUserNS.V + c.CPUSystemNS.V
				interval += c.IntervalNS.V
			}
			if interval == 0 {
				return nil, fmt.Errorf("the run has no whole second")
			}
			return figures{"cpu_ms_per_s": float64(cpu) / float64(interval) * 1e3}, nil
		}
	}
	text := "CPU of an idle worker per second"
	return &scenario{name: "telemetry", title: "A worker with nothing to do",
		note:     "What it takes goes into its client rows, two hiccup probes of 100 instants a second each, and what the Go runtime does around them. Nothing is pinned.",
		programs: []program{{epoll, idle("epoll")}, {plainHTTP, idle("http")}},
		rows: []row{
			{text: text, unit: "ms", program: epoll, figure: "cpu_ms_per_s", scale: 1, limit: 10},
			{text: text + ", --engine http", unit: "ms", program: plainHTTP, figure: "cpu_ms_per_s", scale: 1, limit: 10},
		},
	}
}()
