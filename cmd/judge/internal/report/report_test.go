package report

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats/verdict"
)

// sample is the golden verdict of the format, which has something of everything.
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
	if err := Text(&b, v, Options{Colour: colour}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// verdicts are those of the golden files.
var verdicts = []struct {
	name string
	make func() *verdict.Verdict
}{{"healthy", healthy}, {"fail", failed}, {"invalid", invalid}}

func TestGoldenReports(t *testing.T) {
	for _, c := range verdicts {
		for ext, write := range map[string]func(io.Writer, *verdict.Verdict) error{
			"txt": func(w io.Writer, v *verdict.Verdict) error { return Text(w, v, Options{}) }, "md": Markdown, "xml": JUnit,
		} {
			t.Run(c.name+"."+ext, func(t *testing.T) {
				var b bytes.Buffer
				if err := write(&b, c.make()); err != nil {
					t.Fatal(err)
				}
				golden := filepath.Join("testdata", c.name+"."+ext)
				if os.Getenv("HYDRANT_GOLDEN") == "write" {
					if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(string(want), b.String()); d != "" {
					t.Errorf("the report differs from %s:\n%s", golden, d)
				}
			})
		}
	}
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
		"188 of 1,000 over", "n_eff 235.2", "tau 4.252", "389 ms (376 ms–700 ms)", "sent side FAIL 388 ms", "2 left out", "1 without a value",
		"9 µs of CPU per token event",
		"B2 WARN the requests were sent on time: send lag p99 2.5 ms (≤ 10 ms)",
		"B4 OK bursts were kept – n/a: too few arrivals to have a shape",
		"C1 UNKNOWN the generator has headroom – not judged in this version",
		"out_tps ≥ 1000 INCONCLUSIVE · 1,010/s ± 8 · 30 batches too close to tell",
		"H200: power_mean_w 412.5 · 60 samples · 1 values not reported",
		"limits changed B2.max 2,000 ms · B3.rate 0.99 (was 0.995)",
		"calibration measured 6,000 ms before the run on lab with 2 workers: requests 820/s, 41 x offered · bytes no ceiling (not known beforehand)",
		"K_client 0.21 (headroom –, cpu_share 0.21), without headroom · K_server not measured (no server signals)",
		"4–5 s ttft_user_p99 1,200 ms: send_lag_max 4 ms · in_flight not measured",
		"schedule 9a77 · mooncake day.jsonl · speed by=10", "server version 0.11.0",
		"site=lab", "seed 7", "Not measured wire times", "A PASS stands.",
		"judge run.arrows --plan day.sched.zst --slo 'ttft:p90<=360ms' --slo 'out_tps>=1000' --limit B2.max=2000000000ns --limit B3.rate=0.99 --accept-unproven",
	} {
		if !strings.Contains(strings.ReplaceAll(joined, ` \ `, " "), want) {
			t.Errorf("the report lacks %q:\n%s", want, s)
		}
	}
}

// A percentile stands only with its interval and n_eff, and above its floor; what is
// left out is said.
func TestNoPercentileWithoutItsInterval(t *testing.T) {
	v := healthy()
	for i := range v.Latencies {
		v.Latencies[i].Weighting = "request" // a sketch has its error instead
	}
	for _, b := range latencyTable(v).blocks {
		for _, l := range b.lines {
			for _, c := range l.cells {
				if c.value != "" && c.value != "fail" && (c.interval == "" || l.neff == "" || l.tau == "") {
					t.Errorf("%s %s: %s without interval, n_eff or tau", b.title, l.level, c.value)
				}
			}
		}
	}
	notes := strings.Join(latencyTable(v).notes, "\n")
	for _, want := range []string{"too few requests", "without an interval", "fail: that many"} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q: %s", want, notes)
		}
	}
}

func TestReportIs80ColumnsWide(t *testing.T) {
	for _, c := range verdicts {
		v := c.make()
		v.Unproven = strings.Fields("A2 A3 A4 B1 B2 B3 B4 B6 C1 C2 C3 C4 C5 C6 C7 C8 D1 D2 D3 D5 D6")
		v.Headline = "VALID (unproven: " + strings.Join(v.Unproven, " ") + ") · INCONCLUSIVE · not publishable"
		v.Run.Target = []string{"http://" + strings.Repeat("x", 200)}
		v.Objectives[0].Text = "good(" + strings.Repeat("ttft<=5s,", 20) + "e2e<=9s):p90"
		v.Latencies[0].Percentiles[0] = tau(500, 9_999_900_000, 9_999_800_000, 99_999_000_000, 1234, 9999)
		for _, line := range strings.Split(page80(t, v, false), "\n") {
			if size(line) > width || strings.HasSuffix(line, " ") || strings.ContainsAny(line, "\x00\x1b\t") {
				t.Errorf("line of %d columns: %q", size(line), line)
			}
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
	const bad = "a\x1b[2J\x1b]0;x\x07\u202eb\u0085\x00c"
	v := sample(t)
	v.Run.Model, v.Run.Host, v.Run.Target, v.Notes = bad, bad, []string{bad}, []string{bad}
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
	for _, want := range []string{"no objective was given", "not measured", "calibration: none", "HARNESS=INVALID TIER=T0 SLO=NONE CLAIM=none"} {
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
		{"", 0, strings.Repeat("x", 100), []string{strings.Repeat("x", 80), strings.Repeat("x", 20)}},
		{"", 70, glue("aaaaaa bbbbbb"), []string{strings.Repeat(" ", 70) + "aaaaaa", strings.Repeat(" ", 70) + "bbbbbb"}},
		{strings.Repeat("lead ", 20), 20, "text", []string{strings.TrimSpace(strings.Repeat("lead ", 16)), strings.TrimSpace(strings.Repeat("lead ", 4)), strings.Repeat(" ", 20) + "text"}},
	} {
		var p page
		p.wrap(c.lead, c.indent, c.text)
		if got := strings.Split(strings.TrimSuffix(p.b.String(), "\n"), "\n"); !slices.Equal(got, c.want) {
			t.Errorf("wrap(%q, %d, %q) = %q; want %q", c.lead, c.indent, c.text, got, c.want)
		}
	}
}
