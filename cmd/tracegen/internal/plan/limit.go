package plan

import (
	"slices"

	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
)

// shortOutputs makes answers at most so long. An unknown length stays unknown.
func (p *Pipeline) shortOutputs(most int64, next step) step {
	return func() (*schedule.Request, error) {
		r, err := next()
		if err != nil {
			return nil, err
		}
		switch {
		case !r.OutputTokens.Valid:
			p.counts["max_output_unknown"]++
		case r.OutputTokens.V > most:
			r.OutputTokens = formats.Some(most)
			p.counts["max_output_cut"]++
		}
		return r, nil
	}
}

// shortInputs cuts prompts. What is kept of the ids are those that stay full blocks;
// the rest of a prompt is private, since an id may not get a second size. A literal
// prompt cannot follow, so a line with a body is refused.
func (p *Pipeline) shortInputs(most int64, next step) step {
	return func() (*schedule.Request, error) {
		r, err := next()
		if err != nil {
			return nil, err
		}
		if r.Body != nil {
			return nil, cli.Usagef("--max-input: %s: request %d has a literal prompt, which cannot be cut", p.Place, r.ID)
		}
		if r.InputTokens.V <= most {
			return r, nil
		}
		r.InputTokens = formats.Some(most)
		p.counts["max_input_cut"]++
		if r.Blocks != nil {
			r.Blocks.Add = leading(r.Blocks.Add, most/p.Block.Tokens)
		}
		return r, nil
	}
}

// leading returns the first n ids of runs. It leaves runs as they are: a schedule's
// reader needs them for the line behind.
func leading(runs []schedule.Run, n int64) []schedule.Run {
	for i, run := range runs {
		if run[1] > n {
			runs = slices.Clip(runs[:i])
			if n > 0 {
				runs = append(runs, schedule.Run{run[0], n})
			}
			return runs
		}
		n -= run[1]
	}
	return runs
}
