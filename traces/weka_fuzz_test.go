package traces

import (
	"bytes"
	"io"
	"testing"
)

// What the reader accepts is a schedule that reads back; what it refuses is a typed
// error; neither panics.
func FuzzWeka(f *testing.F) {
	ids := `{"t":12.5,"type":"s","model":"m","in":130,"out":0,"hash_ids":[1,2,9007199254740993],"ttft":0.5,"think_time":1}`
	f.Add([]byte(wekaJSON("x", call("0", "1")+","+ids)), false)
	f.Add([]byte(wekaJSON("x", call("0", "7")+","+agent("a", "completed", "30", "22000", call("0", "1"), call("5", "2"))+","+call("40", "1"))), false)
	f.Add([]byte(wekaJSON("x", agent("a", "async_launched", "3", "", ids))+"\n"+wekaJSON("y", call("0", "")+","+call("0.5", "1e1"))), false)
	f.Add([]byte(`{"id":"\u00e9","block_size":64,"hash_id_scope":"global","totals":{"subagent_count":1},"requests":[`+ids+`,`+ids+`]}`), true)
	f.Fuzz(func(t *testing.T, text []byte, scoped bool) {
		o := Options{}
		if scoped {
			o.Scope = "s"
		}
		fuzzedSums(t, Weka, piped("f.json", bytes.NewReader(text)), o)
	})
}

// The pieces of a stream are those of a JSON decoder, however it is read.
func FuzzPieces(f *testing.F) {
	f.Add([]byte(`{"a":1,"b":[{"c":"\"]"},[]],"d":null} {"e":-1.5e3}`))
	f.Add([]byte("{\n\"a\" : [ ] }\n12"))
	f.Fuzz(func(t *testing.T, text []byte) {
		walk := func(r io.Reader) (out []byte, err error) {
			p := newPieces(r)
			for !p.done() {
				for ok := p.open('{', "object"); ok; ok = p.next('{', "object") {
					out = append(append(out, p.key()...), ' ')
					out = append(append(out, p.value("value")...), '\n')
				}
				if p.err != nil {
					break
				}
			}
			return out, p.err
		}
		a, errA := walk(bytes.NewReader(text))
		b, errB := walk(oneByte{bytes.NewReader(text)})
		if !bytes.Equal(a, b) || (errA == nil) != (errB == nil) {
			t.Fatalf("%q, %v whole; %q, %v byte by byte", a, errA, b, errB)
		}
	})
}
