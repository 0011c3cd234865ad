//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hydrant/formats/run"
)

// ran is a run as read back.
type ran struct {
	rows    []run.Request
	clients []run.Client
	bytes   int64
	epoch   int64 // CLOCK_MONOTONIC at offset 0
}

// replay runs Hydrant on the client's CPU; cpus may say another.
func (b *bench) replay(cpus string, args ...any) (*ran, error) {
	name, _, err := b.send(cpus, append([]any{"--preflight", "off", "--model", "paced"}, args...)...)
	if err != nil {
		return nil, err
	}
	return read(name)
}

// send runs Hydrant and returns where its run is, and the largest resident set of the
// parent process in bytes.
func (b *bench) send(cpus string, args ...any) (name string, rss int64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	name = filepath.Join(b.tmp, "run.arrows")
	cmd := b.command(ctx, cpus, filepath.Join(b.bin, "replay"), append([]any{"--quiet", "--calibrate", "off", "-o", name}, args...)...)
	peak, err := watched(cmd)
	return name, peak, err
}

func read(name string) (*ran, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	r := &ran{bytes: st.Size()}
	file, err := run.NewReader(f, name)
	if err != nil {
		return nil, err
	}
	part, err := file.NextPart()
	if err != nil {
		return nil, err
	}
	r.epoch = part.Header().Epoch.MonotonicNS
	bad := map[string]int{}
	for {
		row, err := part.NextRequest()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if row.Outcome != run.OK {
			bad[row.Outcome+" "+row.Error]++
		}
		keep := *row
		keep.After, keep.ChunkGapUS, keep.ChunkDelayUS, keep.ChunkTokens = nil, nil, nil, nil
		r.rows = append(r.rows, keep)
	}
	if len(bad) > 0 {
		return nil, fmt.Errorf("requests failed: %v", bad)
	}
	for {
		c, err := part.NextClient()
		if errors.Is(err, io.EOF) {
			return r, nil
		} else if err != nil {
			return nil, err
		}
		r.clients = append(r.clients, *c)
	}
}

// window is the part of a run that counts, from and to as offsets.
type window struct{ from, to time.Duration }

// seconds returns the client rows that lie in the window whole.
func (r *ran) seconds(w window) (in []run.Client) {
	for _, c := range r.clients {
		if c.TNS-c.IntervalNS.V >= int64(w.from)-1e6 && c.TNS <= int64(w.to)+1e6 && c.IntervalNS.V > 5e8 {
			in = append(in, c)
		}
	}
	return in
}

// perEvent returns what a token event cost the worker in the window.
func (r *ran) perEvent(w window) figures {
	var cpu, events, interval int64
	for _, c := range r.seconds(w) {
		cpu += c.CPUUserNS.V + c.CPUSystemNS.V
		events += c.TokenEvents.V
		interval += c.IntervalNS.V
	}
	return figures{"cpu_per_event_ns": float64(cpu) / float64(events), "events": float64(events), "events_per_s": float64(events) * 1e9 / float64(interval)}
}

// perRequest returns what a request cost the worker in the window.
func (r *ran) perRequest(w window) figures {
	var cpu, n int64
	for _, c := range r.seconds(w) {
		cpu += c.CPUUserNS.V + c.CPUSystemNS.V
		n += c.Completed.V
	}
	return figures{"cpu_per_request_ns": float64(cpu) / float64(n), "requests": float64(n)}
}

// late returns how late the requests of a class were dispatched.
func (r *ran) late(class string) figures {
	var x []int64
	for i := range r.rows {
		if row := &r.rows[i]; row.Class == class {
			x = append(x, row.DispatchedNS.V-row.DueNS.V)
		}
	}
	slices.Sort(x)
	at := func(ppm int) float64 { return float64(x[(len(x)*ppm+999_999)/1_000_000-1]) / 1e3 }
	return figures{"late_p50_us": at(500_000), "late_p99_us": at(990_000), "requests": float64(len(x))}
}

// open returns the most requests in flight over all workers at one second, and what memory n
// of them take beyond that of the first second, when none had been sent: at the second in
// which the fewest others come and go beside them.
func (r *ran) open(n int64) figures {
	type moment struct{ inFlight, rss, workers int64 }
	at := map[int64]*moment{}
	var none int64
	for _, c := range r.clients {
		second := (c.TNS + int64(time.Second)/2) / int64(time.Second)
		m := at[second]
		if m == nil {
			m = &moment{}
			at[second] = m
		}
		m.inFlight, m.rss, m.workers = m.inFlight+c.InFlight.V, m.rss+c.RSSBytes.V, m.workers+1
		if second == 1 {
			none += c.RSSBytes.V
		}
	}
	var most, idle moment // idle: all n are open and the fewest others, which come and go
	for _, m := range at {
		if m.inFlight > most.inFlight || m.inFlight == most.inFlight && m.rss > most.rss {
			most = *m
		}
		if m.inFlight >= n && (idle.inFlight == 0 || m.inFlight < idle.inFlight || m.inFlight == idle.inFlight && m.rss > idle.rss) {
			idle = *m
		}
	}
	return figures{"open_streams": float64(most.inFlight), "rss_bytes": float64(most.rss),
		"bytes_per_stream": float64(idle.rss-none) / float64(max(idle.inFlight, 1))}
}
