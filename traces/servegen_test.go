package traces

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
	"hydrant/internal/codec"
	"hydrant/internal/fixture"
)

// fromFolder opens files as the tool does.
func fromFolder(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, _, err := codec.NewReader(f)
	return r, err
}

// servegenRequests reads a trace or a folder.
func servegenRequests(t testing.TB, path string, o Options) (all []*schedule.Request, counts map[string]int64) {
	t.Helper()
	in := Input{Place: path, Name: filepath.Base(path), Path: path, Open: fromFolder}
	if st, err := os.Stat(path); err != nil {
		t.Fatal(err)
	} else if !st.IsDir() {
		r, err := fromFolder(path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		in.R = r
	}
	trace, err := ServeGen(in, o)
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	for {
		r, err := trace.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Clone())
	}
	counts = map[string]int64{}
	for _, c := range trace.Counts() {
		counts[c.Name] = c.N
	}
	return all, counts
}

// servegenRates reads the rates of a trace file in another way than the reader does.
func servegenRates(t testing.TB, path string) map[int64]float64 {
	t.Helper()
	r, err := fromFolder(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	rates := map[int64]float64{}
	for _, row := range strings.Fields(string(b)) {
		cells := strings.Split(row, ",")
		start, _ := new(big.Rat).SetString(cells[0])
		rate, _ := new(big.Rat).SetString(cells[1])
		if rate.Sign() > 0 {
			rates[start.Num().Int64()], _ = rate.Float64()
		}
	}
	return rates
}

// The number of requests is that of the file for any seed, in each window, and none lies
// outside its window.
func TestServeGenCounts(t *testing.T) {
	for _, tt := range []struct {
		file  string
		class string
		want  int
	}{
		{"multimodal_mm-image_chunk-16-trace.csv", "multimodal_mm-image_chunk-16", 673},
		{"reason_deepseek-r1_chunk-52-trace.csv", "reason_deepseek-r1_chunk-52", 90},
		{"language_m-large_chunk-81-trace.csv.zst", "language_m-large_chunk-81", 113_349},
		{"language_m-large_chunk-106-trace.csv.zst", "language_m-large_chunk-106", 7571},
	} {
		path := fixture.Shared(t, "data/servegen/"+tt.file)
		rates := servegenRates(t, path)
		for seed := int64(0); seed < 4; seed++ {
			all, _ := servegenRequests(t, path, Options{Seed: seed, Independent: seed == 3})
			if len(all) != tt.want {
				t.Errorf("%s, seed %d: %d requests; want %d", tt.file, seed, len(all), tt.want)
			}
			in := map[int64]int{}
			last := int64(0)
			for _, r := range all {
				if r.AtNS.V < last || r.Class != tt.class || r.Blocks != nil || !r.Last {
					t.Fatalf("%s: request %d at %d after %d, class %q", tt.file, r.ID, r.AtNS.V, last, r.Class)
				}
				last = r.AtNS.V
				in[r.AtNS.V/600e9*600]++
			}
			for start, rate := range rates {
				if got, want := in[start], int(math.Round(rate*600)); got != want {
					t.Errorf("%s, seed %d: %d requests in the window at %d s; want %d", tt.file, seed, got, start, want)
				}
				delete(in, start)
			}
			if len(in) > 0 {
				t.Errorf("%s, seed %d: requests outside the windows: %v", tt.file, seed, in)
			}
		}
	}
}

func TestServeGenFolder(t *testing.T) {
	folder := fixture.Shared(t, "data/servegen")
	all, counts := servegenRequests(t, folder, Options{Seed: 1})
	if len(all) != 673+90+113_349+7571 || counts["reason_ratio_dropped"] != 90 || counts["windows_idle"] != 142+143+2006+2014 {
		t.Errorf("%d requests, counts %v", len(all), counts)
	}
	// A client is what it is by itself.
	var alone, among []string
	for _, r := range all {
		if r.Class == "reason_deepseek-r1_chunk-52" {
			r.ID, r.Session = 0, ""
			among = append(among, string(schedule.AppendRequest(nil, r)))
		}
	}
	one, _ := servegenRequests(t, filepath.Join(folder, "reason_deepseek-r1_chunk-52-trace.csv"), Options{Seed: 1})
	for _, r := range one {
		r.ID, r.Session = 0, ""
		alone = append(alone, string(schedule.AppendRequest(nil, r)))
	}
	if !slices.Equal(alone, among) {
		t.Error("a client among others is not what it is alone")
	}
}

// Lengths follow the dataset; from one number, ranks agree, and drawn each for itself
// they do not.
func TestServeGenLengths(t *testing.T) {
	path := fixture.Shared(t, "data/servegen/reason_deepseek-r1_chunk-52-trace.csv")
	b, err := os.ReadFile(fixture.Shared(t, "data/servegen/reason_deepseek-r1_chunk-52-dataset.json"))
	if err != nil {
		t.Fatal(err)
	}
	d, fault := parseServegenData(b, func(string) *jsonl.Fault { return nil })
	if fault != nil || len(d.windows) != 1 || d.windows[0].start != 21600 {
		t.Fatalf("dataset: %v, %d windows with data; want one, at 21,600 s", fault, len(d.windows))
	}
	disorder := func(independent bool) (n int) {
		for seed := int64(0); seed < 3; seed++ {
			all, _ := servegenRequests(t, path, Options{Seed: seed, Independent: independent})
			for _, r := range all {
				for field, v := range map[int]int64{inputField: r.InputTokens.V, outputField: r.OutputTokens.V} {
					if !slices.Contains(d.windows[0].fields[field].values, float64(v)) {
						t.Fatalf("%s: %d is no value of the dataset", servegenFields[field], v)
					}
				}
				for _, q := range all {
					if r.InputTokens.V < q.InputTokens.V && r.OutputTokens.V > q.OutputTokens.V {
						n++
					}
				}
			}
		}
		return n
	}
	if n := disorder(false); n != 0 {
		t.Errorf("%d pairs of requests whose lengths are in opposite order; want none from one number", n)
	}
	if n := disorder(true); n < 3000 {
		t.Errorf("%d pairs of requests whose lengths are in opposite order; want about half of 12,000", n)
	}
	// Means over many requests are those of the distributions.
	all, _ := servegenRequests(t, fixture.Shared(t, "data/servegen/multimodal_mm-image_chunk-16-trace.csv"), Options{Seed: 2})
	for _, r := range all {
		// 57 tokens of text and one image of 4 to 324 tokens, nearly always 100.
		if n := r.InputTokens.V - 57; n != 4 && n != 9 && n != 49 && n != 100 && n != 324 {
			t.Fatalf("an input of %d tokens; want 57 and one image", r.InputTokens.V)
		}
	}
}

func TestServeGenItems(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("c-trace.csv", "0,1,1,Gamma,1,1\r\n600,0,0,,0,0\r\n1200,0.5,1,Weibull,0.7,1")
	write("c-dataset.json", `{"0": {"text_tokens": "{10: 1.0}", "image_tokens": "{100: 0.5, 200.0: 0.5,}", "image_count": "{3: 1.0}", "audio_tokens": "{7: 1}", "audio_count": "{0: 1}", "output_tokens": "{5: 1e0}", "new": "{}"},
"600": {"text_tokens": "{}", "output_tokens": "{ }"}}`)
	for _, independent := range []bool{false, true} {
		all, counts := servegenRequests(t, folder, Options{Independent: independent})
		seen := map[int64]int{}
		for _, r := range all {
			seen[r.InputTokens.V]++
		}
		// Three images of one size each, or each of its own.
		want := 2
		if independent {
			want = 4
		}
		if len(all) != 900 || len(seen) != want || seen[310] < 80 || seen[610] < 80 || counts["unknown_key:new"] != 1 {
			t.Errorf("independent %v: %d requests, inputs %v, counts %v; want 900 of %d lengths", independent, len(all), seen, counts, want)
		}
	}
}

func TestServeGenRefuses(t *testing.T) {
	const good = `{"0": {"input_tokens": "{10: 1.0}", "output_tokens": "{5: 1.0}"}}`
	dist := func(text string) string {
		return `{"0": {"input_tokens": "` + text + `", "output_tokens": "{5: 1.0}"}}`
	}
	for _, tt := range []struct{ trace, dataset, want string }{
		{"", good, "c-trace.csv: truncated: got end of input, want a first row"},
		{"0,1,1,Gamma,1", good, `c-trace.csv:1: row: got "5 cells", want 6 cells`},
		{"0,1,1,Pareto,1,1", good, `pattern: got "Pareto", want Gamma, Weibull or nothing`},
		{"0,1,1,,1,1", good, `pattern: got "", want Gamma or Weibull where the rate is above 0`},
		{"0,1,1,Gamma,0,1", good, `shape: got "0", want a number from 0.01`},
		{"0,-1,1,Gamma,1,1", good, `rate: got "-1", want a number of at least 0`},
		{"0,nan,1,Gamma,1,1", good, `rate: got "nan"`},
		{"0,1e400,1,Gamma,1,1", good, `rate: got "1e400"`},
		{"0,1e7,1,Gamma,1,1", good, `rate: got "1e7", want at most 1000000`},
		{"0.5,1,1,Gamma,1,1", good, `start: got "0.5", want a whole number`},
		{"9223372036,1,1,Gamma,1,1", good, `start: got "9223372036", want`},
		{"600,1,1,Gamma,1,1\n600,1,1,Gamma,1,1", good, `c-trace.csv:2: start: got "600", want windows of 600 s in order, from 1200`},
		{"0,0,0,,0,0", good, `rate: got "0 in all windows"`},
		{"0,1,1,Gamma,1,1", `{"600": {"input_tokens": "{10: 1.0}", "output_tokens": "{5: 1.0}"}}`, `c-trace.csv:1: rate: got "requests at 0 s", want lengths in the dataset`},
		{"0,1,1,Gamma,1,1", `{"0": {"input_tokens": "{}", "output_tokens": "{}"}}`, `rate: got "requests at 0 s"`},
		{"0,1,1,Gamma,1,1", `{"0": {"input_tokens": "{}", "output_tokens": "{5: 1.0}"}}`, `window 0: input_tokens: got "nothing"`},
		{"0,1,1,Gamma,1,1", `{"0": {"text_tokens": "{5: 1}", "image_tokens": "{5: 1}", "output_tokens": "{5: 1.0}"}}`, `window 0: image_count: got "nothing"`},
		{"0,1,1,Gamma,1,1", `{"0": {"input_tokens": "{5: 1}", "text_tokens": "{5: 1}", "output_tokens": "{5: 1.0}"}}`, `window 0: got "input_tokens and text_tokens", want one of them`},
		{"0,1,1,Gamma,1,1", dist("{10: 0.5}"), `window 0: input_tokens: got "a sum of 0.5", want probabilities that sum to 1 within 1e-6`},
		{"0,1,1,Gamma,1,1", dist("{10: 0.5, 10.0: 0.5}"), `got "10 twice", want each value once`},
		{"0,1,1,Gamma,1,1", dist("{-10: 1}"), `got "-10", want values from 0`},
		{"0,1,1,Gamma,1,1", dist("{10: -1}"), `got "-1", want probabilities from 0 to 1`},
		{"0,1,1,Gamma,1,1", dist("{10: 1} " + "x"), `got "x", want nothing after the closing brace`},
		{"0,1,1,Gamma,1,1", dist("{10: 1"), `got "end of text", want {value: probability`},
		{"0,1,1,Gamma,1,1", dist("{nan: 1}"), `got "nan: 1}", want {value`},
		{"0,1,1,Gamma,1,1", dist("{'10': 1}"), `got "'10': 1}", want {value`},
		{"0,1,1,Gamma,1,1", dist("__import__('os')"), `got "__import__('os')", want {value`},
		{"0,1,1,Gamma,1,1", dist("{10: 1/2, 11: 1/2}"), `got "/2, 11: 1/2}", want {value`},
		{"0,1,1,Gamma,1,1", `{"0": {"input_tokens": {"10": 1}}}`, `window 0: input_tokens: got`},
		{"0,1,1,Gamma,1,1", `{"0": {}, "0.0": {}}`, `window: got "0.0", want starts of windows`},
		{"0,1,1,Gamma,1,1", `{"x": {}}`, `window: got "x"`},
		{"0,1,1,Gamma,1,1", good[:40], `c-dataset.json: truncated: got end of input, want the rest of the dataset`},
		{"0,1,1,Gamma,1,1", ``, `c-dataset.json: truncated`},
		{"0,1,1,Gamma,1,1", `{"0": {"text_tokens": "{5: 1}", "image_tokens": "{5: 1}", "image_count": "{1000000: 1}", "output_tokens": "{5: 1.0}"}}`, `image_count: got "1e+06", want at most 65536 items`},
	} {
		folder := t.TempDir()
		for name, text := range map[string]string{"c-trace.csv": tt.trace, "c-dataset.json": tt.dataset} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, err := ServeGen(Input{Place: folder, Path: folder, Open: fromFolder}, Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("trace %q, dataset %q: %v; want %s", tt.trace, tt.dataset, err, tt.want)
		}
	}
	if _, err := ServeGen(Input{Place: "standard input", R: strings.NewReader("0,1,1,Gamma,1,1")}, Options{}); err == nil || !strings.Contains(err.Error(), "chunk-N-dataset.json beside") {
		t.Errorf("standard input: %v; want a refusal", err)
	}
	if _, err := ServeGen(Input{Place: "x", Path: t.TempDir(), Open: fromFolder}, Options{}); err == nil || !strings.Contains(err.Error(), `files: got "no pair"`) {
		t.Errorf("an empty folder: %v; want a refusal", err)
	}
}

// Each text of a distribution is read as one, or refused with a place; it is never a
// panic, and what is read draws only its own values.
func FuzzServeGen(f *testing.F) {
	f.Add([]byte("0,1,1,Gamma,1,1\r\n600,0.1,1,Weibull,0.3,1"), []byte(`{"0": {"input_tokens": "{10: 0.5, 11: 0.5}", "output_tokens": "{5: 1.0}"}}`))
	f.Add([]byte("0,0.1,1,Gamma,1,1"), []byte(`{"0": {"text_tokens": "{1: 1}", "image_tokens": "{2: 1}", "image_count": "{3: 1}", "output_tokens": "{5: 1.0}"}}`))
	f.Add([]byte("0,0,0,,0,0"), []byte(`{"0": {"input_tokens": "{}"}}`))
	f.Fuzz(func(t *testing.T, trace, dataset []byte) {
		if rows := bytes.Count(trace, []byte("\n")); rows > 20 {
			return // many rows are slow, not wrong
		}
		for row := range bytes.Lines(trace) { // and so is a large rate
			if w, fault := parseServegenRow(bytes.TrimRight(row, "\r\n")); fault == nil && w.requests > 5000 {
				return
			}
		}
		in := newIntake("trace", false)
		p := &servegen{intake: in, rows: newStore(in)}
		defer p.rows.close()
		open := func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(dataset)), nil }
		err := p.client(Input{Place: "trace", R: bytes.NewReader(trace), Open: open}, "", servegenClient{"c", "c-trace.csv", "c-dataset.json"})
		var syntax *formats.SyntaxError
		var cut *formats.TruncatedError
		if err != nil && !errors.As(err, &syntax) && !errors.As(err, &cut) {
			t.Fatalf("%T: %v; want a SyntaxError or a TruncatedError", err, err)
		}
		get, err := p.rows.requests()
		for n := int64(0); err == nil; n++ {
			var r *schedule.Request
			if r, err = get(); err == io.EOF && n != p.made {
				t.Fatalf("%d requests came out of %d", n, p.made)
			} else if err == nil && (r.InputTokens.V < 0 || r.OutputTokens.V < 0 || r.AtNS.V < 0) {
				t.Fatalf("request %+v", r)
			}
		}
		if err != io.EOF {
			t.Fatal(err)
		}
	})
}
