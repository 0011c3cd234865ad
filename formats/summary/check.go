package summary

import (
	"cmp"
	"fmt"
	"slices"

	"hydrant/formats"
)

// checker keeps the first contradiction.
type checker struct {
	place string
	err   error
}

// must records a contradiction unless ok.
func (c *checker) must(ok bool, what string, got any, want string, a ...any) {
	if !ok && c.err == nil {
		c.err = &formats.SyntaxError{Place: c.place, What: what, Got: formats.Clip(fmt.Sprint(got)), Want: fmt.Sprintf(want, a...)}
	}
}

// once records a name that seen holds already.
func (c *checker) once(seen map[string]bool, what, name string) {
	c.must(!seen[name], what, name, "each one once")
	seen[name] = true
}

// check refuses values that no run has, and values that contradict each other: a
// summary has no checksum, and a number that was changed by hand must not decide.
func (s *Summary) check(place string) error {
	c := &checker{place: place}
	w := s.Window
	c.must(w.ToNS >= w.FromNS, "window.to_ns", w.ToNS, "at least from_ns")
	c.must(w.LoadTo >= w.LoadFrom, "window.load_to_ns", w.LoadTo, "at least load_from_ns")
	s.checkPlan(c)
	checkMetrics(c, "", s.Metrics)
	ids := map[string]bool{}
	for i, x := range s.Scalars {
		c.once(ids, "scalars", x.ID)
		c.must(x.Value != nil || x.Reason != "", fmt.Sprintf("scalars[%d].value", i), "null", "a number, or the reason why there is none")
	}
	ids = map[string]bool{}
	for i, x := range s.Series {
		c.once(ids, "series", x.ID)
		c.must(x.StepNS > 0, fmt.Sprintf("series[%d].step_ns", i), x.StepNS, "more than 0")
	}
	s.checkGroups(c)
	s.checkSums(c)
	if e := s.Columns; e != nil {
		c.must(e.Rows >= 0 && e.Rows <= MaxRows, "columns.rows", e.Rows, "0 to %d", MaxRows)
		c.must(e.Rows == s.Plan.Rows, "columns.rows", e.Rows, "%d, as plan.rows", s.Plan.Rows)
	}
	return c.err
}

// statuses are those of a part's end.
var statuses = []string{"complete", "interrupted", "failed"}

// checkPlan compares the plan with the ends of the parts, the outcomes and the clients.
func (s *Summary) checkPlan(c *checker) {
	c.must(len(s.Parts) > 0, "parts", "none", "at least one")
	var planned, rows, clientRows, n, inWindow, told int64
	for i, p := range s.Parts {
		at := fmt.Sprintf("parts[%d].end.", i)
		c.must(slices.Contains(statuses, p.End.Status), at+"status", p.End.Status, "complete, interrupted or failed")
		c.must(min(p.End.Planned, p.End.RequestsRows, p.End.ClientRows) >= 0, at+"planned", min(p.End.Planned, p.End.RequestsRows, p.End.ClientRows), "counts of at least 0")
		planned, rows, clientRows = planned+p.End.Planned, rows+p.End.RequestsRows, clientRows+p.End.ClientRows
	}
	names := map[string]bool{}
	for i, o := range s.Outcomes {
		c.once(names, "outcomes", o.Name)
		c.must(o.InWindow >= 0 && o.InWindow <= o.N, fmt.Sprintf("outcomes[%d].in_window", i), o.InWindow, "0 to %d, its n", o.N)
		n, inWindow = n+o.N, inWindow+o.InWindow
	}
	for i, x := range s.Clients {
		c.must(x.Part >= 0 && x.Part < int64(len(s.Parts)), fmt.Sprintf("clients[%d].part", i), x.Part, "one of %d parts", len(s.Parts))
		told += x.Rows
	}
	p := s.Plan
	c.must(min(p.Distinct, p.Duplicates, p.InWindow) >= 0, "plan", min(p.Distinct, p.Duplicates, p.InWindow), "counts of at least 0")
	c.must(p.Requests == planned, "plan.requests", p.Requests, "%d, planned by the parts", planned)
	c.must(p.Rows == rows, "plan.rows", p.Rows, "%d, the rows of the parts", rows)
	c.must(p.Rows == p.Distinct+p.Duplicates, "plan.rows", p.Rows, "%d distinct and %d duplicates", p.Distinct, p.Duplicates)
	c.must(p.Rows == n, "outcomes", fmt.Sprintf("%d rows", n), "%d, as plan.rows", p.Rows)
	c.must(p.InWindow == inWindow, "outcomes", fmt.Sprintf("%d rows in the window", inWindow), "%d, as plan.in_window", p.InWindow)
	c.must(told == clientRows, "clients", fmt.Sprintf("%d rows", told), "%d, as the parts state", clientRows)
}

// checkGroups compares each group with itself: together they are the rows.
func (s *Summary) checkGroups(c *checker) {
	var rows, inWindow int64
	seen := map[string]bool{}
	for i, g := range s.Groups {
		at := fmt.Sprintf("groups[%d].", i)
		c.must(len(g.Keys) > 0, at+"keys", "none", "at least one")
		c.once(seen, "groups", fmt.Sprintf("%q", g.Keys))
		var n, in int64
		for _, o := range g.Outcomes {
			n, in = n+o.N, in+o.InWindow
		}
		c.must(n == g.Rows && in == g.InWindow, at+"outcomes", fmt.Sprintf("%d rows, %d in the window", n, in), "%d and %d", g.Rows, g.InWindow)
		rows, inWindow = rows+g.Rows, inWindow+g.InWindow
		checkMetrics(c, at, g.Metrics)
	}
	if len(s.Groups) > 0 {
		c.must(rows == s.Plan.Rows && inWindow == s.Plan.InWindow, "groups", fmt.Sprintf("%d rows, %d in the window", rows, inWindow), "%d and %d, as plan", s.Plan.Rows, s.Plan.InWindow)
	}
}

// checkMetrics looks at each distribution by itself.
func checkMetrics(c *checker, place string, metrics []Metric) {
	seen := map[string]bool{}
	for i, m := range metrics {
		c.once(seen, place+"metrics", m.ID+" "+m.Side+" "+m.Population)
		at := fmt.Sprintf("%smetrics[%d].", place, i)
		c.must(m.N >= 0 && m.Nulls >= 0, at+"n", min(m.N, m.Nulls), "at least 0")
		c.must(m.Min.Or(0) <= m.Max.Or(m.Min.Or(0)), at+"min", m.Min, "at most max, %s", m.Max)
		before := Percentile{}
		for j, p := range m.Percentiles {
			at := fmt.Sprintf("%spercentiles[%d].", at, j)
			c.must(p.Level > before.Level && p.Level <= 1000, at+"level", p.Level, "thousandths, 1 to 1000, in ascending order")
			c.must(!p.Infinite || !p.Value.Valid, at+"value", p.Value, "null, since it is infinite")
			// Over time, nothing in the window is a measured 0.
			c.must(!p.Value.Valid || m.N > 0 || m.Weighting == "time", at+"value", p.Value, "null, since there are no values")
			if p.Value.Valid {
				c.must(!before.Infinite && before.Value.Or(p.Value.V) <= p.Value.V, at+"value", p.Value, "at least that of the level before")
				c.must(p.Low.Or(p.Value.V) <= p.Value.V && p.Value.V <= p.High.Or(p.Value.V), at+"value", p.Value, "a value inside its interval")
			}
			if p.Value.Valid || p.Infinite {
				before = p
			}
			before.Level = p.Level
		}
	}
}

// Decode reads the per-request columns and compares them with the rest of the summary;
// nil when there are none. Errors are those of DecodeColumns.
func (s *Summary) Decode(place string) (*Columns, error) {
	if s.Columns == nil {
		return nil, nil
	}
	cols, err := DecodeColumns(s.Columns, place)
	if err != nil {
		return nil, err
	}
	c := &checker{place: place + ": columns"}
	type count struct{ n, inWindow int64 }
	by := map[string]count{}
	u, id, part, in := cols.Ints["u_ns"], cols.Ints["request_id"], cols.Ints["part"], cols.Ints["in_window"]
	for i, name := range cols.Strings["outcome"] {
		k := by[name]
		c.must(in[i].Valid && in[i].V>>1 == 0, "in_window", in[i], "0 or 1")
		inside := u[i].Valid && u[i].V >= s.Window.FromNS && u[i].V < s.Window.ToNS
		c.must(!in[i].Valid || inside == (in[i].V == 1), "in_window", in[i], "what the window says of u_ns, %s", u[i])
		k.n, k.inWindow = k.n+1, k.inWindow+in[i].V
		by[name] = k
		c.must(part[i].Valid && part[i].V >= 0 && part[i].V < int64(len(s.Parts)), "part", part[i], "one of %d parts", len(s.Parts))
		c.must(id[i].Valid, "request_id", id[i], "an id")
		if i > 0 {
			c.must(compare(u[i-1], id[i-1], u[i], id[i]) <= 0, "u_ns", u[i], "rows in the order of planned time and request id")
		}
		if c.err != nil {
			return nil, c.err
		}
	}
	for _, o := range s.Outcomes {
		k := by[o.Name]
		c.must(k == count{o.N, o.InWindow}, "outcome "+o.Name, fmt.Sprintf("%d rows, %d in the window", k.n, k.inWindow), "%d and %d, as the summary counts", o.N, o.InWindow)
	}
	if c.err != nil { // rows of no outcome of ours would be missing in one of these
		return nil, c.err
	}
	return cols, nil
}

// compare orders rows by planned time, null first, then by id.
func compare(u, id, v, jd formats.Int) int {
	known := func(x formats.Int) int {
		if x.Valid {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(known(u), known(v)), cmp.Compare(u.V, v.V), cmp.Compare(id.V, jd.V))
}
