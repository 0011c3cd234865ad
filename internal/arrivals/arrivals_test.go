package arrivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const draws = 100_000

func moments(xs []float64) (mean, cv float64) {
	for _, x := range xs {
		mean += x
	}
	mean /= float64(len(xs))
	v := 0.0
	for _, x := range xs {
		v += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(v/float64(len(xs))) / mean
}

func TestGapsHaveMeanOneAndTheirCV(t *testing.T) {
	for _, tt := range []struct {
		text string
		cv   float64
	}{
		{"constant", 0}, {"poisson", 1}, {"gamma:0.25", 2}, {"gamma:1", 1}, {"gamma:4", 0.5}, {"gamma:2.5", 1 / math.Sqrt(2.5)},
		{"weibull:1", 1}, {"weibull:0.8", 1.2605}, {"weibull:2", 0.5227}, {"lognormal:0.5", 0.5}, {"lognormal:1", 1},
	} {
		p, err := ParseProcess(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if p.String() != tt.text {
			t.Errorf("ParseProcess(%q).String() = %q", tt.text, p)
		}
		if math.Abs(p.CV()-tt.cv) > 1e-4 {
			t.Errorf("%s: CV() = %g; want %g", p, p.CV(), tt.cv)
		}
		// One stream of 1e5 draws, and ten times as many: at CV 2 the mean of the former
		// is off by 0.6 % often enough, so the latter is the sharper test.
		for _, n := range []int{draws, 10 * draws} {
			r := Stream(3, "test", tt.text)
			xs := make([]float64, n)
			for i := range xs {
				if xs[i] = p.Gap(r); !(xs[i] >= 0) || math.IsInf(xs[i], 0) {
					t.Fatalf("%s: gap %g", p, xs[i])
				}
			}
			mean, cv := moments(xs)
			if math.Abs(mean-1) > 0.01 || math.Abs(cv-tt.cv) > 0.03*tt.cv {
				t.Errorf("%s: %d draws have mean %.4f and CV %.4f; want 1 within 1 %% and %.4f within 3 %%", p, n, mean, cv, tt.cv)
			}
		}
	}
}

// A gamma of a whole shape is a sum of exponentials: the distributions agree, not only
// their moments. The same for k < 1: gamma(1/2) is half a squared normal.
func TestGammaAgainstOtherConstructions(t *testing.T) {
	r := Stream(7, "test", "gamma")
	for _, tt := range []struct {
		k    float64
		make func() float64
	}{
		{3, func() float64 { return r.ExpFloat64() + r.ExpFloat64() + r.ExpFloat64() }},
		{0.5, func() float64 { x := r.NormFloat64(); return x * x / 2 }},
	} {
		a, b := make([]float64, draws), make([]float64, draws)
		for i := range a {
			a[i], b[i] = gamma(r, tt.k), tt.make()
		}
		if d, limit := ks(a, b), 1.95*math.Sqrt(2.0/draws); d > limit { // 0.1 % level
			t.Errorf("gamma(%g) against its construction: KS distance %.4f; want at most %.4f", tt.k, d, limit)
		}
	}
}

func ks(a, b []float64) (d float64) {
	slices.Sort(a)
	slices.Sort(b)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		if a[i] <= b[j] {
			i++
		} else {
			j++
		}
		d = max(d, math.Abs(float64(i)/float64(len(a))-float64(j)/float64(len(b))))
	}
	return d
}

func TestParseProcessRefuses(t *testing.T) {
	for _, text := range []string{"", "gamma", "gamma:", "gamma:0", "gamma:-1", "gamma:NaN", "gamma:Inf", "gamma:0.001", "gamma:1e7", "gamma:1:2", "weibull:0", "lognormal:0", "lognormal:-0.5",
		"poisson:1", "constant:1", ":1", "pareto:1", "Gamma:1", "gamma: 1"} {
		if p, err := ParseProcess(text); err == nil || !strings.Contains(err.Error(), "want constant, poisson") {
			t.Errorf("ParseProcess(%q) = %v, %v; want a refusal that says what there is", text, p, err)
		}
	}
}

// A named stream is what it was, whatever else is drawn.
func TestStreamsAreNamed(t *testing.T) {
	// Recomputed with another SHA-256 and the published encoding.
	if got, want := Uniform(42, "sample", "s1"), uint64(0x788dc9acd4678b93); got != want {
		t.Errorf("Uniform(42, sample, s1) = %#x; want %#x", got, want)
	}
	if got, want := Uniform(-1, "clone", "trace_0003", Int(2)), uint64(0x4fe898ccf07ec63c); got != want {
		t.Errorf("Uniform(-1, clone, trace_0003, 2) = %#x; want %#x", got, want)
	}
	if f := Fraction(42, "sample", "s1"); f != float64(uint64(0x788dc9acd4678b93)>>11)/(1<<53) {
		t.Errorf("Fraction = %g", f)
	}
	if Uniform(0, "a", "bc") == Uniform(0, "ab", "c") || Uniform(0, "a", "b", "c") == Uniform(0, "a", "bc") {
		t.Error("two lists of fields share their bits")
	}
	first := Stream(1, "gaps", "chat").Uint64()
	for _, other := range []*rand.Rand{Stream(2, "gaps", "chat"), Stream(1, "lengths", "chat"), Stream(1, "gaps", "code")} {
		if other.Uint64() == first {
			t.Error("two streams begin alike")
		}
	}
	if Stream(1, "gaps", "chat").Uint64() != first {
		t.Error("a stream has changed")
	}
}

func times(t *testing.T, text string, segments ...Segment) []int64 {
	t.Helper()
	p, err := ParseProcess(text)
	if err != nil {
		t.Fatal(err)
	}
	ts, err := NewTimes(Stream(3, "test", text), p, segments)
	if err != nil {
		t.Fatal(err)
	}
	var out []int64
	for {
		ns, ok := ts.Next()
		if !ok || len(out) == draws {
			return out
		}
		out = append(out, ns)
	}
}

func TestRampClosedForm(t *testing.T) {
	for _, s := range []Segment{{100, 1, 5}, {100, 5, 1}, {100, 0, 4}, {100, 4, 0}, {60, 2, 2.0000001}, {60, 2, 2}} {
		got := times(t, "constant", s)
		if want := int(s.Seconds * (s.From + s.To) / 2); len(got) != want {
			t.Errorf("%v: %d arrivals; want %d", s, len(got), want)
		}
		for i, ns := range got {
			u := float64(i + 1)
			want := u / s.From
			if d := s.To - s.From; math.Abs(d) > 1e-6 {
				want = s.Seconds * (math.Sqrt(s.From*s.From+2*d*u/s.Seconds) - s.From) / d
			}
			if math.Abs(float64(ns)/1e9-want) > 2e-6 {
				t.Fatalf("%v: arrival %d at %d ns; the closed form gives %.9f s", s, i+1, ns, want)
			}
		}
	}
}

// The rates of a series hold in each of its stretches, a stretch of rate 0 is empty and
// the shape of the gaps stays.
func TestSeriesByTimeChange(t *testing.T) {
	series := []Segment{{1000, 10, 10}, {500, 0, 0}, {1000, 20, 20}, {200, 0, 0}, {2000, 5, 5}}
	for _, text := range []string{"constant", "poisson", "gamma:4"} {
		var counts [5]int
		var gaps []float64
		last := int64(0)
		for _, ns := range times(t, text, series...) {
			at, k := float64(ns)/1e9, 0
			for ; at > series[k].Seconds; k++ {
				at -= series[k].Seconds
			}
			counts[k]++
			if k == 2 {
				gaps = append(gaps, float64(ns-last))
			}
			last = ns
		}
		for k, s := range series {
			want := s.Seconds * s.From
			if got := float64(counts[k]); math.Abs(got-want) > 4*math.Sqrt(want)+1 || want == 0 && got != 0 {
				t.Errorf("%s: stretch %d has %d arrivals; want about %g", text, k, counts[k], want)
			}
		}
		p, _ := ParseProcess(text)
		if _, cv := moments(gaps[1:]); math.Abs(cv-p.CV()) > 0.05 {
			t.Errorf("%s: gaps within a stretch have CV %.3f; want %.3f", text, cv, p.CV())
		}
	}
	if got := times(t, "poisson", Segment{100, 0, 0}); len(got) != 0 {
		t.Errorf("rate 0 emitted %d arrivals", len(got))
	}
}

// A running sum that is rounded once does not drift: arrival n of a constant rate is at
// n/rate, where gaps rounded one by one would be a third of a nanosecond each behind.
func TestNoAccumulatedRounding(t *testing.T) {
	got := times(t, "constant", Segment{math.Inf(1), 3, 3})
	for i, ns := range got {
		if want := int64(math.Round(float64(i+1) / 3 * 1e9)); ns != want {
			t.Fatalf("arrival %d at %d ns; want %d", i+1, ns, want)
		}
	}
	if len(got) != draws {
		t.Fatalf("%d arrivals of an endless rate; want %d", len(got), draws)
	}
}

// Fast arrivals are not squeezed by rounding (a fault that ai-dynamo/dynamo#14562 fixed):
// a million a second stay a million a second.
func TestFastArrivalsKeepTheirRate(t *testing.T) {
	got := times(t, "poisson", Segment{math.Inf(1), 1e6, 1e6})
	if last := float64(got[len(got)-1]); math.Abs(last/1e3/draws-1) > 0.01 {
		t.Errorf("arrival %d at %g ns; want about %d us", draws, last, draws)
	}
}

func TestTimesRefuseBadSegments(t *testing.T) {
	for _, s := range []Segment{{0, 1, 1}, {-1, 1, 1}, {math.NaN(), 1, 1}, {1, -1, 1}, {1, 1, math.NaN()}, {1, math.Inf(1), 1}, {math.Inf(1), 1, 2}} {
		if _, err := NewTimes(nil, Process{}, []Segment{s}); err == nil {
			t.Errorf("segment %v is accepted", s)
		}
	}
	slow, _ := NewTimes(nil, Process{}, []Segment{{math.Inf(1), 1e-12, 1e-12}})
	if ns, ok := slow.Next(); ok {
		t.Errorf("an arrival after 31,700 years came at %d ns", ns)
	}
}

func TestSpreadFillsItsSpan(t *testing.T) {
	const n, span = 20_000, int64(3600e9)
	for _, text := range []string{"constant", "poisson", "gamma:0.25", "weibull:0.5", "lognormal:2"} {
		p, _ := ParseProcess(text)
		next := Spread(func() *rand.Rand { return Stream(5, "spread", text) }, p, n, span)
		var gaps []float64
		last := next()
		if last != 0 {
			t.Errorf("%s: starts at %d", text, last)
		}
		for range n {
			at := next()
			if at < last {
				t.Fatalf("%s: %d after %d", text, at, last)
			}
			gaps = append(gaps, float64(at-last))
			last = at
		}
		if last != span {
			t.Errorf("%s: ends at %d; want %d", text, last, span)
		}
		if mean, cv := moments(gaps); math.Abs(mean-float64(span)/n) > 1e-3 || math.Abs(cv-p.CV()) > 0.08*p.CV() {
			t.Errorf("%s: gaps have mean %g, CV %.3f; want %g, %.3f", text, mean, cv, float64(span)/n, p.CV())
		}
	}
	for _, n := range []int64{0, 1} {
		next := Spread(func() *rand.Rand { return Stream(5, "spread", "") }, Process{}, n, 10)
		if a, b := next(), next(); a != 0 || b != 10 {
			t.Errorf("Spread of %d gaps = %d, %d; want 0, 10", n, a, b)
		}
	}
}
