//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// The archived traces, which the module's root holds.
var archived = map[string]string{
	"mooncake": "traces/archive/mooncake_conversation_first_10min.jsonl.zst",
	"weka":     "traces/archive/weka_trace_0277.json.zst",
}

// bareJSON is the floor of a trace reader.
const bareJSON = "zstd, a bare scan, zstd"

// copied is a trace of many copies; its file is made once.
type copied struct {
	path            string
	requests, bytes float64
}

func (b *bench) trace(kind string, copies int) (*copied, error) {
	path := filepath.Join(b.tmp, fmt.Sprintf("%s_%d.jsonl.zst", kind, copies))
	if c := b.traces[path]; c != nil {
		return c, nil
	}
	f, err := b.floor("maketrace", kind, copies, archived[kind], path)
	if err != nil {
		return nil, err
	}
	c := &copied{path, f["requests"], f["bytes"]}
	if b.traces == nil {
		b.traces = map[string]*copied{}
	}
	b.traces[path] = c
	return c, nil
}

// tracegen makes a schedule from copies of an archived trace, on one CPU.
func tracegen(kind string, copies int) func(*bench) (figures, error) {
	return func(b *bench) (figures, error) {
		c, err := b.trace(kind, copies)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		cmd := b.command(ctx, b.client, filepath.Join(b.bin, "tracegen"), kind, "--quiet", c.path, "-o", filepath.Join(b.tmp, "out.sched.zst"))
		cmd.Env = append(os.Environ(), "TMPDIR="+b.tmp)
		began := time.Now()
		peak, err := watched(cmd)
		if err != nil {
			return nil, err
		}
		return c.figures(cmd, time.Since(began).Seconds(), peak), nil
	}
}

// figures are what a process that read the trace cost.
func (c *copied) figures(cmd *exec.Cmd, wall float64, peak int64) figures {
	cpu := (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	return figures{"requests_per_s": c.requests / wall, "mb_per_s": c.bytes / 1e6 / wall, "peak_rss_mb": float64(peak) / 1e6,
		"cpu_per_request_us": cpu / c.requests * 1e6, "cpu_ms_per_mb": cpu * 1e3 / (c.bytes / 1e6)}
}

// bare runs the floor on the same file.
func bare(kind string, copies int) func(*bench) (figures, error) {
	return func(b *bench) (figures, error) {
		c, err := b.trace(kind, copies)
		if err != nil {
			return nil, err
		}
		f, err := b.floor("json", c.path)
		if err != nil {
			return nil, err
		}
		if f["bytes"] != c.bytes {
			return nil, fmt.Errorf("json read %.0f bytes of %.0f", f["bytes"], c.bytes)
		}
		return figures{"cpu_per_request_us": f["cpu_s"] / c.requests * 1e6, "cpu_ms_per_mb": f["cpu_s"] * 1e3 / (c.bytes / 1e6)}, nil
	}
}

// A trace of the size of the public ones, and the factor up to which memory is to be flat.
const (
	mooncakeOnce = 7  // 12,250 requests
	wekaOnce     = 40 // 2,120 requests in 8 MB
	often        = 50
)

// mooncake and weka are how fast a trace becomes a schedule.
var (
	mooncake = &scenario{name: "mooncake", title: "A Mooncake trace of 350,000 requests to a schedule, on one CPU",
		note:     "200 copies of the archived ten minutes, with times and ids of their own. The floor decodes the same zstd, looks at each byte once and encodes the same bytes again.",
		programs: []program{{bareJSON, bare("mooncake", 200)}, {hydrantTool, tracegen("mooncake", 200)}},
		rows: []row{
			{text: "requests per second", unit: "/s", program: hydrantTool, figure: "requests_per_s", scale: 1, limit: 400_000, atLeast: true},
			{text: "CPU per request", unit: "µs", program: hydrantTool, figure: "cpu_per_request_us", scale: 1, against: bareJSON, limit: 3},
		}}
	weka = &scenario{name: "weka", title: "A WEKA bundle of 41 MB to a schedule, on one CPU",
		note:     "200 copies of the archived agent session, with ids of their own.",
		programs: []program{{bareJSON, bare("weka", 200)}, {hydrantTool, tracegen("weka", 200)}},
		rows: []row{
			{text: "JSON per second", unit: "MB/s", program: hydrantTool, figure: "mb_per_s", scale: 1, limit: 30, atLeast: true},
			{text: "CPU per MB of JSON", unit: "ms", program: hydrantTool, figure: "cpu_ms_per_mb", scale: 1, against: bareJSON},
		}}
)

// hydrantTool is tracegen in the tables.
const hydrantTool = "tracegen"

// flat is the peak of memory for a trace, and for one of 50 times its size.
var flat = func() *scenario {
	s := &scenario{name: "flat", title: "Memory of a trace, and of one 50 times its size", rounds: 3,
		note: "Peak resident set. Mooncake: 12,250 and 612,500 requests, of which each copy has 34,849 block ids of its own; WEKA: 2,120 and 106,000 requests in 8 and 410 MB."}
	for _, t := range []struct {
		kind string
		once int
	}{{"mooncake", mooncakeOnce}, {"weka", wekaOnce}} {
		one, many := "tracegen "+t.kind+", once", "tracegen "+t.kind+", 50 times"
		s.programs = append(s.programs, program{one, tracegen(t.kind, t.once)}, program{many, tracegen(t.kind, often*t.once)})
		s.rows = append(s.rows, row{text: t.kind + ", 50 times the input", unit: "MB", program: many, figure: "peak_rss_mb", scale: 1, against: one, limit: 1.25})
	}
	return s
}()
