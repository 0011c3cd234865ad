package traces

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hydrant/formats/schedule"
	"hydrant/internal/codec"
	"hydrant/internal/fixture"
)

// piped is an input that is no file.
func piped(name string, r io.Reader) Input { return Input{Place: name, Name: name, R: r} }

// load reads a fixture.
func load(t testing.TB, read func(Input, Options) (*Trace, error), rel string, o Options) *Trace {
	t.Helper()
	path := fixture.Shared(t, rel)
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, _, err := codec.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	name := filepath.Base(rel)
	tr, err := read(Input{Place: name, Name: name, Path: path, R: z}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

// plan writes a trace as a schedule and returns its requests, in full form, and trailer.
func plan(t testing.TB, tr *Trace) (reqs []*schedule.Request, end schedule.Trailer) {
	t.Helper()
	w, err := schedule.NewWriter(io.Discard, schedule.Header{Block: tr.Block})
	if err != nil {
		t.Fatal(err)
	}
	for {
		r, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		reqs = append(reqs, r.Clone())
		if err := w.Write(r); err != nil {
			t.Fatalf("request %d: %v", r.ID, err)
		}
	}
	end, err = w.Close(schedule.Trailer{Counts: tr.Counts()})
	if err != nil {
		t.Fatal(err)
	}
	return reqs, end
}

func count(end schedule.Trailer, name string) int64 {
	for _, c := range end.Counts {
		if c.Name == name {
			return c.N
		}
	}
	return 0
}

// expected is what expected.json says of a Mooncake file.
type expected struct {
	Bytes     int64  `json:"bytes"`
	SHA256    string `json:"sha256"`
	Records   int64  `json:"records"`
	SumInput  int64  `json:"sum_input"`
	SumOutput int64  `json:"sum_output"`
	Input     spread `json:"input"`
	Output    spread `json:"output"`
	Time      struct {
		First     int64   `json:"first_in_file"`
		Last      int64   `json:"last_in_file"`
		Min       int64   `json:"min"`
		Max       int64   `json:"max"`
		Span      int64   `json:"span"`
		Backward  int64   `json:"backward_steps"`
		Ties      int64   `json:"adjacent_ties"`
		Instants  int64   `json:"distinct_instants"`
		Rate      float64 `json:"rate_per_s"`
		GapCV     float64 `json:"gap_cv"`
		IDC1      float64 `json:"idc_1s"`
		Peak1     float64 `json:"peak_to_mean_1s"`
		Windows1  int     `json:"windows_1s"`
		IDC10     float64 `json:"idc_10s"`
		Peak10    float64 `json:"peak_to_mean_10s"`
		Windows10 int     `json:"windows_10s"`
		IDC60     float64 `json:"idc_60s"`
		Peak60    float64 `json:"peak_to_mean_60s"`
		Windows60 int     `json:"windows_60s"`
		First10   []int64 `json:"first10_60s"`
	} `json:"time"`
	Reuse struct {
		Blocks      int64   `json:"blocks"`
		Hit         int64   `json:"hit_blocks"`
		BlockRatio  float64 `json:"block_hit_ratio"`
		HitTokens   int64   `json:"hit_tokens"`
		TokenRatio  float64 `json:"token_hit_ratio"`
		Distinct    int64   `json:"distinct_ids"`
		Min         int64   `json:"min_id"`
		Max         int64   `json:"max_id"`
		FullyCached int64   `json:"fully_cached_requests"`
	} `json:"reuse"`
	SumListed int64   `json:"sum_input_length_as_listed"`
	SumDelay  float64 `json:"sum_delay_ms"`
	Sessions  int64   `json:"sessions"`
	NoTime    int64   `json:"rows_without_timestamp"`
	NotCeil   []int64 `json:"hash_count_not_ceil"`
}

type spread struct {
	P50   int64 `json:"p50"`
	P90   int64 `json:"p90"`
	P99   int64 `json:"p99"`
	Min   int64 `json:"min"`
	Max   int64 `json:"max"`
	Zeros int64 `json:"zeros"`
}

func expect(t testing.TB, name string) expected {
	t.Helper()
	b, err := os.ReadFile(fixture.Shared(t, "data/expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	var e expected
	if err := json.Unmarshal(all[name], &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// ranks returns nearest-rank percentiles.
func ranks(v []int64) (s spread) {
	v = slices.Sorted(slices.Values(v))
	at := func(p int) int64 { return v[(p*len(v)+99)/100-1] }
	s = spread{P50: at(50), P90: at(90), P99: at(99), Min: v[0], Max: v[len(v)-1]}
	for _, x := range v {
		if x == 0 {
			s.Zeros++
		}
	}
	return s
}

// windows returns the index of dispersion, the ratio of peak to mean, the number of
// windows of w ms and the first ten counts.
func windows(at []int64, w int64) (idc, peak float64, n int, first []int64) {
	counts := make([]int64, (at[len(at)-1]-at[0])/w+1)
	for _, t := range at {
		counts[(t-at[0])/w]++
	}
	mean, sum, top := float64(len(at))/float64(len(counts)), 0.0, int64(0)
	for _, c := range counts {
		sum += (float64(c) - mean) * (float64(c) - mean)
		top = max(top, c)
	}
	return sum / float64(len(counts)) / mean, float64(top) / mean, len(counts), counts[:min(10, len(counts))]
}

func gapCV(at []int64) float64 {
	n := float64(len(at) - 1)
	mean, sum := float64(at[len(at)-1]-at[0])/n, 0.0
	for i := range at[1:] {
		d := float64(at[i+1]-at[i]) - mean
		sum += d * d
	}
	return math.Sqrt(sum/n) / mean
}

func near(a, b float64, digits int) bool { return math.Abs(a-b) <= 0.51*math.Pow10(-digits) }

// The figures of expected.json, made independently of this project, for the two
// Mooncake traces.
func TestMooncakeExpected(t *testing.T) {
	for _, name := range []string{"mooncake/conversation_lines_1-6011.jsonl.zst", "mooncake/synthetic_trace.jsonl.zst"} {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".jsonl.zst"), func(t *testing.T) {
			want := expect(t, name)
			tr := load(t, Mooncake, "data/"+name, Options{})
			reqs, end := plan(t, tr)
			var in, out, at []int64
			var ties int64
			instants := map[int64]bool{}
			lo, hi := int64(math.MaxInt64), int64(0)
			var cached int64
			var c schedule.Cache
			for _, r := range reqs {
				in, out = append(in, r.InputTokens.V), append(out, r.OutputTokens.V)
				if n := len(at); n > 0 && at[n-1] == r.AtNS.V/1e6 {
					ties++
				}
				at = append(at, r.AtNS.V/1e6)
				instants[r.AtNS.V] = true
				ids := int64(0)
				for _, run := range r.Blocks.Add {
					lo, hi = min(lo, run[0]), max(hi, run[0]+run[1]-1)
					ids += run[1]
				}
				if hit, _ := c.Add(r, tr.Block); hit == ids {
					cached++
				}
			}
			for _, q := range []struct {
				what      string
				got, want int64
			}{
				{"records", end.Requests, want.Records}, {"requests", int64(len(reqs)), want.Records},
				{"sum_input", end.InputTokens, want.SumInput}, {"sum_output", end.OutputTokens, want.SumOutput},
				{"first", at[0], want.Time.First}, {"last", at[len(at)-1], want.Time.Last}, {"min", at[0], want.Time.Min}, {"max", at[len(at)-1], want.Time.Max},
				{"span_ns", end.SpanNS, want.Time.Span * 1e6}, {"backward", count(end, "sorted_backward"), want.Time.Backward},
				{"ties", ties, want.Time.Ties}, {"ties counted", count(end, "ties_kept"), want.Time.Ties}, {"instants", int64(len(instants)), want.Time.Instants},
				{"blocks", end.Blocks, want.Reuse.Blocks}, {"hit_blocks", end.HitBlocks, want.Reuse.Hit}, {"hit_tokens", end.HitTokens, want.Reuse.HitTokens},
				{"distinct", end.DistinctBlocks, want.Reuse.Distinct}, {"min id", lo, want.Reuse.Min}, {"max id", hi, want.Reuse.Max},
				{"fully cached", cached, want.Reuse.FullyCached}, {"bytes", tr.Sources[0].Bytes, want.Bytes},
			} {
				if q.got != q.want {
					t.Errorf("%s = %d; want %d", q.what, q.got, q.want)
				}
			}
			if tr.Sources[0].SHA256 != want.SHA256 {
				t.Errorf("sha256 = %s; want %s", tr.Sources[0].SHA256, want.SHA256)
			}
			if got := ranks(in); got != want.Input {
				t.Errorf("input = %+v; want %+v", got, want.Input)
			}
			if got := ranks(out); got != want.Output {
				t.Errorf("output = %+v; want %+v", got, want.Output)
			}
			idc1, peak1, n1, _ := windows(at, 1000)
			idc10, peak10, n10, _ := windows(at, 10_000)
			idc60, peak60, n60, first := windows(at, 60_000)
			for _, q := range []struct {
				what      string
				got, want float64
				digits    int
			}{
				{"block_hit_ratio", *end.BlockHitRatio, want.Reuse.BlockRatio, 10}, {"token_hit_ratio", *end.TokenHitRatio, want.Reuse.TokenRatio, 10},
				{"rate", float64(len(at)) / float64(want.Time.Span) * 1000, want.Time.Rate, 6}, {"gap_cv", gapCV(at), want.Time.GapCV, 4},
				{"idc_1s", idc1, want.Time.IDC1, 4}, {"idc_10s", idc10, want.Time.IDC10, 4}, {"idc_60s", idc60, want.Time.IDC60, 4},
				{"peak_1s", peak1, want.Time.Peak1, 4}, {"peak_10s", peak10, want.Time.Peak10, 4}, {"peak_60s", peak60, want.Time.Peak60, 4},
				{"windows_1s", float64(n1), float64(want.Time.Windows1), 0}, {"windows_10s", float64(n10), float64(want.Time.Windows10), 0}, {"windows_60s", float64(n60), float64(want.Time.Windows60), 0},
			} {
				if !near(q.got, q.want, q.digits) {
					t.Errorf("%s = %v; want %v", q.what, q.got, q.want)
				}
			}
			if !slices.Equal(first, want.Time.First10) {
				t.Errorf("first ten minutes = %v; want %v", first, want.Time.First10)
			}
			for _, none := range []string{"chain_breaks", "identical_kept", "ids_short", "sorted_backward"} {
				if n := count(end, none); n != 0 {
					t.Errorf("%s = %d; want 0", none, n)
				}
			}
			if len(tr.Warnings) > 0 {
				t.Errorf("warnings = %q; want none", tr.Warnings)
			}
		})
	}
}
