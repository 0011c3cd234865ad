package traces

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
)

// servegenData are the lengths of a client, window by window.
type servegenData struct {
	windows []*servegenLengths // in order; those without data left out
}

// servegenLengths are the distributions of a window, by servegenFields.
type servegenLengths struct {
	start  int64 // s
	fields [servegenFieldCount]servegenDist
	has    [servegenFieldCount]bool
}

// Fields of a dataset. What follows itemFields comes in pairs of tokens per item and
// number of items.
const (
	inputField = iota
	outputField
	reasonField
	textField
	itemFields
)

var servegenFields = [...]string{"input_tokens", "output_tokens", "reason_ratio", "text_tokens",
	"image_tokens", "image_count", "audio_tokens", "audio_count", "video_tokens", "video_count"}

const servegenFieldCount = len(servegenFields)

// servegenDist is a distribution of values, in order, with the running sum of their
// probabilities.
type servegenDist struct {
	values []float64
	sums   []float64
}

// at returns the value of a number in 0..1.
func (d *servegenDist) at(u float64) float64 {
	x := u * d.sums[len(d.sums)-1]
	return d.values[min(sort.Search(len(d.sums), func(i int) bool { return d.sums[i] > x }), len(d.sums)-1)]
}

// parseServegenData reads {"window start": {"field": "{value: probability, …}"}}.
// unknown is called with a field that is not known.
func parseServegenData(text []byte, unknown func(string) *jsonl.Fault) (*servegenData, *jsonl.Fault) {
	d := &servegenData{}
	var s jsonl.Scanner
	s.Reset(text)
	seen := map[int64]bool{}
	for ok := s.Open('{'); ok; ok = s.More('{') {
		key := s.Name()
		start, whole := whole([]byte(key))
		if s.Err == nil && (!whole || start < 0 || seen[start] || !isDecimal([]byte(key))) {
			s.Fail("window", key, "starts of windows in whole seconds, each once")
		}
		seen[start] = true
		l := &servegenLengths{start: start}
		named := [servegenFieldCount]bool{}
		for ok := s.Open('{'); ok; ok = s.More('{') {
			name := s.Name()
			s.Field = "window " + key + ": " + name
			i := slices.Index(servegenFields[:], name)
			if i < 0 {
				s.Raw()
				if s.Err == nil {
					if fault := unknown(name); fault != nil {
						return nil, fault
					}
				}
				continue
			}
			if named[i] && s.Err == nil {
				s.Fail(s.Field, "the field again", "each field once")
			}
			named[i] = true
			literal := s.Text()
			if s.Err != nil {
				break
			}
			dist, fault := parseServegenDist(literal, s.Field)
			if fault != nil {
				return nil, fault
			}
			if len(dist.values) > 0 {
				l.fields[i], l.has[i] = dist, true
			}
		}
		if s.Err != nil {
			break
		}
		if !slices.Contains(l.has[:], true) {
			continue
		}
		if fault := l.check(key); fault != nil {
			return nil, fault
		}
		d.windows = append(d.windows, l)
	}
	s.End()
	if s.Err != nil {
		return nil, s.Err
	}
	slices.SortFunc(d.windows, func(a, b *servegenLengths) int { return cmp.Compare(a.start, b.start) })
	return d, nil
}

// check wants all the fields of a kind of client: lengths of prompt and answer, or of
// text, items and answer.
func (l *servegenLengths) check(window string) *jsonl.Fault {
	need := []int{outputField, inputField}
	if l.has[textField] {
		need = []int{outputField, textField}
	}
	for i := itemFields; i < servegenFieldCount; i++ {
		if pair := i ^ 1; l.has[i] && !l.has[textField] {
			need = append(need, textField)
		} else if l.has[i] {
			need = append(need, pair)
		}
	}
	for _, i := range need {
		if !l.has[i] {
			return &jsonl.Fault{What: "window " + window + ": " + servegenFields[i], Got: "nothing", Want: "a distribution, as other fields of the window have one"}
		}
	}
	if l.has[inputField] && l.has[textField] {
		return &jsonl.Fault{What: "window " + window, Got: "input_tokens and text_tokens", Want: "one of them"}
	}
	return nil
}

// at returns the lengths that hold at a time, s: those of the latest window with data.
func (d *servegenData) at(start int64) (*servegenLengths, *jsonl.Fault) {
	i := sort.Search(len(d.windows), func(i int) bool { return d.windows[i].start > start })
	if i == 0 {
		return nil, &jsonl.Fault{What: "rate", Got: "requests at " + strconv.FormatInt(start, 10) + " s", Want: "lengths in the dataset at or before that time"}
	}
	return d.windows[i-1], nil
}

// dropped is for how many of n requests a reason ratio is not carried.
func (l *servegenLengths) dropped(n int64) int64 {
	if !l.has[reasonField] {
		return 0
	}
	return n
}

// maxItems bounds the items of one request that are drawn each for itself.
const maxItems = 1 << 16

// draw draws the lengths of a request: from one number, or each for itself, items too.
func (l *servegenLengths) draw(r *rand.Rand, independent bool) (in, out int64, _ *jsonl.Fault) {
	u := r.Float64()
	next := func() float64 {
		if independent {
			return r.Float64()
		}
		return u
	}
	sum := 0.0
	if l.has[inputField] {
		sum = l.fields[inputField].at(next())
	} else {
		sum = l.fields[textField].at(next())
		for i := itemFields; i < servegenFieldCount; i += 2 {
			if !l.has[i] {
				continue
			}
			n := math.Round(l.fields[i+1].at(next()))
			if n > maxItems {
				return 0, 0, &jsonl.Fault{What: servegenFields[i+1], Got: strconv.FormatFloat(n, 'g', -1, 64), Want: fmt.Sprintf("at most %d items a request", maxItems)}
			}
			if !independent {
				sum += n * l.fields[i].at(u)
				continue
			}
			for range int(n) {
				sum += l.fields[i].at(next())
			}
		}
	}
	// Values are below 2^40, items below 2^16: the sum is far from the end of int64.
	return int64(math.Round(sum)), int64(math.Round(l.fields[outputField].at(next()))), nil
}

// maxServegenValue bounds a value: no count of tokens comes near it.
const maxServegenValue = 1 << 40

// parseServegenDist reads the text of a Python dictionary from numbers to numbers. It is
// parsed as that and nothing else: never evaluated. {} is no data.
func parseServegenDist(text []byte, field string) (d servegenDist, _ *jsonl.Fault) {
	p := pythonDict{text: text}
	fail := func(got, want string) (servegenDist, *jsonl.Fault) {
		return servegenDist{}, &jsonl.Fault{What: field, Got: formats.Clip(got), Want: want}
	}
	const form = "{value: probability, …} in numbers"
	type point struct{ value, share float64 }
	var points []point
	if !p.take('{') {
		return fail(string(text), form)
	}
	for !p.take('}') {
		if len(points) > 0 && !p.take(',') {
			return fail(p.rest(), form)
		}
		if len(points) > 0 && p.take('}') { // a comma may stand at the end
			break
		}
		value, ok1 := p.number()
		colon := p.take(':')
		share, ok2 := p.number()
		switch {
		case !ok1 || !colon || !ok2:
			return fail(p.rest(), form)
		case value < 0 || value > maxServegenValue:
			return fail(strconv.FormatFloat(value, 'g', -1, 64), "values from 0 to 2^40")
		case share < 0 || share > 1+1e-6:
			return fail(strconv.FormatFloat(share, 'g', -1, 64), "probabilities from 0 to 1")
		}
		points = append(points, point{value, share})
	}
	if p.space(); p.i < len(text) {
		return fail(p.rest(), "nothing after the closing brace")
	}
	if len(points) == 0 {
		return d, nil
	}
	slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.value, b.value) })
	total := 0.0
	for i, q := range points {
		if i > 0 && points[i-1].value == q.value {
			return fail(strconv.FormatFloat(q.value, 'g', -1, 64)+" twice", "each value once")
		}
		total += q.share
		d.values, d.sums = append(d.values, q.value), append(d.sums, total)
	}
	if !(math.Abs(total-1) <= 1e-6) {
		return fail("a sum of "+strconv.FormatFloat(total, 'g', -1, 64), "probabilities that sum to 1 within 1e-6")
	}
	return d, nil
}

// pythonDict scans the text of a dictionary.
type pythonDict struct {
	text []byte
	i    int
}

func (p *pythonDict) space() {
	for p.i < len(p.text) && (p.text[p.i] == ' ' || p.text[p.i] == '\n' || p.text[p.i] == '\t' || p.text[p.i] == '\r') {
		p.i++
	}
}

func (p *pythonDict) take(ch byte) bool {
	p.space()
	if p.i < len(p.text) && p.text[p.i] == ch {
		p.i++
		return true
	}
	return false
}

// number reads a decimal, with an exponent or without.
func (p *pythonDict) number() (float64, bool) {
	p.space()
	from := p.i
	for p.i < len(p.text) && (p.text[p.i] >= '0' && p.text[p.i] <= '9' || p.text[p.i] == '.' || p.text[p.i] == 'e' || p.text[p.i] == 'E' || p.text[p.i] == '+' || p.text[p.i] == '-') {
		p.i++
	}
	token := p.text[from:p.i]
	v, err := strconv.ParseFloat(string(token), 64)
	if err != nil || !isDecimal(token) {
		p.i = from
		return 0, false
	}
	return v, true
}

// rest is what has not been read.
func (p *pythonDict) rest() string {
	if p.i == len(p.text) {
		return "end of text"
	}
	return string(p.text[p.i:])
}
