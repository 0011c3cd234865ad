package analyze

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/stats"
)

func timed(at ...int64) (reqs []*schedule.Request) {
	for _, t := range at {
		reqs = append(reqs, &schedule.Request{AtNS: formats.Some(t), Session: "s", Stream: "0", Context: schedule.Whole})
	}
	return reqs
}

// The definitions, on a list of all times.
func TestTimeAgainstDefinitions(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 4))
		at := []int64{rng.Int64N(1e9)}
		for range 1 + rng.IntN(400) {
			gap := rng.Int64N(2e9)
			if rng.IntN(30) == 0 {
				gap += rng.Int64N(300e9)
			}
			if rng.IntN(5) == 0 {
				gap = 0
			}
			at = append(at, at[len(at)-1]+gap)
		}
		report, err := Analyze(stream(timed(at...)), nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		tm := report.Time
		span := at[len(at)-1] - at[0]
		near := func(name string, got *float64, want float64) {
			t.Helper()
			if span == 0 {
				return
			}
			if got == nil || math.Abs(*got-want) > 1e-9*want {
				t.Errorf("seed %d: %s = %v; want %v", seed, name, got, want)
			}
		}
		n := float64(len(at))
		near("rate", tm.RatePerS, n/(float64(span)/1e9))
		mean, squares := float64(span)/(n-1), 0.0
		for i := 1; i < len(at); i++ {
			squares += math.Pow(float64(at[i]-at[i-1])-mean, 2)
		}
		near("gap CV", tm.GapCV, math.Sqrt(squares/(n-1))/mean)
		for _, w := range tm.Windows {
			counts := make([]float64, span/w.WidthNS+1)
			for _, x := range at {
				counts[(x-at[0])/w.WidthNS]++
			}
			k := float64(len(counts))
			variance, empty := 0.0, int64(0)
			for _, c := range counts {
				variance += math.Pow(c-n/k, 2) / k
				if c == 0 {
					empty++
				}
			}
			if w.Windows != int64(len(counts)) || w.Empty != empty || float64(w.Most) != slices.Max(counts) {
				t.Errorf("seed %d: %+v; want %d windows, %d empty, most %v", seed, w, len(counts), empty, slices.Max(counts))
			}
			near("IDC", w.IDC, variance/(n/k))
			near("peak to mean", w.PeakToMean, slices.Max(counts)*k/n)
		}
	}
}

// What has no spread is 0 exactly, and what cannot be known is null.
func TestTimeEdges(t *testing.T) {
	even := make([]int64, 1000)
	for i := range even {
		even[i] = int64(i) * 333_333_333
	}
	report, err := Analyze(stream(timed(even...)), nil, Options{})
	if err != nil || *report.Time.GapCV != 0 {
		t.Errorf("gap CV of equal gaps = %v, %v; want 0", *report.Time.GapCV, err)
	}
	for _, at := range [][]int64{nil, {5}, {5, 5}} {
		report, err := Analyze(stream(timed(at...)), nil, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if tm := report.Time; tm.RatePerS != nil || tm.GapCV != nil || tm.SpanNS.Valid != (len(at) > 0) || (tm.Windows[0].IDC == nil) != (len(at) == 0) {
			t.Errorf("times %v: %+v; want no rate and no CV", at, tm)
		}
	}
	if _, err := Analyze(stream(timed(5, 4)), nil, Options{}); err == nil || !strings.Contains(err.Error(), `at_ns: got "4", want at least 5`) {
		t.Errorf("times that go back: %v; want an error", err)
	}
	if _, err := Analyze(stream(timed(0, math.MaxInt64)), nil, Options{}); err != nil {
		t.Errorf("292 years: %v", err)
	}
}

// A series becomes coarser, and loses nobody.
func TestSeries(t *testing.T) {
	s := series{width: 10, most: 8}
	for i := range int64(1000) {
		s.add(i * i)
	}
	total := int64(0)
	for _, n := range s.counts {
		total += n
	}
	if total != 1000 || len(s.counts) > 8 || s.width != 163840 || s.counts[0] != 405 {
		t.Errorf("%d in %v of %d; want 1000 in 8 windows of 163840, 405 in the first", total, s.counts, s.width)
	}
	reqs := timed(0, 59e9, 60e9, 60e9*maxRateWindows)
	report, err := Analyze(stream(reqs), nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := report.Time.Rate; r.WidthNS != 120e9 || r.Counts[0] != 3 || len(report.Notes) != 1 {
		t.Errorf("rate = %d ns, first %d, notes %q; want windows of 120 s and a note", r.WidthNS, r.Counts[0], report.Notes)
	}
}

// Percentiles are nearest rank; exact, or too low by 1 part in 4,096 at most.
func TestCounts(t *testing.T) {
	for _, tt := range []struct {
		n     int
		most  int64
		exact bool
	}{{1, 10, true}, {999, 10, true}, {1000, 1 << 20, true}, {300_000, 1 << 50, false}, {300_000, 1 << 17, true}} {
		rng := rand.New(rand.NewPCG(uint64(tt.n), 5))
		var c Counts
		var all []int64
		for range tt.n {
			v := rng.Int64N(tt.most)
			c.Add(v)
			all = append(all, v)
		}
		slices.Sort(all)
		d := c.dist(int64(tt.n) + 3)
		if d.Exact != tt.exact || d.N != int64(tt.n) || d.Nulls != 3 || d.Min.V != all[0] || d.Max.V != all[tt.n-1] {
			t.Errorf("%d values below %d: %+v", tt.n, tt.most, d)
		}
		for i, got := range []formats.Int{d.P10, d.P50, d.P90, d.P95, d.P99, d.P999} {
			want := all[stats.NearestRank(int64(tt.n), levels[i])-1]
			if low := want - want/4096; got.V > want || got.V < low || tt.exact && got.V != want {
				t.Errorf("%d values below %d: percentile %d/1000 = %d; want %d", tt.n, tt.most, levels[i], got.V, want)
			}
		}
		if len(c.large) > maxDistinct {
			t.Errorf("%d counters; want at most %d", len(c.large), maxDistinct)
		}
	}
}

func TestParseTokens(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "512": 512, "10M": 10_000_000, "1.5G": 1_500_000_000, "0.5k": 500, "2T": 2_000_000_000_000} {
		if n, ok := ParseTokens(text); !ok || n != want {
			t.Errorf("ParseTokens(%q) = %d, %v; want %d", text, n, ok, want)
		}
		if text != "0.5k" && text != "1.5G" && strings.ReplaceAll(tokens(want), ",", "") != text {
			t.Errorf("tokens(%d) = %q; want %q", want, tokens(want), text)
		}
	}
	for _, text := range []string{"", "0", "-1", "M", "1.M", ".5", ".5k", "1.5", "0.0001k", "1m", "1 M", "1e6", "99999999999999999999", "9999999999G"} {
		if n, ok := ParseTokens(text); ok {
			t.Errorf("ParseTokens(%q) = %d; want a refusal", text, n)
		}
	}
}
