package wire

import (
	"encoding/binary"

	"hydrant/cmd/replay/internal/endpoint"
	"hydrant/formats"
	"hydrant/formats/run"
)

// tokens adds up what an answer's events say about tokens.
type tokens struct {
	usage    *endpoint.Usage // nil: none was reported
	reported int64           // completion count at the last token event
	growth   []byte          // of the completion count, per token event, as varints
	events   int32           // token events
	before   int32           // token events before the last usage with a completion count
	gaps     bool            // a token event came without a count, or the count fell
}

// reportedUsage is the last word of the server.
func (t *tokens) reportedUsage() endpoint.Usage {
	if t.usage == nil {
		return endpoint.Usage{}
	}
	return *t.usage
}

// add takes in one event. Growth of the count without visible text (a server that holds
// tokens back) goes to the token event after it.
func (t *tokens) add(ev *endpoint.Event) {
	if ev.Usage != (endpoint.Usage{}) {
		if t.usage == nil {
			t.usage = new(endpoint.Usage)
		}
		t.usage.Merge(ev.Usage)
	}
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
		t.growth = t.growth[:0]
		return
	}
	t.growth = binary.AppendUvarint(t.growth, uint64(out.V-t.reported))
	t.reported = out.V
}

// fill writes the token columns. whole says that the answer came as one document: its
// tokens are all of the first chunk.
func (t *tokens) fill(row *run.Request, chunks, whole bool) {
	usage, events := t.reportedUsage(), int64(t.events)
	row.TokenEvents = formats.Some(events)
	row.InputTokens = usage.Input
	row.CachedTokens = usage.Cached
	row.ReasoningTokens = usage.Reasoning
	out := usage.Output
	switch stale := t.before < t.events && out.V < events; {
	case !out.Valid || stale:
		// no count, or one from before most of the answer
		row.TokenSource = run.Events
		row.OutputTokens = formats.Some(events)
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
		list := t.chunks()
		row.FirstChunkTokens = list[0]
		if chunks {
			row.ChunkTokens = list
		}
	}
}

// chunks returns the growth as a list.
func (t *tokens) chunks() []formats.Int {
	list := make([]formats.Int, 0, t.events)
	for b := t.growth; len(b) > 0; {
		v, n := binary.Uvarint(b)
		b = b[n:]
		list = append(list, formats.Some(int64(v)))
	}
	return list
}
