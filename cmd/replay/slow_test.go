//go:build linux

package main

import (
	"strings"
	"testing"
	"time"

	"hydrant/formats"
	format "hydrant/formats/run"
	"hydrant/formats/schedule"
)

// A worker that is slow on purpose reads at most one event per stall, says so wherever it can,
// and is slow in user times alone.
func TestSlowOnPurpose(t *testing.T) {
	const answers, tokens, stall = 16, 50, 2 * time.Millisecond
	requests := make([]schedule.Request, answers)
	for i := range requests {
		requests[i] = request(i, 0)
		requests[i].OutputTokens = formats.Some(int64(tokens))
	}
	plan := planFile(t, requests)
	for _, engine := range []string{"http", "epoll"} {
		t.Run(engine, func(t *testing.T) {
			p := replay(t, 0, "--null", "--engine", engine, "--workers", "1", "--client-stall", stall.String(), "--progress", plan)
			run := read(t, p.out.Bytes())
			if got := run.header.Injected; len(got) != 1 || got["client_stall"] != "2ms" {
				t.Errorf("injected = %v; want client_stall 2ms", got)
			}
			for _, want := range []string{"warning: --client-stall 2ms per token event", "SLOWED by --client-stall 2ms 00:0"} {
				if !strings.Contains(p.said(), want) {
					t.Errorf("standard error has no %q:\n%s", want, p.said())
				}
			}
			var events, first, last int64 = 0, 1 << 62, 0
			for id, row := range run.rows {
				if row.Outcome != format.OK {
					t.Fatalf("request %d is %s (%s)", id, row.Outcome, row.Error)
				}
				events += row.TokenEvents.V
				first, last = min(first, row.DispatchedNS.V), max(last, row.LastTokenNS.V)
			}
			if took := time.Duration(last - first); events != answers*tokens || took < answers*tokens*stall {
				t.Errorf("%d events in %v; want %d, %v for each", events, took, answers*tokens, stall)
			}
			s := scalarsOf(t, p.out.Bytes())
			if s["kappa"] < 1.5 {
				t.Errorf("%.2f segments per read; want reads of several", s["kappa"])
			}
		})
	}
}
