package report

import (
	"encoding/xml"
	"io"
	"strings"

	"hydrant/formats/verdict"
	"hydrant/internal/cli"
)

// JUnit writes v as JUnit XML: one test case per check and per objective, so that what
// collects test results shows a verdict without knowing it.
//
//	failure  a check found a fault; an objective is missed
//	error    nothing can be said: evidence is missing, or too few samples
//	skipped  not measured and not required, not applicable, or of an INVALID run
//
// A WARN passes and is said in system-out. Failures and errors are there exactly when
// judge exits with 1, 4 or 5.
func JUnit(w io.Writer, v *verdict.Verdict) error {
	harness := suite{Name: "hydrant.harness", Hostname: clean(v.Run.Host)}
	for _, c := range v.Checks {
		harness.add(checkCase(v, c))
	}
	server := suite{Name: "hydrant.slo", Hostname: clean(v.Run.Host)}
	for _, o := range v.Objectives {
		server.add(objectiveCase(v, o))
	}
	all := suites{Name: "hydrant judge", Suites: []suite{harness, server}}
	for _, p := range [][2]string{{"headline", v.Headline}, {"harness", v.Harness}, {"tier", v.Tier}, {"slo", v.SLO}, {"claim", v.Claim}} {
		all.Suites[0].Properties = append(all.Suites[0].Properties, property{p[0], clean(p[1])})
	}
	for _, f := range origin(v) {
		all.Suites[0].Properties = append(all.Suites[0].Properties, property{f[0], clean(f[1])})
	}
	all.Suites[0].Out = clean(last(v))
	for _, s := range all.Suites {
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Suites   []suite  `xml:"testsuite"`
}

type suite struct {
	Name       string     `xml:"name,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Hostname   string     `xml:"hostname,attr,omitempty"`
	Properties []property `xml:"properties>property,omitempty"`
	Cases      []testcase `xml:"testcase"`
	Out        string     `xml:"system-out,omitempty"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testcase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Skipped *outcome `xml:"skipped"`
	Error   *outcome `xml:"error"`
	Failure *outcome `xml:"failure"`
	Out     string   `xml:"system-out,omitempty"`
}

type outcome struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

func (s *suite) add(c testcase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

// checkCase turns a check into a test case. Group D bars statements about the server:
// without objectives there is none to bar.
func checkCase(v *verdict.Verdict, c verdict.Check) testcase {
	t := testcase{Class: "hydrant.harness." + c.ID[:1], Name: clean(c.ID + " " + c.Title)}
	text := clean(check(c))
	steady := c.ID[0] == 'D'
	switch {
	case c.Status != verdict.Bad:
	case steady && v.SLO == verdict.None:
		t.Skipped = &outcome{Message: "no objective was given: " + text}
		return t
	case v.Options.Directional && v.AFortiori != nil:
		t.Skipped = &outcome{Message: "the verdict stands all the same: " + text}
		return t
	case strings.HasPrefix(c.Reason, "unproven") || steady && c.ID != "D3":
		t.Error = &outcome{Message: text, Type: verdict.Unknown, Text: clean(c.Formula)}
		return t
	default:
		t.Failure = &outcome{Message: text, Type: verdict.Bad, Text: clean(c.Formula)}
		return t
	}
	switch {
	case c.Status == verdict.Unknown:
		t.Skipped = &outcome{Message: text}
	case strings.HasPrefix(c.Evidence, "n/a: "):
		t.Skipped = &outcome{Message: clean(c.Evidence)}
	case c.Status == verdict.Warn:
		t.Out = "WARN " + text
	default:
		t.Out = text
	}
	return t
}

// objectiveCase turns an objective into a test case. What an INVALID run says about
// the server counts only where it stands a fortiori.
func objectiveCase(v *verdict.Verdict, o verdict.Objective) testcase {
	t := testcase{Class: "hydrant.slo", Name: clean(o.ID)}
	text := clean(strings.Join(append([]string{spoken(o), o.Result}, evidence(o)...), " · "))
	switch {
	case v.Harness == verdict.Invalid && !stands(v, o):
		t.Skipped = &outcome{Message: "the run is INVALID: " + text}
	case v.Harness == verdict.Valid && v.SLO != verdict.Pass && !decides(v):
		t.Skipped = &outcome{Message: "barred by " + clean(why(v)) + ": " + text}
	case o.Result == verdict.Fail:
		t.Failure = &outcome{Message: text, Type: verdict.Fail}
	case o.Result == verdict.Inconclusive:
		t.Error = &outcome{Message: text, Type: verdict.Inconclusive, Text: clean(outlook(o))}
	default:
		t.Out = text
	}
	return t
}

// stands says that an objective of an INVALID run holds all the same.
func stands(v *verdict.Verdict, o verdict.Objective) bool {
	if v.AFortiori == nil {
		return false
	}
	for _, id := range v.AFortiori.Objectives {
		if id == o.ID {
			return true
		}
	}
	return false
}

// decides says that the verdict rests on the objectives, and not on a check of group D
// that bars them.
func decides(v *verdict.Verdict) bool {
	return v.Cause != nil && strings.HasPrefix(v.Cause.Check, "E")
}

// clean makes text of one line without control characters.
func clean(s string) string {
	return cli.Plain(strings.Join(strings.Fields(loose(s)), " "))
}
