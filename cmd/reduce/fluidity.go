package main

import (
	"strings"
	"time"

	"hydrant/internal/cli"
	"hydrant/internal/fold"
)

// parseFluidity reads FIRST:LATER or FIRST+PER_INPUT_TOKEN:LATER, durations of at most
// an hour.
func parseFluidity(s string) (*fold.Fluidity, error) {
	bad := cli.Usagef("--fluidity: got %q, want FIRST:LATER up to 1h, as 500ms:50ms, or FIRST+PER_INPUT_TOKEN:LATER, as 500ms+20us:50ms", s)
	first, later, ok := strings.Cut(s, ":")
	if !ok {
		return nil, bad
	}
	first, slope, sloped := strings.Cut(first, "+")
	var l fold.Fluidity
	for _, x := range []struct {
		text  string
		to    *int64
		given bool
	}{{first, &l.FirstNS, true}, {slope, &l.PerInputNS, sloped}, {later, &l.GapNS, true}} {
		if !x.given {
			continue
		}
		d, err := time.ParseDuration(x.text)
		if err != nil || d <= 0 || d > time.Hour {
			return nil, bad
		}
		*x.to = int64(d)
	}
	return &l, nil
}
