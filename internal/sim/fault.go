package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// FaultKind describes one switch of failure injection.
type FaultKind struct {
	Key     string // the key in the spec
	Arg     string // what stands before the choice: "", "status", "duration", "bytes"
	Outcome string // outcome of a replay row that meets it (DESIGN 4.2)
	Meaning string
}

// FaultKinds lists every switch. The middle of an answer is after half of its
// token events, rounded up.
var FaultKinds = [...]FaultKind{
	{"fail", "status", "http_error", "answers at once with this status and a JSON error body"},
	{"error_body", "", "stream_error", "answers 200 with a JSON error object instead of a stream"},
	{"error_first", "", "stream_error", "answers 200, an error object as the first event, then `[DONE]`"},
	{"error_mid", "", "stream_error", "sends an error object in the middle, then `[DONE]`"},
	{"garbage", "", "malformed", "sends an event that is not JSON in the middle, then goes on"},
	{"after_done", "", "malformed", "sends one more token event after `[DONE]`"},
	{"flood", "bytes", "malformed", "sends this many bytes without a line end in the middle, then closes; a reader that takes a line of so many bytes (replay: up to 16 MiB) sees the answer end too soon instead, `truncated`"},
	{"cut", "", "truncated", "closes the connection in the middle, between two events"},
	{"cut_event", "", "truncated", "closes the connection in the middle, inside an event"},
	{"no_done", "", "truncated", "sends all tokens and a clean end of the body, but neither finish reason nor `[DONE]`"},
	{"reset_mid", "", "truncated", "resets the connection (RST) in the middle"},
	{"empty", "", "empty", "answers 200 with an empty body"},
	{"hold", "duration", "timeout_first_byte", "sends nothing, not even headers, before this time after the request; what is due later is on time"},
	{"stall_first", "duration", "timeout_first_byte", "sends the headers, then no event before this time after the request"},
	{"hang", "", "timeout_first_byte", "reads the request and never answers"},
	{"stall_mid", "duration", "timeout_idle", "is silent for this long in the middle, then sends what became due meanwhile"},
	{"drip", "duration", "timeout_total", "leaves at least this long between two token events"},
	{"reset", "", "connect_error", "resets the connection (RST) after the request, before any answer"},
	{"refuse", "", "connect_error", "closes the connection as soon as it is accepted; chosen by connection number, from 1"},
}

func faultKind(key string) *FaultKind {
	for i := range FaultKinds {
		if FaultKinds[i].Key == key {
			return &FaultKinds[i]
		}
	}
	return nil
}

// Fault is one rule: what goes wrong, and for which requests.
type Fault struct {
	Kind   string
	Status int           // HTTP status, of fail
	For    time.Duration // of hold, stall_first, stall_mid, drip
	Bytes  int64         // of flood
	Pick   Pick
}

// Pick chooses requests by id, so that the choice depends neither on the order
// of arrival nor on the number of workers. Exactly one field is set.
type Pick struct {
	Share float64    // probability in (0, 1]
	Every int64      // ids divisible by it; an id that is no number is hashed first
	IDs   [][2]int64 // ranges of ids, first and last
}

const pickWant = "a share in (0, 1] with a point (0.05), every:N, or ids:3+7+10-12"

// maxFlood bounds one injected line. It is never held in memory as a whole.
const maxFlood = 1 << 32

func parsePick(s string) (Pick, error) {
	bad := errors.New("want " + pickWant)
	if n, ok := strings.CutPrefix(s, "every:"); ok {
		v, err := strconv.ParseInt(n, 10, 64)
		if err != nil || v < 1 {
			return Pick{}, bad
		}
		return Pick{Every: v}, nil
	}
	if list, ok := strings.CutPrefix(s, "ids:"); ok {
		var p Pick
		for one := range strings.SplitSeq(list, "+") {
			a, b, isRange := strings.Cut(one, "-")
			if !isRange {
				b = a
			}
			first, err1 := strconv.ParseInt(a, 10, 64)
			last, err2 := strconv.ParseInt(b, 10, 64)
			if err1 != nil || err2 != nil || first < 0 || last < first {
				return Pick{}, bad
			}
			p.IDs = append(p.IDs, [2]int64{first, last})
		}
		return p, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !(f > 0 && f <= 1) {
		return Pick{}, bad
	}
	return Pick{Share: f}, nil
}

func (p Pick) String() string {
	switch {
	case p.Every > 0:
		return "every:" + strconv.FormatInt(p.Every, 10)
	case len(p.IDs) > 0:
		var b strings.Builder
		b.WriteString("ids:")
		for i, r := range p.IDs {
			if i > 0 {
				b.WriteByte('+')
			}
			b.WriteString(strconv.FormatInt(r[0], 10))
			if r[1] != r[0] {
				b.WriteString("-" + strconv.FormatInt(r[1], 10))
			}
		}
		return b.String()
	}
	return strconv.FormatFloat(p.Share, 'g', -1, 64)
}

// parseFault reads the value of a fault key: [argument:]choice.
func parseFault(kind *FaultKind, s string) (Fault, error) {
	f := Fault{Kind: kind.Key}
	pick := s
	if kind.Arg != "" {
		arg, rest, ok := strings.Cut(s, ":")
		if !ok {
			return f, fmt.Errorf("want %s:CHOICE, the choice being %s", strings.ToUpper(kind.Arg), pickWant)
		}
		pick = rest
		var err error
		switch kind.Arg {
		case "status":
			f.Status, err = strconv.Atoi(arg)
			if err != nil || f.Status < 300 || f.Status > 599 {
				return f, errors.New("want an HTTP status from 300 to 599 before the choice")
			}
		case "duration":
			f.For, err = time.ParseDuration(arg)
			if err != nil || f.For <= 0 {
				return f, errors.New("want a duration such as 500ms before the choice")
			}
		case "bytes":
			f.Bytes, err = parseBytes(arg)
			if err != nil || f.Bytes < 1 || f.Bytes > maxFlood {
				return f, errors.New("want bytes such as 64MiB, at most 4GiB, before the choice")
			}
		}
	}
	var err error
	f.Pick, err = parsePick(pick)
	return f, err
}

// String is the value that parseFault reads.
func (f Fault) String() string {
	arg := ""
	switch faultKind(f.Kind).Arg {
	case "status":
		arg = strconv.Itoa(f.Status) + ":"
	case "duration":
		arg = f.For.String() + ":"
	case "bytes":
		arg = formatBytes(f.Bytes) + ":"
	}
	return arg + f.Pick.String()
}

// hits reports whether the rule concerns the request (for refuse: the connection).
func (f *Fault) hits(seed int64, id string) bool {
	p := &f.Pick
	switch {
	case p.Every > 0:
		return number(id)%uint64(p.Every) == 0
	case len(p.IDs) > 0:
		n, err := strconv.ParseInt(id, 10, 64)
		return err == nil && slices.ContainsFunc(p.IDs, func(r [2]int64) bool { return r[0] <= n && n <= r[1] })
	}
	// Kind and argument are part of the purpose: adding or moving another rule
	// leaves this rule's choice as it was.
	return uniform(seed, "fault "+f.Kind+" "+strconv.Itoa(f.Status)+f.For.String(), id) < p.Share
}

// number is the id itself, or a hash of one that is no whole number.
func number(id string) uint64 {
	if n, err := strconv.ParseUint(id, 10, 63); err == nil {
		return n
	}
	k := key(0, "id", id)
	var n uint64
	for _, b := range k[:7] {
		n = n<<8 | uint64(b)
	}
	return n
}

// faultFor returns the first rule of the spec that hits the request, or nil.
func (s *Spec) faultFor(id string) *Fault {
	for i := range s.Faults {
		if f := &s.Faults[i]; f.Kind != "refuse" && f.hits(s.Seed, id) {
			return f
		}
	}
	return nil
}

// refuses reports whether connection number n is to be closed on accept.
func (s *Spec) refuses(n int64) bool {
	for i := range s.Faults {
		if f := &s.Faults[i]; f.Kind == "refuse" && f.hits(s.Seed, strconv.FormatInt(n, 10)) {
			return true
		}
	}
	return false
}
