package sim

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// blocksOf is the prompt's blocks of a body, or a test failure.
func blocksOf(t *testing.T, spec *Spec, chat bool, seed maphash.Seed, body string) (int, []uint64) {
	t.Helper()
	a, err := spec.parseAsk([]byte(body), chat, seed)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return a.tokens, a.blocks
}

// Equal leading tokens give equal leading blocks, whatever the JSON looks like;
// anything else does not.
func TestBlocks(t *testing.T) {
	spec := parse(t, "null,cache=unbounded,block=2,template=3")
	seed := maphash.MakeSeed()
	text := func(chat bool, body string) []uint64 {
		_, b := blocksOf(t, &spec, chat, seed, body)
		return b
	}
	same := []string{`{"prompt":"ab c d e"}`, `{ "prompt" : [ " ab\tc\nd  e " ] }`, `{"prompt":"\u0061b c d e"}`}
	for _, b := range same[1:] {
		if !slices.Equal(text(false, same[0]), text(false, b)) {
			t.Errorf("%s and %s differ", same[0], b)
		}
	}
	for _, other := range []string{`{"prompt":"a bc d e"}`, `{"prompt":"abc d e x"}`, `{"prompt":[97,98,99,100]}`} {
		if text(false, same[0])[0] == text(false, other)[0] {
			t.Errorf("%s and %s share a block", same[0], other)
		}
	}
	if a, b := text(false, `{"prompt":[1,2,3,4,5]}`), text(false, `{"prompt": [[1 ,2, 3,4]]}`); len(a) != 2 || !slices.Equal(a, b) {
		t.Errorf("ids: %v and %v; want two equal blocks", a, b)
	}
	if a, b := text(false, `{"prompt":[1,2,3,4]}`), text(false, `{"prompt":[3,4,3,4]}`); a[1] == b[1] {
		t.Error("a block is found behind another beginning")
	}
	chat := `{"messages":[{"role":"system","content":"a b"},{"role":"user","content":"c d"}]}`
	n, a := blocksOf(t, &spec, true, seed, chat)
	if n != 7 || len(a) != 3 {
		t.Errorf("chat: %d tokens, %d blocks; want 7 and 3", n, len(a))
	}
	b := text(true, strings.Replace(chat, `"user"`, `"assistant"`, 1))
	if a[0] != b[0] || a[1] != b[1] || a[2] == b[2] {
		t.Errorf("another role in the second message: blocks %v and %v; want only the third to differ", a, b)
	}
}

// The order in which requests come, and whether others come at all, changes no
// choice for a request.
func TestChoicesDoNotDependOnOrder(t *testing.T) {
	spec := parse(t, "default,eos=exp:100,fail=503:0.1,cut=0.1,stall_mid=1s:0.1")
	type choice struct {
		fault  string
		tokens int
		reason string
	}
	of := func(id string) (c choice) {
		if f := spec.faultFor(id); f != nil {
			c.fault = f.Kind
		}
		c.tokens, c.reason = spec.length(&ask{id: id, limit: 150})
		return c
	}
	ids := rand.New(rand.NewPCG(1, 1)).Perm(500)
	first := map[int]choice{}
	for _, i := range ids {
		first[i] = of(fmt.Sprint(i))
	}
	kinds := map[string]int{}
	for i := range 500 {
		c := of(fmt.Sprint(i))
		if c != first[i] {
			t.Errorf("request %d: %+v, then %+v", i, first[i], c)
		}
		kinds[c.fault]++
		kinds[c.reason]++
	}
	for _, k := range []string{"", "fail", "cut", "stall_mid", "stop", "length"} {
		if kinds[k] == 0 {
			t.Errorf("%q never happened in 500 requests", k)
		}
	}
}

func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"model":"sim","prompt":"a b c","max_tokens":3,"stream":true}`), false)
	f.Add([]byte(`{"prompt":[1,2,3],"min_tokens":2}`), false)
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"a b"}]}]}`), true)
	spec := parse(f, "default,block=2")
	seed := maphash.MakeSeed()
	f.Fuzz(func(t *testing.T, raw []byte, chat bool) {
		a, err := spec.parseAsk(raw, chat, seed)
		if err != nil {
			var r *refusal
			if !errors.As(err, &r) || r.status < 400 || r.status > 499 {
				t.Fatalf("%q: %v; want a refusal with a status of 400 to 499", raw, err)
			}
			return
		}
		if a.tokens > len(raw) || len(a.blocks) != a.tokens/2 {
			t.Fatalf("%q: %d tokens, %d blocks", raw, a.tokens, len(a.blocks))
		}
	})
}
