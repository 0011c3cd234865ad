package schedule

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"hydrant/formats"

	"github.com/google/go-cmp/cmp"
)

// What the reader accepts, written again and read again, is equal; what it refuses is
// one of the three errors; neither panics.
func FuzzReader(f *testing.F) {
	golden, err := os.ReadFile(goldenLines)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(golden)
	f.Add(append(write(f, Header{}), golden...))
	f.Add([]byte(header + "\n" + line0 + "\n"))
	f.Add([]byte(`{"schedule":{"format":"hydrant-schedule","version":2}}` + "\n"))
	f.Add([]byte(header + "\n" + `{"id":3,"at_ns":7,"session":"\ud83d\ude00","stream":"0","turn":1,"context":"delta","body":{ "a" : [ 1e5 , null ] },"extra":{}}` + "\n"))
	f.Fuzz(func(t *testing.T, lines []byte) {
		got, r, err := read(lines)
		if err != nil {
			var syntax *formats.SyntaxError
			var version *formats.VersionError
			var cut *formats.TruncatedError
			if !errors.As(err, &syntax) && !errors.As(err, &version) && !errors.As(err, &cut) {
				t.Fatalf("error = %v of type %T; want one of the three", err, err)
			}
		}
		if r == nil || r.Part() != 1 {
			return // refused at once, or several whose block sizes may differ
		}
		again := write(t, r.Header(), got...)
		back, _, err := read(again)
		if err != nil {
			t.Fatalf("written again: %v\n%s", err, again)
		}
		if d := cmp.Diff(got, back); d != "" {
			t.Fatalf("read again (-first +second)\n%s", d)
		}
		if third := write(t, r.Header(), back...); !bytes.Equal(again, third) {
			t.Fatalf("bytes differ:\n%s\n%s", again, third)
		}
	})
}
