package analyze

import (
	"io"
	"math"

	"hydrant/internal/cli"
	"hydrant/internal/plot"
)

// Sizes of the charts, px.
const (
	timeWidth, timeHeight = 984, 200
	halfWidth, halfHeight = 480, 250
)

// drawings are the charts; those of one row stand side by side.
func (r *Report) drawings() [][]*plot.Chart {
	rows := [][]*plot.Chart{{r.rateChart()}, {
		lengthChart("Prompt tokens", "share of requests with a prompt of at most so many tokens", r.input),
		lengthChart("Answer tokens", "share of requests with an answer of at most so many tokens", r.output),
	}}
	if r.Reuse == nil {
		return rows
	}
	return append(rows, []*plot.Chart{r.cacheChart(), r.blockChart()})
}

// SVG draws the report as one file.
func (r *Report) SVG(w io.Writer) error {
	s := plot.Sheet{Title: r.title(), About: "rate over time, lengths, and what prefix caches find", Rows: r.drawings()}
	_, err := w.Write(s.File())
	return err
}

func (r *Report) title() string {
	return cli.Plain(headline(&r.Figures))
}

const pageCSS = `body{margin:24px auto;max-width:984px;padding:0 16px;background:var(--ground);color:var(--text);font:14px system-ui,sans-serif}` +
	`h1{font-size:18px}main{display:flex;flex-wrap:wrap;gap:24px}figure{margin:0;flex:1 1 480px}figure.wide{flex-basis:100%}pre{overflow-x:auto;font-size:12px;line-height:1.45}`

// HTML draws the report as a page that needs no network and no script, the table below
// the charts.
func (r *Report) HTML(w io.Writer) error {
	var text page
	text.f = &r.Figures
	text.body()
	b := []byte(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>` +
		plot.Escape(r.title()) + `</title><style>` + plot.Variables + plot.CSS + pageCSS + `</style></head><body><h1>` + plot.Escape(r.title()) + "</h1><main>\n")
	for _, row := range r.drawings() {
		for _, c := range row {
			class := ""
			if len(row) == 1 {
				class = ` class="wide"`
			}
			b = append(b, `<figure`+class+`>`...)
			b = append(append(b, c.Inline()...), "</figure>\n"...)
		}
	}
	b = append(b, `</main><pre>`+plot.Escape(cli.Plain(text.b.String()))+"</pre></body></html>\n"...)
	_, err := w.Write(b)
	return err
}

// rateChart shows requests per second over time.
func (r *Report) rateChart() *plot.Chart {
	c := &plot.Chart{Title: "Requests per second", About: "requests per second over the time since the first one", Width: timeWidth, Height: timeHeight}
	if len(r.fine.counts) == 0 {
		c.Empty = "no request has a time of its own"
		return c
	}
	wide := float64(r.fine.width) / 1e9
	c.Title += ", in windows of " + duration(r.fine.width)
	line := plot.Line{Color: 1, Step: true}
	most := 0.0
	for i, n := range r.fine.counts {
		rate := float64(n) / wide
		line.X, line.Y = append(line.X, float64(i)*wide), append(line.Y, rate)
		most = max(most, rate)
	}
	end := float64(len(r.fine.counts)) * wide
	line.X = append(line.X, end)
	c.X, c.Y = plot.Axis{Scale: plot.Clock, Max: end}, plot.To(most)
	area := line
	area.Area = true
	c.Lines = []plot.Line{area, line}
	per := (len(line.Y) + maxSlots - 1) / maxSlots
	for i := 0; i < len(line.Y); i += per {
		to := min(i+per, len(line.Y))
		n := int64(0)
		for _, k := range r.fine.counts[i:to] {
			n += k
		}
		mean := float64(n) / (line.X[to] - line.X[i])
		c.Slots = append(c.Slots, plot.Slot{From: line.X[i], To: line.X[to],
			Lines: []string{plot.ClockTime(line.X[i]) + " – " + plot.ClockTime(line.X[to]), counted(n, "request"), plot.Number(mean) + " per s"},
			Dots:  []plot.Dot{{Color: 1, X: (line.X[i] + line.X[to]) / 2, Y: mean}}})
	}
	return c
}

// maxSlots is how many stretches of a chart show their values.
const maxSlots = 120

// lengthChart shows the distribution of a length.
func lengthChart(title, about string, counts *Counts) *plot.Chart {
	c := &plot.Chart{Title: title, About: about, Width: halfWidth, Height: halfHeight, Y: plot.Axis{Max: 1, Format: plot.Percent}}
	if counts.n == 0 || counts.max == 0 {
		c.Empty = "no request has a length above 0"
		return c
	}
	c.X = plot.Decades(max(1, float64(counts.min)), float64(counts.max))
	line := plot.Line{Color: 1, Step: true, X: []float64{c.X.Min}, Y: []float64{0}}
	passed, last := int64(0), c.X.Min
	step := math.Pow(c.X.Max/c.X.Min, 1.0/halfWidth) // a pixel
	counts.Each(func(v, n int64) {
		passed += n
		y, at := float64(passed)/float64(counts.n), max(float64(v), c.X.Min)
		if at < last*step {
			line.Y[len(line.Y)-1] = y
			return
		}
		line.X, line.Y, last = append(line.X, at), append(line.Y, y), at
	})
	line.X = append(line.X, max(c.X.Max, last))
	c.Lines = []plot.Line{line}
	d := counts.dist(counts.n)
	for _, p := range []struct {
		name string
		at   int64
	}{{"p50", d.P50.V}, {"p99", d.P99.V}} {
		c.Rules = append(c.Rules, plot.Rule{At: float64(p.at), Text: p.name + " " + grouped(p.at)})
	}
	return c
}

// hitChart shows a hit ratio over a size, with what an infinite cache finds.
func (r *Report) hitChart(title, about string, x, y []float64) *plot.Chart {
	c := &plot.Chart{Title: title, About: about, Width: halfWidth, Height: halfHeight}
	all := r.Reuse.Time.TokenRatio
	if all == nil {
		c.Empty = "no request has block ids"
		return c
	}
	c.X, c.Y = plot.Decades(x[0], x[len(x)-1]), plot.To(max(*all, 0.01))
	c.X.Format, c.Y.Format = size, plot.Percent
	c.Lines = []plot.Line{{Color: 1, X: x, Y: y}}
	c.Rules = []plot.Rule{{At: *all, Level: true, Text: "infinite cache " + plot.Percent(*all)}}
	for i, v := range x {
		from, to := v, v
		if i > 0 {
			from = math.Sqrt(v * x[i-1])
		}
		if i < len(x)-1 {
			to = math.Sqrt(v * x[i+1])
		}
		c.Slots = append(c.Slots, plot.Slot{From: from, To: to, Lines: []string{size(v) + " tokens", plot.Percent(y[i])}, Dots: []plot.Dot{{Color: 1, X: v, Y: y[i]}}})
	}
	return c
}

// size labels a number of tokens.
func size(v float64) string { return tokens(int64(math.Round(v))) }

// cacheChart shows the sizes up to that which holds every block.
func (r *Report) cacheChart() *plot.Chart {
	var x, y []float64
	for _, c := range r.cacheCurve {
		if c.TokenRatio == nil {
			continue
		}
		x, y = append(x, float64(c.CacheTokens)), append(y, *c.TokenRatio)
		if c.CacheBlocks >= r.Reuse.Distinct {
			break
		}
	}
	return r.hitChart("Tokens found in an LRU cache, by its size in tokens", "share of prompt tokens found in an LRU prefix cache, over its size", x, y)
}

func (r *Report) blockChart() *plot.Chart {
	var x, y []float64
	for _, b := range r.blockCurve {
		if b.TokenRatio != nil {
			x, y = append(x, float64(b.BlockTokens)), append(y, *b.TokenRatio)
		}
	}
	return r.hitChart("Tokens found, by the server's block size", "share of prompt tokens found in an infinite cache, over the size of the server's blocks", x, y)
}
