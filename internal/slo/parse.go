package slo

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Parse reads one objective or preset. A preset stands for several objectives. Place
// names the text in errors, for example `--slo "ttft:p99<1s"`. Every error is an
// *Error. Blanks have no meaning.
//
//	objective = quantile | share | joint | rate
//	quantile  = metric [ "/" side ] ":p" level ( "<" | "<=" ) limit
//	share     = "error_rate" ( "<" | "<=" ) share
//	joint     = "good(" member { "," member } ")" ( ":p" level | ">=" share )
//	          | "goodput" ">=" share with a % sign
//	member    = metric [ "/" side ] ( "<" | "<=" ) limit
//	rate      = name ( ">=" | "<=" ) number [ "/s" ]
//	limit     = duration [ "+" duration "*in" ]
//	preset    = "mlperf/" model "/" scenario
//
// A row whose value equals its limit is good, so "<" and "<=" read the same.
func Parse(place, text string) ([]Objective, error) {
	s := strings.Map(func(r rune) rune {
		if r == ' ' || r == '\t' {
			return -1
		}
		return r
	}, text)
	if s == "" {
		return nil, &Error{place, "objective", text, "something like ttft:p99<500ms"}
	}
	if strings.HasPrefix(s, "mlperf/") {
		return preset(place, s)
	}
	p := parser{place: place}
	var o Objective
	if strings.HasPrefix(s, "good(") {
		o = p.joint(s)
	} else {
		o = p.single(s)
	}
	if p.err != nil {
		return nil, p.err
	}
	return []Objective{o}, nil
}

// ParseFile reads objectives from r, one a line; "#" starts a comment. Name stands
// for the file in errors.
func ParseFile(r io.Reader, name string) ([]Objective, error) {
	var all []Objective
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		text, _, _ := strings.Cut(lines.Text(), "#")
		if strings.TrimSpace(text) == "" {
			continue
		}
		set, err := Parse(fmt.Sprintf("%s:%d", name, n), strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		all = append(all, set...)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, &Error{name, "line", "more than 64 KiB", "one objective a line"}
	} else if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, &Error{name, "objectives", "none", "one a line, such as ttft:p99<500ms"}
	}
	return all, nil
}

// maxPerTokenNS bounds the slope of a limit, so that its product with the most input
// tokens that a row may have, 2^24, fits 64 bits.
const maxPerTokenNS = 60e9

// parser keeps the first error; its methods return zero values after one.
type parser struct {
	place string
	err   error
}

func (p *parser) fail(part, got, want string) {
	if p.err == nil {
		p.err = &Error{p.place, part, got, want}
	}
}

// compare cuts s at its comparison: name, operator, bound.
func (p *parser) compare(s, want string) (name, op, bound string) {
	i := strings.IndexAny(s, "<>=")
	if i < 0 {
		p.fail("comparison", s, want)
		return s, "", ""
	}
	name, op, bound = s[:i], s[i:i+1], s[i+1:]
	if strings.HasPrefix(bound, "=") {
		op, bound = op+"=", bound[1:]
	}
	if op[0] == '=' {
		p.fail("comparison", op, "one of <, <=, >, >=")
	}
	return name, op, bound
}

func (p *parser) single(s string) Objective {
	name, op, bound := p.compare(s, "a limit such as <500ms or >=2000")
	if p.err != nil {
		return Objective{}
	}
	_, level, quantile := strings.Cut(name, ":")
	switch {
	case quantile:
		name, _, _ = strings.Cut(name, ":")
		o := Objective{Kind: Quantile, P: p.level(level), Limit: p.limit(name, op, bound)}
		o.Text = o.Limit.Name() + ":" + levelText(o.P) + "<=" + o.Limit.Bound()
		return o
	case name == "error_rate":
		p.below(op)
		share, ok := ParseShare(bound)
		if !ok || share <= 0 || share >= 1 {
			p.fail("limit", bound, "a share between 0 and 1, such as 1% or 0.01")
		}
		return Objective{Kind: Share, P: 1 - share, Text: "error_rate<=" + Percent(share)}
	case name == "goodput" && strings.HasSuffix(bound, "%"):
		return p.withShare(Objective{Kind: Joint, OfSet: true, Text: "goodput"}, op, bound)
	case isRate(name):
		return p.rate(name, op, bound)
	}
	if p.metric(name); p.err == nil {
		p.fail("level", "", "one, as in "+name+":p99"+op+bound)
	}
	return Objective{}
}

func (p *parser) joint(s string) Objective {
	inner, rest, closed := strings.Cut(strings.TrimPrefix(s, "good("), ")")
	if !closed {
		p.fail("good(…)", s, "a closing bracket")
		return Objective{}
	}
	o := Objective{Kind: Joint}
	var texts []string
	for _, m := range strings.Split(inner, ",") {
		name, op, bound := p.compare(m, "members such as ttft<2s,tpot<60ms")
		l := p.limit(name, op, bound)
		if p.err == nil && slices.Contains(o.Members, l) {
			p.fail("good(…)", m, "each member once")
		}
		if p.err != nil {
			return Objective{}
		}
		o.Members = append(o.Members, l)
		texts = append(texts, l.String())
	}
	o.Text = "good(" + strings.Join(texts, ",") + ")"
	if level, found := strings.CutPrefix(rest, ":"); found {
		o.P = p.level(level)
		o.Text += ":" + levelText(o.P)
		return o
	}
	name, op, bound := p.compare(rest, "a level such as :p90, or >=90%")
	if name != "" {
		p.fail("good(…)", rest, "a level such as :p90, or >=90%")
	}
	return p.withShare(o, op, bound)
}

// withShare reads ">= share" of a joint objective. A share that is a level is
// written as one, so that both spellings are the same objective.
func (p *parser) withShare(o Objective, op, bound string) Objective {
	if p.err == nil && op != ">=" && op != ">" {
		p.fail("comparison", op, ">=")
	}
	share, ok := ParseShare(bound)
	if !ok || share <= 0 || share >= 1 {
		p.fail("share", bound, "a share between 0 and 1, such as 90% or 0.9")
	}
	o.P = share
	switch level := levelText(share); {
	case o.OfSet:
		o.Text += ">=" + Percent(share)
	case level != "":
		o.Text += ":" + level
	default:
		o.Text += ">=" + Percent(share)
	}
	return o
}

func (p *parser) rate(name, op, bound string) Objective {
	num := strings.TrimSuffix(bound, "/s")
	v, err := strconv.ParseFloat(num, 64)
	if !decimal(num) || err != nil {
		p.fail("limit", bound, "a number per second, such as 2000")
	}
	o := Objective{Kind: Rate, Rate: name, Bound: v, AtLeast: op[0] == '>'}
	o.Text = name + map[bool]string{true: ">=", false: "<="}[o.AtLeast] + strconv.FormatFloat(v, 'f', -1, 64)
	return o
}

// level reads p1 … p99.9. Percentiles are ranks in thousandths, so a finer level
// has no rank of its own.
func (p *parser) level(s string) float64 {
	const want = "p1 to p99.9 with at most one decimal"
	num, found := strings.CutPrefix(s, "p")
	whole, frac, point := strings.Cut(num, ".")
	if !found || !digits(whole) || len(whole) > 2 || point && (!digits(frac) || len(frac) != 1) {
		p.fail("level", s, want)
		return 0
	}
	k, _ := strconv.Atoi(whole)
	k *= 10
	if point {
		k += int(frac[0] - '0')
	}
	if k < 10 || k > 999 {
		p.fail("level", s, want)
		return 0
	}
	return float64(k) / 1000
}

// levelText is the inverse of level, or "" when p is no level.
func levelText(p float64) string {
	for k := 10; k <= 999; k++ {
		if float64(k)/1000 == p {
			return "p" + strconv.FormatFloat(float64(k)/10, 'f', -1, 64)
		}
	}
	return ""
}

func (p *parser) below(op string) {
	if op != "<" && op != "<=" {
		p.fail("comparison", op, "< or <=")
	}
}

// limit reads metric, side and bound of a latency.
func (p *parser) limit(name, op, bound string) Limit {
	l := p.metric(name)
	if p.err != nil {
		return l
	}
	p.below(op)
	base, slope, linear := strings.Cut(bound, "+")
	var ok bool
	if l.BaseNS, ok = ParseDuration(base); !ok {
		p.fail("limit", base, "a duration such as 500ms or 1.5s")
	}
	if linear {
		per, in := strings.CutSuffix(slope, "*in")
		if l.PerTokenNS, ok = ParseDuration(per); !ok || !in {
			p.fail("limit", slope, "a duration per input token such as 0.05ms*in")
		} else if l.PerTokenNS > maxPerTokenNS {
			p.fail("limit", slope, "at most 1min for an input token")
		}
	}
	return l
}

func (p *parser) metric(name string) Limit {
	metric, side, sided := strings.Cut(name, "/")
	if !sided {
		side = User
	}
	for _, m := range latencies {
		if m.name != metric {
			continue
		}
		if !slices.Contains(m.sides, side) {
			p.fail("side of "+metric, side, "one of "+strings.Join(m.sides, ", "))
		}
		return Limit{Metric: metric, Side: side}
	}
	p.fail("metric", metric, "one of "+latencyNames()+", error_rate, good(…), "+strings.Join(rates[:], ", "))
	return Limit{}
}
