package rule

import (
	"math"

	"hydrant/formats/verdict"
)

// finding collects what a check found: one entry per term of the table.
type finding struct {
	check    Check
	required bool
	terms    []verdict.Term
	limits   []bound
	evidence string
	changed  map[string]float64 // limits changed by hand
}

// bound is a term's limit in effect; NaN where none applies.
type bound struct{ limit, warn float64 }

func newFinding(c Check, changed map[string]float64) *finding {
	f := &finding{check: c, required: c.Required, changed: changed}
	for _, t := range c.Terms {
		id := c.ID + "." + t.Name
		b := bound{t.Limit, t.Warn}
		if v, ok := changed[id]; ok {
			b.limit = v
		}
		if v, ok := changed[id+".warn"]; ok {
			b.warn = v
		}
		f.limits = append(f.limits, b)
		f.terms = append(f.terms, verdict.Term{Limit: id, Name: t.What, Unit: t.Unit, Op: t.Op,
			Status: verdict.Unknown, Reason: "no evidence"})
	}
	return f
}

func (f *finding) at(term string) int {
	for i, t := range f.check.Terms {
		if t.Name == term {
			return i
		}
	}
	panic("internal error: check " + f.check.ID + " has no term " + term)
}

// limit replaces the default limit of a term; one that was changed by hand stands.
func (f *finding) limit(term string, v float64) {
	i := f.at(term)
	if _, ok := f.changed[f.terms[i].Limit]; !ok {
		f.limits[i].limit = v
	}
}

// advise makes the limit of a term one for WARN; one that was changed by hand stands.
func (f *finding) advise(term string) {
	i := f.at(term)
	if _, ok := f.changed[f.terms[i].Limit]; !ok {
		f.limits[i] = bound{none, f.limits[i].limit}
	}
}

// value sets a term's number, with the count of values that it rests on.
func (f *finding) value(term string, v float64, n int64) {
	i := f.at(term)
	f.terms[i].Value, f.terms[i].N = &v, n
	f.terms[i].Status, f.terms[i].Reason = "", ""
}

// see says where to look for a term's number.
func (f *finding) see(term, evidence string) { f.terms[f.at(term)].Evidence = evidence }

// unknown leaves a term without a number, for a reason.
func (f *finding) unknown(term, reason string) {
	t := &f.terms[f.at(term)]
	t.Status, t.Reason = verdict.Unknown, reason
}

// skip marks a term as not applicable, for a reason.
func (f *finding) skip(term, reason string) {
	t := &f.terms[f.at(term)]
	t.Status, t.Reason = verdict.NotApplicable, reason
}

// skipAll marks every term as not applicable.
func (f *finding) skipAll(reason string) {
	for _, t := range f.check.Terms {
		f.skip(t.Name, reason)
	}
}

// conclude compares every number with its limit and returns the check's result. A
// check is as bad as its worst term; a BAD one that is not required is a WARN.
func (f *finding) conclude() verdict.Check {
	c := verdict.Check{ID: f.check.ID, Title: f.check.Title, Required: f.required, Bias: f.check.Bias,
		Formula: f.check.Formula, Source: f.check.Source, Evidence: f.evidence}
	worst, skipped := 0, ""
	for i := range f.terms {
		t := &f.terms[i]
		if t.Status == "" {
			t.Status = f.compare(i)
		}
		if t.Status != verdict.NotApplicable && t.Status != verdict.Unknown {
			t.Bound, t.Warn = number64(f.limits[i].limit), number64(f.limits[i].warn)
		}
		switch t.Status {
		case verdict.NotApplicable:
			skipped = t.Reason
		case verdict.Unknown:
			if c.Reason == "" {
				c.Reason = t.Reason
			}
		}
		worst = max(worst, severity(t.Status))
	}
	c.Terms = f.terms
	c.Status = [...]string{verdict.OK, verdict.OK, verdict.Warn, verdict.Unknown, verdict.Bad}[worst]
	if worst == 0 && c.Evidence == "" {
		c.Evidence = "n/a: " + skipped
	}
	if c.Status != verdict.Unknown {
		c.Reason = ""
	}
	return c
}

// severity orders the states of a term.
func severity(status string) int {
	switch status {
	case verdict.NotApplicable:
		return 0
	case verdict.OK:
		return 1
	case verdict.Warn:
		return 2
	case verdict.Unknown:
		return 3
	}
	return 4
}

func (f *finding) compare(i int) string {
	v, b, op := *f.terms[i].Value, f.limits[i], f.terms[i].Op
	switch {
	case beyond(v, op, b.limit) && f.required:
		return verdict.Bad
	case beyond(v, op, b.limit) || beyond(v, op, b.warn):
		return verdict.Warn
	}
	return verdict.OK
}

// beyond reports whether v breaks a limit; nothing breaks one that is not there.
func beyond(v float64, op string, limit float64) bool {
	if math.IsNaN(limit) {
		return false
	}
	if op == atLeast {
		return v < limit
	}
	return v > limit
}

func number64(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}
