package cli

import (
	"fmt"

	ucli "github.com/urfave/cli/v2"
)

// Audit lists what is wrong with a tool's command line as it is declared: flags
// without a text, required flags (the library would print help on stdout for
// them), names used twice, pages without forms or prose. Each tool has a test that
// wants the list empty.
func Audit(app *ucli.App) []string {
	a := audit{}
	a.page(app.Name, app.Usage, app.UsageText, app.Description, app.Flags)
	for _, c := range app.Commands {
		if !c.Hidden {
			a.page(app.Name+" "+c.Name, c.Usage, c.UsageText, c.Description, c.Flags)
		}
		if len(c.Subcommands) > 0 {
			a.add("%s %s: has subcommands of its own, want one level", app.Name, c.Name)
		}
	}
	return a.found
}

type audit struct{ found []string }

func (a *audit) add(format string, args ...any) {
	a.found = append(a.found, fmt.Sprintf(format, args...))
}

func (a *audit) page(name, usage, forms, text string, flags []ucli.Flag) {
	if usage == "" || forms == "" || text == "" {
		a.add("%s: Usage, UsageText and Description must say something", name)
	}
	seen := map[string]bool{"help": true, "h": true, "version": true}
	for _, f := range flags {
		for _, n := range f.Names() {
			if seen[n] {
				a.add("%s: %s is there twice", name, dashed(n))
			}
			seen[n] = true
		}
		first := dashed(f.Names()[0])
		if r, ok := f.(ucli.RequiredFlag); ok && r.IsRequired() {
			a.add("%s: %s is Required; check it in the action", name, first)
		}
		d, ok := f.(ucli.DocGenerationFlag)
		if !ok || !visible(f) {
			continue
		}
		what, usage := placeholder(d)
		if usage == "" {
			a.add("%s: %s has no usage text", name, first)
		}
		if d.TakesValue() && what == "VALUE" {
			a.add("%s: %s names its value nowhere; put one word in backquotes", name, first)
		}
	}
}

// Same lists flags that two tools give the same name but another type or text.
func Same(apps ...*ucli.App) []string {
	type seen struct{ tool, kind, text string }
	var a audit
	by := map[string]seen{}
	look := func(tool string, flags []ucli.Flag) {
		for _, f := range flags {
			d, ok := f.(ucli.DocGenerationFlag)
			if !ok {
				continue
			}
			now := seen{tool, fmt.Sprintf("%T", f), d.GetUsage()}
			n := f.Names()[0]
			old, ok := by[n]
			if !ok {
				by[n] = now
			} else if old.kind != now.kind || old.text != now.text {
				a.add("%s: %s has %s %q, %s has %s %q", dashed(n), old.tool, old.kind, old.text, now.tool, now.kind, now.text)
			}
		}
	}
	for _, app := range apps {
		look(app.Name, app.Flags)
		for _, c := range app.Commands {
			look(app.Name+" "+c.Name, c.Flags)
		}
	}
	return a.found
}
