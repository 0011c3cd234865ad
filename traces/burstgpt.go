package traces

import (
	"fmt"
	"math"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
)

var burstgptFormat = Format{
	Name:  "burstgpt",
	Usage: "from BurstGPT's CSV, with or without sessions",
	Text: `Columns: Timestamp (s), Model, Request tokens, Response tokens, Total tokens, Log
Type; in newer files Session ID and Elapsed time (s). Time 0 is the first row. Rows
of a session are whole prompts. A request waits for those of its session that had
ended when it started. The trace has no block ids; --mint-blocks assumes that a
prompt that grows begins with the session's prompt before it.

  tracegen burstgpt BurstGPT_3.csv -o burst.sched.zst
  tracegen burstgpt BurstGPT_3.csv --mint-blocks 16 --drop-failed --window 0:1h | replay --sim default | reduce`,
	Options: []string{"drop-failed", "mint-blocks", "scope", "strict"},
	Needs:   map[string]string{"scope": "mint-blocks"},
	Sniff:   func(head []byte, _ []string) bool { return hasColumns(head, burstgptColumns...) },
	Read:    BurstGPT,
}

var (
	burstgptColumns  = []string{"Timestamp", "Model", "Request tokens", "Response tokens", "Total tokens", "Log Type"}
	burstgptOptional = []string{"Session ID", "Elapsed time"}
)

// burstgptQuantum is the time grain of the published files, 1 s.
const burstgptQuantum = 1_000_000_000

// BurstGPT reads a trace in BurstGPT's CSV.
//
// Errors are *formats.SyntaxError or *formats.TruncatedError with the line, or those of
// the input and of the temporary file.
func BurstGPT(f Input, o Options) (*Trace, error) {
	in := newIntake(f.Place, o.Strict)
	b := &burstgpt{intake: in, o: o, rows: newStore(in), zero: math.MaxInt64, sessions: map[string]*burst{}}
	if o.MintBlocks > 0 {
		if o.Scope == "" {
			o.Scope = "burstgpt/" + stem(f.Name)
		}
		b.mint = newMinter(o.MintBlocks, o.Scope)
	}
	t, err := b.read(f)
	if err != nil {
		b.rows.close()
		return nil, err
	}
	return t, nil
}

// burstgpt is a trace while it is read.
type burstgpt struct {
	*intake
	o        Options
	rows     *store
	zero     int64 // the earliest row's time, ns
	mint     *minter
	sessions map[string]*burst // open ones, while requests come out
}

func (b *burstgpt) read(f Input) (*Trace, error) {
	if err := b.table(f.R, f.Name, burstgptColumns, burstgptOptional, b.row); err != nil {
		return nil, err
	}
	if err := b.some(); err != nil {
		return nil, err
	}
	get, err := b.rows.requests()
	if err != nil {
		return nil, err
	}
	t := b.trace(burstgptQuantum, nil, func() (*schedule.Request, error) {
		r, err := get()
		if err == nil {
			b.settle(r)
		}
		return r, err
	}, b.rows.close)
	if b.mint != nil {
		t.Block = &schedule.Block{Tokens: b.mint.size, Last: schedule.Absent}
		t.Transforms = []schedule.Transform{{Name: "mint_blocks", Params: map[string]string{
			"block_size": strconv.FormatInt(b.mint.size, 10),
			"assumption": "a prompt at least as long as the one before it in its session begins with it",
		}}}
	}
	return t, nil
}

// row stores one row.
func (b *burstgpt) row(cells []string) (fault *jsonl.Fault, _ error) {
	r := schedule.Request{Context: schedule.Whole, Stream: "0", Model: cells[1], Class: cells[5], Session: cells[6]}
	at, fault := cellTime(burstgptColumns[0], cells[0], grainMS)
	if fault != nil {
		return fault, nil
	}
	r.AtNS = formats.Some(at)
	var total formats.Int
	for i, length := range []*formats.Int{&r.InputTokens, &r.OutputTokens, &total} {
		if *length, fault = cellLength(burstgptColumns[2+i], cells[2+i]); fault != nil {
			return fault, nil
		}
	}
	if cells[7] != "" {
		service, fault := cellTime(burstgptOptional[1], cells[7], grainMS)
		if fault != nil {
			return fault, nil
		}
		r.Recorded.E2ENS = formats.Some(service)
	}
	if !b.mint.fits(r.InputTokens.V) {
		return &jsonl.Fault{What: burstgptColumns[2], Got: cells[2], Want: fmt.Sprintf("at most %d blocks of %d tokens, to mint ids for", schedule.MaxIDs, b.mint.size)}, nil
	}
	if in, out := r.InputTokens, r.OutputTokens; in.Valid && out.Valid && total.Valid && total.V-in.V != out.V {
		b.counts["total_differs"]++
	}
	b.time(at)
	b.n++
	b.zero = min(b.zero, at)
	if r.OutputTokens == formats.Some(0) {
		if b.o.DropFailed {
			b.counts["failed_dropped"]++
			return nil, nil
		}
		b.counts["failed_kept"]++
	}
	if r.Session == "" {
		return nil, b.rows.single(at, b.n, &r)
	}
	return nil, b.rows.add(at, &r)
}

// burst is what is known of an open session while its requests come out.
type burst struct {
	kin    lineage
	list   stream
	ids    []int64 // of the requests that came out
	prompt minted
}

// settle gives a stored request its place in the session. Requests come in order of
// time, so what one waits for is out already.
func (b *burstgpt) settle(r *schedule.Request) {
	s := b.sessions[r.Session]
	if s == nil {
		s = &burst{kin: lineage{grain: burstgptQuantum}}
		if !r.Last {
			b.sessions[r.Session] = s
		}
	}
	start := r.AtNS.V
	after, heir := s.kin.waits(&s.list, start, false, nil)
	for i := len(after) - 1; i >= 0; i-- {
		r.After = append(r.After, s.ids[after[i]])
	}
	r.DelayNS = s.kin.delay(after, start)
	r.Turn = int64(s.kin.add(&s.list, start, r.Recorded.E2ENS, after, heir))
	s.ids = append(s.ids, r.ID)
	if r.Last {
		delete(b.sessions, r.Session)
	}
	r.Blocks = b.mint.next(&s.prompt, r.InputTokens)
	r.AtNS.V -= b.zero
}
