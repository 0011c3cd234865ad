package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"hydrant/cmd/reduce/internal/page"
	"hydrant/formats/summary"
	"hydrant/internal/cli"
	"hydrant/internal/pipe"
)

// charts are the names of all drawings, which are the same for every summary.
var charts = [...]string{"rate", "ttft", "tpot", "e2e", "lag", "in_flight", "client_cpu", "gpu", "gpu_power", "ttft_cdf", "tpot_cdf", "e2e_cdf"}

// isPage tells a page from a folder of drawings.
func isPage(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".html" || ext == ".htm"
}

// plotFiles are the files that --plot writes.
func plotFiles(name string) (all []string) {
	if isPage(name) {
		return []string{name}
	}
	for _, c := range charts {
		all = append(all, filepath.Join(name, c+".svg"))
	}
	return all
}

// checkPlot refuses a place for drawings that is an input or the other output.
func checkPlot(stdin io.Reader, name, output string, reads []string) error {
	if name == "" || name == "-" || strings.HasPrefix(name, "zmq+") {
		return cli.WithHint(cli.Usagef("--plot: got %q, want a folder, or a file whose name ends in .html", name), "drawings are files; the summary goes to standard output or -o")
	}
	if st, err := os.Stat(name); err == nil && st.IsDir() == isPage(name) {
		if st.IsDir() {
			return cli.Usagef("--plot: got %q, which is a folder, want a file or a folder whose name does not end in .html", name)
		}
		return cli.Usagef("--plot: got %q, which is a file, want a folder, or a file whose name ends in .html", name)
	}
	for _, file := range plotFiles(name) {
		if err := pipe.CheckNames(stdin, file, reads...); err != nil {
			return cli.Usagef("--plot: got %q, and %s is an input", name, file)
		}
		if samePath(file, output) {
			return cli.Usagef("--plot and --output: got %q for both, want two names", output)
		}
	}
	return nil
}

// samePath reports whether two names stand for one file, there or not yet.
func samePath(a, b string) bool {
	if b == "" || b == "-" {
		return false
	}
	if p, err := os.Stat(a); err == nil {
		if q, err := os.Stat(b); err == nil {
			return os.SameFile(p, q)
		}
	}
	p, err := filepath.Abs(a)
	if err != nil {
		return false
	}
	q, err := filepath.Abs(b)
	return err == nil && p == q
}

// drawings are the files of --plot. Each appears whole, and none of them unless all
// could be written.
type drawings struct {
	name    string
	outputs []*pipe.Output
	made    string // the folder that was made for them
}

// openPlot opens the files before the work, so that a name that cannot be written is
// known before a long read.
func openPlot(ctx context.Context, name string) (*drawings, error) {
	d := &drawings{name: name}
	if name == "" {
		return d, nil
	}
	if !isPage(name) {
		switch err := os.Mkdir(name, 0o777); {
		case err == nil:
			d.made = name
		case !errors.Is(err, os.ErrExist):
			return nil, err
		}
	}
	for _, file := range plotFiles(name) {
		out, err := pipe.Create(ctx, file, nil, pipe.Options{})
		if err != nil {
			return nil, d.finish(err)
		}
		d.outputs = append(d.outputs, out)
	}
	return d, nil
}

// write draws s; the files get their names with finish.
func (d *drawings) write(s *summary.Summary, o page.Options) error {
	if d.name == "" {
		return nil
	}
	columns, err := s.Decode(d.name)
	if err != nil {
		return err
	}
	p, err := page.New(s, columns, o)
	if err != nil {
		return err
	}
	if isPage(d.name) {
		return p.HTML(d.outputs[0])
	}
	for i, x := range p.Drawings() {
		if _, err := d.outputs[i].Write(x.Chart.File()); err != nil {
			return err
		}
	}
	return nil
}

// finish gives the files their names, or discards them and the folder made for them.
func (d *drawings) finish(err error) error {
	for _, out := range d.outputs {
		err = out.Finish(err)
	}
	if err != nil && d.made != "" {
		os.Remove(d.made)
	}
	return err
}
