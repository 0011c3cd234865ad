package verdict

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
)

const golden = "testdata/v1.verdict.json"

func written(t testing.TB, v *Verdict) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := Write(&buf, v); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestGolden(t *testing.T) {
	b := written(t, sample())
	if os.Getenv("HYDRANT_GOLDEN") == "write" {
		if err := os.WriteFile(filepath.FromSlash(golden), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(b)); d != "" {
		t.Errorf("the writer's bytes differ from the golden file:\n%s", d)
	}
	v, err := Read(bytes.NewReader(want), golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(written(t, v))); d != "" {
		t.Errorf("read and written again:\n%s", d)
	}
	if v.Objectives[0].Value != formats.Some(389e6) || v.Checks[0].Terms[1].Warn != nil || len(v.Unproven) != 2 {
		t.Errorf("the golden file reads as %+v", v)
	}
}

func TestGoldenCutAtEveryByte(t *testing.T) {
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		v, err := Read(bytes.NewReader(b[:i]), "x")
		var cut *formats.TruncatedError
		var syntax *formats.SyntaxError
		if v != nil || !errors.As(err, &cut) && !errors.As(err, &syntax) {
			t.Fatalf("cut to %d of %d bytes: %v; want a TruncatedError or SyntaxError", i, len(b), err)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	b, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"format": "hydrant-verdict"`, `"format": "hydrant-summary"`, `x: format: got "hydrant-summary", want hydrant-verdict`},
		{`"version": 1,`, `"version": 2,`, `x: version: got "2", want 1`},
		{`"harness": "VALID"`, `"harness": "FINE"`, `x: harness: got "FINE", want one of [VALID INVALID]`},
		{`"slo": "FAIL"`, `"slo": "fail"`, `x: slo: got "fail"`},
		{`"tier": "T0"`, `"tier": "T4"`, `x: tier: got "T4"`},
		{`"status": "WARN"`, `"status": "N/A"`, `x: checks[0].status: got "N/A"`},
		{`"result": "FAIL"`, `"result": "NONE"`, `x: objectives[0].result: got "NONE"`},
		{`"a_fortiori": {
    "slo": "PASS"`, `"a_fortiori": {
    "slo": "NONE"`, `x: a_fortiori.slo: got "NONE"`},
		{`"other": "FAIL",
        "status": "OK"`, `"other": "FAIL",
        "status": "UNKNOWN"`, `x: objectives[0].invariance.status: got "UNKNOWN"`},
		{`"exit": 1`, `"exit": "1"`, `x: exit: got "1", want a whole number of 64 bits`},
		{`"exit": 1`, `"Exit": 1`, `x: key: got "Exit", want a key of a verdict`},
		{"}\n", "} {}\n", ``},
	} {
		in := strings.Replace(string(b), c.old, c.new, 1)
		if c.want == "" {
			in, c.want = string(b)+"{}\n", `x: after the verdict: got "{}", want nothing`
		}
		_, err := Read(strings.NewReader(in), "x")
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("with %s: %v; want %s", c.new, err, c.want)
		}
	}
	var version *formats.VersionError
	if _, err := Read(strings.NewReader(strings.Replace(string(b), `"version": 1,`, `"version": 2,`, 1)), "x"); !errors.As(err, &version) {
		t.Errorf("version 2: %v; want a VersionError", err)
	}
	if err := Write(&bytes.Buffer{}, &Verdict{Numbers: []Number{{Value: some(math.NaN())}}}); err == nil {
		t.Error("NaN was written; want an error")
	}
}

func FuzzRead(f *testing.F) {
	b, err := os.ReadFile(golden)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := Read(bytes.NewReader(b), "x")
		if err != nil {
			var syntax *formats.SyntaxError
			var cut *formats.TruncatedError
			var version *formats.VersionError
			if !errors.As(err, &syntax) && !errors.As(err, &cut) && !errors.As(err, &version) {
				t.Fatalf("%v is none of the three errors", err)
			}
			return
		}
		again, err := Read(bytes.NewReader(written(t, v)), "x")
		if err != nil || !cmp.Equal(v, again) {
			t.Fatalf("accepted, written and read again differs: %v\n%s", err, cmp.Diff(v, again))
		}
	})
}
