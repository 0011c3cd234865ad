package table

// What the page of reduce shows as the table does.

// Figure writes v with three significant digits, four from 1,000 on; – for what is no
// number.
func Figure(v float64) string { return figure(v) }

// Count writes a whole number with a comma between groups of three digits.
func Count(n int64) string { return count(n) }

// Percent writes a share.
func Percent(v float64) string { return percent(v) }

// Span writes a length of time, given in s, in the unit that suits it.
func Span(seconds float64) string { return span(seconds) }

// Unit chooses how values of a metric are shown, from its unit and a typical value: the
// name of the unit shown, and what a value is multiplied by.
func Unit(metric string, typical float64) (name string, scale float64) {
	u := unitFor(metric, typical)
	return u.name, u.scale
}
