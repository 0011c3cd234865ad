package plot

// Sheet is a document of several charts, row below row.
type Sheet struct {
	Title, About string
	Rows         [][]*Chart
}

// Space around and between the charts of a sheet, px.
const (
	margin = 16
	gutter = 24
)

// File returns the sheet as a document of its own, style included.
func (s *Sheet) File() []byte {
	wide, high := 0, margin+large+gutter
	for _, row := range s.Rows {
		w, h := margin-gutter, 0
		for _, c := range row {
			w += gutter + c.Width
			h = max(h, c.Height)
		}
		wide = max(wide, w+margin)
		high += h + gutter
	}
	high += margin - gutter
	var d canvas
	d.put(`<svg class="plot" xmlns="http://www.w3.org/2000/svg" width="`, wide, `" height="`, high, `" viewBox="0 0 `, wide, ` `, high, `" role="img" aria-label="`)
	d.say(s.Title + ". " + s.About)
	d.put(`">`)
	d.ground()
	d.put(`<text class="title" x="`, margin, `" y="`, margin+large, `">`)
	d.say(clip(s.Title, large, float64(wide-2*margin)))
	d.put(`</text>`)
	y := margin + large + gutter
	for _, row := range s.Rows {
		x, h := margin, 0
		for _, c := range row {
			f := c.frame()
			f.all()
			d.put(`<g transform="translate(`, x, ` `, y, `)" aria-label="`)
			d.say(c.Title + ". " + c.About)
			d.put(`">`)
			d.b.Write(f.b.Bytes())
			d.put(`</g>`)
			x += c.Width + gutter
			h = max(h, c.Height)
		}
		y += h + gutter
	}
	d.put("</svg>\n")
	return d.b.Bytes()
}
