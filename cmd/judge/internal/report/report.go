// Package report writes a verdict for people and for the machines that they build
// with: Text for a terminal, Markdown for a pull request or a job summary, JUnit for
// what collects test results. The order of facts is the same everywhere: what was
// found, why, what it rests on, the numbers, and how to do it again.
package report

import (
	"fmt"
	"io"
	"strings"

	"hydrant/cmd/judge/internal/rule"
	"hydrant/formats/verdict"
)

// Options say how a page is written.
type Options struct {
	Colour bool
}

// Text writes the report of v for a terminal: at most 80 columns, readable without
// colour. The last line is for scripts and keeps its form.
func Text(w io.Writer, v *verdict.Verdict, o Options) error {
	p := &page{colour: o.Colour}
	p.head(v)
	p.blank()
	p.generator(v)
	p.blank()
	p.server(v)
	p.worst(v)
	p.blank()
	p.checks(v)
	p.blank()
	p.latencies(v)
	p.gpus(v)
	p.blank()
	p.wrap("Not measured", body, strings.Join(v.NotMeasured, " · "))
	for _, n := range v.Notes {
		p.wrap("Note", body, n)
	}
	p.blank()
	p.again(v)
	p.line(last(v))
	return p.flush(w)
}

// body is the column at which explanations start.
const body = 20

// head says the verdict, then why, then what to do next, then what stands all the same.
func (p *page) head(v *verdict.Verdict) {
	var first page
	first.wrap(v.Headline, body, why(v))
	line, rest, _ := strings.Cut(first.b.String(), "\n")
	p.line(p.paint(line))
	p.b.WriteString(rest)
	if v.Cause != nil && v.Cause.Hint != "" {
		p.wrap("", body, sentence(v.Cause.Hint))
	}
	if v.AFortiori != nil {
		p.wrap("", body, sentence(v.AFortiori.Text))
	}
}

// why is the first cause with the id of its check.
func why(v *verdict.Verdict) string {
	switch {
	case v.Cause == nil:
		return ""
	case v.Cause.Check == "" || v.Cause.Check[0] == 'E' || strings.Contains(v.Cause.Text, v.Cause.Check):
		return v.Cause.Text
	}
	return v.Cause.Check + ": " + v.Cause.Text
}

// sentence ends a text with a full stop and starts it with a capital, unless it starts
// with a flag or a name in figures.
func sentence(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	return strings.TrimSuffix(s, ".") + "."
}

// generator says what was delivered and what it cost the client.
func (p *page) generator(v *verdict.Verdict) {
	title := "The generator delivered the plan"
	if v.Harness == verdict.Invalid {
		title = "What the generator did"
	}
	p.wrap(pad(title, 44), 44, tier(v))
	for _, fact := range generatorFacts(v) {
		p.wrap("", 2, fact)
	}
}

// checks writes one line per check.
func (p *page) checks(v *verdict.Verdict) {
	p.line("Checks")
	for _, c := range v.Checks {
		p.wrap("  "+pad(c.ID, 4)+pad(c.Status, 9), 15, check(c))
	}
}

// check says of one check what it asks, its numbers with their limits, and where to
// look or why there is nothing to look at.
func check(c verdict.Check) string {
	var parts []string
	for _, t := range c.Terms {
		if t.Value == nil || t.Status == verdict.OK && t.Unit == "count" && t.Bound != nil && *t.Bound <= 1 {
			continue // a count that has to be nothing and is nothing
		}
		s := t.Name + " " + glue(rule.Figure(*t.Value, t.Unit))
		if t.Bound != nil {
			s += fixed + glue("("+limit(t)+")")
		}
		if t.Evidence != "" && (t.Status == verdict.Bad || t.Status == verdict.Warn) {
			s += " at " + t.Evidence
		}
		parts = append(parts, s)
	}
	text := c.Title
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	switch {
	case c.Reason != "":
		text += " – " + c.Reason
	case c.Evidence != "":
		text += " – " + c.Evidence
	}
	return text
}

func limit(t verdict.Term) string {
	sign := map[string]string{"<=": "≤", ">=": "≥"}[t.Op]
	return sign + " " + rule.Figure(*t.Bound, t.Unit)
}

// last is the line for scripts.
func last(v *verdict.Verdict) string {
	return fmt.Sprintf("HARNESS=%s TIER=%s SLO=%s CLAIM=%s", v.Harness, v.Tier, v.SLO, v.Claim)
}
