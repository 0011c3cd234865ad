package calibrate

import (
	"math"
	"time"

	"hydrant/cmd/replay/internal/link"
	"hydrant/formats/run"
	"hydrant/internal/sim"
)

// unknownGap stands for the pace of a server that is not known beforehand: 50 token events
// per second and answer.
const unknownGap = 20 * time.Millisecond

// ProfileOf returns the payload profile of a run against target, nil for a real server.
func ProfileOf(s *Sample, setup link.Setup, injected map[string]string, target *sim.Spec) run.Profile {
	p := run.Profile{Endpoint: setup.Endpoint, Streaming: setup.Stream, Prompt: setup.Prompt, ChunkLists: "off", WorkerProcs: setup.GOMAXPROCS, Nice: setup.Nice, SpinNS: setup.SpinNS,
		Caps: setup.Concurrency > 0 || setup.Sessions > 0, Injected: injected, Lines: int64(s.Lines()), InputTokens: s.input, LiteralBytes: s.text, OutputTokens: s.output,
		TokensPerEvent: 1, EventGapNS: int64(unknownGap), Stagger: true}
	if setup.Chunks {
		p.ChunkLists = "full"
	}
	if target != nil {
		p.TokensPerEvent = target.TokensPerEvent
		p.Stagger = target.Stagger || target.Null()
		p.EventGapNS = int64(s.pace(target, float64(setup.Concurrency)))
	}
	if !setup.Stream {
		p.EventGapNS = 0 // one event, however long the answer took
	}
	return p
}

// pace returns how far apart the simulated server sends the token events of an answer, with
// as many answers in its slots as the load has; 0 for at once.
func (s *Sample) pace(spec *sim.Spec, inFlight float64) time.Duration {
	events := s.output / float64(spec.TokensPerEvent)
	switch {
	case spec.Null() || events == 0:
		return 0
	case !spec.Service.IsZero():
		return time.Duration(spec.Service.Mean() / events * float64(time.Second)).Round(time.Microsecond)
	}
	busy := inFlight
	if busy == 0 {
		busy = s.rate * events * spec.Step.Seconds()
	}
	return (spec.Step + time.Duration(min(busy, float64(spec.Slots))*float64(spec.StepPerSeq))).Round(time.Microsecond)
}

// per returns the tokens per event: an answer that does not stream is one.
func per(p *run.Profile) int {
	if !p.Streaming {
		return math.MaxInt32
	}
	return p.TokensPerEvent
}

// meanEvents returns the token events of a mean answer.
func (s *Sample) meanEvents(p *step) float64 {
	n := 0.0
	for i := range s.lines {
		n += p.events(s.lines[i].OutputTokens.V)
	}
	return n / float64(len(s.lines))
}
