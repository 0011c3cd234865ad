// Package prompt makes the content of prompts as a pure function of the seed and
// of what the schedule says of a request.
//
// A block id stands for the same tokens wherever it occurs in its scope, on any
// host and in any order of building, and the tokens behind the last id belong to
// one turn alone. So equal leading ids are equal leading tokens, nothing has to be
// remembered, and any worker may build any request. NewBuilder and
// Builder.Build are the two functions to use; what Build appends is text to put
// between JSON quotes (Text) or between brackets (Tokens).
package prompt

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/schedule"
)

// MaxTokens caps the length of one prompt: far above any context window, and at most
// 128 MiB of text.
const MaxTokens = 1 << 24

// Source is what a prompt depends on besides the request itself.
type Source struct {
	Seed int64
	List *List
}

// A Builder makes prompts. One goroutine owns it; builders share nothing but the list.
type Builder struct {
	src    Source
	stream *stream
	system int // bytes of the system part of the latest prompt
}

// NewBuilder returns a builder over src.
func NewBuilder(src Source) *Builder {
	return &Builder{src: src, stream: newStream()}
}

// Source returns what NewBuilder was given.
func (b *Builder) Source() Source { return b.src }

// Build appends the prompt of r to dst and returns it with the number of tokens
// appended, which is r.InputTokens. runs are the block ids of the whole line as
// [first id, count], nil when it has none; block is the header's, nil when the
// source has no ids.
//
// The prompt is the blocks in order and then a private tail of the turn. With
// block.Last "partial" the last id stands for what is left, 1 to Tokens tokens: the
// beginning of the full block. A line with more ids than its length holds, ids
// without a block size, and no input_tokens are a SyntaxError.
func (b *Builder) Build(dst []byte, r *schedule.Request, runs []schedule.Run, block *schedule.Block) ([]byte, int64, error) {
	left := r.InputTokens.V
	if !r.InputTokens.Valid || left < 0 || left > MaxTokens {
		return dst, 0, refuse(r, "input_tokens", r.InputTokens.String(), fmt.Sprintf("a whole number of tokens up to %d", MaxTokens))
	}
	start := len(dst)
	b.system = 0
	if len(runs) > 0 {
		if block == nil || block.Tokens <= 0 {
			return dst, 0, refuse(r, "blocks", "ids", "a block size in the schedule's header")
		}
		scope, system := "", int64(0)
		if r.Blocks != nil {
			scope, system = r.Blocks.Scope, r.Blocks.System
		}
		for _, run := range runs {
			for i := range run[1] {
				n := block.Tokens
				if left < n {
					if left <= 0 || block.Last != "partial" {
						return dst[:start], 0, refuse(r, "blocks", fmt.Sprintf("%d tokens in %d ids", r.InputTokens.V, count(runs)),
							fmt.Sprintf("no more ids than blocks of %d tokens", block.Tokens))
					}
					n = left
				}
				b.stream.begin(domainBlock)
				b.stream.int(b.src.Seed)
				b.stream.str(scope)
				b.stream.int(run[0] + i)
				dst = b.draw(dst, n)
				left -= n
				if system--; system >= 0 {
					b.system = len(dst) - start - 1 // without the separator in front
				}
			}
		}
	}
	if left > 0 {
		b.stream.begin(domainPrivate)
		b.stream.int(b.src.Seed)
		b.stream.str(r.Session)
		b.stream.str(r.Stream)
		b.stream.int(r.Turn)
		dst = b.draw(dst, left)
	}
	if len(dst) > start { // the first token has no separator in front
		n := copy(dst[start:], dst[start+1:])
		dst = dst[:start+n]
	}
	return dst, r.InputTokens.V, nil
}

// System returns how many bytes at the start of the prompt that Build made last are of the
// ids of its system message, 0 when it has none. A separator follows them, or nothing.
func (b *Builder) System() int { return b.system }

// draw appends the first n tokens of the key just written, each with its separator.
func (b *Builder) draw(dst []byte, n int64) []byte {
	b.stream.seed()
	l := b.src.List
	for n > 0 {
		part := min(n, 1<<16)
		dst = slices.Grow(dst, int(part)*8)
		at := len(dst)
		buf := dst[:cap(dst)]
		for range part {
			i := b.stream.index(uint64(len(l.entry)))
			binary.LittleEndian.PutUint64(buf[at:], l.entry[i])
			at += int(l.size[i])
		}
		dst = buf[:at]
		n -= part
	}
	return dst
}

func count(runs []schedule.Run) (n int64) {
	for _, r := range runs {
		n += r[1]
	}
	return n
}

func refuse(r *schedule.Request, what, got, want string) error {
	return &formats.SyntaxError{Place: "schedule request " + strconv.FormatInt(r.ID, 10), What: what, Got: got, Want: want}
}
