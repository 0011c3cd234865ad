//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

const (
	bareArrow  = "Arrow alone"
	reduceTool = "reduce"
)

// runOf makes a run of so many rows, with chunk lists of so many token events or without; its
// file is made once.
func (b *bench) runOf(rows, events int) (path string, err error) {
	path = filepath.Join(b.tmp, fmt.Sprintf("%d_%d.arrows", rows, events))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := b.command(ctx, "", filepath.Join(b.tmp, "makerun"), rows, events)
	cmd.Stdout, cmd.Stderr = f, os.Stderr
	return path, cmd.Run()
}

// reduced is what it costs to reduce such a run, on some CPUs; none given: on all.
func reduced(rows, events int, cpus func(*bench) string) func(*bench) (figures, error) {
	return func(b *bench) (figures, error) {
		path, err := b.runOf(rows, events)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		cmd := b.command(ctx, cpus(b), filepath.Join(b.bin, "reduce"), "--columns", "off", path, "-o", filepath.Join(b.tmp, "out.summary.json"))
		cmd.Env = append(os.Environ(), "TMPDIR="+b.tmp)
		began := time.Now()
		peak, err := watched(cmd)
		if err != nil {
			return nil, err
		}
		rss := float64(peak)
		return figures{"wall_s": time.Since(began).Seconds(), "rss_bytes": rss, "bytes_per_row": (rss - 64e6) / float64(rows),
			"rows_per_cpu_s": float64(rows) / (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}, nil
	}
}

// bareRead reads the same file with Arrow alone.
func bareRead(rows, events int) func(*bench) (figures, error) {
	return func(b *bench) (figures, error) {
		path, err := b.runOf(rows, events)
		if err != nil {
			return nil, err
		}
		f, err := b.floor("arrow", path)
		if err != nil {
			return nil, err
		}
		if f["rows"] != float64(rows) {
			return nil, fmt.Errorf("arrow read %.0f rows of %d", f["rows"], rows)
		}
		return figures{"wall_s": f["wall_s"], "rows_per_cpu_s": f["rows"] / f["cpu_s"]}, nil
	}
}

// one and all are the CPUs that reduce may use.
func one(b *bench) string { return b.client }
func all(*bench) string   { return "" }

// Runs of a size, reduced.
var (
	rows = &scenario{name: "rows", title: "1,000,000 requests without chunk lists, reduced on one CPU",
		note:     "Some 300 tokens each, one in fifty failed, in the order of their ends; Arrow alone decodes the first table and does nothing with it.",
		programs: []program{{bareArrow, bareRead(1_000_000, 0)}, {reduceTool, reduced(1_000_000, 0, one)}},
		rows: []row{
			{text: "rows per second of CPU", unit: "/s", program: reduceTool, figure: "rows_per_cpu_s", scale: 1, against: bareArrow},
			{text: "rows per second of CPU", unit: "/s", program: reduceTool, figure: "rows_per_cpu_s", scale: 1, limit: 1_500_000, atLeast: true},
			{text: "memory per request beside 64 MB", unit: "B", program: reduceTool, figure: "bytes_per_row", scale: 1, limit: 320},
		}}
	chunked = &scenario{name: "chunks", title: "100,000 requests of 500 chunks, reduced on one CPU",
		note:     "A gap and a kernel delay for each chunk.",
		programs: []program{{bareArrow, bareRead(100_000, 500)}, {reduceTool, reduced(100_000, 500, one)}},
		rows: []row{
			{text: "rows per second of CPU", unit: "/s", program: reduceTool, figure: "rows_per_cpu_s", scale: 1, against: bareArrow},
			{text: "rows per second of CPU", unit: "/s", program: reduceTool, figure: "rows_per_cpu_s", scale: 1, limit: 400_000, atLeast: true},
			{text: "resident set", unit: "MB", program: reduceTool, figure: "rss_bytes", scale: 1e6, limit: 96},
		}}
	tenMillion = &scenario{name: "tenmillion", title: "10,000,000 requests without chunk lists, reduced on two CPUs", rounds: 1,
		programs: []program{{bareArrow, bareRead(10_000_000, 0)}, {reduceTool, reduced(10_000_000, 0, all)}},
		rows: []row{
			{text: "time", unit: "s", program: reduceTool, figure: "wall_s", scale: 1, against: bareArrow},
			{text: "time", unit: "s", program: reduceTool, figure: "wall_s", scale: 1, limit: 30},
			{text: "rows per second of CPU", unit: "/s", program: reduceTool, figure: "rows_per_cpu_s", scale: 1, against: bareArrow},
			{text: "memory per request beside 64 MB", unit: "B", program: reduceTool, figure: "bytes_per_row", scale: 1, limit: 320},
		}}
)
