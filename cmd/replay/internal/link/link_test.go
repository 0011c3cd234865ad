package link

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/schedule"
)

func jobs() []*Job {
	return []*Job{
		{Request: schedule.Request{ID: 1, Session: "s", Stream: "0", Context: schedule.Whole, AtNS: formats.Some(0)}},
		{
			Request: schedule.Request{ID: 1 << 60, AtNS: formats.Some(5), After: []int64{3, 9, 4}, DelayNS: formats.Some(7), Session: "séance",
				Stream: "a", Turn: 3, Last: true, Context: schedule.Delta, InputTokens: formats.Some(10), OutputTokens: formats.Some(0),
				Blocks: &schedule.Blocks{Scope: "trace", Add: [][2]int64{{1 << 40, 3}, {-4, 1}}, System: 2},
				Model:  "m", Class: "c", Priority: formats.Some(-1), Body: []byte(`{"prompt":"x"}`), Extra: []byte(`{}`)},
			Block: &schedule.Block{Tokens: 512, Last: "partial"}, Expected: formats.Some(512),
		},
	}
}

func TestJobsComeBack(t *testing.T) {
	for _, j := range jobs() {
		b := AppendJob(nil, j)
		got, err := DecodeJob(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(j, got); d != "" {
			t.Error(d)
		}
		for i := range b {
			if _, err := DecodeJob(b[:i]); err == nil {
				t.Errorf("DecodeJob of the first %d bytes gave no error", i)
			}
		}
		if _, err := DecodeJob(append(b, 0)); err == nil {
			t.Error("DecodeJob with a byte behind gave no error")
		}
	}
}

func TestRowsAndStampsComeBack(t *testing.T) {
	r := &run.Request{RequestID: 7, Outcome: run.Truncated, DueNS: formats.Some(100), DispatchedNS: formats.Some(130),
		ConnAskedNS: formats.Some(150), BytesSent: formats.Some(9), BytesReceived: formats.Some(8), TokenEvents: formats.Some(3)}
	never := &run.Request{RequestID: -7, Outcome: run.NotSent}
	rows := []Row{RowOf(r), RowOf(never)}
	if want := (Row{ID: 7, Outcome: 4, Dispatched: true, SendLagNS: formats.Some(50), BytesSent: 9, BytesReceived: 8, TokenEvents: 3}); rows[0] != want {
		t.Errorf("RowOf = %+v; want %+v", rows[0], want)
	}
	b := append(AppendRows(nil, rows), "message"...)
	got, err := DecodeRows(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Rows{Rows: rows, Message: []byte("message")}, got); d != "" {
		t.Error(d)
	}
	if _, err := DecodeRows(b[:10]); err == nil {
		t.Error("DecodeRows of a cut envelope gave no error")
	}
	stamps := []Stamp{{ID: 1, DueNS: 5, DispatchedNS: 9}, {ID: 2, DueNS: 1 << 50, DispatchedNS: 1<<50 + 3}}
	back, err := DecodeStamps(AppendStamps(nil, stamps))
	if d := cmp.Diff(stamps, back); err != nil || d != "" {
		t.Error(err, d)
	}
}

func TestFramesAreWhole(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	if err := errors.Join(w.WriteJSON(KindHello, Hello{PID: 4}), w.Write(KindPrime), w.Write(KindJob, []byte("ab"), []byte("c"))); err != nil {
		t.Fatal(err)
	}
	whole := buf.Bytes()
	r := NewReader(bytes.NewReader(whole))
	for _, want := range []struct {
		kind    Kind
		payload string
	}{{KindHello, `{"PID":4,"Build":"","BootID":""}`}, {KindPrime, ""}, {KindJob, "abc"}} {
		kind, payload, err := r.Next()
		if kind != want.kind || string(payload) != want.payload || err != nil {
			t.Fatalf("Next() = %d, %q, %v; want %d, %q", kind, payload, err, want.kind, want.payload)
		}
	}
	if _, _, err := r.Next(); err != io.EOF {
		t.Errorf("at the end Next() = %v; want EOF", err)
	}
	for i := range whole {
		bad := bytes.Clone(whole)
		bad[i] ^= 0x40
		r := NewReader(bytes.NewReader(bad))
		var err error
		for err == nil {
			_, _, err = r.Next()
		}
		if err == io.EOF {
			t.Errorf("a flipped bit at %d went unnoticed", i)
		}
	}
	for i := 1; i < len(whole); i++ {
		r := NewReader(bytes.NewReader(whole[:i]))
		n := 0
		for {
			if _, _, err := r.Next(); err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n > 2 {
			t.Errorf("cut at %d: read %d frames", i, n)
		}
	}
}
