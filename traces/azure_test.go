package traces

import (
	"slices"
	"strings"
	"testing"

	"hydrant/formats/schedule"
)

func TestAzureExpected(t *testing.T) {
	for _, c := range []struct {
		name string
		read reader
	}{
		{"azure/AzureLLMInferenceTrace_code.csv.zst", azure.read},
		{"azure/AzureLLMInferenceTrace_code_1week_head5.csv", azure.read},
		{"vidur/splitwise_code.csv.zst", vidur.read},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := want(t, c.name)
			tr := load(t, c.read, "data/"+c.name, Options{})
			reqs, end := plan(t, tr)
			w.compare(t, tr, 0, reqs, end, w.Time, 1000)
			if tr.Block != nil || tr.QuantumNS != 1000 || len(end.Counts) > 0 || len(tr.Warnings) > 0 || end.Sessions != w.Records {
				t.Errorf("block %v, quantum %d, counts %v, warnings %q, %d sessions", tr.Block, tr.QuantumNS, end.Counts, tr.Warnings, end.Sessions)
			}
		})
	}
}

// The largest gap is 217.168952 s, before row 8,101; 12 of 58 minutes are empty; row 2
// comes after 52 ms. Vidur's file has the same requests.
func TestAzureCode(t *testing.T) {
	reqs, _ := plan(t, load(t, azure.read, "data/azure/AzureLLMInferenceTrace_code.csv.zst", Options{}))
	gap, before := int64(0), 0
	minutes := map[int64]bool{}
	for i, r := range reqs {
		minutes[r.AtNS.V/60e9] = true
		if i > 0 && r.AtNS.V-reqs[i-1].AtNS.V > gap {
			gap, before = r.AtNS.V-reqs[i-1].AtNS.V, i+1
		}
	}
	if gap != 217_168_952_000 || before != 8_101 || len(minutes) != 46 || reqs[1].AtNS.V != 52_000_000 || reqs[8818].AtNS.V != 3_435_948_056_000 {
		t.Errorf("gap %d before row %d, %d minutes, row 2 at %d, the last at %d", gap, before, len(minutes), reqs[1].AtNS.V, reqs[8818].AtNS.V)
	}
	if r := reqs[8818]; r.Session != "r8819" || !r.Last || r.Blocks != nil || r.After != nil || r.Model != "" || r.Context != schedule.Whole {
		t.Errorf("last request = %+v", r)
	}
	other, _ := plan(t, load(t, vidur.read, "data/vidur/splitwise_code.csv.zst", Options{}))
	for i, r := range reqs {
		if v := other[i]; v.AtNS != r.AtNS || v.InputTokens != r.InputTokens || v.OutputTokens != r.OutputTokens {
			t.Fatalf("row %d: vidur %v, %v, %v; azure %v, %v, %v", i+1, v.AtNS, v.InputTokens, v.OutputTokens, r.AtNS, r.InputTokens, r.OutputTokens)
		}
	}
}

func TestAzureHead(t *testing.T) {
	reqs, _ := plan(t, load(t, azure.read, "data/azure/AzureLLMInferenceTrace_code_1week_head5.csv", Options{}))
	var at []int64
	for _, r := range reqs {
		at = append(at, r.AtNS.V)
	}
	if !slices.Equal(at, []int64{0, 7_405_000, 12_384_000, 27_915_000, 73_960_000}) {
		t.Errorf("times = %v", at)
	}
}

const (
	azureText = "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 00:00:00.009930+00:00,2162,5\n2024-05-10 00:00:01+00:00,76,0\n2024-05-10 00:00:01+00:00,76,0\n"
	vidurText = "arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,4808,10\n199.96150599999999,3180,8\n"
)

func TestArrivalsForms(t *testing.T) {
	for _, c := range []struct {
		read reader
		text string
	}{{azure.read, azureText}, {vidur.read, vidurText}} {
		sameInAnyForm(t, c.read, Options{}, c.text)
		refusesBrokenStreams(t, c.read, Options{}, c.text)
		lines, _, _, _ := texts(t, c.read, Options{}, c.text)
		got, end, warnings, err := texts(t, c.read, Options{}, shuffled(c.text))
		if err != nil || !slices.Equal(got, lines) || count(end, "unknown_key:extra") != int64(len(lines)) || len(warnings) != 1 {
			t.Errorf("columns in another order: %q, %v, %v, %q; want %q", got, err, end.Counts, warnings, lines)
		}
		refuses(t, c.read, Options{Strict: true}, [][2]string{{shuffled(c.text), `t:2: column: got "extra", want known columns only, under --strict`}})
	}
}

func TestArrivalsRows(t *testing.T) {
	for _, c := range []struct {
		name   string
		read   reader
		text   string
		want   string // of each line: time in ns, input, output, session
		counts string
	}{
		{"the last day of February, ties and equal rows kept", azure.read, azureText, "0 2162 5 r1; 990070000 76 0 r2; 990070000 76 0 r3", "identical_kept 1, ties_kept 1"},
		{"rows that step backward are sorted, and the earliest is time 0", azure.read,
			"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:04,1,1\n2023-11-16 18:17:03.5,2,2\n2023-11-16 18:17:04,3,3\n",
			"0 2 2 r2; 500000000 1 1 r1; 500000000 3 3 r3", "sorted_backward 1, ties_kept 1"},
		{"an offset is taken away", azure.read, "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:04+00:00,1.0,1\n2023-11-16 19:17:05+01:00,2,2\n", "0 1 1 r1; 1000000000 2 2 r2", ""},
		{"vidur keeps the zero of the file and rounds noise away", vidur.read, vidurText, "500000000 4808 10 r1; 199961506000 3180 8 r2", ""},
		{"blank lines", vidur.read, strings.Replace(vidurText, "\n", "\n\n", 2), "500000000 4808 10 r1; 199961506000 3180 8 r2", "blank_lines 2"},
	} {
		tr, err := c.read(piped("t", strings.NewReader(c.text)), Options{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		reqs, end := plan(t, tr)
		tr.Close()
		var got []string
		for _, r := range reqs {
			got = append(got, strings.Join([]string{r.AtNS.String(), r.InputTokens.String(), r.OutputTokens.String(), r.Session}, " "))
		}
		if s := strings.Join(got, "; "); s != c.want || counts(end) != c.counts {
			t.Errorf("%s:\n%s, counts %q; want\n%s, counts %q", c.name, s, counts(end), c.want, c.counts)
		}
	}
}

func TestArrivalsRefuse(t *testing.T) {
	row := func(text string) string { return azureText + text + "\n" }
	refuses(t, azure.read, Options{}, [][2]string{
		{row("2024-05-10T00:00:02+00:00,1,1"), `t:5: TIMESTAMP: got "2024-05-10T00:00:02+00:00", want YYYY-MM-DD`},
		{row(",1,1"), `t:5: TIMESTAMP: got ""`},
		{row("2024-02-30 00:00:00,1,1"), `t:5: TIMESTAMP`},
		{row("NaN,1,1"), `t:5: TIMESTAMP: got "NaN"`},
		{row("2024-05-10 00:00:02,-1,1"), `t:5: ContextTokens: got "-1", want a whole number of at least 0`},
		{row("2024-05-10 00:00:02,NaN,1"), `t:5: ContextTokens: got "NaN"`},
		{row("2024-05-10 00:00:02,12.5,1"), `t:5: ContextTokens: got "12.5"`},
		{row("2024-05-10 00:00:02,9223372036854775808,1"), `t:5: ContextTokens`},
		{row("2024-05-10 00:00:02,1,inf"), `t:5: GeneratedTokens: got "inf"`},
		{row("2024-05-10 00:00:02,1,"), `t:5: GeneratedTokens: got "nothing"`},
		{row("2024-05-10 00:00:02,1"), `t:5: row: got "2 cells", want 3 cells`},
		{row("2024-05-10 00:00:02,1,\"1"), `t:5: row: got`},
		{row("2024-05-10 00:00:02,1,1\x00"), `t:5: GeneratedTokens`},
		{row("\xff"), `t:5: row: got "bytes that are not UTF-8"`},
		{"TIMESTAMP,ContextTokens\n2024-05-10 00:00:02,1\n", `t:1: header: got "TIMESTAMP,ContextTokens", want a column "GeneratedTokens"`},
		{"timestamp,ContextTokens,GeneratedTokens\n2024-05-10 00:00:02,1,1\n", `t:1: header`},
		{"2024-05-10 00:00:02,1,1\n", `t:1: header`},
		{"TIMESTAMP,ContextTokens,GeneratedTokens\n", `t: truncated: got end of input, want a first row`},
	})
	refuses(t, vidur.read, Options{}, [][2]string{
		{vidurText + "-0.1,1,1\n", `t:4: arrived_at: got "-0.1", want a time in s of at least 0`},
		{vidurText + "nan,1,1\n", `t:4: arrived_at: got "nan"`},
		{vidurText + "1e300,1,1\n", `t:4: arrived_at: got "1e300"`},
		{vidurText + "1_0,1,1\n", `t:4: arrived_at`},
		{vidurText + "1,1,-1\n", `t:4: num_decode_tokens: got "-1"`},
		{azureText, `t:1: header`},
	})
}

func FuzzAzure(f *testing.F) {
	f.Add([]byte(azureText))
	f.Add([]byte("TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.9799600,4808,10\r\n2023-11-16 18:17:03.0319600,\"3180\",8"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzed(t, azure.read, piped("f", strings.NewReader(string(text))), Options{})
	})
}

func FuzzVidur(f *testing.F) {
	f.Add([]byte(vidurText))
	f.Add([]byte("num_decode_tokens,arrived_at,num_prefill_tokens,x\n1,5e-07,2,3\n1,-0,9223372036854775807,\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		fuzzed(t, vidur.read, piped("f", strings.NewReader(string(text))), Options{})
	})
}
