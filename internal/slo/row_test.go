package slo

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
)

func TestRead(t *testing.T) {
	none, some := formats.Int{}, formats.Some
	for _, c := range []struct {
		name     string
		perToken int64
		m        Measure
		v        int64
		standing Standing
	}{
		{"measured", 0, Measure{true, some(70), true, none}, 70, Measured},
		{"token part", 3, Measure{true, some(70), true, some(20)}, 10, Measured},
		{"token part without tokens", 3, Measure{true, some(70), true, none}, 0, Unmeasured},
		{"missing", 0, Measure{true, none, true, some(20)}, 0, Unmeasured},
		{"cannot apply", 3, Measure{true, none, false, none}, 0, Neutral},
		{"measured though it cannot apply", 0, Measure{true, some(70), false, none}, 70, Measured},
		{"failed", 0, Measure{false, some(70), true, none}, 0, Failed},
		{"failed, cannot apply", 0, Measure{false, none, false, none}, 0, Failed},
	} {
		l := Limit{Metric: "ttft", Side: User, BaseNS: 50, PerTokenNS: c.perToken}
		if v, s := l.Read(c.m); v != c.v || s != c.standing {
			t.Errorf("%s: Read = %d, %d; want %d, %d", c.name, v, s, c.v, c.standing)
		}
	}
}

func TestGood(t *testing.T) {
	within, at, beyond := Measure{OK: true, Value: formats.Some(1)}, Measure{OK: true, Value: formats.Some(50)}, Measure{OK: true, Value: formats.Some(51)}
	missing, neutral := Measure{OK: true, Applies: true}, Measure{OK: true}
	for _, c := range []struct {
		name             string
		ok               bool
		m                []Measure
		good, unmeasured bool
	}{
		{"ok without limits", true, nil, true, false},
		{"failed without limits", false, nil, false, false},
		{"within and at", true, []Measure{within, at}, true, false},
		{"beyond one", true, []Measure{within, beyond}, false, false},
		{"neutral is no miss", true, []Measure{neutral, at}, true, false},
		{"neutral alone", true, []Measure{neutral}, true, false},
		{"missing", true, []Measure{within, missing}, false, true},
		{"beyond and missing", true, []Measure{beyond, missing}, false, true},
		{"failed", false, []Measure{{Value: formats.Some(1)}}, false, false},
	} {
		limits := make([]Limit, len(c.m))
		for i := range limits {
			limits[i].BaseNS = 50
		}
		if good, unmeasured := Good(c.ok, limits, func(i int) Measure { return c.m[i] }); good != c.good || unmeasured != c.unmeasured {
			t.Errorf("%s: Good = %v, %v; want %v, %v", c.name, good, unmeasured, c.good, c.unmeasured)
		}
	}
}

func TestRowsThatCount(t *testing.T) {
	c := summary.NewColumns(4)
	for i := range c.N {
		c.Ints["in_window"][i] = formats.Some(1)
	}
	c.Strings["outcome"] = []string{run.OK, run.HTTPError, run.CancelledPlanned, run.OK}
	c.Ints["in_window"][3] = formats.Some(0)
	c.Ints["planned_input_tokens"][0], c.Ints["planned_input_tokens"][1] = formats.Some(7), formats.Some(8)
	c.Ints["input_tokens"][1] = formats.Some(9)
	for i, want := range []struct {
		ok, judged, cut bool
		in              formats.Int
	}{{true, true, false, formats.Some(7)}, {false, true, false, formats.Some(9)}, {false, false, true, formats.Int{}}, {true, false, false, formats.Int{}}} {
		r := RowOf(c, i)
		if r.OK() != want.ok || r.Judged() != want.judged || r.CutShort() != want.cut || r.InputTokens() != want.in {
			t.Errorf("row %d: ok %v, judged %v, cut short %v, input %v; want %+v", i, r.OK(), r.Judged(), r.CutShort(), r.InputTokens(), want)
		}
	}
}

func TestArgs(t *testing.T) {
	open := func(file string) (io.ReadCloser, string, error) {
		if file == "absent" {
			return nil, "", io.ErrClosedPipe
		}
		return io.NopCloser(strings.NewReader(file)), "slo.txt", nil
	}
	set, err := Args([]string{"ttft:p99<1s"}, []string{"e2e:p50<2s\nerror_rate<1%\n"}, open)
	if diff := cmp.Diff([]string{"ttft:p99<=1s", "e2e:p50<=2s", "error_rate<=1%"}, Texts(set)); err != nil || diff != "" {
		t.Errorf("Args: %v\n%s", err, diff)
	}
	if set, err := Args(nil, nil, open); err != nil || set != nil {
		t.Errorf("Args of nothing = %v, %v", set, err)
	}
	if _, err := Args(nil, []string{"absent"}, open); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Args of a file that is not there: %v; want the error of open", err)
	}
	for _, c := range []struct{ text, file, want string }{
		{"ttft:p9x<1s", "", `--slo "ttft:p9x<1s": level: got "p9x", want `},
		{"ttft:p99<1s", "\nspeed:p99<1s", `slo.txt:2: metric: got "speed", want `},
		{"ttft:p99<1s", "ttft:p99<=1000ms", `slo.txt: given twice: got "ttft:p99<=1s", want each objective once`},
		{"ttft:p99<1s", "# nothing yet", `slo.txt: objectives: got "none", want one a line, such as ttft:p99<500ms`},
	} {
		_, err := Args([]string{c.text}, []string{c.file}, open)
		var e *Error
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("Args(%q, %q) = %v; want %s", c.text, c.file, err, c.want)
		}
	}
}
