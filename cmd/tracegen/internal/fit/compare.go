package fit

import (
	"fmt"
	"io"
	"math"
	"slices"

	"hydrant/internal/stats"
)

// Comparison sets a synthetic workload beside the trace it is to be like.
type Comparison struct {
	Requests, Sessions [2]int64
	IDC                [3][2]float64 // of the starts of sessions, at 1, 10 and 60 s
	InputKS, OutputKS  float64       // Kolmogorov-Smirnov distance of all lengths
	BlockHit, TokenHit [2]float64    // infinite cache, share 0..1; NaN without block ids
	Guessed            int64         // think times of the trace that hold the time of an answer
}

// windows are the widths at which dispersion is told, ns.
var windows = [3]int64{1e9, 10e9, 60e9}

// Compare compares a trace with what was made like it. Both profiles are Done.
func Compare(trace, made *Profile) Comparison {
	c := Comparison{
		Requests: [2]int64{trace.requests, made.requests}, Sessions: [2]int64{trace.sessions, made.sessions},
		InputKS: ks(trace.input, made.input), OutputKS: ks(trace.output, made.output), Guessed: trace.guessed,
	}
	for i, p := range []*Profile{trace, made} {
		for w, width := range windows {
			c.IDC[w][i] = IDC(p.starts, width)
		}
		c.BlockHit[i], c.TokenHit[i] = math.NaN(), math.NaN()
		if p.blocks > 0 {
			c.BlockHit[i] = float64(p.hitBlocks) / float64(p.blocks)
			c.TokenHit[i] = float64(p.hitTokens) / float64(p.tokens)
		}
	}
	return c
}

func ks(a, b []int64) float64 {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return stats.KS(a, b)
}

// Write prints the comparison for people.
func (c *Comparison) Write(w io.Writer) error {
	var err error
	line := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format+"\n", args...)
		}
	}
	relative := func(v [2]float64) string {
		if !(v[0] > 0) {
			return ""
		}
		return fmt.Sprintf("%+7.1f %%", 100*(v[1]/v[0]-1))
	}
	line("  %-24s %12s %12s %9s", "", "trace", "synthetic", "difference")
	for _, r := range []struct {
		name string
		v    [2]int64
	}{{"requests", c.Requests}, {"sessions", c.Sessions}} {
		line("  %-24s %12d %12d %s", r.name, r.v[0], r.v[1], relative([2]float64{float64(r.v[0]), float64(r.v[1])}))
	}
	for i, name := range []string{"dispersion at 1 s", "dispersion at 10 s", "dispersion at 60 s"} {
		line("  %-24s %12.3f %12.3f %s", name, c.IDC[i][0], c.IDC[i][1], relative(c.IDC[i]))
	}
	for _, r := range []struct {
		name string
		v    [2]float64
	}{{"hit ratio of blocks", c.BlockHit}, {"hit ratio of tokens", c.TokenHit}} {
		if !math.IsNaN(r.v[0]) {
			line("  %-24s %10.2f %% %10.2f %% %+7.2f points", r.name, 100*r.v[0], 100*r.v[1], 100*(r.v[1]-r.v[0]))
		}
	}
	line("  %-24s %12s %12s %9.4f", "input length, KS", "", "", c.InputKS)
	line("  %-24s %12s %12s %9.4f", "output length, KS", "", "", c.OutputKS)
	if c.Guessed > 0 {
		line("  %d think times hold the time of an answer, which the trace does not tell", c.Guessed)
	}
	return err
}
