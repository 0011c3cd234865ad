package main

import (
	"io"
	"slices"
	"strings"

	"hydrant/cmd/reduce/internal/csv"
	"hydrant/cmd/reduce/internal/openmetrics"
	"hydrant/cmd/reduce/internal/table"
	"hydrant/formats/summary"
	"hydrant/internal/cli"
)

// form is one value of --format.
type form struct {
	name   string
	levels bool // --percentiles chooses what it shows
	write  func(w io.Writer, s *summary.Summary, o *options) error
}

// forms lists what --format may say, but for auto.
var forms = []form{
	{"table", true, func(w io.Writer, s *summary.Summary, o *options) error { return table.Write(w, s, o.view) }},
	{"json", false, func(w io.Writer, s *summary.Summary, _ *options) error { return summary.Write(w, s) }},
	{"csv", false, func(w io.Writer, s *summary.Summary, _ *options) error { return csv.Long(w, s) }},
	{"csv-wide", false, func(w io.Writer, s *summary.Summary, _ *options) error { return csv.Wide(w, s) }},
	{"markdown", true, func(w io.Writer, s *summary.Summary, o *options) error { return table.Markdown(w, s, o.view) }},
	{"openmetrics", false, func(w io.Writer, s *summary.Summary, _ *options) error { return openmetrics.Write(w, s) }},
}

// formList names them for people.
func formList() string {
	var names []string
	for _, f := range forms {
		names = append(names, f.name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// parseForm finds a form by name; auto is a table on a terminal, else JSON.
func parseForm(name string, toTerminal bool) (*form, error) {
	want := name
	if name == "auto" {
		if want = "json"; toTerminal {
			want = "table"
		}
	}
	i := slices.IndexFunc(forms, func(f form) bool { return f.name == want })
	if i < 0 {
		return nil, cli.Usagef("--format: got %q, want auto, %s", name, formList())
	}
	return &forms[i], nil
}
