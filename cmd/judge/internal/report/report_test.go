package report

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"hydrant/formats/verdict"
)

// sample is the golden verdict, which has something of everything.
func sample(t *testing.T) *verdict.Verdict {
	t.Helper()
	f, err := os.Open("../../../../formats/verdict/testdata/v1.verdict.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := verdict.Read(f, "golden")
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func page80(t *testing.T, v *verdict.Verdict, colour bool) string {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, v, Options{Colour: colour}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReportSaysWhatTheVerdictHolds(t *testing.T) {
	s := page80(t, sample(t), false)
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	if lines[0] != "VALID (unproven: C1 C2) · FAIL" {
		t.Errorf("first line %q; want the headline", lines[0])
	}
	if got, want := lines[len(lines)-1], "HARNESS=VALID TIER=T0 SLO=FAIL CLAIM=slo"; got != want {
		t.Errorf("last line %q; want %q", got, want)
	}
	joined := strings.Join(strings.Fields(s), " ")
	for _, want := range []string{
		"ttft p90 ≤ 360ms missed: 389 ms",
		"188 of 1,000 over", "n_eff 235.2", "389 ms (376 ms–700 ms)", "sent side FAIL 388 ms", "2 left out", "1 without a value",
		"9 µs of CPU per token event",
		"B2 WARN the requests were sent on time: send lag p99 2.5 ms (≤ 10 ms)",
		"B4 OK bursts were kept – n/a: too few arrivals to have a shape",
		"C1: not judged in this version",
		"out_tps ≥ 1000 INCONCLUSIVE · 1,010/s ± 8 · 30 batches too close to tell",
		"H200: power_mean_w 412.5 · 60 samples · 1 values not reported",
		"Limits changed B2.max 2,000 ms · B3.rate 0.99 (was 0.995)",
		"site=lab", "seed 7", "Not measured wire times",
	} {
		if !strings.Contains(joined, want) {
			t.Errorf("the report lacks %q:\n%s", want, s)
		}
	}
}

func TestReportIs80ColumnsWide(t *testing.T) {
	v := sample(t)
	v.Unproven = strings.Fields("A2 A3 A4 B1 B2 B3 B4 B6 C1 C2 C3 C4 C5 C6 C7 C8 D1 D2 D3 D5 D6")
	for _, line := range strings.Split(page80(t, v, false), "\n") {
		if size(line) > width || strings.HasSuffix(line, " ") || strings.ContainsAny(line, "\x00\x1b\t") {
			t.Errorf("line of %d columns: %q", size(line), line)
		}
	}
}

func TestColourIsOnlyAdded(t *testing.T) {
	plainText, coloured := page80(t, sample(t), false), page80(t, sample(t), true)
	if !strings.Contains(coloured, green+"VALID"+plain) || !strings.Contains(coloured, red+"FAIL"+plain) {
		t.Errorf("first line %q; want colours", strings.SplitN(coloured, "\n", 2)[0])
	}
	if got := strings.NewReplacer(green, "", red, "", yellow, "", plain, "").Replace(coloured); got != plainText {
		t.Errorf("without its colours the page differs:\n%s\nwant\n%s", got, plainText)
	}
	v := sample(t)
	v.Harness, v.Headline, v.Cause = verdict.Invalid, "INVALID", nil
	if first := strings.SplitN(page80(t, v, true), "\n", 2)[0]; first != red+"INVALID"+plain {
		t.Errorf("first line %q; want INVALID in red as a whole", first)
	}
}

// Names of models, hosts and errors come from servers and runs: none of them gets at
// the terminal.
func TestReportIsPlain(t *testing.T) {
	const evil = "a\x1b[2J\x1b]0;x\x07\u202eb\u0085\x00c"
	v := sample(t)
	v.Run.Model, v.Run.Host, v.Run.Target, v.Notes = evil, evil, []string{evil}, []string{evil}
	for _, colour := range []bool{false, true} {
		s := page80(t, v, colour)
		for _, own := range []string{green, yellow, red, plain} {
			s = strings.ReplaceAll(s, own, "")
		}
		if strings.ContainsAny(s, "\x1b\x07\x00\u202e\u0085") || !strings.Contains(s, "a?[2J?]0;x??b") {
			t.Errorf("control characters in the page: %q", s)
		}
	}
}

func TestReportOfAnEmptyVerdict(t *testing.T) {
	v := &verdict.Verdict{Headline: "INVALID", Harness: verdict.Invalid, SLO: verdict.None, Tier: "T0", Claim: "none"}
	s := page80(t, v, false)
	for _, want := range []string{"no objective was given", "not measured", "HARNESS=INVALID TIER=T0 SLO=NONE CLAIM=none"} {
		if !strings.Contains(s, want) {
			t.Errorf("the report lacks %q:\n%s", want, s)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		lead   string
		indent int
		text   string
		want   []string
	}{
		{"lead", 10, "text", []string{"lead      text"}},
		{"", 0, "a b", []string{"a b"}},
		{"a long lead", 5, "text", []string{"a long lead", "     text"}},
		{"", 2, strings.Repeat("word ", 20), []string{"  " + strings.TrimSpace(strings.Repeat("word ", 15)), "  word word word word word"}},
		{"", 70, "about 12 ms or 30 req/s", []string{strings.Repeat(" ", 70) + "about", strings.Repeat(" ", 70) + "12 ms or", strings.Repeat(" ", 70) + "30 req/s"}},
		{"", 0, strings.Repeat("x", 100), []string{strings.Repeat("x", 100)}},
	} {
		var p page
		p.wrap(c.lead, c.indent, c.text)
		if got := strings.Split(strings.TrimSuffix(p.b.String(), "\n"), "\n"); !slices.Equal(got, c.want) {
			t.Errorf("wrap(%q, %d, %q) = %q; want %q", c.lead, c.indent, c.text, got, c.want)
		}
	}
}
