package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os/exec"
	"strings"
	"testing"

	"hydrant/formats/verdict"
	"hydrant/internal/fixture"
)

// parsed is JUnit read back by a reader that knows only its format.
type parsed struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
	Suites   []struct {
		Name  string `xml:"name,attr"`
		Tests int    `xml:"tests,attr"`
		Cases []struct {
			Class   string `xml:"classname,attr"`
			Name    string `xml:"name,attr"`
			Failure *struct {
				Message string `xml:"message,attr"`
				Type    string `xml:"type,attr"`
			} `xml:"failure"`
			Error *struct {
				Message string `xml:"message,attr"`
			} `xml:"error"`
			Skipped *struct {
				Message string `xml:"message,attr"`
			} `xml:"skipped"`
			Out string `xml:"system-out"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func junit(t *testing.T, v *verdict.Verdict) ([]byte, parsed) {
	t.Helper()
	var b bytes.Buffer
	if err := JUnit(&b, v); err != nil {
		t.Fatal(err)
	}
	var p parsed
	if err := xml.Unmarshal(b.Bytes(), &p); err != nil {
		t.Fatalf("%v in\n%s", err, b.Bytes())
	}
	return b.Bytes(), p
}

// states maps each test case to what became of it.
func states(p parsed) map[string]string {
	out := map[string]string{}
	for _, s := range p.Suites {
		for _, c := range s.Cases {
			id, _, _ := strings.Cut(c.Name, " ")
			switch {
			case c.Failure != nil:
				out[id] = "failure " + c.Failure.Type
			case c.Error != nil:
				out[id] = "error"
			case c.Skipped != nil:
				out[id] = "skipped"
			default:
				out[id] = "passed"
			}
		}
	}
	return out
}

func TestJUnitStates(t *testing.T) {
	tooShort := func() *verdict.Verdict {
		v := failed()
		v.SLO, v.Exit, v.Cause = verdict.Inconclusive, 5, &verdict.Cause{Check: "D1", Text: "the steady window is too short"}
		v.Checks[6].Status = verdict.Bad
		return v
	}
	unstable := func() *verdict.Verdict {
		v := tooShort()
		v.SLO, v.Exit, v.Cause.Check, v.Checks[6].ID = verdict.Fail, 1, "D3", "D3"
		return v
	}
	alone := func() *verdict.Verdict {
		v := tooShort()
		v.SLO, v.Exit, v.Cause, v.Objectives = verdict.None, 0, nil, nil
		return v
	}
	directional := func() *verdict.Verdict {
		v := invalid()
		v.Options.Directional, v.Exit = true, 0
		return v
	}
	for _, c := range []struct {
		name string
		v    *verdict.Verdict
		want map[string]string
	}{
		{"healthy", healthy(), map[string]string{"A1": "passed", "A5": "skipped", "B4": "skipped", "C1": "passed", "E1:ttft:p99<=5s": "passed"}},
		{"fail", failed(), map[string]string{"A1": "passed", "E1:ttft:p99<=5s": "failure FAIL", "E1:out_tps>=1000": "error"}},
		{"invalid", invalid(), map[string]string{"C1": "error", "C3": "failure BAD", "E1:ttft:p99<=5s": "skipped", "E1:out_tps>=1000": "passed"}},
		{"too short", tooShort(), map[string]string{"D1": "error", "E1:ttft:p99<=5s": "skipped", "E1:out_tps>=1000": "skipped"}},
		{"unstable", unstable(), map[string]string{"D3": "failure BAD", "E1:ttft:p99<=5s": "skipped"}},
		{"no objective", alone(), map[string]string{"D1": "skipped"}},
		{"directional", directional(), map[string]string{"C1": "skipped", "C3": "skipped", "E1:out_tps>=1000": "passed"}},
	} {
		_, p := junit(t, c.v)
		got := states(p)
		for id, want := range c.want {
			if got[id] != want {
				t.Errorf("%s: %s is %q; want %q", c.name, id, got[id], want)
			}
		}
		if red := p.Failures+p.Errors > 0; red != (c.v.Exit != 0) {
			t.Errorf("%s: %d failures and %d errors beside exit status %d", c.name, p.Failures, p.Errors, c.v.Exit)
		}
		if want := len(c.v.Checks) + len(c.v.Objectives); p.Tests != want || p.Suites[0].Tests+p.Suites[1].Tests != want {
			t.Errorf("%s: %d test cases; want one per check and objective, %d", c.name, p.Tests, want)
		}
	}
}

// Python's own reader, which collectors of test results are written in, takes the file
// and finds the same.
func TestJUnitInPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	fixture.Need(t, err == nil, "no python3")
	v := invalid()
	v.Run.Model, v.Run.Host, v.Cause.Text = evil, evil, evil
	v.Checks[0].Title, v.Checks[0].Status = evil, verdict.Bad
	v.Objectives[0].Text = evil
	b, _ := junit(t, v)
	cmd := exec.Command(python, "-c", `
import json, sys, xml.etree.ElementTree as ET
root = ET.fromstring(sys.stdin.buffer.read())
print(json.dumps({"root": root.tag, "n": [int(root.get(k)) for k in ("tests", "failures", "errors", "skipped")],
  "found": [len(root.findall(".//" + k)) for k in ("testcase", "failure", "error", "skipped")],
  "name": root.find("testsuite/testcase").get("name")}))`)
	cmd.Stdin = bytes.NewReader(b)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, b)
	}
	var got struct {
		Root     string
		N, Found []int
		Name     string
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	want := []int{len(v.Checks) + len(v.Objectives), 2, 1, 3}
	for i, n := range want {
		if got.N[i] != n || got.Found[i] != n {
			t.Errorf("tests, failures, errors, skipped: %v stated, %v found; want %v", got.N, got.Found, want)
			break
		}
	}
	if got.Root != "testsuites" || !strings.HasPrefix(got.Name, "A1 a?[2J") || strings.ContainsAny(got.Name, "\x00\x1b") {
		t.Errorf("got %+v", got)
	}
}
