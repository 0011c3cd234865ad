package prompt

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"hydrant/formats"
)

// Kind says what a prompt is made of.
type Kind string

// The two kinds of prompt.
const (
	Text   Kind = "text"   // words, single spaces between them
	Tokens Kind = "tokens" // token ids, commas between them
)

// The default range of ordinary token ids: above the special and byte tokens that
// vocabularies put first, below the end of the smallest vocabulary in use (32,000).
const (
	FirstToken = 1000
	LastToken  = 30999
)

// maxToken is the largest token id a List can hold: separator and digits share eight
// bytes. No vocabulary comes near it.
const maxToken = 9_999_999

// A List is what tokens are drawn from. It is immutable and safe for concurrent use.
type List struct {
	kind Kind
	name string
	// entry holds each token with its separator in front, eight bytes at most, as
	// a little-endian word: drawing a token is one load, one store and one addition.
	entry []uint64
	size  []uint8
}

// Words returns the built-in list of English words: lower-case ASCII, one token each
// in the common vocabularies both with a leading space and without. A prompt therefore
// starts without a space, which chat templates would strip, and has as many tokens
// as words.
func Words() *List {
	l := &List{kind: Text, name: fmt.Sprintf("words/1:%d", len(words))}
	for _, w := range words {
		l.add(" " + w)
	}
	return l
}

// TokenRange returns the list of token ids first … last, both included. It is an error
// when the range is empty or reaches below 0 or above 9,999,999.
func TokenRange(first, last int64) (*List, error) {
	if first < 0 || last < first || last > maxToken {
		return nil, &formats.SyntaxError{Place: "token range", What: "ids",
			Got: fmt.Sprintf("%d..%d", first, last), Want: fmt.Sprintf("FIRST..LAST within 0..%d", maxToken)}
	}
	l := &List{kind: Tokens, name: fmt.Sprintf("tokens:%d..%d", first, last)}
	for id := first; id <= last; id++ {
		l.add("," + strconv.FormatInt(id, 10))
	}
	return l, nil
}

func (l *List) add(s string) {
	var b [8]byte
	if copy(b[:], s) != len(s) {
		panic("internal error: list entry of more than eight bytes: " + s)
	}
	l.entry = append(l.entry, binary.LittleEndian.Uint64(b[:]))
	l.size = append(l.size, uint8(len(s)))
}

// Kind returns what the list's entries are.
func (l *List) Kind() Kind { return l.kind }

// Len returns the number of entries.
func (l *List) Len() int { return len(l.entry) }

// String names the list for the run header: "words/1:1000", "tokens:1000..30999".
// Equal names are equal lists.
func (l *List) String() string { return l.name }
