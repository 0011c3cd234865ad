package rule

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/internal/slo"
)

const page = "../../../../docs/validity.md"

// tableOfChecks is the table of docs/validity.md as the code has it.
func tableOfChecks() string {
	var b strings.Builder
	b.WriteString("| check | R | asks whether | limits | bias | limits from |\n|---|---|---|---|---|---|\n")
	for _, c := range Checks() {
		required := ""
		if c.Required {
			required = "R"
		}
		var limits []string
		for _, t := range c.Terms {
			s := "`" + c.ID + "." + t.Name + "` "
			warn := "WARN " + map[string]string{atMost: "beyond ", atLeast: "below "}[t.Op] + Figure(t.Warn, t.Unit)
			switch {
			case math.IsNaN(t.Limit) && math.IsNaN(t.Warn):
				s += "follows from the objectives"
			case math.IsNaN(t.Limit):
				s += warn
			default:
				if s += map[string]string{atMost: "≤ ", atLeast: "≥ "}[t.Op] + Figure(t.Limit, t.Unit); !math.IsNaN(t.Warn) {
					s += ", " + warn
				}
			}
			limits = append(limits, s)
		}
		fmt.Fprintf(&b, "| %s | %s | %s: %s | %s | %s | %s |\n", c.ID, required, c.Title, strings.ReplaceAll(c.Formula, "|", "\\|"),
			strings.Join(limits, "; "), c.Bias, c.Source)
	}
	return b.String()
}

func TestPageHasTheTableOfChecks(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(b), "<!-- checks: written by HYDRANT_GOLDEN=write go test ./cmd/judge/... -->\n")
	got, after, found := strings.Cut(rest, "<!-- end -->")
	if !found {
		t.Fatal("the page has lost the marks of the table")
	}
	want := tableOfChecks()
	if os.Getenv("HYDRANT_GOLDEN") == "write" {
		all := before + "<!-- checks: written by HYDRANT_GOLDEN=write go test ./cmd/judge/... -->\n" + want + "<!-- end -->" + after
		if err := os.WriteFile(page, []byte(all), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the table in code (-) and on the page (+) differ; make golden writes it:\n%s", d)
	}
	if order := strings.Join(causal[:], " "); !strings.Contains(strings.Join(strings.Fields(string(b)), " "), order) {
		t.Errorf("the page lacks the causal order %q", order)
	}
}

func TestPageShowsObjectivesThatParse(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "## 4. Objectives")
	section, _, _ = strings.Cut(section, "## 5.")
	n := 0
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(section, -1) {
		n++
		if _, err := slo.Parse("docs/validity.md", m[1]); err != nil {
			t.Error(err)
		}
	}
	if n < 9 {
		t.Errorf("the page shows %d objectives; want each form", n)
	}
	for _, m := range regexp.MustCompile("`([A-D][0-9]+\\.[^=`]+=[^`]+)`").FindAllStringSubmatch(string(b), -1) {
		if _, err := ParseOverride(m[1]); err != nil {
			t.Error(err)
		}
	}
}
