package report

import (
	"io"
	"strings"

	"hydrant/formats/verdict"
	"hydrant/internal/cli"
)

// Markdown writes the report of v in GitHub's Markdown, for a pull request or the
// summary of a job. Text from the run stands in it as text: it cannot make markup,
// links to people or issues, or further rows.
func Markdown(w io.Writer, v *verdict.Verdict) error {
	m := &markdown{}
	m.p("### " + prose(v.Headline))
	m.p(start(why(v)))
	if v.Cause != nil && v.Cause.Hint != "" {
		m.p(start(sentence(v.Cause.Hint)))
	}
	if v.AFortiori != nil {
		m.p(start(sentence(v.AFortiori.Text)))
	}
	m.objectives(v)
	m.list("**The generator** "+prose(tier(v)), generatorFacts(v))
	m.list("**The server**", serverFacts(v))
	var worst []string
	for _, x := range v.Worst {
		worst = append(worst, stretch(v, x)+": "+beside(x))
	}
	m.list("**When it was worst**", worst)
	m.checks(v)
	m.latencies(v)
	var gpus []string
	for _, g := range v.GPUs {
		gpus = append(gpus, g.Host+": "+device(g))
	}
	m.list("**GPU**", gpus)
	m.list("**Not measured**", v.NotMeasured)
	m.list("**Notes**", v.Notes)
	m.origin(v)
	m.p("`" + last(v) + "`")
	_, err := io.WriteString(w, cli.Plain(m.b.String()))
	return err
}

// markdown collects blocks.
type markdown struct{ b strings.Builder }

// p adds a paragraph, unless it is empty.
func (m *markdown) p(s string) {
	if s == "" {
		return
	}
	if m.b.Len() > 0 {
		m.b.WriteString("\n")
	}
	m.b.WriteString(s + "\n")
}

// list adds a title that is Markdown, and items that are not.
func (m *markdown) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	m.p(title)
	m.b.WriteString("\n")
	for _, s := range items {
		m.b.WriteString("- " + start(s) + "\n")
	}
}

// table adds a table; right says which columns hold numbers.
func (m *markdown) table(head []string, right []bool, rows [][]string) {
	line := func(cells []string) {
		m.b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	if m.b.Len() > 0 {
		m.b.WriteString("\n")
	}
	line(head)
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = "---"
		if right[i] {
			rule[i] = "---:"
		}
	}
	line(rule)
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, c := range r {
			cells[i] = prose(c)
		}
		line(cells)
	}
}

func (m *markdown) objectives(v *verdict.Verdict) {
	if len(v.Objectives) == 0 {
		m.p("No objective was given.")
		return
	}
	var rows [][]string
	for _, o := range v.Objectives {
		rows = append(rows, []string{spoken(o), o.Result, strings.Join(evidence(o), " · "), outlook(o)})
	}
	m.table([]string{"objective", "result", "rests on", "still open"}, make([]bool, 4), rows)
}

// checks adds what is not OK as a table, and all of them folded away.
func (m *markdown) checks(v *verdict.Verdict) {
	var all, rest [][]string
	for _, c := range v.Checks {
		row := []string{c.ID, c.Status, check(c)}
		all = append(all, row)
		if c.Status != verdict.OK {
			rest = append(rest, row)
		}
	}
	head, right := []string{"check", "status", "what was found"}, make([]bool, 3)
	if len(rest) > 0 {
		m.p("**Checks that are not OK**")
		m.table(head, right, rest)
	}
	m.p("<details><summary>all checks</summary>")
	m.table(head, right, all)
	m.p("</details>")
}

func (m *markdown) latencies(v *verdict.Verdict) {
	t := latencyTable(v)
	if len(t.blocks) == 0 {
		return
	}
	var rows [][]string
	for _, b := range t.blocks {
		for i, l := range b.lines {
			row := []string{"", l.level}
			if i == 0 {
				row[0] = b.title
			}
			for _, c := range l.cells {
				row = append(row, strings.TrimSpace(c.value+" "+bracket(c.interval)))
			}
			rows = append(rows, append(row, l.neff, l.tau))
		}
		if len(b.lines) == 0 {
			rows = append(rows, []string{b.title, "–", "", "", "", "", ""})
		}
	}
	m.p("**Latencies** (95 % interval)")
	m.table([]string{"", "level", "user", "wire", "sent", "n_eff", "tau"}, []bool{false, true, true, true, true, true, true}, rows)
	if len(t.notes) > 0 {
		m.b.WriteString("\n")
	}
	for _, n := range t.notes {
		m.b.WriteString("- " + start(n) + "\n")
	}
}

func bracket(s string) string {
	if s == "" {
		return ""
	}
	return "(" + s + ")"
}

func (m *markdown) origin(v *verdict.Verdict) {
	var rows [][]string
	for _, f := range origin(v) {
		rows = append(rows, []string{f[0], f[1]})
	}
	m.p("**What was run**")
	m.table([]string{"", ""}, make([]bool, 2), rows)
	fence := "```"
	var lines []string
	for _, c := range commands(v) {
		lines = append(lines, strings.Join(c, " "))
	}
	code := strings.ReplaceAll(strings.Join(lines, "\n"), fixed, " ")
	for strings.Contains(code, fence) {
		fence += "`"
	}
	m.p(fence + "sh\n" + code + "\n" + fence)
}

// prose makes text that Markdown takes as text, on one line.
func prose(s string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(loose(s)), " ") {
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '@' || r == '#': // a person, an issue
			b.WriteRune(r)
			b.WriteString("<!-- -->")
		case strings.ContainsRune("\\`*_{}[]|~$", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// start is prose that begins a line: it opens no list, heading or rule.
func start(s string) string {
	s = prose(s)
	if s == "" {
		return s
	}
	if strings.ContainsRune("-+=", rune(s[0])) {
		return "\\" + s
	}
	digits := 0
	for digits < len(s) && s[digits] >= '0' && s[digits] <= '9' {
		digits++
	}
	if digits > 0 && digits < len(s) && (s[digits] == '.' || s[digits] == ')') {
		return s[:digits] + "\\" + s[digits:]
	}
	return s
}
