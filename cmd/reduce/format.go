package main

import (
	"io"
	"slices"
	"strings"

	"hydrant/cmd/reduce/internal/aiperf"
	"hydrant/cmd/reduce/internal/csv"
	"hydrant/cmd/reduce/internal/openmetrics"
	"hydrant/cmd/reduce/internal/table"
	"hydrant/formats/rows"
	runs "hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/cli"
)

// form is one value of --format.
type form struct {
	name   string
	levels bool // --percentiles chooses what it shows
	write  func(w io.Writer, s *summary.Summary, o *options) error

	// gather is set for what is made of the rows of a run, which a summary lacks: it
	// hooks into the fold before it reads. write then follows, or is nil where the
	// fold wrote it all.
	gather func(out io.Writer, o *options) error
	binary bool
}

// forms lists what --format may say, but for auto.
var forms = []form{
	{name: "table", levels: true, write: func(w io.Writer, s *summary.Summary, o *options) error { return table.Write(w, s, o.view) }},
	{name: "json", write: func(w io.Writer, s *summary.Summary, _ *options) error { return summary.Write(w, s) }},
	{name: "csv", write: func(w io.Writer, s *summary.Summary, _ *options) error { return csv.Long(w, s) }},
	{name: "csv-wide", write: func(w io.Writer, s *summary.Summary, _ *options) error { return csv.Wide(w, s) }},
	{name: "markdown", levels: true, write: func(w io.Writer, s *summary.Summary, o *options) error { return table.Markdown(w, s, o.view) }},
	{name: "openmetrics", write: func(w io.Writer, s *summary.Summary, _ *options) error { return openmetrics.Write(w, s) }},
	{name: "arrow", binary: true, gather: tableOf(rows.Arrow)},
	{name: "parquet", binary: true, gather: tableOf(rows.Parquet)},
	{name: "aiperf", gather: exportRows, write: func(w io.Writer, s *summary.Summary, o *options) error {
		return o.export.Summary(w, s, aiperf.Options{SLO: o.fold.SLO})
	}},
	{name: "aiperf-jsonl", gather: exportRows, write: func(w io.Writer, s *summary.Summary, o *options) error {
		return o.export.Records(w, s, aiperf.Options{SLO: o.fold.SLO})
	}},
}

// tableOf has the table of per-request metrics written while its rows are in memory.
func tableOf(write func(io.Writer, rows.Source) error) func(io.Writer, *options) error {
	return func(out io.Writer, o *options) error {
		o.fold.NoColumns = true // the summary is not written
		o.fold.Table = func(s rows.Source) error {
			o.gathered = true
			return write(out, s)
		}
		return nil
	}
}

// exportRows gathers what AIPerf's files are made of. Good requests are found in the
// columns, which are therefore kept.
func exportRows(_ io.Writer, o *options) (err error) {
	if o.export, err = aiperf.New(); err != nil {
		return err
	}
	o.fold.NoColumns, o.fold.MaxColumns = len(o.fold.SLO) == 0, summary.MaxRows
	o.fold.Row = func(h *runs.Header, q *runs.Request) error {
		o.gathered = true
		return o.export.Row(h, q)
	}
	return nil
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
