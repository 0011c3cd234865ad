package preflight

import (
	"fmt"
	"math"
)

// promptCounts is how a server counts the prompts of this run. Its chat template, or a
// token that begins every text, adds the same to each; a vocabulary that splits the
// words of the list makes each longer.
type promptCounts struct {
	Planned  [2]int64 `json:"planned"`         // tokens of the two trial prompts
	Counted  [2]int64 `json:"counted"`         // what the server's usage said
	PerToken float64  `json:"per_token"`       // counted tokens for each planned one
	Overhead int64    `json:"overhead_tokens"` // counted tokens of a prompt without text
}

// counts reads the usage of both trials and says what is not as planned.
func (f *Findings) counts(o Options, base string, short, long int64) *promptCounts {
	c := &promptCounts{Planned: [2]int64{trialInput, trialLonger}, Counted: [2]int64{short, long}}
	c.PerToken = float64(long-short) / (trialLonger - trialInput)
	c.Overhead = int64(math.Round(float64(short) - c.PerToken*trialInput))
	switch place := Redact(base); {
	case c.PerToken != 1:
		advice := ""
		if o.Prompt == "text" {
			advice = "; --prompt tokens with --endpoint completions is exact"
		}
		f.warn("%s: counts %d tokens for a prompt of %d and %d for one of %d: prompts will not have the planned length%s", place, short, trialInput, long, trialLonger, advice)
	case c.Overhead != 0:
		f.Notes = append(f.Notes, fmt.Sprintf("%s: the server counts %+d tokens to each prompt, as a chat template adds", place, c.Overhead))
	}
	return c
}
