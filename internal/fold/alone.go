package fold

import (
	"context"
	"fmt"
	"math"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
)

// alone reads the one summary, which is not computed again.
func alone(in Input, o Options) (*summary.Summary, error) {
	s, err := summary.Read(in.R, in.Name)
	if err != nil {
		return nil, err
	}
	columns, err := s.Decode(in.Name)
	if err != nil {
		return nil, err
	}
	if err := checkScalars(s, columns, in.Name); err != nil {
		return nil, err
	}
	if len(o.SLO) > 0 {
		if err := recount(s, columns, o.SLO, in.Name); err != nil {
			return nil, err
		}
	}
	if (o.NoColumns || o.Sums) && !o.NoRows && s.Rows != nil {
		if s.Sums, err = sumsOf(s, in.Name); err != nil {
			return nil, err
		}
		s.Seal()
	}
	if o.NoColumns {
		s.Columns, s.Rows = nil, nil
	}
	return s, nil
}

// sumsOf computes the sums of a summary from its rows, nil when it was made over another
// window than the rows have by themselves.
func sumsOf(s *summary.Summary, place string) (*summary.Sums, error) {
	o := Options{NoColumns: true}
	for _, text := range s.Objectives {
		x, err := slo.Parse(place, text)
		if err != nil {
			return nil, err
		}
		o.SLO = append(o.SLO, x...)
	}
	f := newFold(o)
	defer f.close()
	if err := f.takeSummary(context.Background(), s, Input{Name: place}); err != nil {
		return nil, err
	}
	if err := f.settle(context.Background()); err != nil {
		return nil, err
	}
	again, err := f.summary()
	if err != nil || again.Window != s.Window {
		return nil, err
	}
	return again.Sums, nil
}

// checkScalars computes again what follows from the window, the outcomes and the
// columns, and refuses a summary that says something else. One that is not there is
// not known: the judge calls that missing evidence.
func checkScalars(s *summary.Summary, columns *summary.Columns, place string) error {
	inWindow, rows := map[string]int64{}, int64(0)
	for _, o := range s.Outcomes {
		inWindow[o.Name], rows = o.InWindow, rows+o.N
	}
	p := s.Plan.InWindow
	want := map[string]float64{
		"window_s":      float64(s.Window.ToNS-s.Window.FromNS) / second,
		"conservation":  float64(s.Plan.Requests - rows),
		"failure_share": 1 - share(inWindow[run.OK], p-inWindow[run.CancelledPlanned]),
	}
	for _, name := range run.Outcomes {
		want["share_"+name] = share(inWindow[name], p)
	}
	if columns != nil {
		sent := int64(0)
		for i, in := range columns.Ints["in_window"] {
			sent += in.V * columns.Ints["sent"][i].Or(0)
		}
		want["sent_share"] = share(sent, p)
	}
	for _, x := range s.Scalars {
		v, known := want[x.ID]
		if !known {
			continue
		}
		got, expect := "null", "null"
		if x.Value != nil {
			got = fmt.Sprint(*x.Value)
		}
		if !math.IsNaN(v) {
			expect = fmt.Sprint(v)
		}
		if (x.Value == nil) != math.IsNaN(v) || x.Value != nil && math.Abs(*x.Value-v) > 1e-9*max(1, math.Abs(v)) {
			return &formats.SyntaxError{Place: place, What: "scalar " + x.ID, Got: got, Want: expect + ", by the window and the counts of the summary"}
		}
	}
	return nil
}
