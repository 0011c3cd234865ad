// Package synth makes synthetic workloads: schedules drawn from a description that a
// person can read and check in.
//
// Parse reads a description, New starts a Generator, and its Next yields requests with
// block ids in full, in order of time. Every class has a random stream of its own for
// each purpose, so that another class, or another distribution of one thing, moves
// nothing else. Memory grows with the sessions that are open at one time.
package synth

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/arrivals"
)

// Version is the version of the description that this build reads and writes.
const Version = 1

// Spec describes a workload.
type Spec struct {
	Seed       formats.Int
	Scope      string          // in front of the classes' names; "" is synth/SEED
	Requests   int64           // most lines; 0: no bound
	DurationNS int64           // no session starts at or after it; 0: no bound
	Block      *schedule.Block // how ids map to tokens; nil: no ids
	Classes    []Class
}

// scope is in front of the scopes of the classes. Ids of different seeds stand for
// different text, so the default names the seed.
func (s *Spec) scope(seed int64) string {
	if s.Scope != "" {
		return s.Scope
	}
	return "synth/" + strconv.FormatInt(seed, 10)
}

// Class is a kind of sessions.
type Class struct {
	Name     string
	Model    string
	Priority formats.Int
	Arrivals arrivals.Process
	Rate     []arrivals.Segment // of sessions, per s
	GridNS   int64              // arrivals move back to a multiple of it; 0: none
	Input    Dist               // tokens of a first prompt, a shared prefix not counted
	Output   Dist               // tokens
	Ranks    [][]float64        // weights of (input, output) by equal shares of their ranks; nil: independent
	Prefix   *Prefix
	Reuse    *Reuse
	Session  *Session
}

// Prefix is a pool of texts of which one may stand in front of a session's prompts.
type Prefix struct {
	Pool   int64   // how many there are
	Tokens Dist    // length of each
	Zipf   float64 // popularity of number k is k^-Zipf; 0: all alike
	Share  float64 // of sessions that have one, 0..1
}

// Reuse makes a first prompt begin as an earlier one did, the way recorded traces
// without sessions do: how many blocks is drawn by the rank of the prompt's length, how
// long ago the earlier one was by the number of blocks.
type Reuse struct {
	Blocks []Dist  // leading blocks seen before, by equal shares of the ranks of Input
	Age    []Dist  // requests since the earlier prompt, by the octave of blocks
	Share  float64 // of all blocks of first prompts to be seen before, which Blocks is drawn towards; 0: as drawn
}

// Session makes turns of one growing context.
type Session struct {
	Turns      []Dist // at least 1; one, or one for each of equal shares of the ranks of Input
	Think      Dist   // s from the end of a turn to the next
	New        []Dist // tokens of a turn beyond the prompt and the reply before; may be negative. One, or one for each size of these: below 1 Ki, 2 Ki, 4 Ki, … tokens
	Kept       Dist   // share of the blocks before that stay, 0..1; not set: all
	MaxContext int64  // a turn beyond it (input and output) ends the session; 0: none
}

// Size is the number of the size of a context of n tokens: 0 below 1 Ki, 1 below 2 Ki,
// 2 below 4 Ki, and so on.
func Size(n int64) int { return bits.Len64(uint64(max(n, 0)) >> 10) }

// added returns the distribution of what a turn adds to a context of n tokens.
func (s *Session) added(n int64) Dist { return s.New[min(Size(n), len(s.New)-1)] }

// MaxTokens bounds one length: four times the longest context there is, and it keeps
// a prompt's ids far below what a line may hold.
const MaxTokens = 1 << 26

// Check reports what makes the description impossible.
func (s *Spec) Check() error {
	if len(s.Classes) == 0 {
		return errors.New("classes: got none, want at least one")
	}
	if b := s.Block; b != nil && (b.Tokens < 1 || b.Tokens > MaxTokens || b.Last != schedule.Partial && b.Last != schedule.Absent) {
		return errors.New("block: want tokens of at least 1 and last partial or absent, or none")
	}
	names := map[string]bool{}
	endless := s.Requests == 0 && s.DurationNS == 0
	for i := range s.Classes {
		c := &s.Classes[i]
		if c.Name == "" || names[c.Name] {
			return fmt.Errorf("class %q: name: want one, and each once", c.Name)
		}
		names[c.Name] = true
		if err := c.check(); err != nil {
			return fmt.Errorf("class %s: %w", c.Name, err)
		}
		if s.Block == nil && (c.Prefix != nil || c.Reuse != nil) {
			return fmt.Errorf("class %s: got prefix or reuse, want block ids for it: block is none", c.Name)
		}
		if endless && math.IsInf(c.Rate[len(c.Rate)-1].Seconds, 1) {
			return fmt.Errorf("class %s: rate: without an end, want requests or duration as well", c.Name)
		}
	}
	return nil
}

func (c *Class) check() error {
	if err := busy(c.Rate); err != nil {
		return fmt.Errorf("rate: %w", err)
	}
	for _, d := range []struct {
		name  string
		d     Dist
		least float64
		must  bool
	}{{"input", c.Input, 0, true}, {"output", c.Output, 0, true}} {
		if err := atLeast(d.name, d.d, d.least, d.must); err != nil {
			return err
		}
	}
	if p := c.Prefix; p != nil {
		if p.Pool < 1 || p.Pool > maxZipf || !(p.Share >= 0 && p.Share <= 1) || !(p.Zipf >= 0) {
			return errors.New("prefix: want pool from 1 to 1000000, share from 0 to 1 and zipf of at least 0")
		}
		if err := atLeast("prefix.tokens", p.Tokens, 0, true); err != nil {
			return err
		}
		if c.Reuse != nil {
			return errors.New("prefix: got reuse as well, want one of them: both make the front of a prompt")
		}
	}
	if r := c.Reuse; r != nil && !(r.Share >= 0 && r.Share <= 1) {
		return errors.New("reuse: want share from 0 to 1")
	}
	if s := c.Session; s != nil {
		if len(s.New) == 0 {
			return fmt.Errorf("session.new: got nothing, want %s", wantDist)
		}
		for _, d := range s.New {
			if err := atLeast("session.new", d, -MaxTokens, true); err != nil {
				return err
			}
		}
		if len(s.Turns) == 0 {
			return fmt.Errorf("session.turns: got nothing, want %s", wantDist)
		}
		for _, d := range s.Turns {
			if err := atLeast("session.turns", d, 1, true); err != nil {
				return err
			}
		}
		return errors.Join(atLeast("session.think", s.Think, 0, true), atLeast("session.kept", s.Kept, 0, false))
	}
	return nil
}

func atLeast(name string, d Dist, least float64, must bool) error {
	switch {
	case !d.Set() && must:
		return fmt.Errorf("%s: got nothing, want %s", name, wantDist)
	case d.Set() && d.lo < least:
		return fmt.Errorf("%s: got %q, want values of at least %g", name, clip(d.text), least)
	}
	return nil
}
