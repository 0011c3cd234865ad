package worker

import (
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"hydrant/cmd/replay/internal/link"
	"hydrant/formats"
	"hydrant/formats/schedule"
)

// What an open stream costs here: the flight fills a class of the allocator.
func TestSizeOfAFlight(t *testing.T) {
	if n := unsafe.Sizeof(flight{}); n > 144 {
		t.Errorf("%d bytes; want at most 144", n)
	}
}

// A job that is folded comes back as it was, and takes a fraction of its memory meanwhile.
func TestFold(t *testing.T) {
	job := func() *link.Job {
		return &link.Job{Request: schedule.Request{ID: 12345, AtNS: formats.Some(123_456_789_012), After: []int64{12_000, 12_300}, DelayNS: formats.Some(5), Session: "session-77",
			Stream: "1", Turn: 3, Last: true, Context: schedule.Delta, InputTokens: formats.Some(8000), OutputTokens: formats.Some(500), Model: "m", Class: "chat",
			Priority: formats.Some(-1)}, Expected: formats.Some(4096), Pass: 2}
	}
	f := newFlight(job())
	f.fold()
	if f.job != nil || len(f.line) > 100 {
		t.Errorf("folded into %d bytes, job %v; want at most 100 and none", len(f.line), f.job)
	}
	f.unfold()
	if d := cmp.Diff(job(), f.job); d != "" {
		t.Error(d)
	}
}
