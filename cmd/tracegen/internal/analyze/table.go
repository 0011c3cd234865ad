package analyze

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"hydrant/formats"
	"hydrant/internal/cli"
)

// Table prints the figures for people, in 80 columns.
func Table(w io.Writer, f *Figures) error {
	p := page{f: f}
	p.all()
	_, err := io.WriteString(w, cli.Plain(p.b.String()))
	return err
}

// page is the text so far.
type page struct {
	b strings.Builder
	f *Figures
}

func (p *page) all() {
	p.b.WriteString(headline(p.f) + "\n\n")
	p.body()
}

func (p *page) body() {
	p.lengths()
	p.arrivals()
	p.sessions()
	p.reuse()
	for _, n := range p.f.Notes {
		p.fact("note", n)
	}
}

// headline is the workload in one line.
func headline(f *Figures) string {
	line := fmt.Sprintf("%s (%s): %s", f.Input.Name, f.Input.Format, counted(f.Requests, "request"))
	if span := f.Time.SpanNS; span.V > 0 {
		line += " over " + duration(span.V)
	}
	return line
}

// grid writes rows: the first cell to the left, the others to the right, each column as
// wide as it has to be.
func (p *page) grid(rows [][]string) {
	var wide []int
	for _, r := range rows {
		for i, c := range r {
			if i == len(wide) {
				wide = append(wide, 0)
			}
			wide[i] = max(wide[i], utf8.RuneCountInString(c))
		}
	}
	for _, r := range rows {
		line := ""
		for i, c := range r {
			pad := strings.Repeat(" ", wide[i]-utf8.RuneCountInString(c))
			if i == 0 {
				line = c + pad
			} else {
				line += "  " + pad + c
			}
		}
		p.b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	p.b.WriteString("\n")
}

// fact writes a name and a sentence, wrapped.
func (p *page) fact(name, text string) {
	const column, width = 10, 80
	line := fmt.Sprintf("%-*s ", column-1, name)
	begin := true
	for _, word := range strings.Fields(text) {
		if !begin && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			p.b.WriteString(line + "\n")
			line, begin = strings.Repeat(" ", column), true
		}
		if !begin {
			line += " "
		}
		line += word
		begin = false
	}
	p.b.WriteString(line + "\n")
}

// spread is a row of a distribution, under spreadHead.
func spread(name string, d Dist, show func(int64) string) []string {
	row := []string{name, nullable(d.Sum, show)}
	if d.Mean == nil {
		row = append(row, absent)
	} else {
		row = append(row, show(int64(*d.Mean+0.5)))
	}
	for _, v := range []formats.Int{d.Min, d.P10, d.P50, d.P90, d.P99, d.Max} {
		row = append(row, nullable(v, show))
	}
	return row
}

var spreadHead = []string{"sum", "mean", "min", "p10", "p50", "p90", "p99", "max"}

func (p *page) lengths() {
	rows := [][]string{append([]string{"tokens"}, spreadHead...), spread("input", p.f.InputTokens, short), spread("output", p.f.OutputTokens, short)}
	if p.f.TotalTokens.N > 0 {
		both := spread("both", p.f.TotalTokens, short)
		rows = append(rows, both)
	}
	p.grid(rows)
	for _, l := range []struct {
		name string
		d    Dist
	}{{"input", p.f.InputTokens}, {"output", p.f.OutputTokens}} {
		var odd []string
		if l.d.Nulls > 0 {
			odd = append(odd, counted(l.d.Nulls, "request")+" without a length")
		}
		if l.d.Zeros > 0 {
			odd = append(odd, counted(l.d.Zeros, "request")+" of 0 tokens")
		}
		if len(odd) > 0 {
			p.fact(l.name, strings.Join(odd, " · "))
		}
	}
}

func (p *page) arrivals() {
	t := p.f.Time
	if t.Timed == 0 {
		p.fact("arrivals", "no request has a time of its own")
		return
	}
	p.fact("arrivals", fmt.Sprintf("%s requests/s · gap CV %s · %s, %s", number(t.RatePerS), number(t.GapCV), counted(t.Instants, "instant"), counted(t.Ties, "tie")))
	if line := sparkline(t.Rate.Counts); line != "" {
		p.fact("per "+duration(t.Rate.WidthNS*int64(perMark(t.Rate.Counts))), line)
	}
	p.b.WriteString("\n")
	rows := [][]string{{"windows of", "number", "empty", "mean", "most", "peak/mean", "IDC"}}
	for _, w := range t.Windows {
		rows = append(rows, []string{duration(w.WidthNS), grouped(w.Windows), grouped(w.Empty), number(w.Mean), grouped(w.Most), number(w.PeakToMean), number(w.IDC)})
	}
	p.grid(rows)
}

// marks is the most that a sparkline has.
const marks = 60

// perMark is how many counts one mark of the sparkline stands for.
func perMark(counts []int64) int { return (len(counts) + marks - 1) / marks }

// sparkline draws counts in one line of text, "" where there is nothing to see.
func sparkline(counts []int64) string {
	if len(counts) < 2 {
		return ""
	}
	per := perMark(counts)
	var sums []int64
	for c := range slices.Chunk(counts, per) {
		sum := int64(0)
		for _, n := range c {
			sum += n
		}
		sums = append(sums, sum)
	}
	most := slices.Max(sums)
	var b strings.Builder
	for _, n := range sums {
		if n == 0 {
			b.WriteRune('·')
			continue
		}
		b.WriteRune([]rune("▁▂▃▄▅▆▇█")[min(7, n*8/most)])
	}
	return b.String()
}

func (p *page) sessions() {
	s, d := p.f.Sessions, p.f.Delays
	p.fact("sessions", fmt.Sprintf("%s · requests of a session: p50 %s, p90 %s, p99 %s, most %s", grouped(s.N),
		nullable(s.Requests.P50, grouped), nullable(s.Requests.P90, grouped), nullable(s.Requests.P99, grouped), nullable(s.Requests.Max, grouped)))
	if s.SideStreams > 0 {
		p.fact("", fmt.Sprintf("%s beside the main ones, with %s", counted(s.SideStreams, "stream"), counted(s.Side.Requests, "request")))
	}
	if s.Shrunk > 0 {
		p.fact("", fmt.Sprintf("%s shorter than the prompt before", counted(s.Shrunk, "prompt")))
	}
	if d.Waiting > 0 {
		p.fact("waits", fmt.Sprintf("%s for others, %s for several; delay known for %s, 0 for %s", counted(d.Waiting, "request"), grouped(d.Several), grouped(d.DelayNS.N), grouped(d.DelayNS.Zeros)))
	}
	p.b.WriteString("\n")
	var rows [][]string
	for _, r := range []struct {
		name string
		d    Dist
	}{{"delay", d.DelayNS}, {"TTFT", p.f.Recorded.TTFTNS}, {"E2E", p.f.Recorded.E2ENS}} {
		if r.d.N > 0 {
			rows = append(rows, spread(r.name, r.d, brief))
		}
	}
	if len(rows) > 0 {
		p.grid(append([][]string{append([]string{"as recorded"}, spreadHead...)}, rows...))
	}
}

func (p *page) reuse() {
	r := p.f.Reuse
	if r == nil {
		p.fact("reuse", "not known: there are no block ids")
		return
	}
	p.fact("reuse", fmt.Sprintf("%s of %s tokens, the last one %s: %s distinct, in %s", counted(r.Blocks, "block id"), grouped(r.BlockTokens), r.BlockLast, grouped(r.Distinct), counted(r.Scopes, "scope")))
	p.fact("", fmt.Sprintf("%s used at least twice, %s in all; %s wholly cached", counted(r.Reused, "id"), counted(r.ReusedUses, "use"), counted(r.WhollyCached, "request")))
	if r.ChainBreaks > 0 {
		p.fact("", fmt.Sprintf("%s after another id than at first", counted(r.ChainBreaks, "id")))
	}
	p.b.WriteString("\n")
	rows := [][]string{{"prefix hits", "blocks", "of blocks", "tokens", "of tokens"}}
	add := func(name string, h Hit) {
		rows = append(rows, []string{name, grouped(h.Blocks), percent(h.BlockRatio), grouped(h.Tokens), percent(h.TokenRatio)})
	}
	add("infinite cache, by time", r.Time)
	if r.Listed != nil {
		add("  by the source's list", *r.Listed)
	} else {
		rows = append(rows, []string{"  by the source's list", absent, absent, absent, absent})
	}
	add("  a cache for each side stream", r.Isolated)
	add("  at any position, no prefix", r.Set)
	for _, s := range r.ServerBlocks {
		rows = append(rows, []string{"  server blocks of " + grouped(s.BlockTokens), "", "", grouped(s.Tokens), percent(s.TokenRatio)})
	}
	for _, c := range r.Caches {
		add("LRU cache of "+tokens(c.CacheTokens)+" tokens", Hit{c.Blocks, c.Tokens, c.BlockRatio, c.TokenRatio})
	}
	p.grid(rows)
	if r.ListedReason != "" {
		p.fact("note", "order of the list: "+r.ListedReason)
	}
}
