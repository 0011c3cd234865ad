package worker

import (
	"hash/fnv"
	"time"

	"hydrant/cmd/replay/internal/endpoint"
	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/prompt"
	"hydrant/cmd/replay/internal/wire"
	"hydrant/formats/run"
)

// composer builds what is sent. compose belongs to the preparer, the rest may be called
// by any goroutine.
type composer struct {
	setup   link.Setup
	e       *endpoint.Endpoint
	bodies  *endpoint.Bodies
	prompts *prompt.Builder
	in      endpoint.Input // scratch of compose
	text    []byte         // scratch of compose
	buffers buffers

	streamed, whole []wire.Kind // of each target
	threads
}

func newComposer(s link.Setup) (*composer, error) {
	e, err := endpoint.Lookup(s.Endpoint)
	if err != nil {
		return nil, err
	}
	list, err := PromptList(prompt.Kind(s.Prompt))
	if err != nil {
		return nil, err
	}
	c := &composer{setup: s, e: e, prompts: prompt.NewBuilder(prompt.Source{Seed: s.Seed, List: list})}
	c.streamed, c.whole = c.kinds(true), c.kinds(false)
	c.bodies, err = e.Bodies(endpoint.Options{Model: s.Model, Stream: s.Stream, IgnoreEOS: s.PinOutput, MinTokens: s.PinOutput})
	return c, err
}

// PromptList returns what prompts of a kind are made of.
func PromptList(k prompt.Kind) (*prompt.List, error) {
	if k == prompt.Tokens {
		return prompt.TokenRange(prompt.FirstToken, prompt.LastToken)
	}
	return prompt.Words(), nil
}

// compose builds the request of f. It depends on the seed and the line alone, and for a
// delta on the live replies before it.
func (c *composer) compose(f *flight) (wire.Prepared, error) {
	r := &f.job.Request
	in := &c.in
	*in = endpoint.Input{Model: r.Model, OutputTokens: r.OutputTokens, Body: r.Body, Extra: r.Extra, Kind: c.prompts.Source().List.Kind()}
	var err error
	if in.History, err = c.history(r); err != nil {
		return wire.Prepared{}, err
	}
	if r.Body == nil {
		var runs [][2]int64
		if r.Blocks != nil {
			runs = r.Blocks.Add
		}
		if c.text, _, err = c.prompts.Build(c.text[:0], r, runs, f.job.Block); err != nil {
			return wire.Prepared{}, err
		}
		in.Prompt, in.System = c.text, c.prompts.System()
	}
	body, stream, err := c.bodies.Build(c.buffers.get(), in)
	if err != nil {
		return wire.Prepared{}, err
	}
	p := wire.Prepared{Kind: c.kind(r.Session, stream), ID: r.ID, Body: body, KeepReply: in.History != nil}
	if cut(c.setup.Seed, r.ID, c.setup.CancelPPM) {
		p.CancelAfter = time.Duration(c.setup.CancelNS)
	}
	return p, nil
}

// learn takes the reply of a session that goes on with it, and the body's memory back.
func (c *composer) learn(f *flight, row *run.Request) {
	var reply []byte
	if f.request != nil {
		reply = f.request.Reply
	}
	c.end(&f.job.Request, row, reply)
	if f.request != nil && row.DispatchedNS.Valid {
		c.recycle(f)
	}
}

// recycle takes the memory of a body that was sent back.
func (c *composer) recycle(f *flight) {
	if body := f.request.Body; body != nil {
		f.request.Body = nil
		c.buffers.put(body)
	}
}

// kind returns what the requests of a session have in common. Their target is always the
// same one, whatever the workers.
func (c *composer) kind(session string, stream bool) *wire.Kind {
	i := uint64(0)
	if n := uint64(len(c.setup.URLs)); n > 1 {
		h := fnv.New64a()
		h.Write([]byte("url/" + session))
		i = mix(h.Sum64()) % n
	}
	if stream {
		return &c.streamed[i]
	}
	return &c.whole[i]
}

// kinds are those of the targets, in their order.
func (c *composer) kinds(stream bool) (all []wire.Kind) {
	for _, url := range c.setup.URLs {
		all = append(all, wire.Kind{URL: url + c.e.Path, Header: c.setup.Header, Endpoint: c.e, Stream: stream, Chunks: c.setup.Chunks})
	}
	return all
}

// cut reports whether the plan cuts the answer to request id short, for a share of ppm.
func cut(seed, id, ppm int64) bool {
	return ppm > 0 && mix(mix(uint64(seed))+uint64(id))%1_000_000 < uint64(ppm)
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
