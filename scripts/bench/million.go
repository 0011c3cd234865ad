//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"hydrant/formats/run"
)

// million is a closed loop that goes on for a million requests: every one has its row, and
// memory is that of a fifth of them.
var million = func() *scenario {
	const n, few, tokens = 1_000_000, 200_000, 2
	name := fmt.Sprintf("Hydrant, %d requests", few)
	loop := func(n int) func(*bench) (figures, error) {
		return func(b *bench) (figures, error) {
			plan, err := b.plan(group{n: n, input: 20, output: tokens})
			if err != nil {
				return nil, err
			}
			out, parent, err := b.send("", "--null", "--closed", 64, "--workers", 2, "--engine", "epoll", plan)
			if err != nil {
				return nil, err
			}
			f, err := tally(out, n, tokens)
			if err != nil {
				return nil, err
			}
			f["parent_rss_bytes"] = float64(parent)
			return f, nil
		}
	}
	return &scenario{name: "million", title: "1,000,000 requests in a closed loop of 64 against --null", soak: true,
		note:     "Two workers; the resident set is the largest of any second.",
		programs: []program{{epoll, loop(n)}, {name, loop(few)}},
		rows: []row{
			{text: "requests with one row", program: epoll, figure: "rows", scale: 1, limit: n, atLeast: true},
			{text: "of these ok, with as many token events as planned", program: epoll, figure: "whole", scale: 1, limit: n, atLeast: true},
			{text: "requests per second", unit: "/s", program: epoll, figure: "requests_per_s", scale: 1},
			{text: "resident set of the parent", unit: "MB", program: epoll, figure: "parent_rss_bytes", scale: 1e6, against: name, limit: 1.25},
			{text: "resident set of a worker", unit: "MB", program: epoll, figure: "worker_rss_bytes", scale: 1e6, against: name, limit: 1.25},
		},
	}
}()

// tally reads a run of n requests without keeping it: how many have exactly one row, how many
// of these went as planned, and what the workers took.
func tally(name string, n int, tokens int64) (figures, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	file, err := run.NewReader(f, name)
	if err != nil {
		return nil, err
	}
	part, err := file.NextPart()
	if err != nil {
		return nil, err
	}
	seen := make([]uint8, n)
	var rows, whole, rss, last float64
	for {
		row, err := part.NextRequest()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if row.RequestID < 0 || row.RequestID >= int64(n) || seen[row.RequestID] > 0 {
			return nil, fmt.Errorf("request %d: got a row too many, want one of 0 to %d each", row.RequestID, n-1)
		}
		seen[row.RequestID]++
		rows++
		if row.Outcome == run.OK && row.TokenEvents.V == tokens && row.PlannedOutputTokens.V == tokens {
			whole++
		}
		last = max(last, float64(row.EndNS.V))
	}
	for {
		c, err := part.NextClient()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		rss = max(rss, float64(c.RSSBytes.V))
	}
	end, err := part.End()
	if err != nil {
		return nil, err
	}
	if end.Status != run.Complete || end.Planned != int64(n) {
		return nil, fmt.Errorf("the end says %s, %d planned; want complete, %d", end.Status, end.Planned, n)
	}
	return figures{"rows": rows, "whole": whole, "worker_rss_bytes": rss, "requests_per_s": rows * 1e9 / last}, nil
}
