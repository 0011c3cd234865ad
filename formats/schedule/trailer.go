package schedule

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
)

// Values of Trailer.Status.
const (
	Complete    = "complete"
	Interrupted = "interrupted"
	Failed      = "failed"
)

// resealHint is the next step when lines and trailer disagree.
const resealHint = "if a person edited the lines, `tracegen schedule --reseal FILE -o NEW` writes a trailer that fits; otherwise the file is damaged"

// parseTrailer reads the object under the key "end". Every key is required.
func parseTrailer(inner []byte, place string) (Trailer, error) {
	var t Trailer
	var s jsonl.Scanner
	s.Reset(inner)
	seen := map[string]bool{}
	for ok := s.Open('{'); ok; ok = s.More('{') {
		key := s.Name()
		once(&s, seen, key)
		s.Field = "end." + key
		switch key {
		case "status":
			t.Status = s.Str()
			if t.Status != Complete && t.Status != Interrupted && t.Status != Failed {
				s.Fail(s.Field, t.Status, "complete, interrupted or failed")
			}
		case "requests":
			t.Requests = s.Natural()
		case "sessions":
			t.Sessions = s.Natural()
		case "input_tokens":
			t.InputTokens = s.Natural()
		case "output_tokens":
			t.OutputTokens = s.Natural()
		case "span_ns":
			t.SpanNS = s.Natural()
		case "blocks":
			t.Blocks = s.Natural()
		case "distinct_blocks":
			t.DistinctBlocks = s.Natural()
		case "hit_blocks":
			t.HitBlocks = s.Natural()
		case "hit_tokens":
			t.HitTokens = s.Natural()
		case "block_hit_ratio":
			t.BlockHitRatio = readRatio(&s)
		case "token_hit_ratio":
			t.TokenHitRatio = readRatio(&s)
		case "counts":
			t.Counts = readList(&s, func() Count { return readCount(&s) })
		case "sources":
			t.Sources = readList(&s, func() SourceDigest { return readDigest(&s) })
		case "sha256":
			t.SHA256 = s.Str()
		default:
			s.Fail("key", s.Field, "a key of docs/formats/schedule.md")
		}
	}
	s.End()
	for _, f := range Fields {
		if f.Line == "end" && !seen[f.Key] {
			s.Fail("end."+f.Key, "nothing", "this key in every trailer")
		}
	}
	return t, syntax(place, s.Err)
}

// readRatio reads a share of one, or null.
func readRatio(s *jsonl.Scanner) *float64 {
	if s.Null() {
		return nil
	}
	v := s.Float()
	if v < 0 || v > 1 {
		s.Fail(s.Field, strconv.FormatFloat(v, 'g', -1, 64), "a ratio between 0 and 1, or null")
	}
	return &v
}

func readCount(s *jsonl.Scanner) (c Count) {
	seen := map[string]bool{}
	for ok := s.Open('{'); ok; ok = s.More('{') {
		key := s.Name()
		once(s, seen, key)
		s.Field = "end.counts." + key
		switch key {
		case "name":
			c.Name = s.Str()
		case "n":
			c.N = s.Natural()
		default:
			s.Fail("key", s.Field, "name or n")
		}
	}
	return c
}

func readDigest(s *jsonl.Scanner) (d SourceDigest) {
	seen := map[string]bool{}
	for ok := s.Open('{'); ok; ok = s.More('{') {
		key := s.Name()
		once(s, seen, key)
		s.Field = "end.sources." + key
		switch key {
		case "name":
			d.Name = s.Str()
		case "sha256":
			d.SHA256 = s.Str()
		case "bytes":
			d.Bytes = s.Natural()
		default:
			s.Fail("key", s.Field, "name, sha256 or bytes")
		}
	}
	return d
}

// compare checks a trailer against what was read before it. The hit figures are
// those of the writer, since to count them again takes every id there was; they only
// have to be possible, and their ratios to follow from them.
func (t *tally) compare(end Trailer, sum, place string) error {
	for _, c := range []struct {
		key       string
		got, want int64
	}{
		{"end.requests", end.Requests, t.requests},
		{"end.sessions", end.Sessions, t.sessions},
		{"end.input_tokens", end.InputTokens, t.input},
		{"end.output_tokens", end.OutputTokens, t.output},
		{"end.span_ns", end.SpanNS, t.span},
		{"end.blocks", end.Blocks, t.blocks},
	} {
		if c.got != c.want {
			return &formats.SyntaxError{Place: place, What: c.key, Got: strconv.FormatInt(c.got, 10),
				Want: strconv.FormatInt(c.want, 10) + ", the sum over the lines before it", Help: resealHint}
		}
	}
	for _, c := range []struct {
		key       string
		got, most int64
	}{
		{"end.distinct_blocks", end.DistinctBlocks, t.blocks},
		{"end.hit_blocks", end.HitBlocks, t.blocks - end.DistinctBlocks},
		{"end.hit_tokens", end.HitTokens, t.input},
	} {
		if c.got > c.most {
			return &formats.SyntaxError{Place: place, What: c.key, Got: strconv.FormatInt(c.got, 10),
				Want: "at most " + strconv.FormatInt(c.most, 10) + ", by the lines before it", Help: resealHint}
		}
	}
	for _, c := range []struct {
		key       string
		got, want *float64
	}{
		{"end.block_hit_ratio", end.BlockHitRatio, ratio(end.HitBlocks, t.blocks)},
		{"end.token_hit_ratio", end.TokenHitRatio, t.tokenRatio(end.HitTokens)},
	} {
		if (c.got == nil) != (c.want == nil) || c.got != nil && math.Abs(*c.got-*c.want) > 1e-12 { // another writer may round otherwise
			return &formats.SyntaxError{Place: place, What: c.key, Got: printRatio(c.got), Want: printRatio(c.want) + ", the share of the hits beside it", Help: resealHint}
		}
	}
	if end.SHA256 != sum {
		return &formats.SyntaxError{Place: place, What: "end.sha256", Got: end.SHA256,
			Want: sum + ", the hash of the lines before it", Help: resealHint}
	}
	return nil
}

// fill sets what follows from the lines.
func (t *tally) fill(end *Trailer, c *Cache, sum string) {
	end.Requests, end.Sessions = t.requests, t.sessions
	end.InputTokens, end.OutputTokens = t.input, t.output
	end.SpanNS, end.Blocks = t.span, t.blocks
	end.DistinctBlocks, end.HitBlocks, end.HitTokens = c.Distinct, c.HitBlocks, c.HitTokens
	end.BlockHitRatio = ratio(c.HitBlocks, t.blocks)
	end.TokenHitRatio = t.tokenRatio(c.HitTokens)
	end.SHA256 = sum
	end.Counts = mergeCounts(end.Counts)
	if end.Sources == nil {
		end.Sources = []SourceDigest{}
	}
}

// ratio returns a/b, nil when b is 0: a share of nothing is unknown, not 0.
func ratio(a, b int64) *float64 {
	if b == 0 {
		return nil
	}
	r := float64(a) / float64(b)
	return &r
}

// tokenRatio is the share of input tokens that were hit, nil without block ids.
func (t *tally) tokenRatio(hit int64) *float64 {
	if t.blocks == 0 {
		return nil
	}
	return ratio(hit, t.input)
}

func printRatio(v *float64) string {
	if v == nil {
		return "null"
	}
	return strconv.FormatFloat(*v, 'g', -1, 64)
}

// mergeCounts adds counts of one name, drops zeros and sorts by name.
func mergeCounts(in []Count) []Count {
	sums := map[string]int64{}
	for _, c := range in {
		sums[c.Name] += c.N
	}
	out := []Count{}
	for name, n := range sums {
		if n != 0 {
			out = append(out, Count{name, n})
		}
	}
	slices.SortFunc(out, func(a, b Count) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
