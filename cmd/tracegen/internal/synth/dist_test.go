package synth

import (
	"math"
	"slices"
	"strings"
	"testing"

	"hydrant/internal/arrivals"
)

func TestDistMoments(t *testing.T) {
	const n = 200_000
	for _, tt := range []struct {
		text     string
		mean, sd float64
	}{
		{"7", 7, 0}, {"2.5", 2.5, 0}, {"uniform:1:9", 5, math.Sqrt(80.0 / 12)}, {"uniform:0.5:1", 0.75, 0.5 / math.Sqrt(12)},
		{"normal:100:10", 100, 10}, {"normal:0:1", math.Sqrt(2 / math.Pi), math.Sqrt(1 - 2/math.Pi)}, {"normal:5:100:0:10", 5, 2.887},
		{"lognormal:2000:0.5", 2000, 1000}, {"exponential:20", 20, 20}, {"geometric:4", 4, math.Sqrt(12)}, {"geometric:1", 1, 0},
		{"zipf:0:9", 5, math.Sqrt(80.0 / 12)}, {"zipf:1:3", 18.0 / 11, math.Sqrt(36.0/11 - 18.0*18/121)},
		{"quantiles:0,10", 5, 10 / math.Sqrt(12)}, {"quantiles:1,1,3", 1.5, 0.6455}, {"histogram:1-3=1,10=3", 8, math.Sqrt((1.0+4+9)/12 + 75 - 64)},
	} {
		d, err := ParseDist(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if d.String() != tt.text {
			t.Errorf("ParseDist(%q).String() = %q", tt.text, d)
		}
		r := arrivals.Stream(1, "test", tt.text)
		var sum, squares float64
		least := math.Inf(1)
		for range n {
			v := d.At(r.Float64())
			sum += v
			squares += v * v
			least = min(least, v)
		}
		mean := sum / n
		sd := math.Sqrt(max(0, squares/n-mean*mean))
		if math.Abs(mean-tt.mean) > 0.01*tt.mean || math.Abs(sd-tt.sd) > 0.01*tt.sd+1e-6 {
			t.Errorf("%s: mean %.4f, deviation %.4f; want %.4f, %.4f", tt.text, mean, sd, tt.mean, tt.sd)
		}
		if least < d.lo {
			t.Errorf("%s: drew %g; it says at least %g", tt.text, least, d.lo)
		}
	}
}

// A quantile function does not fall, and its ends are finite.
func TestDistRises(t *testing.T) {
	for _, text := range []string{"uniform:1:9", "normal:100:200", "lognormal:10:3", "exponential:2", "geometric:30", "zipf:1.3:1000", "quantiles:1,2,2,9", "histogram:0=1,5-9=2,20=0.5"} {
		d, err := ParseDist(text)
		if err != nil {
			t.Fatal(err)
		}
		last := math.Inf(-1)
		for i := range 1001 {
			v := d.At(min(float64(i)/1000, 1-0x1p-53))
			if v < last || math.IsInf(v, 0) || math.IsNaN(v) {
				t.Fatalf("%s: quantile %d/1000 is %g after %g", text, i, v, last)
			}
			last = v
		}
	}
}

func TestZipfWeights(t *testing.T) {
	d, _ := ParseDist("zipf:1:4")
	for i, edge := range []float64{0, 12.0 / 25, 18.0 / 25, 22.0 / 25} {
		if v := d.At(edge + 1e-9); v != float64(i+1) {
			t.Errorf("zipf:1:4 at %.4f = %g; want %d", edge, v, i+1)
		}
	}
}

func TestParseDistRefuses(t *testing.T) {
	for _, text := range []string{"", "x", "NaN", "Inf", "1e13", "pareto:1:2", "uniform:1", "uniform:9:1", "uniform:1:2:3", "normal:1", "normal:1:0", "normal:1:-1", "normal:-1e6:1", "normal:5:1:9:3",
		"lognormal:0:1", "lognormal:5:0", "lognormal:5:1000", "exponential:0", "geometric:0.5", "zipf:-1:9", "zipf:1:0", "zipf:1:1e7", "zipf:1:2.5", "quantiles:1", "quantiles:2,1", "quantiles:1,NaN",
		"histogram:", "histogram:1=0", "histogram:1", "histogram:5-1=1", "histogram:5=1,3=1", "histogram:1.5=1", "histogram:1-3=1,3=1", "uniform:a:b"} {
		if d, err := ParseDist(text); err == nil || !strings.Contains(err.Error(), "want ") {
			t.Errorf("ParseDist(%q) = %v, %v; want a refusal that says what is wanted", text, d, err)
		}
	}
}

func TestParseRate(t *testing.T) {
	for _, tt := range []struct {
		text, printed string
		want          []arrivals.Segment
	}{
		{"5", "5", []arrivals.Segment{{Seconds: math.Inf(1), From: 5, To: 5}}},
		{"1..5/10m, 0/90s,2.5", "1..5/10m0s,0/1m30s,2.5", []arrivals.Segment{{Seconds: 600, From: 1, To: 5}, {Seconds: 90}, {Seconds: math.Inf(1), From: 2.5, To: 2.5}}},
		{"5..0/1h", "5..0/1h0m0s", []arrivals.Segment{{Seconds: 3600, From: 5}}},
	} {
		got, err := ParseRate(tt.text)
		if err != nil || !slices.Equal(got, tt.want) || PrintRate(got) != tt.printed {
			t.Errorf("ParseRate(%q) = %v (%s), %v; want %v (%s)", tt.text, got, PrintRate(got), err, tt.want, tt.printed)
		}
	}
	for _, text := range []string{"", "0", "-1", "NaN", "Inf", "1..5", "5,6", "5/0s", "5/-1s", "5/10", "1..2..3/1s", "5/1m,0", "0/1m", "1e10", "5/1m,,6"} {
		if got, err := ParseRate(text); err == nil {
			t.Errorf("ParseRate(%q) = %v; want a refusal", text, got)
		}
	}
}
