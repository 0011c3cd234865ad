package traces

import (
	"bytes"
	"testing"

	"hydrant/formats/schedule"
)

// What the reader accepts is a schedule that reads back; what it refuses is a typed
// error; neither panics.
func FuzzMooncake(f *testing.F) {
	f.Add([]byte(`{"timestamp": 0, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1, 2, 3, 4, 5]}`+"\n"), false)
	f.Add([]byte(`{"session_id":"a","input_length":578,"output_length":393,"hash_ids":[7,8],"timestamp":0.0,"group_id":20}`+"\n"+`{"session_id":"a","input_length":5,"hash_ids":[9],"delay":6573.6}`), false)
	f.Add([]byte(`{"timestamp":3,"messages":[{"role":"user"}],"message_mode":"delta","extra":{}}`+"\n"+`{"timestamp":1e-3,"payload":{"max_tokens":5}}`), true)
	f.Add([]byte(`{"session_id":"r2","timestamp":0,"text_input":"\u00e9","context_mode":"deltas_with_responses"}`+"\n"+`{"timestamp":0,"input_length":1}`), false)
	f.Fuzz(func(t *testing.T, text []byte, delta bool) {
		o := Options{}
		if delta {
			o.Context = schedule.Delta
		}
		fuzzed(t, Mooncake, piped("f.jsonl", bytes.NewReader(text)), o)
	})
}
