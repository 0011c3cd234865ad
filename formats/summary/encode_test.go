package summary

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
)

// random returns n rows with nulls and repeated text.
func random(n int) *Columns {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	c := NewColumns(n)
	for _, name := range IntColumns {
		for i := range n {
			if r.IntN(4) > 0 {
				c.Ints[name][i] = formats.Some(int64(r.Uint64()) >> r.IntN(64))
			}
		}
	}
	for _, name := range StringColumns {
		for i := range n {
			c.Strings[name][i] = []string{"", "ok", "é", fmt.Sprint("s", i)}[r.IntN(4)]
		}
	}
	return c
}

func TestColumnsRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 1000, batchRows + 1} {
		want := random(n)
		e, err := EncodeColumns(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := DecodeColumns(e, "x")
		if err != nil {
			t.Fatalf("%d rows: %v", n, err)
		}
		if n == 0 {
			if got.N != 0 || len(got.Ints) != len(IntColumns) {
				t.Errorf("0 rows: %d rows, %d columns", got.N, len(got.Ints))
			}
			continue
		}
		if n < 10_000 {
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%d rows changed on the way:\n%s", n, d)
			}
		} else if !reflect.DeepEqual(want, got) {
			t.Errorf("%d rows changed on the way", n)
		}
		again, err := EncodeColumns(got)
		if err != nil || *again != *e {
			t.Errorf("%d rows: encoding again gives other bytes (%v)", n, err)
		}
	}
}

// Every cut of the decoded stream and of the base64 text is an error of a known type.
func TestColumnsCut(t *testing.T) {
	e, err := EncodeColumns(random(5))
	if err != nil {
		t.Fatal(err)
	}
	typed := func(what string, err error) {
		var cut *formats.TruncatedError
		var syntax *formats.SyntaxError
		if !errors.As(err, &cut) && !errors.As(err, &syntax) {
			t.Errorf("%s: %v; want a typed error", what, err)
		}
	}
	raw, _ := base64.StdEncoding.DecodeString(e.Stream)
	for i := range raw {
		_, err := DecodeColumns(&EncodedColumns{Rows: 5, Stream: base64.StdEncoding.EncodeToString(raw[:i])}, "x")
		typed(fmt.Sprintf("cut to %d of %d bytes", i, len(raw)), err)
	}
	for i := range e.Stream {
		_, err := DecodeColumns(&EncodedColumns{Rows: 5, Stream: e.Stream[:i]}, "x")
		typed(fmt.Sprintf("cut to %d characters", i), err)
	}
	_, err = DecodeColumns(&EncodedColumns{Rows: 5, Stream: base64.StdEncoding.EncodeToString(append(raw, 0))}, "x")
	typed("a byte after the end", err)
	_, err = DecodeColumns(&EncodedColumns{Rows: 4, Stream: e.Stream}, "x")
	typed("fewer rows stated", err)
	_, err = DecodeColumns(&EncodedColumns{Rows: 6, Stream: e.Stream}, "x")
	typed("more rows stated", err)
}
