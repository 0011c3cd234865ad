// Package page draws a summary for people: one HTML page, or one SVG per chart.
//
// New reads the summary once; HTML and Drawings write what it found. The same summary
// gives the same bytes. The page needs no network and no script, and each of its
// figures stands in a <data> element whose data-id says where the figure is in the
// summary: "metric ttft_user ok p990", "scalar out_tps", "series sent 12".
package page

import (
	"hydrant/formats/summary"
	"hydrant/internal/plot"
	"hydrant/internal/slo"
)

// Options say what is drawn beside the summary itself.
type Options struct {
	SLO    []slo.Objective // their limits are drawn; none: those that the summary names
	Levels []int64         // percentiles of the first table, in thousandths, ascending
}

// Drawing is one chart: its name, which is that of its file without the suffix, and
// what it shows.
type Drawing struct {
	Name  string
	Chart *plot.Chart
	Note  string // what the drawing cannot say itself
}

// Page is a summary, ready to be written.
type Page struct {
	s        *summary.Summary
	c        *summary.Columns // nil: the summary has none
	o        Options
	timeline []Drawing
	curves   []Drawing
	misses   []miss
	cohorts  []cohort
	width    int64  // of a cohort, ns
	refused  string // percentiles that no slice has values enough for
}

// New reads s. columns are those of s, decoded; nil when it has none.
func New(s *summary.Summary, columns *summary.Columns, o Options) (*Page, error) {
	p := &Page{s: s, c: columns, o: o}
	if len(p.o.SLO) == 0 {
		for _, text := range s.Objectives {
			set, err := slo.Parse("objectives of the summary", text)
			if err != nil {
				return nil, err
			}
			p.o.SLO = append(p.o.SLO, set...)
		}
	}
	p.countMisses()
	p.cut()
	p.drawTimeline()
	p.drawCurves()
	return p, nil
}

// Drawings returns every chart, those over time first. Their names are the same for
// every summary: a chart that has nothing to show says why.
func (p *Page) Drawings() []Drawing {
	return append(append([]Drawing(nil), p.timeline...), p.curves...)
}
