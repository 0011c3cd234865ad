package cli

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"
)

// ExitText is the paragraph on exit statuses for the Description of a tool that
// has no verdict.
const ExitText = `Exit status: 0 done · 2 the command line is wrong · 3 could not do it (bad, cut or
unknown-version input, unreachable server, full disk, closed output) · 130 interrupted.`

// Help returns the page that --help prints for the tool, or for one of its
// subcommands. Forms (UsageText) and prose (Description) are the tool's own
// words, the options are made from the flags.
func Help(app *ucli.App, cmd *ucli.Command) string {
	name, usage, forms, text, flags := app.Name, app.Usage, app.UsageText, app.Description, app.Flags
	if cmd != nil {
		name, usage, forms, text, flags = app.Name+" "+cmd.Name, cmd.Usage, cmd.UsageText, cmd.Description, cmd.Flags
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n", name, usage)
	if forms != "" {
		b.WriteString("usage:\n")
		for line := range strings.Lines(strings.TrimSpace(forms)) {
			b.WriteString("  " + strings.TrimRight(line, " \n") + "\n")
		}
		b.WriteString("\n")
	}
	if text = strings.TrimSpace(text); text != "" {
		b.WriteString(text + "\n\n")
	}
	if cmd == nil {
		commands(&b, app.Commands)
	}
	options(&b, flags, cmd == nil)
	return b.String()
}

func commands(b *strings.Builder, cs []*ucli.Command) {
	wide := 0
	for _, c := range cs {
		if !c.Hidden {
			wide = max(wide, len(c.Name))
		}
	}
	if wide == 0 {
		return
	}
	b.WriteString("subcommands:\n")
	for _, c := range cs {
		if !c.Hidden {
			fmt.Fprintf(b, "  %-*s  %s\n", wide, c.Name, c.Usage)
		}
	}
	b.WriteString("\n")
}

// Help is at most helpWidth columns wide; texts start at helpColumn, or on the
// next line when the flag itself is longer.
const (
	helpWidth  = 80
	helpColumn = 30
)

// options lists the flags by category, both in the order of first appearance;
// flags without a category come first and the general ones last.
func options(b *strings.Builder, flags []ucli.Flag, root bool) {
	type entry struct{ left, right string }
	var order []string
	by := map[string][]entry{}
	add := func(cat, left, right string) {
		if by[cat] == nil && cat != CategoryGeneral && cat != "" {
			order = append(order, cat)
		}
		by[cat] = append(by[cat], entry{left, right})
	}
	for _, f := range flags {
		if d, ok := f.(ucli.DocGenerationFlag); ok && visible(f) {
			left, right := describe(d)
			add(category(f), left, right)
		}
	}
	add(CategoryGeneral, "-h, --help", "print this page")
	if root {
		add(CategoryGeneral, "    --version", "print the version")
	}
	order = append(append([]string{""}, order...), CategoryGeneral)
	gap := ""
	for _, cat := range order {
		if by[cat] == nil {
			continue
		}
		title := cat
		if title == "" {
			title = "Options"
		}
		fmt.Fprintf(b, "%s%s:\n", gap, title)
		gap = "\n"
		for _, e := range by[cat] {
			row(b, "  "+e.left, e.right)
		}
	}
}

func row(b *strings.Builder, left, right string) {
	if len(left) > helpColumn-2 {
		b.WriteString(left + "\n")
		left = ""
	}
	for _, line := range wrap(right, helpWidth-helpColumn) {
		fmt.Fprintf(b, "%-*s%s\n", helpColumn, left, line)
		left = ""
	}
}

// describe returns "-o, --output FILE" and the text with the default.
func describe(f ucli.DocGenerationFlag) (left, right string) {
	var short, long []string
	for _, n := range f.Names() {
		if len(n) == 1 {
			short = append(short, "-"+n)
		} else {
			long = append(long, "--"+n)
		}
	}
	left = strings.Join(append(short, long...), ", ")
	if len(short) == 0 {
		left = "    " + left
	}
	what, text := placeholder(f)
	if f.TakesValue() {
		left += " " + what
		if d := defaultText(f); d != "" {
			text += " (default: " + d + ")"
		}
	}
	return left, text
}

// defaultText is the default as a person would type it.
func defaultText(f ucli.DocGenerationFlag) string {
	if d, ok := f.(*ucli.DurationFlag); ok && d.DefaultText == "" {
		return shortDuration(d.Value)
	}
	d := f.GetDefaultText()
	if u, err := strconv.Unquote(d); err == nil {
		d = u
	}
	return d
}

// shortDuration writes 1m0s as 1m and 2h0m0s as 2h.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// placeholder takes the word in backquotes out of a usage text.
func placeholder(f ucli.DocGenerationFlag) (what, text string) {
	text = f.GetUsage()
	if before, rest, ok := strings.Cut(text, "`"); ok {
		if word, after, ok := strings.Cut(rest, "`"); ok {
			return word, before + word + after
		}
	}
	return "VALUE", text
}

func category(f ucli.Flag) string {
	if c, ok := f.(ucli.CategorizableFlag); ok {
		return c.GetCategory()
	}
	return ""
}

func visible(f ucli.Flag) bool {
	v, ok := f.(ucli.VisibleFlag)
	return !ok || v.IsVisible()
}

// wrap breaks text into lines of at most n bytes where it can.
func wrap(text string, n int) (lines []string) {
	line := ""
	for _, w := range strings.Fields(text) {
		if line != "" && len(line)+1+len(w) > n {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(lines, line)
}
