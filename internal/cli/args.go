package cli

import (
	"fmt"
	"slices"
	"strings"

	ucli "github.com/urfave/cli/v2"
)

// plan is a command line that has been understood as far as flags and inputs.
type plan struct {
	args    []string      // for the library: flags first, "--", inputs
	command *ucli.Command // the subcommand, nil for the root action
	help    bool
	version bool
}

// arrange reads a command line before the library does. The library stops at the
// first input, so `reduce run.arrows -o out.json` would have three inputs; here
// flags may stand anywhere before "--", and what follows "--" is input.
func arrange(app *ucli.App, args []string) (plan, error) {
	p := plan{args: []string{app.Name}}
	flags, name := app.Flags, app.Name
	var inputs []string
	given := map[ucli.Flag]string{} // the flags so far, as they were written
	first := true                   // a subcommand is the first word that is no flag
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			inputs = append(inputs, args[i+1:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			if first {
				if c := app.Command(a); c != nil && p.command == nil {
					p.command = c
					p.args = append(p.args, a)
					flags, name = c.Flags, app.Name+" "+c.Name
					first = false
					continue
				}
			}
			first = false
			inputs = append(inputs, a)
			continue
		}
		word, value, hasValue := strings.Cut(strings.TrimLeft(a, "-"), "=")
		f := find(flags, word)
		if f != nil {
			if err := once(given, f, dashed(word)); err != nil {
				return p, err
			}
		}
		if hasValue && f != nil {
			if err := notEmpty(f, dashed(word), value); err != nil {
				return p, err
			}
		}
		switch {
		case f != nil && !hasValue && takesValue(f):
			if i+1 == len(args) {
				return p, WithHint(Usagef("%s: got no value, want %s", dashed(word), wanted(f)), seeHelp(name))
			}
			if err := notEmpty(f, dashed(word), args[i+1]); err != nil {
				return p, err
			}
			p.args = append(p.args, a, args[i+1])
			i++
		case f != nil:
			p.args = append(p.args, a)
		case word == "help" || word == "h":
			p.help = true
			return p, nil
		case word == "version":
			p.version = true
			return p, nil
		default:
			return p, unknownFlag(app, p.command, flags, name, a, word)
		}
	}
	if p.command == nil && len(app.Commands) > 0 && app.Action == nil {
		return p, noCommand(app, inputs)
	}
	if slices.Contains(inputs, "") {
		return p, WithHint(Usagef(`input: got "", want a name`), "an empty name is often a variable that is not set; - is standard input")
	}
	p.args = append(append(p.args, "--"), inputs...)
	return p, nil
}

// once refuses a flag that was given before: the library would drop the first value
// without a word. Flags that gather values may be repeated.
func once(given map[ucli.Flag]string, f ucli.Flag, as string) error {
	if m, ok := f.(ucli.DocGenerationSliceFlag); ok && m.IsSliceFlag() {
		return nil
	}
	if before, ok := given[f]; ok {
		if before != as {
			return Usagef("%s and %s: got both, want one: they are the same flag", before, as)
		}
		return Usagef("%s: got it twice, want it once", as)
	}
	given[f] = as
	return nil
}

// notEmpty refuses an empty text. To the library it is a flag that was not given,
// and to a user a variable that was not set.
func notEmpty(f ucli.Flag, as, value string) error {
	if value != "" {
		return nil
	}
	switch d := f.(type) {
	case *ucli.StringFlag:
		what, _ := placeholder(d)
		return Usagef(`%s: got "", want %s`, as, what)
	case *ucli.StringSliceFlag:
		what, _ := placeholder(d)
		return Usagef(`%s: got "", want %s`, as, what)
	}
	return nil
}

func find(flags []ucli.Flag, word string) ucli.Flag {
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == word {
				return f
			}
		}
	}
	return nil
}

func takesValue(f ucli.Flag) bool {
	d, ok := f.(ucli.DocGenerationFlag)
	return !ok || d.TakesValue()
}

func dashed(word string) string {
	if len(word) == 1 {
		return "-" + word
	}
	return "--" + word
}

func seeHelp(name string) string { return name + " --help lists the flags" }

func unknownFlag(app *ucli.App, cmd *ucli.Command, flags []ucli.Flag, name, arg, word string) error {
	err := Usagef("unknown flag %q", arg)
	if cmd == nil {
		for _, c := range app.Commands {
			if !c.Hidden && find(c.Flags, word) != nil {
				return WithHint(err, fmt.Sprintf("%s belongs after the subcommand: %s %s %s", dashed(word), app.Name, c.Name, dashed(word)))
			}
		}
	}
	var names []string
	for _, f := range flags {
		if visible(f) {
			names = append(names, f.Names()...)
		}
	}
	if n := nearest(word, names); n != "" {
		return WithHint(err, "did you mean "+dashed(n)+"? "+seeHelp(name))
	}
	return WithHint(err, seeHelp(name))
}

func noCommand(app *ucli.App, inputs []string) error {
	var names []string
	for _, c := range app.Commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	list := "want one of " + strings.Join(names, ", ")
	if len(inputs) == 0 {
		return WithHint(Usagef("no subcommand: %s", list), app.Name+" --help says what each does")
	}
	err := Usagef("subcommand: got %q, %s", inputs[0], list)
	if n := nearest(inputs[0], names); n != "" {
		return WithHint(err, "did you mean "+app.Name+" "+n+"?")
	}
	return WithHint(err, app.Name+" --help says what each does")
}

// valueError puts the library's complaint about a flag's value into our form.
func valueError(flags []ucli.Flag, name string, err error) error {
	s := err.Error()
	rest, ok := strings.CutPrefix(s, "invalid value ")
	if !ok {
		rest, ok = strings.CutPrefix(s, "invalid boolean value ")
	}
	if !ok {
		return WithHint(Usagef("%w", err), seeHelp(name))
	}
	value, rest, ok := cutQuoted(rest)
	if !ok {
		return WithHint(Usagef("%w", err), seeHelp(name))
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, " for flag "), " for ")
	word, why, _ := strings.Cut(strings.TrimLeft(rest, "-"), ":")
	f := find(flags, word)
	want := wanted(f)
	if f == nil || want == "a value" {
		return WithHint(Usagef("%s: got %q:%s", dashed(word), value, why), seeHelp(name))
	}
	return WithHint(Usagef("%s: got %q, want %s", dashed(word), value, want), seeHelp(name))
}

// cutQuoted splits a Go-quoted string off the front of s.
func cutQuoted(s string) (value, rest string, ok bool) {
	for i := 1; i < len(s); i++ {
		if s[i] == '\\' {
			i++
			continue
		}
		if s[i] == '"' {
			var v string
			if _, err := fmt.Sscanf(s[:i+1], "%q", &v); err != nil {
				return "", "", false
			}
			return v, s[i+1:], s[0] == '"'
		}
	}
	return "", "", false
}

// wanted says what values a flag takes.
func wanted(f ucli.Flag) string {
	switch f.(type) {
	case *ucli.IntFlag, *ucli.Int64Flag, *ucli.IntSliceFlag, *ucli.Int64SliceFlag:
		return "a whole number"
	case *ucli.UintFlag, *ucli.Uint64Flag, *ucli.UintSliceFlag, *ucli.Uint64SliceFlag:
		return "a whole number of at least 0"
	case *ucli.Float64Flag, *ucli.Float64SliceFlag:
		return "a number"
	case *ucli.DurationFlag:
		return "a duration such as 500ms, 30s or 2m"
	case *ucli.BoolFlag:
		return "true or false"
	}
	return "a value"
}

// nearest returns the name at most two edits away from word, or "".
func nearest(word string, names []string) string {
	best, at := "", 3
	for _, n := range names {
		if d := edits(word, n); d < at && d < len(n) {
			best, at = n, d
		}
	}
	return best
}

// edits is the Levenshtein distance of a and b in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			d := diag
			if a[i-1] != b[j-1] {
				d++
			}
			diag = row[j]
			row[j] = min(d, row[j]+1, row[j-1]+1)
		}
	}
	return row[len(b)]
}
