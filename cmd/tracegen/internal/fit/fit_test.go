package fit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hydrant/cmd/tracegen/internal/synth"
	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/codec"
	"hydrant/internal/fixture"
	"hydrant/traces"
)

// profile takes the requests of a source.
func profile(t testing.TB, block *schedule.Block, next func() (*schedule.Request, error)) *Profile {
	t.Helper()
	p := &Profile{Block: block}
	for {
		r, err := next()
		if err == io.EOF {
			p.Done()
			return p
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Add(r); err != nil {
			t.Fatal(err)
		}
	}
}

func trace(t testing.TB, format, path string) *Profile {
	t.Helper()
	b, err := os.ReadFile(fixture.Shared(t, "data/"+path))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = codec.Unzstd(b, 1<<26); err != nil {
		t.Fatal(err)
	}
	for _, f := range traces.Formats {
		if f.Name == format {
			tr, err := f.Read(traces.Input{Place: path, Name: filepath.Base(path), R: bytes.NewReader(b)}, traces.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer tr.Close()
			return profile(t, tr.Block, tr.Next)
		}
	}
	t.Fatalf("no format %s", format)
	return nil
}

func made(t testing.TB, s *synth.Spec, seed int64) *Profile {
	t.Helper()
	g, err := synth.New(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	return profile(t, s.Block, g.Next)
}

// A workload like a real trace is like it, whatever the seed: dispersion at 1 s within
// 15 %, hit ratios within 2 points, lengths at a distance of at most 0.05. What it is
// made from goes through YAML, as a checked-in fit would.
func TestLikeRealTraces(t *testing.T) {
	for _, tt := range []struct{ format, path string }{
		{"mooncake", "mooncake/conversation_lines_1-6011.jsonl.zst"},
		{"mooncake", "mooncake/synthetic_trace.jsonl.zst"},
		{"azure", "azure/AzureLLMInferenceTrace_code.csv.zst"},
	} {
		t.Run(filepath.Base(tt.path), func(t *testing.T) {
			p := trace(t, tt.format, tt.path)
			s, err := p.Describe(nil)
			if err != nil {
				t.Fatal(err)
			}
			text := s.YAML()
			if s, err = synth.Parse(text, "fit.yaml"); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			for seed := int64(1); seed <= 5; seed++ {
				c := Compare(p, made(t, s, seed))
				var b strings.Builder
				c.Write(&b)
				t.Logf("seed %d, %d bytes of YAML, %s, grid %d\n%s", seed, len(text), s.Classes[0].Arrivals, s.Classes[0].GridNS, b.String())
				if d := c.IDC[0][1]/c.IDC[0][0] - 1; math.Abs(d) > 0.15 {
					t.Errorf("seed %d: dispersion at 1 s is off by %+.1f %%; want within 15 %%", seed, 100*d)
				}
				if c.InputKS > 0.05 || c.OutputKS > 0.05 {
					t.Errorf("seed %d: KS of input %.4f, of output %.4f; want at most 0.05", seed, c.InputKS, c.OutputKS)
				}
				if p.Block == nil {
					continue
				}
				for _, hit := range [][2]float64{c.BlockHit, c.TokenHit} {
					if d := hit[1] - hit[0]; !(math.Abs(d) <= 0.02) {
						t.Errorf("seed %d: hit ratio %.4f; want %.4f within 0.02", seed, hit[1], hit[0])
					}
				}
			}
		})
	}
}

// The figures of a profile are those of an independent count over the files.
func TestProfileOracle(t *testing.T) {
	b, err := os.ReadFile(fixture.Shared(t, "data/expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected map[string]struct {
		Records  int64
		SumInput int64 `json:"sum_input"`
		Time     struct {
			IDC1  float64 `json:"idc_1s"`
			IDC10 float64 `json:"idc_10s"`
			IDC60 float64 `json:"idc_60s"`
		}
		Reuse struct {
			Blocks    int64
			HitBlocks int64 `json:"hit_blocks"`
			HitTokens int64 `json:"hit_tokens"`
		}
	}
	if err := json.Unmarshal(b, &expected); err != nil {
		t.Fatal(err)
	}
	for format, paths := range map[string][]string{
		"mooncake": {"mooncake/conversation_lines_1-6011.jsonl.zst", "mooncake/synthetic_trace.jsonl.zst"},
		"azure":    {"azure/AzureLLMInferenceTrace_code.csv.zst"},
	} {
		for _, path := range paths {
			p, want := trace(t, format, path), expected[path]
			if p.requests != want.Records || p.tokens != want.SumInput || p.blocks != want.Reuse.Blocks || p.hitBlocks != want.Reuse.HitBlocks || p.hitTokens != want.Reuse.HitTokens {
				t.Errorf("%s: %d requests, %d tokens, %d blocks, hits %d blocks, %d tokens; want %+v", path, p.requests, p.tokens, p.blocks, p.hitBlocks, p.hitTokens, want)
			}
			for i, idc := range []float64{want.Time.IDC1, want.Time.IDC10, want.Time.IDC60} {
				if got := IDC(p.starts, windows[i]); math.Abs(got-idc) > 1e-4 {
					t.Errorf("%s: dispersion in windows of %d ns is %.4f; want %.4f", path, windows[i], got, idc)
				}
			}
		}
	}
}

// A fit of sessions finds the turns, waits and growth that they were drawn from.
func TestLikeSessions(t *testing.T) {
	s, err := synth.Parse([]byte(`
version: 1
requests: 8000
block: {tokens: 16, last: absent}
classes:
  - name: a
    rate: 2
    model: m
    input: lognormal:900:0.5
    output: geometric:80
    session: {turns: geometric:4, think: lognormal:30:1, new: uniform:20:200, kept: "0.9"}
`), "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := made(t, s, 1)
	like, err := p.Describe(nil)
	if err != nil {
		t.Fatal(err)
	}
	if like, err = synth.Parse(like.YAML(), "fit.yaml"); err != nil {
		t.Fatal(err)
	}
	q := made(t, like, 2)
	c := Compare(p, q)
	if c.InputKS > 0.05 || c.OutputKS > 0.05 || math.Abs(c.BlockHit[0]-c.BlockHit[1]) > 0.02 || p.model != "m" || q.model != "m" {
		var b strings.Builder
		c.Write(&b)
		t.Errorf("a fit of sessions is not like them:\n%s", b.String())
	}
	mean := func(v []float64) (m float64) {
		for _, x := range v {
			m += x / float64(len(v))
		}
		return m
	}
	if a, b := float64(p.requests)/float64(p.sessions), float64(q.requests)/float64(q.sessions); math.Abs(a-b) > 0.05*a {
		t.Errorf("%.2f turns a session, of the fit %.2f", a, b)
	}
	if a, b := mean(p.think), mean(q.think); math.Abs(a-b) > 0.05*a {
		t.Errorf("think time %.2f s, of the fit %.2f s", a, b)
	}
	if a, b := mean(p.kept), mean(q.kept); math.Abs(a-b) > 0.01 || a > 0.95 {
		t.Errorf("%.3f of the blocks stay, of the fit %.3f", a, b)
	}
}

// A mix of chats of many turns and single long documents is fitted as one class, and
// keeps what the kinds have in common with their lengths.
func TestLikeMix(t *testing.T) {
	s, err := synth.Parse([]byte(`
version: 1
requests: 20000
rate: 50
classes:
  - name: chat
    weight: 3
    input: lognormal:400:1
    output: geometric:100
    prefix: {pool: 200, tokens: lognormal:1000:1, zipf: 1, share: 0.7}
    session: {turns: geometric:5, think: lognormal:20:2, new: uniform:5:80}
  - name: document
    input: lognormal:8000:1
    output: geometric:300
`), "mix.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p := made(t, s, 1)
	like, err := p.Describe(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := Compare(p, made(t, like, 2))
	if d := c.BlockHit[1] - c.BlockHit[0]; !(math.Abs(d) <= 0.02) || c.InputKS > 0.05 || c.OutputKS > 0.05 {
		var b strings.Builder
		c.Write(&b)
		t.Errorf("a fit of a mix is not like it:\n%s", b.String())
	}
}

func TestGrid(t *testing.T) {
	every := func(n int, f func(i int) int64) (at []int64) {
		for i := range n {
			at = append(at, f(i))
		}
		return at
	}
	for name, tt := range map[string]struct {
		at   []int64
		want int64
	}{
		"gathered every 3 s":    {every(100, func(i int) int64 { return int64(i/4) * 3e9 }), 3e9},
		"with a jittery clock":  {every(100, func(i int) int64 { return int64(i/4)*3e9 + int64(i/4%3)*1e6 }), 3e9},
		"with gaps":             {every(100, func(i int) int64 { return int64(i/4+i/20) * 3e9 }), 3e9},
		"one at an instant":     {every(100, func(i int) int64 { return int64(i) * 3e9 }), 0},
		"pairs at any instants": {every(100, func(i int) int64 { return int64(i/2) * int64(i/2) * 7e8 }), 0},
		"too few":               {every(8, func(i int) int64 { return int64(i/4) * 3e9 }), 0},
	} {
		if got := grid(tt.at); math.Abs(float64(got-tt.want)) > 2e6 {
			t.Errorf("%s: grid = %d; want %d", name, got, tt.want)
		}
	}
}

// Times at the end of what a schedule can hold, and few of them, are fitted too.
func TestLikeExtremes(t *testing.T) {
	for name, times := range map[string][]int64{
		"two":      {0, 1},
		"the end":  {0, 5, math.MaxInt64 - 7, math.MaxInt64},
		"far away": {math.MaxInt64 / 2, math.MaxInt64/2 + 3e9, math.MaxInt64/2 + 3e9 + 1},
		"a grid":   append(slices.Repeat([]int64{0}, 40), 9e18, 9e18),
	} {
		p := &Profile{}
		for i, at := range times {
			err := p.Add(&schedule.Request{ID: int64(i), AtNS: formats.Some(at), Session: fmt.Sprint(i), Stream: "0", Last: true, Context: schedule.Whole,
				InputTokens: formats.Some(int64(i)), OutputTokens: formats.Some(1)})
			if err != nil {
				t.Fatal(err)
			}
		}
		p.Done()
		s, err := p.Describe(nil)
		if errors.Is(err, ErrNoRate) && name == "a grid" {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s, err = synth.Parse(s.YAML(), "fit.yaml"); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if q := made(t, s, 1); q.requests > 50 {
			t.Errorf("%s: %d requests of a fit to %d", name, q.requests, len(times))
		}
	}
}

func TestProfileRefuses(t *testing.T) {
	line := func(text string) *schedule.Request {
		var p schedule.Parser
		r, err := p.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for text, want := range map[string]string{
		`{"id":7,"at_ns":0,"session":"s","stream":"0","turn":0,"context":"delta","input_tokens":5,"output_tokens":5}`: "request 7: context: got delta",
		`{"id":7,"at_ns":0,"session":"s","stream":"0","turn":0,"context":"whole","output_tokens":5}`:                  "request 7: input_tokens, output_tokens: got null",
	} {
		if err := new(Profile).Add(line(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Add(%s) = %v; want %s", text, err, want)
		}
	}
	one := line(`{"id":0,"at_ns":0,"session":"s","stream":"0","turn":0,"last":true,"context":"whole","input_tokens":5,"output_tokens":5}`)
	for n, want := range []string{"fewer than two requests", "fewer than two requests", "more than half of the sessions start together"} {
		p := &Profile{}
		for range n {
			if err := p.Add(one); err != nil {
				t.Fatal(err)
			}
		}
		p.Done()
		if _, err := p.Describe(nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Describe of %d requests at one time: %v; want %s", n, err, want)
		}
	}
}

// Neither the greatest id nor the greatest block goes beyond 63 bits.
func TestProfileGreatest(t *testing.T) {
	p := Profile{Block: &schedule.Block{Tokens: math.MaxInt64, Last: schedule.Partial}}
	for range 2 {
		err := p.Add(&schedule.Request{AtNS: formats.Some(0), Session: "s", Stream: "0", Last: true, Context: schedule.Whole, InputTokens: formats.Some(7), OutputTokens: formats.Some(1),
			Blocks: &schedule.Blocks{Scope: "x", Add: []schedule.Run{{math.MaxInt64 - 1, 2}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if p.blocks != 4 || p.hitBlocks != 2 || p.hitTokens != 7 {
		t.Errorf("%d blocks, hits %d blocks, %d tokens; want 4, 2, 7", p.blocks, p.hitBlocks, p.hitTokens)
	}
}
