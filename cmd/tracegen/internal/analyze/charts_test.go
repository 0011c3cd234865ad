package analyze

import (
	"bytes"
	"encoding/xml"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"hydrant/formats/schedule"
)

// The drawings are well formed, the same each time, and load nothing.
func TestDrawings(t *testing.T) {
	b := schedule.Block{Tokens: 16, Last: schedule.Partial}
	for name, reqs := range map[string][]*schedule.Request{
		"some": drawn(rand.New(rand.NewPCG(1, 6)), b, 200, true),
		"one":  drawn(rand.New(rand.NewPCG(1, 6)), b, 1, true),
		"none": nil,
	} {
		for _, block := range []*schedule.Block{&b, nil} {
			var first []byte
			for range 2 {
				if block == nil {
					reqs = timedOnly(reqs)
				}
				report, err := Analyze(stream(reqs), block, Options{Curve: true})
				if err != nil {
					t.Fatal(err)
				}
				report.Input.Name = `a<b>&"c`
				var svg, html bytes.Buffer
				if err := report.SVG(&svg); err != nil {
					t.Fatal(err)
				}
				if err := report.HTML(&html); err != nil {
					t.Fatal(err)
				}
				wellFormed(t, name, svg.Bytes())
				page := html.String()
				if strings.Contains(page, "a<b>") || regexp.MustCompile(`(?i)<script|src=|href=|@import|url\(`).MatchString(page) || strings.Contains(page, "NaN") {
					t.Errorf("%s: the page holds a name unescaped, a NaN, or loads something", name)
				}
				if n := strings.Count(page, `<svg class="plot"`); n != 5 && block != nil || n != 3 && block == nil {
					t.Errorf("%s: %d charts on the page", name, n)
				}
				both := append(svg.Bytes(), page...)
				if first != nil && !bytes.Equal(first, both) {
					t.Errorf("%s: other bytes the second time", name)
				}
				first = both
			}
		}
	}
}

func timedOnly(reqs []*schedule.Request) (out []*schedule.Request) {
	for _, r := range reqs {
		c := *r
		c.Blocks = nil
		out = append(out, &c)
	}
	return out
}

func wellFormed(t *testing.T, name string, b []byte) {
	t.Helper()
	for d := xml.NewDecoder(bytes.NewReader(b)); ; {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
}

// The curves that are drawn agree with the figures that are asked for.
func TestCurves(t *testing.T) {
	b := schedule.Block{Tokens: 16, Last: schedule.Partial}
	reqs := drawn(rand.New(rand.NewPCG(1, 7)), b, 100, true)
	report, err := Analyze(stream(reqs), &b, Options{Curve: true, CacheTokens: []int64{5000}, ServerBlocks: []int64{64}})
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, c := range report.cacheCurve {
		if c.CacheTokens == 5000 && c.Tokens == report.Reuse.Caches[0].Tokens && c.Tokens > 0 {
			found++
		}
	}
	for _, c := range report.blockCurve {
		if c.BlockTokens == 64 && c.Tokens == report.Reuse.ServerBlocks[0].Tokens && c.Tokens > 0 {
			found++
		}
	}
	if found != 2 {
		t.Errorf("curves %+v and %+v do not have the figures of %+v", report.cacheCurve, report.blockCurve, report.Reuse)
	}
}
