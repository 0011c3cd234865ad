package slo

import (
	"fmt"
	"io"
)

// Args returns the objectives of a command line: texts are the values of --slo, files
// those of --slo-file, which open opens and names for errors. What is wrong with an
// objective, one that stands there twice included, is an *Error.
func Args(texts, files []string, open func(file string) (in io.ReadCloser, place string, err error)) ([]Objective, error) {
	var all []Objective
	add := func(set []Objective, err error, place string) error {
		if err != nil {
			return err
		}
		all = append(all, set...)
		if text := twice(all); text != "" {
			return &Error{place, "given twice", text, "each objective once"}
		}
		return nil
	}
	for _, text := range texts {
		set, err := Parse(fmt.Sprintf("--slo %q", text), text)
		if err := add(set, err, "--slo"); err != nil {
			return nil, err
		}
	}
	for _, file := range files {
		in, place, err := open(file)
		if err != nil {
			return nil, err
		}
		set, err := ParseFile(in, place)
		in.Close()
		if err := add(set, err, place); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// twice returns the first objective that stands twice in the set, or "".
func twice(set []Objective) string {
	seen := map[string]bool{}
	for _, o := range set {
		if seen[o.Text] {
			return o.Text
		}
		seen[o.Text] = true
	}
	return ""
}
