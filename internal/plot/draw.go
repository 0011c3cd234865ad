package plot

import "math"

// shades greys stretches out.
func (f *frame) shades() {
	for _, s := range f.c.Shades {
		a, b := f.clampX(s.From), f.clampX(s.To)
		if !(b > a) {
			continue
		}
		f.put(`<rect class="shade" x="`, a, `" y="`, f.y0, `" width="`, b-a, `" height="`, f.y1-f.y0, `"/>`)
		if s.Text != "" && b-a > width(s.Text, small)+8 {
			f.put(`<text x="`, a+4, `" y="`, f.y0+12, `">`)
			f.say(s.Text)
			f.put(`</text>`)
		}
	}
}

// clampX and clampY keep a place inside the frame; NaN stays.
func (f *frame) clampX(v float64) float64 { return clamp(f.x(v), f.x0, f.x1) }
func (f *frame) clampY(v float64) float64 { return clamp(f.y(v), f.y0, f.y1) }

func clamp(v, low, high float64) float64 {
	if math.IsNaN(v) {
		return v
	}
	return math.Min(math.Max(v, low), high)
}

// inX reports whether a value lies on the axis.
func (f *frame) inX(v float64) bool { at := f.c.X.at(v); return at >= -1e-9 && at <= 1+1e-9 }

func (f *frame) bands() {
	for _, b := range f.c.Bands {
		var d canvas
		for from := 0; from < len(b.X); from++ {
			to := from
			for to < len(b.X) && !math.IsNaN(f.clampY(b.Low[to])) && !math.IsNaN(f.clampY(b.High[to])) {
				to++
			}
			for i := from; i < to; i++ {
				d.put(letter(i == from), f.clampX(b.X[i]), ` `, f.clampY(b.High[i]))
			}
			for i := to - 1; i >= from; i-- {
				d.put(`L`, f.clampX(b.X[i]), ` `, f.clampY(b.Low[i]))
			}
			if to > from {
				d.put(`Z`)
			}
			from = to
		}
		f.put(`<path class="band f`, color(b.Color), `" d="`, d.b.String(), `"/>`)
	}
}

func letter(first bool) string {
	if first {
		return "M"
	}
	return "L"
}

// points draws all of a layer as one path of dots without length.
func (f *frame) points() {
	for _, p := range f.c.Points {
		var d canvas
		for i, x := range p.X {
			if y := f.clampY(p.Y[i]); !math.IsNaN(y) && f.inX(x) {
				d.put(`M`, f.x(x), ` `, y, `h0`)
			}
		}
		f.put(`<path class="points c`, color(p.Color), `" d="`, d.b.String(), `"/>`)
	}
}

func (f *frame) lines() {
	for _, l := range f.c.Lines {
		class := "line c" + color(l.Color)
		var d string
		switch {
		case l.Area:
			class = "area f" + color(l.Color)
			d = f.path(l, true)
		default:
			d = f.path(l, false)
		}
		if l.Dash {
			class += " dash"
		}
		f.put(`<path class="`, class, `" d="`, d, `"/>`)
	}
}

// path joins the values between gaps.
func (f *frame) path(l Line, area bool) string {
	var d canvas
	begin, last := 0.0, 0.0
	open := false
	shut := func() {
		if open && area {
			d.put(`V`, f.y1, `H`, begin, `Z`)
		}
		open = false
	}
	for i, v := range l.Y {
		y := f.clampY(v)
		if math.IsNaN(y) || !l.Step && !f.inX(l.X[i]) {
			shut()
			continue
		}
		x := f.clampX(l.X[i])
		switch {
		case !open && area:
			d.put(`M`, x, ` `, f.y1, `V`, y)
			begin = x
		case !open && !l.Step:
			d.put(`M`, x, ` `, y, `h0`) // a value between two gaps is a dot
		case !open:
			d.put(`M`, x, ` `, y)
		case l.Step && short(y) != short(last):
			d.put(`V`, y)
		case !l.Step:
			d.put(`L`, x, ` `, y)
		}
		if l.Step {
			d.put(`H`, f.clampX(l.X[i+1]))
		}
		open, last = true, y
	}
	shut()
	return d.b.String()
}

// rugs draws at most one mark per half pixel.
func (f *frame) rugs() {
	for _, r := range f.c.Rugs {
		var d canvas
		seen := map[string]bool{}
		for _, v := range r.X {
			if !f.inX(v) {
				continue
			}
			if x := short(math.Round(f.x(v)*2) / 2); !seen[x] {
				seen[x] = true
				d.put(`M`, x, ` `, f.y0, `v7`)
			}
		}
		if len(seen) > 0 {
			f.put(`<path class="rug" d="`, d.b.String(), `"/>`)
		}
	}
}

// rules draws limits; one beyond the axis stands at its edge with an arrow.
func (f *frame) rules() {
	line := f.y1 - 8
	for _, r := range f.c.Rules {
		if r.Level {
			y := f.clampY(r.At)
			if math.IsNaN(y) {
				continue
			}
			f.put(`<path class="rule" d="M`, f.x0, ` `, y, `H`, f.x1, `"/><text class="limit end" x="`, f.x1-3, `" y="`, y-4, `">`)
			f.say(r.Text)
			f.put(`</text>`)
			continue
		}
		x := f.clampX(r.At)
		if math.IsNaN(x) {
			continue
		}
		text := r.Text
		switch at := f.c.X.at(r.At); {
		case at > 1:
			text += " →"
		case at < 0:
			text = "← " + text
		}
		f.put(`<path class="rule" d="M`, x, ` `, f.y0, `V`, f.y1, `"/>`)
		// The text stands where there is more room, each rule's on a line of its own.
		if x-f.x0 > f.x1-x {
			f.put(`<text class="limit end" x="`, x-5, `" y="`, line, `">`)
		} else {
			f.put(`<text class="limit" x="`, x+5, `" y="`, line, `">`)
		}
		f.say(text)
		f.put(`</text>`)
		line -= 14
	}
}

// slots writes what shows when a stretch is pointed at: a guide, dots, and a box of
// text on the side that has room.
func (f *frame) slots() {
	const gap, pad, high = 10, 7, 15
	for _, s := range f.c.Slots {
		a, b := f.clampX(s.From), f.clampX(s.To)
		if !(b > a) || len(s.Lines) == 0 {
			continue
		}
		mid := (a + b) / 2
		wide := 0.0
		for _, l := range s.Lines {
			wide = math.Max(wide, width(l, small))
		}
		wide += 2 * pad
		x := mid + gap
		if x+wide > f.x1 {
			x = mid - gap - wide
		}
		tall := float64(len(s.Lines)*high + pad)
		y := f.y0 + 2
		f.put(`<g class="slot"><rect x="`, a, `" y="`, f.y0, `" width="`, b-a, `" height="`, f.y1-f.y0, `"/><g><path class="guide" d="M`, mid, ` `, f.y0, `V`, f.y1, `"/>`)
		for _, d := range s.Dots {
			if at := f.clampY(d.Y); !math.IsNaN(at) {
				f.put(`<circle class="f`, color(d.Color), `" cx="`, f.clampX(d.X), `" cy="`, at, `" r="3.5"/>`)
			}
		}
		f.put(`<rect class="box" x="`, x, `" y="`, y, `" width="`, wide, `" height="`, tall, `" rx="4"/>`)
		for i, l := range s.Lines {
			class := ""
			if i == 0 {
				class = ` class="head"`
			}
			f.put(`<text`, class, ` x="`, x+pad, `" y="`, y+float64(i*high)+15, `">`)
			f.say(l)
			f.put(`</text>`)
		}
		f.put(`</g></g>`)
	}
}
