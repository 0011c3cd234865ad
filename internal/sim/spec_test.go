package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func parse(t testing.TB, text string) Spec {
	t.Helper()
	s, err := ParseSpec(text)
	if err != nil {
		t.Fatalf("ParseSpec(%q) = %v", text, err)
	}
	return s
}

func TestSpecReadsBack(t *testing.T) {
	for _, text := range []string{
		"default",
		"null",
		"null,cache=unbounded,block=512",
		"default,slots=32,prefill=1e+06,step=5ms,step_per_seq=20µs,cache=unbounded,fail=503:0.05",
		"default,stagger=true,service=exp:50ms",
		"default,jitter=lognormal:1:0.2,eos=uniform:10:200,usage=chunks,bundle=0,eol=crlf,body=1GiB,seed=-4",
		"default,fail=503:0.05,fail=429:every:10,reset=ids:3+7+10-12,hold=500ms:1,flood=64MiB:0.001,refuse=every:3",
		"default,prefill=inf,cache=0,template=12,tokens_per_event=4,reasoning=5,role_event=false",
	} {
		s := parse(t, text)
		if got := s.String(); got != text {
			t.Errorf("ParseSpec(%q).String() = %q; want the same", text, got)
		}
		again := parse(t, s.String())
		if !reflect.DeepEqual(s, again) {
			t.Errorf("%q reads back as %+v; want %+v", text, again, s)
		}
		if err := s.Check(); err != nil {
			t.Errorf("Check of %q = %v", text, err)
		}
	}
	short := parse(t, "default,stagger,slots=08")
	if got, want := short.String(), "default,slots=8,stagger=true"; got != want {
		t.Errorf("String = %q; want %q", got, want)
	}
}

func TestSpecErrors(t *testing.T) {
	for _, c := range []struct{ text, key, says string }{
		{"", "", `got "" as its first word, want default or null`},
		{"fast", "", "want default or null"},
		{"slots=3", "", "want default or null"},
		{"default,", "", ""},
		{"default,,slots=3", "", "empty item"},
		{"default,slotz=3", "slotz", "unknown key, want one of model, slots, stagger"},
		{"default,slots", "slots", `got "", want a whole number of sequences from 1`},
		{"default,slots=0", "slots", `got "0"`},
		{"default,slots=3,slots=4", "slots", "given twice"},
		{"default,prefill=0", "prefill", "want tokens per second above 0"},
		{"default,prefill=NaN", "prefill", "want"},
		{"default,step=5", "step", "want a duration"},
		{"default,step=-5ms", "step", "want a duration"},
		{"default,jitter=gauss:1", "jitter", "lognormal:A:CV"},
		{"default,jitter=lognormal:0:1", "jitter", "want"},
		{"default,jitter=uniform:2:1", "jitter", "want"},
		{"default,usage=some", "usage", "want final, chunks, none"},
		{"default,stagger=yes", "stagger", "want true or false"},
		{"default,service=exp:50ms", "service", "needs stagger"},
		{"default,stagger,service=exp:50ms,step=3ms", "step", "no effect beside service"},
		{"default,stagger,chunk=5", "chunk", "no effect beside stagger"},
		{"null,slots=3", "slots", "no effect on null"},
		{"default,fail=0.5", "fail", "want STATUS:CHOICE"},
		{"default,fail=200:0.5", "fail", "want an HTTP status"},
		{"default,fail=503:0", "fail", "want a share in (0, 1]"},
		{"default,fail=503:1.5", "fail", "want a share"},
		{"default,cut=every:0", "cut", "every:N"},
		{"default,cut=ids:", "cut", "ids:3+7"},
		{"default,cut=ids:7-3", "cut", "ids:3+7"},
		{"default,hold=0.5", "hold", "want DURATION:CHOICE"},
		{"default,flood=8GiB:1", "flood", "at most 4GiB"},
		{"default,model=a b", "model", "want printable"},
	} {
		_, err := ParseSpec(c.text)
		if c.says == "" {
			if err != nil {
				t.Errorf("ParseSpec(%q) = %v; want no error", c.text, err)
			}
			continue
		}
		var se *SpecError
		if !errors.As(err, &se) {
			t.Errorf("ParseSpec(%q) = %v; want a SpecError", c.text, err)
			continue
		}
		if se.Key != c.key || !strings.Contains(err.Error(), c.says) {
			t.Errorf("ParseSpec(%q) = %q of key %q; want %q of key %q", c.text, err, se.Key, c.says, c.key)
		}
		if !se.Usage() {
			t.Errorf("ParseSpec(%q): want a usage error", c.text)
		}
	}
}

func FuzzSpec(f *testing.F) {
	f.Add("default,slots=32,jitter=lognormal:1:0.2,fail=503:0.05,reset=ids:3+7-9")
	f.Add("null,cache=unbounded,drip=5ms:every:3")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSpec(text)
		if err != nil {
			var se *SpecError
			if !errors.As(err, &se) {
				t.Fatalf("ParseSpec(%q) = %v; want a SpecError", text, err)
			}
			return
		}
		again, err := ParseSpec(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q is written %q, which reads as %q, %v", text, s.String(), again.String(), err)
		}
	})
}

func TestDistMeans(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, text := range []string{"const:3", "exp:3", "uniform:1:5", "lognormal:3:0.5"} {
		d, err := parseDist(text, "")
		if err != nil {
			t.Fatal(err)
		}
		sum := 0.0
		for range 100000 {
			sum += d.Draw(r)
		}
		if got := sum / 100000; got < 2.95 || got > 3.05 || d.Mean() != 3 {
			t.Errorf("%s: mean of draws = %.3f, Mean = %v; want 3", text, got, d.Mean())
		}
	}
}

// The choice of a fault follows from the request's id alone: not from what came
// before, not from other rules of the spec.
func TestFaultsAreChosenByID(t *testing.T) {
	one := parse(t, "default,fail=503:0.1")
	two := parse(t, "default,cut=ids:1000000,empty=ids:999983,fail=503:0.1")
	hit := 0
	for i := range 4000 {
		id := fmt.Sprintf("req-%d", i)
		a, b := one.faultFor(id), two.faultFor(id)
		if (a == nil) != (b == nil) {
			t.Fatalf("id %q: %v with one rule, %v with three", id, a, b)
		}
		if a != nil {
			hit++
		}
	}
	if hit < 305 || hit > 495 { // 4000 × 0.1, five standard deviations
		t.Errorf("hit %d of 4000; want about 400", hit)
	}
	for id, want := range map[string]string{"3": "cut", "7": "cut", "11": "cut", "13": "", "20": "empty", "x": ""} {
		s := parse(t, "default,cut=ids:3+7+10-12,empty=every:20")
		got := ""
		if f := s.faultFor(id); f != nil {
			got = f.Kind
		}
		if got != want {
			t.Errorf("fault of %q = %q; want %q", id, got, want)
		}
	}
	other := parse(t, "default,seed=2,fail=503:0.1")
	same := 0
	for i := range 2000 {
		id := fmt.Sprint(i)
		if (one.faultFor(id) == nil) == (other.faultFor(id) == nil) {
			same++
		}
	}
	if same == 2000 {
		t.Error("seed 2 chooses as seed 1 does; want another choice")
	}
}
