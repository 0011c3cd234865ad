package synth

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/arrivals"
)

// maxSpec bounds a description: a fit of a long trace has some 100 KB.
const maxSpec = 16 << 20

// ReadText reads a description to its end.
func ReadText(r io.Reader, place string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxSpec+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	if len(b) > maxSpec {
		return nil, &formats.SyntaxError{Place: place, What: "size", Got: fmt.Sprintf("more than %d bytes", maxSpec), Want: "a description of a workload"}
	}
	return b, nil
}

// Parse parses a description in YAML. place names it in errors, which have the line. A
// key that is not known is an error.
func Parse(b []byte, place string) (*Spec, error) {
	p := &parser{place: place}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if err == io.EOF {
			return nil, &formats.SyntaxError{Place: place, What: "text", Got: "nothing", Want: "a description of a workload in YAML"}
		}
		return nil, &formats.SyntaxError{Place: place, What: "text", Got: clip(strings.TrimPrefix(err.Error(), "yaml: ")), Want: "YAML"}
	}
	if dec.Decode(new(yaml.Node)) != io.EOF {
		return nil, &formats.SyntaxError{Place: place, What: "text", Got: "more than one document", Want: "one"}
	}
	s := p.spec(doc.Content[0])
	if p.err != nil {
		return nil, p.err
	}
	if err := s.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	return s, nil
}

// parser turns nodes into values and keeps the first fault.
type parser struct {
	place string
	err   error
}

func (p *parser) fail(n *yaml.Node, what, got, want string) {
	if p.err == nil {
		p.err = &formats.SyntaxError{Place: p.place + ":" + strconv.Itoa(n.Line), What: what, Got: clip(got), Want: want}
	}
}

// keys calls the function of each key of a mapping. Keys come once.
func (p *parser) keys(n *yaml.Node, what string, known map[string]func(*yaml.Node, string)) {
	if n.Kind != yaml.MappingNode {
		p.fail(n, what, n.Value, "keys and values")
		return
	}
	seen := map[string]bool{}
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i]
		full := strings.TrimPrefix(what+"."+key.Value, ".")
		switch read := known[key.Value]; {
		case read == nil:
			var names []string
			for name := range known {
				names = append(names, name)
			}
			slices.Sort(names)
			p.fail(key, full, key.Value, "one of "+strings.Join(names, ", "))
		case seen[key.Value]:
			p.fail(key, full, "the key again", "each key once")
		default:
			seen[key.Value] = true
			read(n.Content[i+1], full)
		}
	}
}

// list calls a function for each item.
func (p *parser) list(n *yaml.Node, what string, item func(*yaml.Node, string)) {
	if n.Kind != yaml.SequenceNode {
		p.fail(n, what, n.Value, "a list")
		return
	}
	for i, n := range n.Content {
		item(n, what+"["+strconv.Itoa(i)+"]")
	}
}

func (p *parser) text(n *yaml.Node, what string) string {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" || n.Value == "" {
		p.fail(n, what, n.Value, "a text")
	}
	return n.Value
}

func (p *parser) whole(n *yaml.Node, what string, least int64) int64 {
	v, err := strconv.ParseInt(p.text(n, what), 10, 64)
	if err != nil || v < least {
		p.fail(n, what, n.Value, fmt.Sprintf("a whole number of at least %d", least))
	}
	return v
}

func (p *parser) number(n *yaml.Node, what string) float64 {
	v, err := number(p.text(n, what))
	if err != nil {
		p.fail(n, what, n.Value, "a number")
	}
	return v
}

func (p *parser) duration(n *yaml.Node, what string) int64 {
	d, err := time.ParseDuration(p.text(n, what))
	if err != nil || d <= 0 {
		p.fail(n, what, n.Value, "a duration above 0, such as 90s, 10m or 1h30m")
	}
	return int64(d)
}

func parsed[T any](p *parser, n *yaml.Node, what string, parse func(string) (T, error)) T {
	v, err := parse(p.text(n, what))
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("%s:%d: %s: %w", p.place, n.Line, what, err)
	}
	return v
}

// dist reads a distribution, as text or with its quantiles as a list.
func (p *parser) dist(n *yaml.Node, what string) (d Dist) {
	if n.Kind != yaml.MappingNode {
		return parsed(p, n, what, ParseDist)
	}
	p.keys(n, what, map[string]func(*yaml.Node, string){"quantiles": func(n *yaml.Node, what string) {
		var points []float64
		p.list(n, what, func(n *yaml.Node, what string) { points = append(points, p.number(n, what)) })
		var err error
		if d, err = Quantiles(points); err != nil {
			p.fail(n, what, fmt.Sprintf("%d values", len(points)), err.Error())
		}
	}})
	if !d.Set() {
		p.fail(n, what, "no key", "quantiles")
	}
	return d
}

// dists reads one distribution, or a list of them.
func (p *parser) dists(n *yaml.Node, what string) (ds []Dist) {
	if n.Kind != yaml.SequenceNode {
		return []Dist{p.dist(n, what)}
	}
	p.list(n, what, func(n *yaml.Node, what string) { ds = append(ds, p.dist(n, what)) })
	return ds
}

// mixed is what classes take over unless they say otherwise.
type mixed struct {
	rate     []arrivals.Segment
	arrivals arrivals.Process
	weights  []float64 // of the classes without a rate; else 0
}

func (p *parser) spec(n *yaml.Node) *Spec {
	s := &Spec{Block: &schedule.Block{Tokens: DefaultBlock, Last: schedule.Absent}}
	poisson, _ := arrivals.NewProcess(arrivals.Poisson, 0)
	m := mixed{arrivals: poisson}
	var classes *yaml.Node
	version := int64(0)
	p.keys(n, "", map[string]func(*yaml.Node, string){
		"version":  func(n *yaml.Node, what string) { version = p.whole(n, what, 0) },
		"seed":     func(n *yaml.Node, what string) { s.Seed = formats.Some(parsed(p, n, what, wholeSeed)) },
		"scope":    func(n *yaml.Node, what string) { s.Scope = p.text(n, what) },
		"requests": func(n *yaml.Node, what string) { s.Requests = p.whole(n, what, 1) },
		"duration": func(n *yaml.Node, what string) { s.DurationNS = p.duration(n, what) },
		"rate":     func(n *yaml.Node, what string) { m.rate = p.rate(n, what) },
		"arrivals": func(n *yaml.Node, what string) { m.arrivals = parsed(p, n, what, arrivals.ParseProcess) },
		"block": func(n *yaml.Node, what string) {
			if n.Value == "none" {
				s.Block = nil
				return
			}
			p.keys(n, what, map[string]func(*yaml.Node, string){
				"tokens": func(n *yaml.Node, what string) { s.Block.Tokens = p.whole(n, what, 1) },
				"last":   func(n *yaml.Node, what string) { s.Block.Last = p.text(n, what) },
			})
		},
		"classes": func(n *yaml.Node, what string) { classes = n },
	})
	if version != Version {
		p.fail(n, "version", strconv.FormatInt(version, 10), strconv.Itoa(Version))
	}
	if p.err == nil && classes == nil {
		p.fail(n, "classes", "nothing", "a list of classes")
	}
	if p.err != nil {
		return nil
	}
	p.list(classes, "classes", func(n *yaml.Node, what string) { s.Classes = append(s.Classes, p.class(n, what, &m)) })
	total := 0.0
	for _, w := range m.weights {
		total += w
	}
	for i := range s.Classes {
		c := &s.Classes[i]
		if m.weights[i] > 0 {
			c.Rate = scaled(m.rate, m.weights[i]/total)
		}
	}
	return s
}

// DefaultBlock is how many tokens a block id stands for unless the description says.
const DefaultBlock = 64

func wholeSeed(text string) (int64, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("got %q, want a whole number", text)
	}
	return v, nil
}

func (p *parser) rate(n *yaml.Node, what string) []arrivals.Segment {
	if n.Kind != yaml.MappingNode {
		return parsed(p, n, what, ParseRate)
	}
	var every int64
	var out []arrivals.Segment
	p.keys(n, what, map[string]func(*yaml.Node, string){
		"every": func(n *yaml.Node, what string) { every = p.duration(n, what) },
		"values": func(n *yaml.Node, what string) {
			p.list(n, what, func(n *yaml.Node, what string) {
				v := parsed(p, n, what, rate)
				out = append(out, arrivals.Segment{From: v, To: v})
			})
		},
	})
	for i := range out {
		out[i].Seconds = float64(every) / 1e9
	}
	if every == 0 || len(out) == 0 {
		p.fail(n, what, "a part of a series", "every and values")
		return nil
	}
	if err := busy(out); err != nil {
		p.fail(n, what, "rates of 0", strings.TrimPrefix(err.Error(), "want "))
	}
	return out
}

func (p *parser) class(n *yaml.Node, what string, m *mixed) Class {
	c := Class{Arrivals: m.arrivals}
	weight := 0.0
	p.keys(n, what, map[string]func(*yaml.Node, string){
		"name":     func(n *yaml.Node, what string) { c.Name = p.text(n, what) },
		"model":    func(n *yaml.Node, what string) { c.Model = p.text(n, what) },
		"priority": func(n *yaml.Node, what string) { c.Priority = formats.Some(parsed(p, n, what, wholeSeed)) },
		"arrivals": func(n *yaml.Node, what string) { c.Arrivals = parsed(p, n, what, arrivals.ParseProcess) },
		"rate":     func(n *yaml.Node, what string) { c.Rate = p.rate(n, what) },
		"grid":     func(n *yaml.Node, what string) { c.GridNS = p.duration(n, what) },
		"input":    func(n *yaml.Node, what string) { c.Input = p.dist(n, what) },
		"output":   func(n *yaml.Node, what string) { c.Output = p.dist(n, what) },
		"ranks":    func(n *yaml.Node, what string) { c.Ranks = p.ranks(n, what) },
		"prefix":   func(n *yaml.Node, what string) { c.Prefix = p.prefix(n, what) },
		"reuse":    func(n *yaml.Node, what string) { c.Reuse = p.reuse(n, what) },
		"session":  func(n *yaml.Node, what string) { c.Session = p.session(n, what) },
		"weight": func(n *yaml.Node, what string) {
			if weight = p.number(n, what); weight <= 0 {
				p.fail(n, what, n.Value, "a number above 0")
			}
		},
	})
	switch {
	case p.err != nil:
	case c.Rate != nil && weight > 0:
		p.fail(n, what, "both rate and weight", "one of them: a weight is a share of the rate of all")
	case c.Rate == nil && m.rate == nil:
		p.fail(n, what+".rate", "nothing", wantRate)
	case c.Rate == nil && weight == 0:
		weight = 1
	}
	m.weights = append(m.weights, weight)
	return c
}

func (p *parser) ranks(n *yaml.Node, what string) (out [][]float64) {
	total := 0.0
	p.list(n, what, func(n *yaml.Node, what string) {
		var row []float64
		p.list(n, what, func(n *yaml.Node, what string) {
			v := p.number(n, what)
			if v < 0 {
				p.fail(n, what, n.Value, "a weight of at least 0")
			}
			total += v
			row = append(row, v)
		})
		if len(row) == 0 || len(out) > 0 && len(row) != len(out[0]) {
			p.fail(n, what, fmt.Sprintf("%d weights", len(row)), "rows of one length")
		}
		out = append(out, row)
	})
	if total == 0 {
		p.fail(n, what, "no weight", "a weight above 0 somewhere")
	}
	return out
}

func (p *parser) prefix(n *yaml.Node, what string) *Prefix {
	v := &Prefix{Pool: 1, Share: 1}
	p.keys(n, what, map[string]func(*yaml.Node, string){
		"pool":   func(n *yaml.Node, what string) { v.Pool = p.whole(n, what, 1) },
		"tokens": func(n *yaml.Node, what string) { v.Tokens = p.dist(n, what) },
		"zipf":   func(n *yaml.Node, what string) { v.Zipf = p.number(n, what) },
		"share":  func(n *yaml.Node, what string) { v.Share = p.number(n, what) },
	})
	return v
}

func (p *parser) reuse(n *yaml.Node, what string) *Reuse {
	v := &Reuse{}
	p.keys(n, what, map[string]func(*yaml.Node, string){
		"blocks": func(n *yaml.Node, what string) { v.Blocks = p.dists(n, what) },
		"age":    func(n *yaml.Node, what string) { v.Age = p.dists(n, what) },
		"share":  func(n *yaml.Node, what string) { v.Share = p.number(n, what) }})
	if len(v.Blocks) == 0 || len(v.Age) == 0 {
		p.fail(n, what, "a part of it", "blocks and age")
	}
	return v
}

func (p *parser) session(n *yaml.Node, what string) *Session {
	v := &Session{}
	p.keys(n, what, map[string]func(*yaml.Node, string){
		"turns":       func(n *yaml.Node, what string) { v.Turns = p.dists(n, what) },
		"think":       func(n *yaml.Node, what string) { v.Think = p.dist(n, what) },
		"new":         func(n *yaml.Node, what string) { v.New = p.dists(n, what) },
		"kept":        func(n *yaml.Node, what string) { v.Kept = p.dist(n, what) },
		"max_context": func(n *yaml.Node, what string) { v.MaxContext = p.whole(n, what, 1) },
	})
	return v
}
