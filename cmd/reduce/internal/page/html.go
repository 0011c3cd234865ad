package page

import (
	_ "embed" // the template
	"html/template"
	"io"
	"strings"

	"hydrant/cmd/reduce/internal/table"
	"hydrant/internal/cli"
	"hydrant/internal/plot"
)

//go:embed page.html
var source string

//go:embed page.css
var css string

// layout is the page. Everything that comes from a run goes through the escaping of
// html/template, or of package plot.
var layout = template.Must(template.New("page").Funcs(template.FuncMap{"plain": func(s string) string { return cli.Plain(s) }}).Parse(source))

// figure is one chart on the page.
type figure struct {
	Name, Note string
	SVG        template.HTML
}

// view is what the template is given.
type view struct {
	Title    string
	Style    template.CSS
	Headline []cell
	Lines    []string
	Notes    []string
	Latency  grid
	Limits   grid
	Timeline []figure
	Slices   string
	Curves   []figure
	Facts    []grid
	Made     grid
	Details  []grid
}

// HTML writes the page.
func (p *Page) HTML(w io.Writer) error {
	v := view{Title: p.title(), Style: template.CSS(plot.Variables + plot.CSS + strings.ReplaceAll(css, "\n", "")), Headline: p.headline(), Lines: p.lead(), Notes: p.s.Notes,
		Latency: p.latencies(), Limits: p.objectives(), Timeline: figures(p.timeline), Slices: p.sliceNote(), Curves: figures(p.curves), Made: p.made()}
	v.Facts = []grid{p.rates(), p.outcomes(), p.workers(), p.devices()}
	v.Details = append(v.Details, p.steps()...)
	if len(p.cohorts) > 0 {
		v.Details = append(v.Details, p.slices())
	}
	v.Details = append(v.Details, p.everyMetric(), p.everyScalar())
	return layout.Execute(w, v)
}

func figures(all []Drawing) (out []figure) {
	for _, d := range all {
		if d.Name == "gpu_power" && d.Chart.Empty != "" {
			continue // the chart before it has said why
		}
		out = append(out, figure{d.Name, d.Note, template.HTML(d.Chart.Inline())})
	}
	return out
}

// title names the run by its inputs.
func (p *Page) title() string {
	var names []string
	for _, in := range p.s.Inputs {
		names = append(names, in.Name)
	}
	return strings.Join(names, ", ")
}

// headline is the run in one line, each figure with its place in the summary.
func (p *Page) headline() []cell {
	var out []cell
	add := func(c cell, unit string) {
		c.Text += unit
		out = append(out, c)
	}
	add(counted("plan in_window", p.s.Plan.InWindow), " requests")
	for _, x := range [...]struct {
		id, unit string
		show     func(float64) string
	}{{"window_s", "", table.Span}, {"sent_rps", " req/s", table.Figure}, {"out_tps", " output tok/s", table.Figure}, {"failure_share", " failed", table.Percent}} {
		if v := p.scalar(x.id); v != nil && v.Value != nil {
			c := figureOf("scalar "+x.id, v.Value, 1, "")
			c.Text = x.show(*v.Value)
			add(c, x.unit)
		}
	}
	return out
}

// lead says what was planned and what part of it is measured.
func (p *Page) lead() []string {
	pl, w := p.s.Plan, p.s.Window
	lines := []string{"Planned: " + table.Count(pl.Requests) + " requests, " + table.Count(pl.InputTokens) + " input and " + table.Count(pl.OutputTokens) + " output tokens."}
	if pl.InWindow != pl.Rows {
		from, to := float64(w.FromNS-w.LoadFrom)/second, float64(w.ToNS-w.LoadFrom)/second
		lines = append(lines, "Measured: from "+table.Span(max(0, from))+" to "+table.Span(to)+" of the load, "+table.Count(pl.InWindow)+" of "+table.Count(pl.Rows)+" requests.")
	}
	switch {
	case w.MSERNote != "":
		lines = append(lines, "Warm-up not detected: "+w.MSERNote+".")
	case w.MSERCutNS.Valid && w.MSERCutNS.V > 0:
		lines = append(lines, "Warm-up of "+table.Span(float64(w.MSERCutNS.V)/second)+" detected and left out.")
	}
	return lines
}
