package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hydrant/cmd/judge/internal/rule"
	"hydrant/formats/verdict"
	"hydrant/internal/slo"
)

// again writes what was judged and the commands that do it again.
func (p *page) again(v *verdict.Verdict) {
	p.line("What was run")
	for _, f := range origin(v) {
		p.wrap("  "+f[0], body, f[1])
	}
	for _, c := range commands(v) {
		p.command(c)
	}
}

// origin lists the facts that name a run and the rules that it was judged by.
func origin(v *verdict.Verdict) [][2]string {
	var out [][2]string
	add := func(name string, parts ...string) {
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		if len(parts) > 0 {
			out = append(out, [2]string{name, strings.Join(parts, " · ")})
		}
	}
	r := v.Run
	var inputs, hashes []string
	for _, in := range v.Inputs {
		inputs = append(inputs, glue(strings.TrimSpace(in.Name+" "+digest(in.SHA256))))
	}
	for _, h := range r.ScheduleSHA256 {
		hashes = append(hashes, digest(h))
	}
	add("judged", inputs...)
	add("plan", append([]string{glue("schedule " + strings.Join(hashes, " "))}, r.Schedule...)...)
	add("load", glue(fmt.Sprintf("seed %d", r.Seed)), glue("timing "+r.Timing), shape(v))
	served := r.Endpoint + " of " + r.Model
	if r.Server != "" {
		served += ", server version " + r.Server
	}
	add("server", append([]string{glue(served)}, r.Target...)...)
	add("client", glue(fmt.Sprintf("%d workers on %d CPUs of %s", r.Workers, r.CPUs, r.Host)), glue(strings.TrimSpace(r.Engine+" engine")), glue(strings.TrimSpace("kernel "+r.Kernel)))
	add("labels", r.Labels...)
	by := "judge limits " + v.Options.Limits
	if r.Build != "" {
		by += " · replay by " + r.Build
	}
	add("rules", glue(by))
	add("limits changed", changes(v.Options.Changed)...)
	return out
}

// shape says how the arrivals vary: the variance of the counts per second over their
// mean is 1 for Poisson, 0 for a constant rate.
func shape(v *verdict.Verdict) string {
	if n := number(v, "idc_planned_1s"); n != nil && n.Value != nil {
		return "arrivals per second: variance/mean " + glue(rule.Digits(*n.Value))
	}
	return ""
}

func changes(all []verdict.Change) []string {
	var out []string
	for _, c := range all {
		s := c.Limit + " " + glue(rule.Figure(c.Value, c.Unit))
		if c.Default != nil {
			s += glue(" (was " + rule.Figure(*c.Default, c.Unit) + ")")
		}
		out = append(out, s)
	}
	return out
}

func digest(sha string) string {
	if len(sha) > 8 {
		return sha[:8]
	}
	return sha
}

// commands are the command lines that send the same load and judge it again, as words
// that a shell takes.
func commands(v *verdict.Verdict) [][]string {
	var out [][]string
	if len(v.Run.Flags) > 0 {
		c := []string{"replay", "SCHEDULE"}
		simulated := slices.ContainsFunc(v.Run.Flags, func(f string) bool {
			return strings.HasPrefix(f, "sim=") || strings.HasPrefix(f, "null=")
		})
		if !simulated {
			for _, t := range v.Run.Target {
				c = append(c, "--url "+quote(t))
			}
		}
		for _, f := range v.Run.Flags {
			if word := flag(f); word != "" {
				c = append(c, word)
			}
		}
		out = append(out, append(c, "-o run.arrows"))
	}
	c := []string{"judge"}
	for _, in := range v.Inputs {
		switch in.Kind {
		case "schedule":
			c = append(c, "--plan "+quote(in.Name))
		case "gpu":
			c = append(c, "--gpu "+quote(in.Name))
		default:
			c = append(c, quote(in.Name))
		}
	}
	for _, o := range v.Objectives {
		c = append(c, "--slo "+quote(o.Text))
	}
	for _, l := range v.Options.Changed {
		c = append(c, "--limit "+quote(l.Limit+"="+setting(l)))
	}
	for _, f := range []struct {
		on   bool
		word string
	}{{v.Options.Short, "--short"}, {v.Options.AcceptUnproven, "--accept-unproven"}, {v.Options.Directional, "--directional"},
		{v.Options.Evidence == "T2" || v.Options.Evidence == "T3", "--evidence " + strings.ToLower(v.Options.Evidence)}} {
		if f.on {
			c = append(c, f.word)
		}
	}
	return append(out, c)
}

// setting is the value of a changed limit as --limit takes it.
func setting(c verdict.Change) string {
	switch c.Unit {
	case "ns":
		return fmt.Sprintf("%.0fns", c.Value)
	case "share":
		return strconv.FormatFloat(slo.Round(100*c.Value), 'g', -1, 64) + "%"
	}
	return fmt.Sprint(c.Value)
}

// quote protects a word from the shell.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=,+@%", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// command writes one command line, continued with a backslash where it is long. A word
// that is longer than a line goes on at the edge of the page, outside its quotes.
func (p *page) command(words []string) {
	line := "  " + words[0]
	for _, w := range words[1:] {
		if size(line)+1+size(w)+2 <= width {
			line += " " + w
			continue
		}
		p.line(line + ` \`)
		line = "    " + w
		for size(line)+2 > width {
			head, tail := splitWord(line, width-2)
			p.line(head + `\`)
			line = tail
		}
	}
	p.line(line)
}

// splitWord cuts shell text of more than n characters after at most n, and closes and
// opens the quotes around the cut. A quote inside quotes ('\”) stays whole.
func splitWord(s string, n int) (head, tail string) {
	const inner = `'\''`
	at, used, quoted := 0, 0, false
	for at < len(s) {
		unit := inner
		if !quoted || !strings.HasPrefix(s[at:], inner) {
			_, length := utf8.DecodeRuneInString(s[at:])
			unit = s[at : at+length]
		}
		used += size(unit)
		if used >= n { // one is left for the closing quote
			break
		}
		at += len(unit)
		if unit == "'" {
			quoted = !quoted
		}
	}
	if quoted {
		return s[:at] + "'", "'" + s[at:]
	}
	return s[:at], s[at:]
}
