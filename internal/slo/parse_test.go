package slo

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Objective
	}{
		{"ttft:p99<500ms", Objective{Text: "ttft:p99<=500ms", P: 0.99, Limit: Limit{"ttft", User, 500e6, 0}}},
		{" tpot : p90 <= 40 ms ", Objective{Text: "tpot:p90<=40ms", P: 0.9, Limit: Limit{"tpot", User, 40e6, 0}}},
		{"e2e:p99.9<10s", Objective{Text: "e2e:p99.9<=10s", P: 0.999, Limit: Limit{"e2e", User, 10e9, 0}}},
		{"icl_max:p50<1.5s", Objective{Text: "icl_max:p50<=1.5s", P: 0.5, Limit: Limit{"icl_max", User, 1500e6, 0}}},
		{"icl_p99:p1<0.25ms", Objective{Text: "icl_p99:p1<=250us", P: 0.01, Limit: Limit{"icl_p99", User, 250e3, 0}}},
		{"ttft/wire:p99<1us", Objective{Text: "ttft/wire:p99<=1us", P: 0.99, Limit: Limit{"ttft", Wire, 1000, 0}}},
		{"ttfo/sent:p95<17ns", Objective{Text: "ttfo/sent:p95<=17ns", P: 0.95, Limit: Limit{"ttfo", Sent, 17, 0}}},
		{"ttft:p99<200ms+0.05ms*in", Objective{Text: "ttft:p99<=200ms+50us*in", P: 0.99, Limit: Limit{"ttft", User, 200e6, 50e3}}},
		{"error_rate<1%", Objective{Text: "error_rate<=1%", Kind: Share, P: 0.99}},
		{"error_rate<=0.05", Objective{Text: "error_rate<=5%", Kind: Share, P: 0.95}},
		{"good(ttft<2s,tpot<60ms):p90", Objective{Text: "good(ttft<=2s,tpot<=60ms):p90", Kind: Joint, P: 0.9,
			Members: []Limit{{"ttft", User, 2e9, 0}, {"tpot", User, 60e6, 0}}}},
		{"good(ttft<2s)>=90%", Objective{Text: "good(ttft<=2s):p90", Kind: Joint, P: 0.9, Members: []Limit{{"ttft", User, 2e9, 0}}}},
		{"good(e2e/wire<2s)>=0.99995", Objective{Text: "good(e2e/wire<=2s)>=99.995%", Kind: Joint, P: 0.99995, Members: []Limit{{"e2e", Wire, 2e9, 0}}}},
		{"goodput>=90%", Objective{Text: "goodput>=90%", Kind: Joint, P: 0.9, OfSet: true}},
		{"goodput>=3", Objective{Text: "goodput>=3", Kind: Rate, Rate: "goodput", AtLeast: true, Bound: 3}},
		{"out_tps >= 2000 /s", Objective{Text: "out_tps>=2000", Kind: Rate, Rate: "out_tps", AtLeast: true, Bound: 2000}},
		{"sent_rps<=3.4", Objective{Text: "sent_rps<=3.4", Kind: Rate, Rate: "sent_rps", Bound: 3.4}},
	} {
		got, err := Parse("test", c.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.in, err)
			continue
		}
		if diff := cmp.Diff([]Objective{c.want}, got); diff != "" {
			t.Errorf("Parse(%q): -want +got\n%s", c.in, diff)
		}
		again, err := Parse("test", got[0].Text)
		if diff := cmp.Diff(got, again); err != nil || diff != "" {
			t.Errorf("Parse(%q) of the canonical text: %v\n%s", got[0].Text, err, diff)
		}
	}
}

func TestParseNamesTheBadPart(t *testing.T) {
	for _, c := range []struct{ in, part, got string }{
		{"ttft:p9x<1s", "level", "p9x"},
		{"ttft:99<1s", "level", "99"},
		{"ttft:p99.95<1s", "level", "p99.95"},
		{"ttft:p0.9<1s", "level", "p0.9"},
		{"ttft:p100<1s", "level", "p100"},
		{"ttft:p<1s", "level", "p"},
		{"ttft<1s", "level", ""},
		{"ttft", "comparison", "ttft"},
		{"", "objective", ""},
		{"ttft:p99>1s", "comparison", ">"},
		{"ttft:p99==1s", "comparison", "=="},
		{"ttft:p99<1", "limit", "1"},
		{"ttft:p99<-1s", "limit", "-1s"},
		{"ttft:p99<0s", "limit", "0s"},
		{"ttft:p99<0.5ns", "limit", "0.5ns"},
		{"ttft:p99<1e3s", "limit", "1e3s"},
		{"ttft:p99<99999999999999999999s", "limit", "99999999999999999999s"},
		{"ttft:p99<1s+5*in", "limit", "5*in"},
		{"ttft:p99<1s+5ms", "limit", "5ms"},
		{"ttft:p99<1s+61s*in", "limit", "61s*in"},
		{"speed:p99<1s", "metric", "speed"},
		{"tpot/sent:p99<1s", "side of tpot", "sent"},
		{"icl_max/wire:p99<1s", "side of icl_max", "wire"},
		{"error_rate<0", "limit", "0"},
		{"error_rate<100%", "limit", "100%"},
		{"error_rate<x", "limit", "x"},
		{"error_rate>1%", "comparison", ">"},
		{"good(ttft<2s:p90", "good(…)", "good(ttft<2s:p90"},
		{"good(ttft<2s,ttft<2s):p90", "good(…)", "ttft<2s"},
		{"good():p90", "comparison", ""},
		{"good(ttft<2s)", "comparison", ""},
		{"good(ttft<2s)x>=90%", "good(…)", "x>=90%"},
		{"good(ttft<2s)<=90%", "comparison", "<="},
		{"goodput>=101%", "share", "101%"},
		{"out_tps>=fast", "limit", "fast"},
		{"out_tps>=-1", "limit", "-1"},
		{"mlperf/llama2-70b", "preset", "mlperf/llama2-70b"},
	} {
		_, err := Parse("--slo", c.in)
		var e *Error
		if !errors.As(err, &e) || e.Part != c.part || e.Got != c.got || e.Want == "" {
			t.Errorf("Parse(%q) = %v; want an error about %q with %q", c.in, err, c.part, c.got)
		}
	}
}

func TestParseFile(t *testing.T) {
	set, err := ParseFile(strings.NewReader("# what we promise\nttft:p99<1s # first token\n\n mlperf/llama2-70b/server\n"), "slo.txt")
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, o := range set {
		texts = append(texts, o.Text)
	}
	if diff := cmp.Diff([]string{"ttft:p99<=1s", "ttft:p99<=2s", "tpot:p99<=200ms"}, texts); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	_, err = ParseFile(strings.NewReader("ttft:p99<1s\ne2e:p9x<1s\n"), "slo.txt")
	if err == nil || !strings.HasPrefix(err.Error(), "slo.txt:2: level: got \"p9x\", want ") {
		t.Errorf("ParseFile = %v; want an error at slo.txt:2", err)
	}
}

func TestPresetsParse(t *testing.T) {
	for _, name := range Presets() {
		set, err := Parse("--slo", name)
		if err != nil || len(set) == 0 || twice(set) != "" {
			t.Errorf("Parse(%q) = %v, %v", name, set, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("ttft/wire:p99.9<200ms+0.05ms*in")
	f.Add("good(ttft<2s,tpot<60ms)>=99.995%")
	f.Add("out_tps>=2000/s")
	f.Fuzz(func(t *testing.T, s string) {
		set, err := Parse("x", s)
		if err != nil {
			return
		}
		for _, o := range set {
			again, err := Parse("x", o.Text)
			if err != nil || cmp.Diff([]Objective{o}, again) != "" {
				t.Errorf("Parse(%q) = %+v; its canonical text %q gives %+v, %v", s, o, o.Text, again, err)
			}
		}
	})
}
