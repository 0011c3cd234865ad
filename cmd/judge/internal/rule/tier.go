package rule

import (
	"fmt"
	"strings"

	"hydrant/formats/verdict"
)

// Evidence tiers: how much of what the wire did is known.
const (
	tier0 = "T0" // not enough to call a run VALID
	tier1 = "T1" // headroom and a quiet client stand in for kernel stamps
	tier2 = "T2" // kernel stamps, believed
	tier3 = "T3" // a packet witness as well
)

// Tiers lists those that --evidence takes, the lowest first.
var Tiers = [...]string{tier1, tier2, tier3}

// enoughStamps is the share of first tokens with a kernel stamp from which on the wire
// side is one.
const enoughStamps = 0.99

// stamped says whether the kernel stamped nearly every first token.
func (s *state) stamped() bool {
	x := s.scalar("stamp_share")
	return x.Value != nil && *x.Value >= enoughStamps
}

// side is that from which C8 sees the server.
func (s *state) side() string {
	if s.stamped() {
		return "wire"
	}
	return "sent"
}

// waived leaves a check that needs kernel stamps UNKNOWN where there are none: not
// required at tier T1, unproven below. It reports whether it did.
func (s *state) waived(f *finding) bool {
	if s.stamped() {
		return false
	}
	reason := "no kernel stamps"
	if x := s.scalar("stamp_share"); x.Value != nil && *x.Value > 0 {
		reason = fmt.Sprintf("kernel stamps on %.3g %% of the first tokens, 99 %% needed", 100**x.Value)
	}
	if lacks := s.lacksT1(); lacks != "" {
		reason += ", and " + lacks
	} else {
		f.required = false
		reason += ": waived at tier T1"
	}
	for _, t := range f.check.Terms {
		f.unknown(t.Name, reason)
	}
	return true
}

// lacksT1 says what tier T1 lacks, "" when nothing.
func (s *state) lacksT1() string {
	if e := s.Options.Evidence; e != "" && e != tier1 {
		return "--evidence " + strings.ToLower(e) + " asks for them"
	}
	c1 := s.check("C1")
	switch t := c1.Terms[s.term("C1", "t1")]; t.Status {
	case verdict.OK:
	case verdict.Warn:
		return fmt.Sprintf("a headroom of %s instead of %s", Digits(*t.Value), Digits(*t.Warn))
	default:
		return "no headroom: " + t.Reason
	}
	for _, id := range []string{"C3", "C5"} {
		if c := s.check(id); c.Status != verdict.OK && c.Status != verdict.Warn {
			return id + " is " + c.Status
		}
	}
	return ""
}

// term is the place of a term in its check.
func (s *state) term(check, name string) int {
	for i, t := range s.table[check].Terms {
		if t.Name == name {
			return i
		}
	}
	panic("internal error: check " + check + " has no term " + name)
}

// tier is what was reached, and why not more.
func (s *state) tier() (tier, note string) {
	if !s.stamped() {
		if lacks := s.lacksT1(); lacks != "" {
			return tier0, "no kernel stamps, and " + lacks
		}
		return tier1, "no kernel stamps"
	}
	for _, id := range []string{"C1", "C6", "C7"} {
		c := s.check(id)
		if c.Status == verdict.Unknown || isUnproven(c) {
			return tier0, id + ": " + strings.TrimPrefix(c.Reason, unproven)
		}
		if c.Status == verdict.Bad && id != "C1" {
			return tier0, id + " is " + c.Status
		}
	}
	return tier2, "no packet witness"
}

// witness is C11: no witness is recorded in this version, so it is only there to be
// missed when tier T3 is asked for.
func witness(s *state, f *finding) {
	f.required = s.Options.Evidence == tier3
	for _, t := range f.check.Terms {
		f.unknown(t.Name, "no packet witness: "+later)
	}
}
