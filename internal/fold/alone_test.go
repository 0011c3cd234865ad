package fold

import (
	"bytes"
	"strings"
	"testing"

	"hydrant/formats/run"
	"hydrant/formats/summary"
)

// A summary has no checksum. What follows from its counts is computed again, so that a
// number changed by hand is found before anybody decides by it.
func TestEditedSummary(t *testing.T) {
	b := encode(t, testHeader(), randomRows(61, 400), nil, run.End{}, 100)
	for _, c := range []struct {
		id   string
		edit func(s *summary.Summary, v *summary.Scalar)
	}{
		{"failure_share", func(_ *summary.Summary, v *summary.Scalar) { *v.Value = 0 }},
		{"share_ok", func(_ *summary.Summary, v *summary.Scalar) { *v.Value = 1 }},
		{"share_timeout_idle", func(_ *summary.Summary, v *summary.Scalar) { v.Value, v.Reason = nil, "not known" }},
		{"sent_share", func(_ *summary.Summary, v *summary.Scalar) { *v.Value = 1 }},
		{"conservation", func(_ *summary.Summary, v *summary.Scalar) { *v.Value = -3 }},
		{"window_s", func(_ *summary.Summary, v *summary.Scalar) { *v.Value = 900 }},
		{"window_s", func(s *summary.Summary, _ *summary.Scalar) { s.Window.ToNS += 900 * second }},
	} {
		s := reduce(t, Options{}, b)
		c.edit(s, scalarOf(t, s, c.id))
		if err := fails(t, Options{}, written(t, s)); !strings.HasPrefix(err.Error(), "a: scalar "+c.id+": got ") {
			t.Errorf("%s changed: %v; want an error about it", c.id, err)
		}
	}
	// Untouched, with rows or without, with columns or without, it passes.
	for _, b := range [][]byte{b, encode(t, testHeader(), nil, nil, run.End{}, 100)} {
		for _, o := range []Options{{}, {NoColumns: true}} {
			text := written(t, reduce(t, o, b))
			if again := written(t, reduce(t, Options{}, text)); !bytes.Equal(again, text) {
				t.Errorf("a summary changed on its way")
			}
		}
		// Its columns can be left out later, and what is written then can be read.
		bare := written(t, reduce(t, Options{NoColumns: true}, written(t, reduce(t, Options{}, b))))
		if again := written(t, reduce(t, Options{}, bare)); !bytes.Equal(again, bare) {
			t.Errorf("a summary without its columns changed on its way")
		}
	}
}
