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
	for _, text := range texts {
		set, err := Parse(fmt.Sprintf("--slo %q", text), text)
		if err != nil {
			return nil, err
		}
		all = append(all, set...)
	}
	for _, file := range files {
		in, place, err := open(file)
		if err != nil {
			return nil, err
		}
		set, err := ParseFile(in, place)
		in.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, set...)
	}
	if text := twice(all); text != "" {
		return nil, &Error{"--slo", "given twice", text, "each objective once"}
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
