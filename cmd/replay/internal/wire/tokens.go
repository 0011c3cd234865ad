package wire

import (
	"hydrant/cmd/replay/internal/endpoint"
	"hydrant/formats"
	"hydrant/formats/run"
)

// tokens adds up what an answer's events say about tokens.
type tokens struct {
	usage    endpoint.Usage
	events   int64         // token events
	before   int64         // token events before the last usage with a completion count
	reported int64         // completion count at the last token event
	growth   []formats.Int // of the completion count, per token event
	gaps     bool          // a token event came without a count, or the count fell
}

// add takes in one event. Growth of the count without visible text (a server that holds
// tokens back) goes to the token event after it.
func (t *tokens) add(ev *endpoint.Event) {
	t.usage.Merge(ev.Usage)
	if ev.Token() {
		t.events++
	}
	out := ev.Usage.Output
	if out.Valid {
		t.before = t.events
	}
	if !ev.Token() || t.gaps {
		return
	}
	if !out.Valid || out.V < t.reported {
		t.gaps = true
		t.growth = nil
		return
	}
	t.growth = append(t.growth, formats.Some(out.V-t.reported))
	t.reported = out.V
}

// fill writes the token columns. whole says that the answer came as one document: its
// tokens are all of the first chunk.
func (t *tokens) fill(row *run.Request, chunks, whole bool) {
	row.TokenEvents = formats.Some(t.events)
	row.InputTokens = t.usage.Input
	row.CachedTokens = t.usage.Cached
	row.ReasoningTokens = t.usage.Reasoning
	out := t.usage.Output
	switch stale := t.before < t.events && out.V < t.events; {
	case !out.Valid || stale:
		// no count, or one from before most of the answer
		row.TokenSource = run.Events
		row.OutputTokens = formats.Some(t.events)
	case whole:
		row.TokenSource = run.Usage
		row.OutputTokens = out
		row.FirstChunkTokens = out
	case t.gaps || t.events == 0:
		row.TokenSource = run.Usage
		row.OutputTokens = out
	default:
		row.TokenSource = run.UsageChunks
		row.OutputTokens = out
		row.FirstChunkTokens = t.growth[0]
		if chunks {
			row.ChunkTokens = t.growth
		}
	}
}
