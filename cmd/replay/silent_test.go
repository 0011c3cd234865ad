package main

import (
	"testing"
	"time"

	format "hydrant/formats/run"
	"hydrant/formats/schedule"
)

// Streams that say nothing for a while live on. make soak does it with 10,000 for a minute.
func TestSilentStreamsSurvive(t *testing.T) {
	const streams, silence = 500, 2 * time.Second
	requests := make([]schedule.Request, streams)
	for i := range requests {
		requests[i] = request(i, time.Duration(i)*time.Millisecond)
	}
	p := replay(t, 0, "--sim", "default,stall_mid=2s:1", "--workers", "1", planFile(t, requests))
	for id, row := range read(t, p.out.Bytes()).rows {
		if row.Outcome != format.OK || row.TokenEvents.V != 3 || row.LastTokenNS.V-row.FirstTokenNS.V < int64(silence)/2 {
			t.Fatalf("request %d is %s with %v token events in %v; want all 3, around %s of silence", id, row.Outcome, row.TokenEvents,
				time.Duration(row.LastTokenNS.V-row.FirstTokenNS.V), silence)
		}
	}
}
