package synth

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Dist is a distribution as its quantile function, so that one uniform number makes
// one value and two of them can be drawn with a given correlation of ranks. The zero
// value is not set.
type Dist struct {
	text     string
	quantile func(u float64) float64
	lo       float64 // the least value there is
	points   []float64
}

// wantDist lists what ParseDist reads.
const wantDist = "a number, uniform:A:B, normal:MEAN:SD, lognormal:MEAN:CV, exponential:MEAN, geometric:MEAN, zipf:S:MAX, quantiles:Q0,Q1,… or histogram:A-B=WEIGHT,…"

// ParseDist reads a distribution: a kind and its numbers, as String prints it.
func ParseDist(text string) (Dist, error) {
	d, err := parseDist(strings.TrimSpace(text))
	if err != nil {
		return Dist{}, fmt.Errorf("got %q, want %w", clip(text), err)
	}
	return d, nil
}

var errDist = errors.New(wantDist)

func parseDist(text string) (Dist, error) {
	if v, err := number(text); err == nil {
		return Dist{text: text, lo: v, quantile: func(float64) float64 { return v }}, nil
	}
	kind, rest, ok := strings.Cut(text, ":")
	if !ok {
		return Dist{}, errDist
	}
	switch kind {
	case "quantiles":
		return quantiles(text, strings.Split(rest, ","))
	case "histogram":
		return histogram(text, strings.Split(rest, ","))
	}
	var a []float64
	for _, s := range strings.Split(rest, ":") {
		v, err := number(s)
		if err != nil {
			return Dist{}, errDist
		}
		a = append(a, v)
	}
	switch {
	case kind == "uniform" && len(a) == 2:
		return uniform(text, a[0], a[1])
	case kind == "normal" && (len(a) == 2 || len(a) == 4):
		return normal(text, a)
	case kind == "lognormal" && len(a) == 2:
		return lognormal(text, a[0], a[1])
	case kind == "exponential" && len(a) == 1:
		if a[0] <= 0 {
			return Dist{}, errors.New("a mean above 0")
		}
		return Dist{text: text, quantile: func(u float64) float64 { return -a[0] * math.Log1p(-u) }}, nil
	case kind == "geometric" && len(a) == 1:
		return geometric(text, a[0])
	case kind == "zipf" && len(a) == 2:
		return zipf(text, a[0], a[1])
	}
	return Dist{}, errDist
}

// number reads a finite decimal of at most 1e12 either side of 0: counts of tokens and
// seconds both stay far below.
func number(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(math.Abs(v) <= 1e12) {
		return 0, errDist
	}
	return v, nil
}

// Set tells whether the distribution was given.
func (d Dist) Set() bool { return d.quantile != nil }

// String prints the distribution as ParseDist reads it.
func (d Dist) String() string { return d.text }

// At returns the quantile of u, 0 ≤ u < 1.
func (d Dist) At(u float64) float64 { return d.quantile(u) }

// Whole returns the quantile of u rounded to a whole number.
func (d Dist) Whole(u float64) int64 { return int64(math.Round(d.quantile(u))) }

// uniform is over the whole numbers from a to b when both are whole, both included;
// else over the reals between them.
func uniform(text string, a, b float64) (Dist, error) {
	if b < a {
		return Dist{}, errors.New("uniform:A:B with A of at most B")
	}
	if a == math.Trunc(a) && b == math.Trunc(b) {
		return Dist{text: text, lo: a, quantile: func(u float64) float64 { return min(a+math.Floor(u*(b-a+1)), b) }}, nil
	}
	return Dist{text: text, lo: a, quantile: func(u float64) float64 { return a + u*(b-a) }}, nil
}

// normal is cut off at its bounds, by default 0 and none: values beyond are not drawn,
// so none piles up at a bound.
func normal(text string, a []float64) (Dist, error) {
	mean, sd, lo, hi := a[0], a[1], 0.0, math.Inf(1)
	if len(a) == 4 {
		lo, hi = a[2], a[3]
	}
	from, to := phi((lo-mean)/sd), phi((hi-mean)/sd)
	if !(sd > 0) || !(lo < hi) || !(to-from > 1e-9) {
		return Dist{}, errors.New("normal:MEAN:SD or normal:MEAN:SD:LEAST:MOST with SD above 0 and a range that is not void")
	}
	return Dist{text: text, lo: lo, quantile: func(u float64) float64 {
		p := from + u*(to-from)
		return min(max(mean+sd*math.Sqrt2*math.Erfinv(2*p-1), lo), hi)
	}}, nil
}

func phi(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// lognormal is given by its mean and its coefficient of variation, as arrivals are.
func lognormal(text string, mean, cv float64) (Dist, error) {
	if !(mean > 0) || !(cv > 0 && cv <= 100) {
		return Dist{}, errors.New("lognormal:MEAN:CV, both above 0 and CV at most 100")
	}
	s2 := math.Log1p(cv * cv)
	mu, s := math.Log(mean)-s2/2, math.Sqrt(s2)
	return Dist{text: text, quantile: func(u float64) float64 { return math.Exp(mu + s*math.Sqrt2*math.Erfinv(2*u-1)) }}, nil
}

// geometric counts from 1, as turns do.
func geometric(text string, mean float64) (Dist, error) {
	if mean < 1 {
		return Dist{}, errors.New("a mean of at least 1")
	}
	if mean == 1 {
		return Dist{text: text, lo: 1, quantile: func(float64) float64 { return 1 }}, nil
	}
	q := math.Log1p(-1 / mean)
	return Dist{text: text, lo: 1, quantile: func(u float64) float64 { return 1 + math.Floor(math.Log1p(-u)/q) }}, nil
}

// maxZipf bounds the table of a zipf: 8 MB.
const maxZipf = 1e6

// zipf gives value k, 1..max, in proportion to k^-s.
func zipf(text string, s, top float64) (Dist, error) {
	if !(s >= 0) || top != math.Trunc(top) || top < 1 || top > maxZipf {
		return Dist{}, errors.New("zipf:S:MAX with S of at least 0 and MAX whole, from 1 to 1000000")
	}
	sums := make([]float64, int(top))
	total := 0.0
	for i := range sums {
		total += math.Pow(float64(i+1), -s)
		sums[i] = total
	}
	return Dist{text: text, lo: 1, quantile: func(u float64) float64 {
		x := u * total
		return float64(min(sort.Search(len(sums), func(i int) bool { return sums[i] > x }), len(sums)-1) + 1)
	}}, nil
}

// quantiles goes in straight lines through values at equal steps of u.
func quantiles(text string, list []string) (Dist, error) {
	points := make([]float64, len(list))
	for i, s := range list {
		v, err := number(s)
		if err != nil {
			return Dist{}, err
		}
		points[i] = v
	}
	return fromPoints(text, points)
}

func fromPoints(text string, points []float64) (Dist, error) {
	if len(points) < 2 || !slices.IsSorted(points) {
		return Dist{}, errors.New("at least two quantiles that do not fall")
	}
	n := float64(len(points) - 1)
	return Dist{text: text, lo: points[0], points: points, quantile: func(u float64) float64 {
		i := min(int(u*n), len(points)-2)
		return points[i] + (u*n-float64(i))*(points[i+1]-points[i])
	}}, nil
}

// Quantiles returns the distribution that goes through the values at equal steps.
func Quantiles(points []float64) (Dist, error) {
	var b strings.Builder
	b.WriteString("quantiles:")
	for i, v := range points {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return fromPoints(b.String(), points)
}

// histogram reads VALUE=WEIGHT and FROM-TO=WEIGHT, the values of a range being equally
// likely whole numbers, both ends included.
func histogram(text string, list []string) (Dist, error) {
	want := errors.New("histogram:FROM-TO=WEIGHT,VALUE=WEIGHT,… with whole numbers that grow and weights above 0")
	type bin struct{ from, to, sum float64 }
	var bins []bin
	total := 0.0
	for _, s := range list {
		values, weight, ok := strings.Cut(s, "=")
		from, to, between := strings.Cut(values, "-")
		if !between {
			to = from
		}
		a, err1 := number(from)
		b, err2 := number(to)
		w, err3 := number(weight)
		if !ok || err1 != nil || err2 != nil || err3 != nil || a != math.Trunc(a) || b != math.Trunc(b) || b < a || !(w > 0) || len(bins) > 0 && a <= bins[len(bins)-1].to {
			return Dist{}, want
		}
		total += w
		bins = append(bins, bin{a, b, total})
	}
	return Dist{text: text, lo: bins[0].from, quantile: func(u float64) float64 {
		x := u * total
		i := min(sort.Search(len(bins), func(i int) bool { return bins[i].sum > x }), len(bins)-1)
		below := 0.0
		if i > 0 {
			below = bins[i-1].sum
		}
		b := bins[i]
		return min(b.from+math.Floor((x-below)/(b.sum-below)*(b.to-b.from+1)), b.to)
	}}, nil
}

// clip shortens text for an error.
func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}
