package fold

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"hydrant/formats"
	"hydrant/formats/run"
)

// rec is what stays of one row: everything that the metrics need. A store packs it.
// Times are ns offsets, first from the epoch of their part and, once all parts are
// read, from that of the earliest.
type rec struct {
	id, part, due, scheduled, prepared             int64
	dispatched, asked, dns, connect, tls           int64
	ready, wrote                                   int64
	firstByteKernel, firstByte                     int64
	firstKernel, first, answerKernel, answer       int64
	lastKernel, last, end                          int64
	turn                                           int64
	plannedIn, plannedOut, expected                int64
	capWait                                        int64 // null: no cap could delay it
	in, out, reasoning, cached, firstChunk, tokens int64 // tokens: token events
	gapSum, gapP99, gapMax, gapN                   int64 // of the gaps between chunks, ns
	sent, reads, multi, segments, retransmits      int64 // sent: bytes
	after, afterN                                  int64 // its predecessor, or of several the first in fold.after
	fluidity                                       int64 // −1: null
	worker                                         int64 // −1: none
	session, class, model, addr                    int64 // in fold.text
	outcome, source                                uint8 // what follows has 8 bits at most: see flags
	reused                                         int8  // −1: not known
	local, early, spooled                          bool
	whole                                          bool  // the answer was not streamed
	inWindow                                       bool  // follows from the window
	arrived                                        int64 // tokens that arrived in the window
}

// BytesPerRequest is the memory that a request of a usual run costs while it is folded: its
// packed row, its place in the order, and its share of the copies that percentiles and counts
// take in turn. Text such as a session name is kept once.
const BytesPerRequest = 320

// u is the planned time, null when the row has none.
func (r *rec) u() int64 { return either(r.due, r.scheduled) }

// ok says that the row belongs to the population O.
func (r *rec) ok() bool { return r.outcome == outcomeOK }

// wasSent says that the request left, or would have but for the peer.
func (r *rec) wasSent() bool {
	return r.outcome != outcomeNotSent && !(r.outcome == outcomeConnect && r.local)
}

// shift moves every time by ns.
func (r *rec) shift(ns int64) {
	for c := cDue; c <= lastTime; c++ {
		if v := &r.ints()[c]; *v != null {
			*v += ns
		}
	}
}

// Positions in run.Outcomes.
var (
	outcomeOK      = outcomeOf(run.OK)
	outcomeConnect = outcomeOf(run.ConnectError)
	outcomePlanned = outcomeOf(run.CancelledPlanned)

	outcomeCancelled = outcomeOf(run.Cancelled)
	outcomeNotSent   = outcomeOf(run.NotSent)
)

func outcomeOf(name string) uint8 { return uint8(slices.Index(run.Outcomes[:], name)) }

// sources lists the token sources as counted, "" for none.
var sources = [...]string{run.UsageChunks, run.Usage, run.Tokenizer, run.Events, ""}

const (
	sourceEvents = 3
	sourceNone   = 4
)

// Limits of believable values. A value beyond them is damage, and arithmetic could
// overflow.
const (
	maxTime   = 1 << 60 // ns, 36 years
	maxTokens = 1 << 24 // of one request
	maxCount  = 1 << 53 // of anything else
	maxSpan   = 100 * 24 * 3600
)

// MaxSpanNS is the longest load, and the longest window, in ns: the time that a
// fold takes grows with both.
const MaxSpanNS = maxSpan * second

// take copies a row into r. place names the stream in errors.
func (f *fold) take(r *rec, q *run.Request, place string, part int) error {
	bad := func(what, got, want string) error {
		return &formats.SyntaxError{Place: fmt.Sprintf("%s: request %d", place, q.RequestID), What: what, Got: got, Want: want}
	}
	times := [...]*formats.Int{&q.ScheduledNS, &q.DueNS, &q.PreparedNS, &q.DispatchedNS, &q.ConnAskedNS, &q.ConnReadyNS, &q.DNSNS, &q.ConnectNS,
		&q.TLSNS, &q.WriteDoneNS, &q.FirstByteKernelNS, &q.FirstByteNS, &q.FirstEventNS, &q.FirstTokenKernelNS, &q.FirstTokenNS,
		&q.FirstAnswerKernelNS, &q.FirstAnswerNS, &q.LastTokenKernelNS, &q.LastTokenNS, &q.EndNS}
	for i, t := range times {
		if !t.Valid {
			continue
		}
		if t.V < -maxTime || t.V > maxTime {
			return bad(timeNames[i], t.String(), "a time within 36 years of the epoch")
		}
		if i < unhappened {
			continue
		}
		if t.V < -clockSlack {
			return bad(timeNames[i], t.String(), "a time from the epoch on")
		}
		if t.V > f.latest.at {
			f.latest = latest{t.V, q.RequestID, timeNames[i]}
		}
	}
	if q.Turn < 0 || q.Turn > maxCount {
		return bad("turn", fmt.Sprint(q.Turn), fmt.Sprintf("a count from 0 to %d", int64(maxCount)))
	}
	counts := [...]*formats.Int{&q.PlannedInputTokens, &q.PlannedOutputTokens, &q.ExpectedCachedTokens, &q.InputTokens, &q.OutputTokens,
		&q.ReasoningTokens, &q.CachedTokens, &q.FirstChunkTokens, &q.TokenEvents, &q.Worker, &q.BytesSent, &q.Reads, &q.MultiEventReads,
		&q.CapWaitNS, &q.SegmentsIn, &q.Retransmits}
	for i, c := range counts {
		if c.Valid && uint64(c.V) > uint64(countLimits[i].most) {
			return bad(countLimits[i].name, c.String(), fmt.Sprintf("a count from 0 to %d", countLimits[i].most))
		}
	}
	outcome := int(outcomeOK)
	if q.Outcome != run.OK {
		outcome = slices.Index(run.Outcomes[:], q.Outcome)
	}
	if outcome < 0 {
		return bad("outcome", q.Outcome, "one of those of version 1")
	}
	source := slices.Index(sources[:], q.TokenSource)
	if source < 0 {
		return bad("token_source", q.TokenSource, "one of those of version 1")
	}
	if err := f.lists.take(q); err != nil {
		return bad(err.What, err.Got, err.Want)
	}
	*r = rec{id: q.RequestID, turn: q.Turn,
		scheduled: pack(q.ScheduledNS), due: pack(q.DueNS), prepared: pack(q.PreparedNS), dispatched: pack(q.DispatchedNS),
		asked: pack(q.ConnAskedNS), ready: pack(q.ConnReadyNS), dns: pack(q.DNSNS), connect: pack(q.ConnectNS), tls: pack(q.TLSNS),
		wrote: pack(q.WriteDoneNS), firstByteKernel: pack(q.FirstByteKernelNS), firstByte: pack(q.FirstByteNS),
		firstKernel: pack(q.FirstTokenKernelNS), first: pack(q.FirstTokenNS), answerKernel: pack(q.FirstAnswerKernelNS),
		answer: pack(q.FirstAnswerNS), lastKernel: pack(q.LastTokenKernelNS), last: pack(q.LastTokenNS), end: pack(q.EndNS),
		plannedIn: pack(q.PlannedInputTokens), plannedOut: pack(q.PlannedOutputTokens), expected: pack(q.ExpectedCachedTokens), capWait: pack(q.CapWaitNS),
		in: pack(q.InputTokens), out: pack(q.OutputTokens), reasoning: pack(q.ReasoningTokens), cached: pack(q.CachedTokens),
		firstChunk: pack(q.FirstChunkTokens), tokens: pack(q.TokenEvents),
		sent: pack(q.BytesSent), reads: pack(q.Reads), multi: pack(q.MultiEventReads), segments: pack(q.SegmentsIn),
		retransmits: pack(q.Retransmits), part: int64(part), worker: q.Worker.Or(-1),
		session: f.textOf(cSession, q.Session), class: f.textOf(cClass, q.Class), model: f.textOf(cModel, q.Model), addr: f.textOf(cAddr, q.RemoteAddr),
		outcome: uint8(outcome), source: uint8(source), reused: int8(q.ConnReused.Or(-1)),
		local: strings.HasPrefix(q.Error, run.LocalPrefix), early: q.EarlyResponse.Or(0) == 1,
		after: null, afterN: int64(len(q.After)), fluidity: -1}
	switch len(q.After) {
	case 0:
	case 1:
		r.after, f.dependent = q.After[0], true
	default:
		r.after = int64(len(f.after))
		f.after, f.dependent = append(f.after, q.After...), true
	}
	r.gapN, r.gapSum, r.gapP99, r.gapMax = f.gapFigures(&f.lists)
	if f.o.Fluidity != nil {
		r.fluidity = f.o.Fluidity.index(minus(r.first, r.due), either(r.in, r.plannedIn), r.tokens, q)
	}
	return nil
}

// textOf is the number of a text in a column.
func (f *fold) textOf(c int, text string) int64 {
	f.letters = append(f.letters[:0], text...)
	return f.last[c-cSession].index(&f.text, f.letters)
}

// largest returns the kth largest of some values and the largest. k is a hundredth of them:
// the largest so far are kept in order, and few values find a place among them.
func (f *fold) largest(x []int64, k int) (kth, most int64) {
	if k > 64 {
		f.gaps = append(f.gaps[:0], x...)
		slices.Sort(f.gaps)
		return f.gaps[len(x)-k], f.gaps[len(x)-1]
	}
	top := append(f.gaps[:0], x[:k]...) // from the smallest up
	slices.Sort(top)
	for _, v := range x[k:] {
		if v <= top[0] {
			continue
		}
		i := 1
		for ; i < k && top[i] < v; i++ {
			top[i-1] = top[i]
		}
		top[i-1] = v
	}
	f.gaps = top
	return top[0], top[k-1]
}

// predecessors are the ids of the n requests that had to end before a row; one alone is put
// into the scratch.
func (f *fold) predecessors(after, n int64, scratch *[1]int64) []int64 {
	if n == 1 {
		scratch[0] = after
		return scratch[:]
	}
	return f.after[max(0, after):][:n]
}

// unhappened is how many times of a row come before those that happened in the run:
// what was planned may lie behind its end, a body may be ready before its start.
const unhappened = 3

// latest is the latest stamp of what happened in a part.
type latest struct {
	at, id int64
	name   string
}

func (l *latest) see(at, id int64, name string) {
	if at > l.at {
		*l = latest{at, id, name}
	}
}

// clockSlack is how far a stamp may lie outside of its run, ns. Columns on another
// origin, such as Unix time or the start of the host, are further off.
const clockSlack = second

// timeNames are the columns of the times of a row, in the order in which take looks at them.
var timeNames = [...]string{"scheduled_ns", "due_ns", "prepared_ns", "dispatched_ns", "conn_asked_ns", "conn_ready_ns", "dns_ns", "connect_ns",
	"tls_ns", "write_done_ns", "first_byte_kernel_ns", "first_byte_ns", "first_event_ns", "first_token_kernel_ns", "first_token_ns",
	"first_answer_kernel_ns", "first_answer_ns", "last_token_kernel_ns", "last_token_ns", "end_ns"}

// countLimits are those of its counts, and what each is at most.
var countLimits = [...]struct {
	name string
	most int64
}{{"planned_input_tokens", maxTokens}, {"planned_output_tokens", maxTokens}, {"expected_cached_tokens", maxTokens}, {"input_tokens", maxTokens},
	{"output_tokens", maxTokens}, {"reasoning_tokens", maxTokens}, {"cached_tokens", maxTokens}, {"first_chunk_tokens", maxTokens},
	{"token_events", maxTokens}, {"worker", 1 << 30}, {"bytes_sent", maxCount}, {"reads", maxCount}, {"multi_event_reads", maxCount},
	{"cap_wait_ns", maxTime}, {"segments_in", maxCount}, {"retransmits", maxCount}}

type countField struct {
	name string
	v    formats.Int
	most int64
}

// roundDiv returns a·b/c rounded half up for c > 0, saturating: the product is
// taken in 128 bits.
func roundDiv(a, b, c int64) int64 {
	negative := (a < 0) != (b < 0)
	hi, lo := bits.Mul64(uint64(max(a, -a)), uint64(max(b, -b)))
	if hi >= uint64(c) {
		if negative {
			return -maxTime
		}
		return maxTime
	}
	q, r := bits.Div64(hi, lo, uint64(c))
	if q > maxTime {
		q, r = maxTime, 0
	}
	if negative {
		// Half up: −2.5 becomes −2.
		if r > uint64(c)/2 {
			return -int64(q) - 1
		}
		return -int64(q)
	}
	if r >= uint64(c)-r {
		q++
	}
	return int64(q)
}
