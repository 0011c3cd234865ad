package prompt

import (
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"
)

func codecs(t *testing.T) map[string]tokenizer.Codec {
	t.Helper()
	m := map[string]tokenizer.Codec{}
	for _, e := range []tokenizer.Encoding{tokenizer.Cl100kBase, tokenizer.O200kBase} {
		c, err := tokenizer.Get(e)
		if err != nil {
			t.Fatal(err)
		}
		m[string(e)] = c
	}
	return m
}

// Each word is one token behind a space and at the start of a text, so a prompt's
// first word needs no space and survives a template that trims.
func TestWordsAreOneToken(t *testing.T) {
	for name, c := range codecs(t) {
		for _, w := range words {
			for _, s := range []string{w, " " + w} {
				n, err := c.Count(s)
				if err != nil {
					t.Fatal(err)
				}
				if n != 1 {
					t.Errorf("%s: %q is %d tokens; want 1", name, s, n)
				}
			}
		}
	}
}

func TestWordsAreAPlainList(t *testing.T) {
	if len(words) < 1000 {
		t.Errorf("the list has %d words; want at least 1000", len(words))
	}
	if !slices.IsSorted(words[:]) {
		t.Error("words are not sorted")
	}
	if n := len(slices.Compact(slices.Clone(words[:]))); n != len(words) {
		t.Errorf("%d words occur twice", len(words)-n)
	}
	for _, w := range words {
		if strings.Trim(w, "abcdefghijklmnopqrstuvwxyz") != "" || len(w) > 7 || w == "" {
			t.Errorf("%q: want one to seven lower-case letters", w)
		}
	}
}
