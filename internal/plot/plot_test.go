package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

// wellFormed reads a drawing to its end as XML.
func wellFormed(t *testing.T, b []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("not well-formed: %v\n%s", err, b)
		}
	}
}

func chart() *Chart {
	nan := math.NaN()
	return &Chart{Title: `a < b & "c"`, About: "a test", Width: 400, Height: 100, X: To(60), Y: Decades(0.003, 4),
		Lines: []Line{{Name: "one", Color: 1, X: []float64{0, 10, 20, 30, 40}, Y: []float64{0.01, 0.1, nan, 1, 2}}, {Name: "steps", Color: 2, Step: true, X: []float64{0, 20, 40}, Y: []float64{0.02, 0.5}}},
		Rules: []Rule{}, Rugs: []Rug{{Name: "failed", X: []float64{15}}}}
}

func TestDrawingIsXMLAndTheSameTwice(t *testing.T) {
	for _, draw := range []func(*Chart) []byte{(*Chart).File, (*Chart).Inline} {
		b := draw(chart())
		wellFormed(t, b)
		if !bytes.Equal(b, draw(chart())) {
			t.Error("the same chart gives other bytes")
		}
		if bytes.Contains(b, []byte("NaN")) || !bytes.Contains(b, []byte("a &lt; b &amp; ")) {
			t.Errorf("a NaN or an unescaped title in %s", b)
		}
	}
}

// A NaN cuts a line in two: the pen is lifted once more.
func TestNullsAreGaps(t *testing.T) {
	whole, cut := chart(), chart()
	whole.Lines, cut.Lines = whole.Lines[:1], cut.Lines[:1]
	whole.Lines[0].Y = []float64{0.01, 0.1, 0.3, 1, 2}
	moves := func(c *Chart) int {
		strokes := strings.Split(string(c.Inline()), `class="line c1" d="`)
		if len(strokes) != 3 {
			t.Fatalf("%d lines in %s; want one in the legend and one in the chart", len(strokes)-1, c.Inline())
		}
		path, _, _ := strings.Cut(strokes[2], `"`)
		return strings.Count(path, "M")
	}
	if a, b := moves(whole), moves(cut); a != 1 || b != 2 {
		t.Errorf("%d and %d strokes; want 1 and 2", a, b)
	}
}

func TestEmptyChartSaysWhy(t *testing.T) {
	c := &Chart{Title: "GPU", Width: 400, Height: 100, Empty: "no gpu <stream>"}
	b := c.File()
	wellFormed(t, b)
	if !bytes.Contains(b, []byte("no gpu &lt;stream&gt;")) {
		t.Errorf("%s does not say why it is empty", b)
	}
}

func TestAxesHoldTheirValues(t *testing.T) {
	for _, v := range []float64{0.0013, 0.9, 1, 7, 59.9, 60, 12345} {
		if a := To(v); a.Min != 0 || a.Max < v || a.Max > 3*v {
			t.Errorf("To(%g) ends at %g", v, a.Max)
		}
		if a := Decades(v/70, v); a.Min > v/70 || a.Max < v || a.Min < v/70/6 || a.Max > 6*v {
			t.Errorf("Decades(%g, %g) is %g to %g", v/70, v, a.Min, a.Max)
		}
	}
}

func TestCDF(t *testing.T) {
	sorted := []float64{1, 2, 2, 5}
	for _, c := range []struct{ at, want float64 }{{0.5, 0}, {1, 0.25}, {2, 0.75}, {4.9, 0.75}, {5, 1}} {
		if got := Reached(sorted, 4, c.at); got != c.want {
			t.Errorf("Reached(%g) = %g; want %g", c.at, got, c.want)
		}
	}
	if l := CDF(sorted, 8, To(6), 300); l.Y[len(l.Y)-1] != 0.5 {
		t.Errorf("a CDF of half the total ends at %g; want 0.5", l.Y[len(l.Y)-1])
	}
}

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Number(12345), "12,340"}, {Percent(0.125), "12.5 %"}, {ClockTime(75), "1:15"}, {ClockTime(3661), "1:01:01"}, {Duration(0.0005), "500 µs"}, {Duration(300), "5 min"},
		{Escape("a<b>\"'&\x00\u202e"), ""},
	} {
		if c.want == "" {
			if strings.ContainsAny(c.got, "<>\"'\x00\u202e") {
				t.Errorf("Escape left %q", c.got)
			}
		} else if c.got != c.want {
			t.Errorf("%q; want %q", c.got, c.want)
		}
	}
}
