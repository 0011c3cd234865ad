package schedule

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hydrant/formats/jsonl"
)

const page = "../../docs/formats/schedule.md"

// The tables of the page are those of the code, row by row.
func TestPageFields(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"schedule", "request", "end"} {
		_, table, ok := strings.Cut(string(text), "<!-- fields: "+kind+" -->\n")
		if !ok {
			t.Fatalf("the page has no table of %s", kind)
		}
		table, _, _ = strings.Cut(table, "\n\n")
		want := []string{"| name | type | unit | meaning | what null, or no key, means | since |", "|---|---|---|---|---|---|"}
		for _, f := range Fields {
			if f.Line != kind {
				continue
			}
			unit, null := f.Unit, f.Null
			if unit == "" {
				unit = "–"
			}
			if null == "" {
				null = "refused"
			}
			want = append(want, fmt.Sprintf("| `%s` | %s | %s | %s | %s | %d |", f.Key, f.Type, unit, f.Meaning, null, f.Since))
		}
		if got := strings.Split(strings.TrimSpace(table), "\n"); !slices.Equal(got, want) {
			t.Errorf("table of %s is\n%s\nwant\n%s", kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for _, cap := range []string{
		fmt.Sprintf("a line at %d MiB", jsonl.MaxLine>>20), "the ids of one prompt at 4,194,304", "every 4,096 lines",
	} {
		if !bytes.Contains(text, []byte(cap)) {
			t.Errorf("the page does not say %q", cap)
		}
	}
	if MaxIDs != 4_194_304 || FrameLines != 4096 {
		t.Errorf("MaxIDs = %d, FrameLines = %d; the page says otherwise", MaxIDs, FrameLines)
	}
}

// The example is the golden file with lines left out.
func TestPageExample(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile(goldenLines)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)<!-- example -->\n```\n(.*?)```").FindSubmatch(text)
	if m == nil {
		t.Fatal("the page has no example")
	}
	all := strings.Split(strings.TrimSpace(string(golden)), "\n")
	shown := strings.Split(strings.TrimSpace(string(m[1])), "\n")
	if shown[0] != all[0] || shown[len(shown)-1] != all[len(all)-1] {
		t.Error("the example does not begin and end as the golden file does")
	}
	at := 0
	for _, line := range shown {
		if line == "…" {
			continue
		}
		i := slices.Index(all[at:], line)
		if i < 0 {
			t.Errorf("the example has a line that is not in the golden file, or not there:\n%s", line)
			continue
		}
		at += i + 1
	}
}

// The table names every key that the reader takes, in the order in which the writer
// writes them, and the golden file has each of them.
func TestFieldsAreTheKeys(t *testing.T) {
	golden, err := os.ReadFile(goldenLines)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Fields {
		key := f.Key[strings.LastIndex(f.Key, ".")+1:]
		if f.Key != "edited" && !bytes.Contains(golden, []byte(strconv.Quote(key)+":")) {
			t.Errorf("no line of the golden file has %s", f.Key)
		}
	}
	for _, kind := range []string{"schedule", "request", "end"} {
		var want []string
		for _, f := range Fields {
			top, _, _ := strings.Cut(f.Key, ".")
			if f.Line == kind && !slices.Contains(want, top) {
				want = append(want, top)
			}
		}
		for _, line := range strings.Split(strings.TrimSpace(string(golden)), "\n") {
			inner := []byte(line)
			got, value, fault := envelope(inner)
			if fault != nil {
				t.Fatal(fault)
			}
			if got == "" {
				got, value = "request", inner
			}
			if got != kind {
				continue
			}
			at := -1
			for _, key := range keys(t, value) {
				i := slices.Index(want, key)
				if i <= at {
					t.Errorf("%s: key %s is not in the table, or not in its order", kind, key)
				}
				at = i
			}
		}
	}
}

// keys lists the keys of an object.
func keys(t *testing.T, object []byte) (names []string) {
	t.Helper()
	var s jsonl.Scanner
	s.Reset(object)
	for ok := s.Open('{'); ok; ok = s.More('{') {
		names = append(names, s.Name())
		s.Raw()
	}
	if s.Err != nil {
		t.Fatal(s.Err)
	}
	return names
}
