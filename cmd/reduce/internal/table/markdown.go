package table

import (
	"io"
	"strings"

	"hydrant/formats/summary"
	"hydrant/internal/cli"
)

// Markdown prints what Write prints, as GitHub's dialect of Markdown. Text that came
// from a run or a server is escaped.
func Markdown(w io.Writer, s *summary.Summary, o Options) error {
	o.Bold = false
	p := &page{s: s, o: o, markdown: true}
	p.all()
	_, err := io.WriteString(w, cli.Plain(p.b.String()))
	return err
}

// pipes writes rows as a table whose first row is its head.
func (p *page) pipes(rows [][]string) {
	for i, row := range rows {
		for _, c := range row {
			p.b.WriteString("| " + escaped(c) + " ")
		}
		p.b.WriteString("|\n")
		if i > 0 {
			continue
		}
		for j := range row {
			if j < names {
				p.b.WriteString("|---")
			} else {
				p.b.WriteString("|--:")
			}
		}
		p.b.WriteString("|\n")
	}
	p.b.WriteString("\n")
}

// names is how many columns at the left of a grid are names, not figures.
const names = 2

// item writes a fact as an item of a list.
func (p *page) item(name string, parts []string) {
	if text := joined(append([]string(nil), parts...)...); text != "" {
		p.b.WriteString("- **" + escaped(name) + "**: " + escaped(text) + "\n")
	}
}

var markup = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "|", `\|`, "<", `\<`, ">", `\>`, "[", `\[`, "]", `\]`, "#", `\#`, "\n", " ")

func escaped(s string) string { return markup.Replace(s) }
