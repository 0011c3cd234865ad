// Package slo reads service level objectives and says of one request whether it is
// good: Parse makes Objectives of text, Limits lists what they ask of each request, and
// Good holds a request against that. reduce counts good requests by it, and judge
// decides by it whether a whole run met its objectives.
//
// An objective is one of four kinds. A quantile bounds a latency of most requests
// (ttft:p99<500ms), a share bounds the failures (error_rate<1%), a joint objective
// bounds the share of requests that meet several limits at once
// (good(ttft<2s,tpot<60ms):p90), and a rate bounds a count per second of the whole
// window (out_tps>=2000).
package slo

import (
	"fmt"
	"slices"
	"strings"
)

// Kind says how an objective is decided.
type Kind int

// The kinds of objectives.
const (
	Quantile Kind = iota // a latency limit that a share P of the requests has to meet
	Share                // error_rate: the share of requests that failed
	Joint                // the share of requests that meet every member limit
	Rate                 // a rate over the steady window, by batch means
)

// Objective is one service level objective.
type Objective struct {
	Text    string  // canonical form: parsing it again gives an equal Objective
	Kind    Kind    //
	Limit   Limit   // of a Quantile
	P       float64 // Quantile, Share, Joint: the share of requests that must be good
	Members []Limit // of a Joint: all of them have to hold in one row
	OfSet   bool    // Joint: the members are the limits of the whole set (goodput>=90%)
	Rate    string  // name of a Rate: out_tps, goodput, …
	AtLeast bool    // of a Rate: true for >=, false for <=
	Bound   float64 // of a Rate: per second
}

// ID is the objective's id in a verdict: E2 for a joint objective, else E1.
func (o Objective) ID() string {
	if o.Kind == Joint {
		return "E2:" + o.Text
	}
	return "E1:" + o.Text
}

// Limit bounds one latency metric of one request: the value may not exceed
// BaseNS + PerTokenNS·input tokens.
type Limit struct {
	Metric     string // ttft, ttfo, tpot, e2e, icl_mean, icl_p99, icl_max
	Side       string // user, wire or sent
	BaseNS     int64
	PerTokenNS int64
}

// Name is the metric with its side: "ttft", "ttft/wire". The user side is not named.
func (l Limit) Name() string {
	if l.Side == User {
		return l.Metric
	}
	return l.Metric + "/" + l.Side
}

// Bound is the limit as people write it: "500ms", "200ms+50us*in".
func (l Limit) Bound() string {
	s := Duration(l.BaseNS)
	if l.PerTokenNS != 0 {
		s += "+" + Duration(l.PerTokenNS) + "*in"
	}
	return s
}

// String is the limit of one request, "ttft<=500ms".
func (l Limit) String() string { return l.Name() + "<=" + l.Bound() }

// ID is the id of the metric in docs/metrics.md: "ttft_user", "icl_max".
func (l Limit) ID() string {
	if strings.HasPrefix(l.Metric, "icl_") {
		return l.Metric
	}
	return l.Metric + "_" + l.Side
}

// Column is the summary column that holds the metric.
func (l Limit) Column() string { return l.ID() + "_ns" }

// Sides of a latency: from the planned time to the parsed event; between the write
// and the kernel's arrival stamp; between the write and the parsed event.
const (
	User = "user"
	Wire = "wire"
	Sent = "sent"
)

// latencies lists what can be bounded per request, and on which sides.
var latencies = [...]struct {
	name  string
	sides []string
}{
	{"ttft", []string{User, Wire, Sent}},
	{"ttfo", []string{User, Wire, Sent}},
	{"tpot", []string{User, Wire}},
	{"e2e", []string{User, Wire, Sent}},
	{"icl_mean", []string{User}},
	{"icl_p99", []string{User}},
	{"icl_max", []string{User}},
}

// rates lists what can be bounded per second of the window.
var rates = [...]string{"out_tps", "in_tps", "goodput", "sent_rps", "ok_rps", "ended_rps"}

func latencyNames() string {
	var names []string
	for _, l := range latencies {
		names = append(names, l.name)
	}
	return strings.Join(names, ", ")
}

func isRate(name string) bool { return slices.Contains(rates[:], name) }

// Has reports whether the metric of l is measured on side.
func (l Limit) Has(side string) bool {
	for _, m := range latencies {
		if m.name == l.Metric {
			return slices.Contains(m.sides, side)
		}
	}
	return false
}

// Texts returns the canonical forms of the objectives.
func Texts(set []Objective) []string {
	var all []string
	for _, o := range set {
		all = append(all, o.Text)
	}
	return all
}

// Limits returns every per-request limit that the objectives name, each once, in order.
func Limits(set []Objective) []Limit {
	var all []Limit
	add := func(l Limit) {
		if !slices.Contains(all, l) {
			all = append(all, l)
		}
	}
	for _, o := range set {
		switch o.Kind {
		case Quantile:
			add(o.Limit)
		case Joint:
			for _, l := range o.Members {
				add(l)
			}
		}
	}
	return all
}

// On returns the objectives of the set that a side other than the user's also
// measures, read on that side, with their places in the set.
func On(set []Objective, side string) (on []Objective, at []int) {
	for i, o := range set {
		switch {
		case o.Kind == Quantile && o.Limit.Side == User && o.Limit.Has(side):
			o.Limit.Side = side
		case o.Kind == Joint && !o.OfSet:
			members := make([]Limit, len(o.Members))
			moved := true
			for m, l := range o.Members {
				moved = moved && l.Side == User && l.Has(side)
				l.Side = side
				members[m] = l
			}
			if !moved {
				continue
			}
			o.Members = members
		default:
			continue
		}
		on, at = append(on, o), append(at, i)
	}
	return on, at
}

// Error is a part of an objective that cannot be read.
type Error struct {
	Place string // the flag with its value, or file:line
	Part  string // level, limit, metric, …
	Got   string
	Want  string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s: got %q, want %s", e.Place, e.Part, e.Got, e.Want)
}
