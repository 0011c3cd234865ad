package rule

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hydrant/internal/slo"
)

// Override is one limit changed by hand.
type Override struct {
	ID    string // "B2.p99", "B2.p99.warn"
	Unit  string
	Value float64
	Was   float64 // the table's default, NaN when the table has none
}

// ParseOverride reads "ID=VALUE" of --limit. The id is that of a check with a term
// ("B2.p99"), with ".warn" for the limit of a WARN; the check alone stands for its
// first term. Durations take a unit, shares a % sign or a plain number.
func ParseOverride(s string) (Override, error) {
	place := fmt.Sprintf("--limit %q", s)
	name, text, found := strings.Cut(s, "=")
	if !found {
		return Override{}, &slo.Error{Place: place, Part: "form", Got: s, Want: "ID=VALUE, as in B2.p99=20ms"}
	}
	check, term, err := find(name, place)
	if err != nil {
		return Override{}, err
	}
	o := Override{ID: check.ID + "." + term.Name, Unit: term.Unit, Was: term.Limit}
	if strings.HasSuffix(name, ".warn") {
		o.ID, o.Was = o.ID+".warn", term.Warn
	}
	v, want := number(text, term.Unit)
	if o.ID == "D5.n_eff" && v == 0 {
		want = "a number above 0"
	}
	if want != "" {
		return Override{}, &slo.Error{Place: place, Part: "value", Got: text, Want: want}
	}
	o.Value = v
	return o, nil
}

// find returns the check and term that a limit's id names.
func find(id, place string) (Check, Term, error) {
	var known []string
	base := strings.TrimSuffix(id, ".warn")
	for _, c := range Checks() {
		for i, t := range c.Terms {
			full := c.ID + "." + t.Name
			if full == "D5.unsettled" {
				continue // a part of the decision: without tau there is no n_eff
			}
			known = append(known, full)
			if base == full || i == 0 && base == c.ID {
				return c, t, nil
			}
		}
	}
	return Check{}, Term{}, &slo.Error{Place: place, Part: "id", Got: id, Want: "one of " + strings.Join(known, ", ")}
}

// number reads a value in the unit of its limit; want says what was expected when it
// cannot be read.
func number(s, unit string) (v float64, want string) {
	switch unit {
	case nanoseconds:
		if ns, ok := slo.ParseDuration(s); ok {
			return float64(ns), ""
		}
		return 0, "a duration such as 20ms"
	case share:
		if v, ok := slo.ParseShare(s); ok {
			return v, ""
		}
		return 0, "a share such as 1% or 0.01"
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return 0, "a number of at least 0"
	}
	return v, ""
}
