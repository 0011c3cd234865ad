package main

import (
	"slices"
	"strings"

	"hydrant/internal/cli"
	"hydrant/internal/fold"
)

// groupKeys lists the keys of --by.
func groupKeys() string {
	var names []string
	for _, k := range fold.GroupKeys {
		names = append(names, k.Name)
	}
	return strings.Join(names, " ")
}

// parseBy reads a list such as class,turn.
func parseBy(s string, given bool) ([]string, error) {
	if !given {
		return nil, nil
	}
	var by []string
	for name := range strings.SplitSeq(s, ",") {
		name = strings.TrimSpace(name)
		known := slices.ContainsFunc(fold.GroupKeys[:], func(k struct{ Name, Meaning string }) bool { return k.Name == name })
		if !known || slices.Contains(by, name) {
			return nil, cli.Usagef("--by: got %q, want some of %s, each once", name, groupKeys())
		}
		by = append(by, name)
	}
	return by, nil
}
