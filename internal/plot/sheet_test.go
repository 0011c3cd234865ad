package plot

import (
	"bytes"
	"strings"
	"testing"
)

// A sheet holds what its charts hold, each at a place of its own, and the style once.
func TestSheet(t *testing.T) {
	empty := &Chart{Title: "nothing", Width: 300, Height: 80, Empty: "no value"}
	s := &Sheet{Title: "a & b", Rows: [][]*Chart{{chart()}, {empty, chart()}}}
	b := s.File()
	wellFormed(t, b)
	if !bytes.Equal(b, s.File()) {
		t.Error("the same sheet gives other bytes")
	}
	text := string(b)
	if !strings.HasPrefix(text, `<svg class="plot" xmlns="http://www.w3.org/2000/svg" width="756" height="293" `) {
		t.Errorf("the sheet begins with %.120s; want 756 by 293", text)
	}
	inner := chart().Inline()
	inner = inner[bytes.IndexByte(inner, '>')+1 : len(inner)-len("</svg>")]
	if n := bytes.Count(b, inner); n != 2 || strings.Count(text, "<style>") != 1 || !strings.Contains(text, "no value") {
		t.Errorf("%d of two charts, %d styles", n, strings.Count(text, "<style>"))
	}
	for _, at := range []string{"16 53", "16 177", "340 177"} {
		if !strings.Contains(text, `<g transform="translate(`+at+`)"`) {
			t.Errorf("no chart at %s", at)
		}
	}
}
