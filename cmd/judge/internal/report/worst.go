package report

import (
	"strings"

	"hydrant/cmd/judge/internal/rule"
	"hydrant/formats/verdict"
)

// worst writes the stretches of the run that stand out.
func (p *page) worst(v *verdict.Verdict) {
	if len(v.Worst) == 0 {
		return
	}
	p.blank()
	p.line("What it was doing when it was worst")
	for _, w := range v.Worst {
		p.wrap("  "+stretch(v, w), body, beside(w))
	}
}

// stretch is when it was, from the start of the load.
func stretch(v *verdict.Verdict, w verdict.Worst) string {
	from, to := w.FromNS-v.Window.LoadFrom, w.ToNS-v.Window.LoadFrom
	return rule.Digits(float64(from)/1e9) + "–" + rule.Digits(float64(to)/1e9) + " s"
}

// beside is what stood out, and what else happened then.
func beside(w verdict.Worst) string {
	text := w.ID + " " + valueOf(w.Value, w.Unit, "a failure")
	var parts []string
	for _, b := range w.Beside {
		parts = append(parts, b.ID+fixed+valueOf(b.Value, b.Unit, "not measured"))
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, " · ")
	}
	return text
}

func valueOf(v *float64, unit, missing string) string {
	if v == nil {
		return glue(missing)
	}
	return glue(rule.Figure(*v, unit))
}
