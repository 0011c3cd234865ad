package schedule

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"hydrant/formats"

	"github.com/google/go-cmp/cmp"
)

// Two schedules in a row play one after the other.
func TestSeveralInARow(t *testing.T) {
	one := write(t, first(example()), second(example())...)
	got, r, err := read(bytes.Repeat(one, 3))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 15 || r.Part() != 3 || len(r.Trailers()) != 3 {
		t.Fatalf("%d requests, part %d, %d trailers; want 15, 3 and 3", len(got), r.Part(), len(r.Trailers()))
	}
	_, want := example()
	for i, q := range got {
		w := want[i%5].Clone()
		part := int64(i / 5)
		w.ID += part * 8 // ids 0, 1, 2, 3, 7
		for j := range w.After {
			w.After[j] += part * 8
		}
		if w.AtNS.Valid {
			w.AtNS.V += part * 6_000_000
		}
		if part > 0 {
			w.Session += fmt.Sprint("@", part+1)
		}
		if d := cmp.Diff(w, q); d != "" {
			t.Errorf("request %d of part %d (-want +got)\n%s", i%5, part+1, d)
		}
	}
	// The joined lines are a schedule again, and a cut of the second part is seen.
	if _, _, err := read(write(t, r.Header(), got...)); err != nil {
		t.Errorf("written as one: %v", err)
	}
	for n := len(one) + 1; n < 2*len(one); n++ {
		got, _, err := read(bytes.Repeat(one, 2)[:n])
		var cut *formats.TruncatedError
		if !errors.As(err, &cut) || len(got) < 5 {
			t.Fatalf("cut at %d: %d requests, %v; want at least 5 and a TruncatedError", n-len(one), len(got), err)
		}
	}
}

// A schedule that was joined before has sessions that end in a suffix already; no
// session of a later part may become one of them, or their prompts would be equal.
func TestSuffixesDiffer(t *testing.T) {
	part := func(sessions ...string) []byte {
		var reqs []*Request
		for i, s := range sessions {
			reqs = append(reqs, &Request{ID: int64(i), AtNS: formats.Some(0), Session: s, Stream: "0", Context: Whole, InputTokens: formats.Some(1)})
		}
		return write(t, Header{}, reqs...)
	}
	for _, c := range []struct {
		parts [][]string
		want  []string
	}{
		{[][]string{{"a"}, {"a"}, {"a"}}, []string{"a", "a@2", "a@3"}},
		{[][]string{{"a", "a@2"}, {"a", "a@2"}}, []string{"a", "a@2", "a@3", "a@2@3"}},
		{[][]string{{"a@7"}, {"a"}, {"a"}}, []string{"a@7", "a@8", "a@9"}},
		{[][]string{{"a"}, {"a@9"}, {"a"}}, []string{"a", "a@9@2", "a@3"}},
		{[][]string{{"a@b2", "a@", "@", "2", "a@02"}, {"a"}}, []string{"a@b2", "a@", "@", "2", "a@02", "a@3"}},
		{[][]string{{"a@999999999999999999"}, {"a"}}, []string{"a@999999999999999999", "a@1000000000000000000"}},
		{[][]string{{"a@9999999999999999999"}, {"a"}}, []string{"a@9999999999999999999", "a@2"}},
	} {
		var all []byte
		for _, p := range c.parts {
			all = append(all, part(p...)...)
		}
		reqs, _, err := read(all)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, q := range reqs {
			got = append(got, q.Session)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("sessions of %v (-want +got):\n%s", c.parts, d)
		}
	}
}

func TestHeaderOfTheSecondIsJudged(t *testing.T) {
	one := write(t, Header{})
	_, _, err := read(append(one, `{"schedule":{"format":"hydrant-schedule","version":7}}`+"\n"...))
	var version *formats.VersionError
	if !errors.As(err, &version) || version.Place != "t.jsonl:3" {
		t.Errorf("error = %v; want a VersionError on line 3", err)
	}
	if reqs, _, err := read(one); err != nil || len(reqs) != 0 {
		t.Errorf("a schedule without requests: %d requests, %v", len(reqs), err)
	}
}

func TestEdited(t *testing.T) {
	lines := strings.SplitAfter(string(write(t, first(example()), second(example())...)), "\n")
	edit := func(text string) (ids []int64, r *Reader, err error) {
		r, err = NewEditedReader(strings.NewReader(text), "t.jsonl")
		for err == nil {
			var q *Request
			if q, err = r.Next(); err == nil {
				ids = append(ids, q.ID)
			}
		}
		return ids, r, err
	}
	t.Run("a line changed", func(t *testing.T) {
		ids, _, err := edit(strings.Replace(strings.Join(lines, ""), `"output_tokens":20`, `"output_tokens":21`, 1))
		if err != io.EOF || len(ids) != 5 {
			t.Errorf("ids %v, %v; want 5 and the end", ids, err)
		}
	})
	t.Run("a line out", func(t *testing.T) {
		ids, r, err := edit(lines[0] + lines[1] + lines[2] + lines[4] + lines[5] + lines[6])
		if err != io.EOF || fmt.Sprint(ids) != "[0 1 3 7]" || r.Dropped() != 1 {
			t.Errorf("ids %v, %d references dropped, %v; want [0 1 3 7], 1 and the end", ids, r.Dropped(), err)
		}
	})
	t.Run("no trailer", func(t *testing.T) {
		if ids, _, err := edit(strings.Join(lines[:6], "")); err != io.EOF || len(ids) != 5 {
			t.Errorf("ids %v, %v; want 5 and the end", ids, err)
		}
	})
	t.Run("a broken trailer", func(t *testing.T) {
		if ids, _, err := edit(strings.Join(lines[:6], "") + `{"end":{}}` + "\n"); err != io.EOF || len(ids) != 5 {
			t.Errorf("ids %v, %v; want 5 and the end", ids, err)
		}
	})
	for name, text := range map[string]string{
		"a line cut":          strings.Join(lines[:5], "") + lines[5][:20],
		"a negative":          strings.Replace(strings.Join(lines, ""), `"output_tokens":20`, `"output_tokens":-20`, 1),
		"lines swapped":       lines[0] + lines[2] + lines[1],
		"no time is left":     lines[0] + lines[2] + `{"id":3,"after":[2],"session":"a","stream":"0","turn":0,"context":"whole"}` + "\n",
		"keep of what is out": lines[0] + lines[2] + strings.Replace(lines[3], `"keep":3`, `"keep":2`, 1),
	} {
		_, _, err := edit(text)
		var syntax *formats.SyntaxError
		var cut *formats.TruncatedError
		if !errors.As(err, &syntax) && !errors.As(err, &cut) {
			t.Errorf("%s: error = %v; want a typed error", name, err)
		}
	}
}

// What a stream held before it failed comes first.
func TestStreamFails(t *testing.T) {
	lines := write(t, first(example()), second(example())...)
	broken := errors.New("disk on fire")
	for _, tt := range []struct {
		err  error
		kind any
	}{{io.ErrUnexpectedEOF, new(*formats.TruncatedError)}, {fmt.Errorf("zstd: %w", io.ErrUnexpectedEOF), new(*formats.TruncatedError)}, {broken, &broken}} {
		n := bytes.LastIndex(lines, []byte(`{"end"`))
		r, err := NewReader(io.MultiReader(bytes.NewReader(lines[:n]), failing{tt.err}), "t.jsonl")
		got := 0
		for err == nil {
			if _, err = r.Next(); err == nil {
				got++
			}
		}
		if got != 5 || !errors.As(err, tt.kind) {
			t.Errorf("stream that ends with %v: %d requests, %v; want 5", tt.err, got, err)
		}
		if _, again := r.Next(); again != err {
			t.Errorf("the error does not stay: %v, then %v", err, again)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
