package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Dist is a distribution of positive numbers. Its unit is that of the field
// that holds it: seconds, tokens, or none. The zero Dist means "not set".
//
// Written forms, A and B in the unit of the field (durations as 50ms, 1.5s):
//
//	const:A          always A
//	exp:A            exponential, mean A
//	uniform:A:B      between A and B
//	lognormal:A:B    mean A, coefficient of variation B (a plain number)
type Dist struct {
	Kind string // "", "const", "exp", "uniform", "lognormal"
	A, B float64
}

// IsZero reports whether the distribution is not set.
func (d Dist) IsZero() bool { return d.Kind == "" }

// Mean returns the expected value, 0 when not set.
func (d Dist) Mean() float64 {
	if d.Kind == "uniform" {
		return (d.A + d.B) / 2
	}
	return d.A
}

// Draw takes one value. Only as many numbers of r are used as the kind needs.
func (d Dist) Draw(r *rand.Rand) float64 {
	switch d.Kind {
	case "const":
		return d.A
	case "exp":
		return d.A * r.ExpFloat64()
	case "uniform":
		return d.A + (d.B-d.A)*r.Float64()
	case "lognormal":
		// Mean m and CV c: sigma² = ln(1+c²), mu = ln m − sigma²/2.
		s2 := math.Log1p(d.B * d.B)
		return math.Exp(math.Log(d.A) - s2/2 + math.Sqrt(s2)*r.NormFloat64())
	}
	return 0
}

const distWant = "const:A, exp:A, uniform:A:B or lognormal:A:CV"

// parseDist reads the written form; a plain value stands for const. unit is "s"
// for durations and "" for plain numbers.
func parseDist(s, unit string) (Dist, error) {
	if s == "none" {
		return Dist{}, nil
	}
	number := func(v string) (float64, bool) {
		if unit == "s" {
			d, err := time.ParseDuration(v)
			return d.Seconds(), err == nil && d >= 0
		}
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil && f >= 0 && !math.IsInf(f, 0)
	}
	if f, ok := number(s); ok {
		return Dist{Kind: "const", A: f}, nil
	}
	bad := fmt.Errorf("want none, %s", distWant)
	part := strings.Split(s, ":")
	d := Dist{Kind: part[0]}
	args := map[string]int{"const": 1, "exp": 1, "uniform": 2, "lognormal": 2}[d.Kind]
	if args == 0 || len(part) != args+1 {
		return Dist{}, bad
	}
	var ok bool
	if d.A, ok = number(part[1]); !ok {
		return Dist{}, bad
	}
	switch d.Kind {
	case "uniform":
		if d.B, ok = number(part[2]); !ok || d.B < d.A {
			return Dist{}, bad
		}
	case "lognormal":
		f, err := strconv.ParseFloat(part[2], 64)
		if err != nil || !(f >= 0) || math.IsInf(f, 0) || d.A == 0 {
			return Dist{}, bad
		}
		d.B = f
	}
	return d, nil
}

// format is the inverse of parseDist.
func (d Dist) format(unit string) string {
	number := func(f float64) string {
		if unit == "s" {
			return time.Duration(math.Round(f * 1e9)).String()
		}
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	switch d.Kind {
	case "":
		return "none"
	case "uniform":
		return d.Kind + ":" + number(d.A) + ":" + number(d.B)
	case "lognormal":
		return d.Kind + ":" + number(d.A) + ":" + strconv.FormatFloat(d.B, 'g', -1, 64)
	}
	return d.Kind + ":" + number(d.A)
}
