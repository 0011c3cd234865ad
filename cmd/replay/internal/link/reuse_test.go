package link

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A reader that uses its buffer again allocates nothing per frame, and jobs read from it
// stay what they were.
func TestReaderUsesItsBufferAgain(t *testing.T) {
	var stream bytes.Buffer
	w := NewWriter(&stream)
	const rounds = 100
	for range rounds {
		for _, j := range jobs() {
			if err := w.Write(KindJob, AppendJob(nil, j)); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := NewReader(&stream)
	r.Reuse = true
	var got []*Job
	for range jobs() {
		_, payload, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		j, err := DecodeJob(payload)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, j)
	}
	if n := testing.AllocsPerRun(rounds, func() {
		if _, _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations per frame; want none", n)
	}
	if d := cmp.Diff(jobs(), got); d != "" {
		t.Error(d)
	}
}
