package plot

import (
	"math"
	"strconv"
)

// Chart is one drawing.
type Chart struct {
	Title         string
	About         string // the chart in a sentence, for those who cannot see it
	Width, Height int    // px; the drawing scales
	X, Y          Axis
	Shades        []Shade
	Bands         []Band
	Points        []Points
	Lines         []Line
	Rules         []Rule
	Rugs          []Rug
	Slots         []Slot
	Empty         string // why there is nothing to draw; replaces the drawing
}

// Sizes of what stands around the plot, px.
const (
	left, right  = 54, 14
	top, bottom  = 30, 22
	small, large = 11, 13 // of text
)

// Inline returns the drawing for a page that holds Variables and CSS.
func (c *Chart) Inline() []byte { return c.draw(false) }

// File returns the drawing as a document of its own, style included.
func (c *Chart) File() []byte { return c.draw(true) }

// frame is the part of a drawing that the axes span.
type frame struct {
	canvas
	c              *Chart
	x0, y0, x1, y1 float64
}

func (f *frame) x(v float64) float64 { return f.x0 + f.c.X.at(v)*(f.x1-f.x0) }
func (f *frame) y(v float64) float64 { return f.y1 - f.c.Y.at(v)*(f.y1-f.y0) }

func (c *Chart) draw(file bool) []byte {
	f := c.frame()
	f.put(`<svg class="plot"`)
	if file {
		f.put(` xmlns="http://www.w3.org/2000/svg" width="`, c.Width, `" height="`, c.Height, `"`)
	}
	f.put(` viewBox="0 0 `, c.Width, ` `, c.Height, `" role="img" aria-label="`)
	f.say(c.Title + ". " + c.About)
	f.put(`">`)
	if file {
		f.ground()
	}
	f.all()
	f.put(`</svg>`)
	if file {
		f.put("\n")
	}
	return f.b.Bytes()
}

func (c *Chart) frame() *frame {
	return &frame{c: c, x0: left, y0: top, x1: float64(c.Width - right), y1: float64(c.Height - bottom)}
}

// ground begins a document of its own.
func (c *canvas) ground() {
	c.put(`<style>`, Variables, CSS, `</style><rect width="100%" height="100%" fill="var(--ground)"/>`)
}

// all draws everything but the element around it.
func (f *frame) all() {
	f.head()
	if f.c.Empty != "" {
		f.put(`<text class="why mid" x="`, float64(f.c.Width)/2, `" y="`, (f.y0+f.y1)/2, `">`)
		f.say(clip(f.c.Empty, large, float64(f.c.Width-2*right)))
		f.put(`</text>`)
		return
	}
	f.shades()
	f.axes()
	f.bands()
	f.points()
	f.lines()
	f.rugs()
	f.rules()
	f.slots()
}

// head writes the title and, at the other end of its line, what each colour means.
func (f *frame) head() {
	f.put(`<text class="title" x="0" y="16">`)
	f.say(clip(f.c.Title, large, float64(f.c.Width)))
	f.put(`</text>`)
	if f.c.Empty != "" {
		return
	}
	type entry struct{ mark, name string }
	var all []entry
	for _, l := range f.c.Lines {
		class := `class="line c` + color(l.Color)
		switch {
		case l.Name == "":
			continue
		case l.Area:
			all = append(all, entry{`<rect class="area f` + color(l.Color) + `" y="7" width="16" height="9"/>`, l.Name})
			continue
		case l.Dash:
			class += " dash"
		}
		all = append(all, entry{`<path ` + class + `" d="M0 12h16"/>`, l.Name})
	}
	for _, b := range f.c.Bands {
		if b.Name != "" {
			all = append(all, entry{`<rect class="band f` + color(b.Color) + `" y="7" width="16" height="9"/>`, b.Name})
		}
	}
	for _, p := range f.c.Points {
		if p.Name != "" {
			all = append(all, entry{`<path class="points c` + color(p.Color) + `" d="M4 12h0M9 10h0M14 13h0"/>`, p.Name})
		}
	}
	for _, r := range f.c.Rugs {
		if r.Name != "" && len(r.X) > 0 {
			all = append(all, entry{`<path class="rug" d="M5 7v9M10 7v9"/>`, r.Name})
		}
	}
	x := f.x1
	for i := len(all) - 1; i >= 0; i-- {
		x -= width(all[i].name, small)
		f.put(`<g transform="translate(`, x-22, ` 0)">`, all[i].mark, `<text class="name" x="21" y="16">`)
		f.say(all[i].name)
		f.put(`</text></g>`)
		x -= 22 + 14
	}
}

func color(i int) string { return strconv.Itoa(min(max(i, 0), Colors-1)) }

// axes draws the grid and its labels.
func (f *frame) axes() {
	var minor, major canvas
	for _, t := range f.c.Y.ticks(max(2, int(f.y1-f.y0)/24)) {
		y := f.y(t.v)
		if t.text == "" {
			continue
		}
		major.put(`M`, f.x0, ` `, y, `H`, f.x1)
		f.put(`<text class="end" x="`, f.x0-7, `" y="`, y+4, `">`)
		f.say(t.text)
		f.put(`</text>`)
	}
	end := math.Inf(-1)
	for _, t := range f.c.X.ticks(max(2, int(f.x1-f.x0)/64)) {
		x := f.x(t.v)
		minor.put(`M`, x, ` `, f.y1)
		if t.text == "" {
			minor.put(`v2.5`)
			continue
		}
		minor.put(`v5`)
		if f.c.X.Scale == Log {
			major.put(`M`, x, ` `, f.y0, `V`, f.y1)
		}
		half := width(t.text, small) / 2
		at := math.Min(x, float64(f.c.Width)-half)
		if at-half < end+6 {
			continue
		}
		end = at + half
		f.put(`<text class="mid" x="`, at, `" y="`, f.y1+16, `">`)
		f.say(t.text)
		f.put(`</text>`)
	}
	f.put(`<path class="grid" d="`, major.b.String(), `"/><path class="axis" d="M`, f.x0, ` `, f.y1, `H`, f.x1, minor.b.String(), `"/>`)
}
