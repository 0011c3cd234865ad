package traces

import "strings"

// isoTime reads a date and time of ISO 8601, with T or a space between the two and an
// optional Z or offset behind them, and returns ns since 1970, rounded once to 100 ns.
// Without an offset it is UTC.
func isoTime(text string) (ns int64, ok bool) {
	if len(text) > 10 && (text[10] == 'T' || text[10] == 't') {
		text = text[:10] + " " + text[11:]
	}
	switch n := len(text); {
	case strings.HasSuffix(text, "Z"), strings.HasSuffix(text, "z"):
		text = text[:n-1]
	case n > 19 && strings.ContainsRune("+-", rune(text[n-5])) && text[n-3] != ':': // +0100
		text = text[:n-2] + ":" + text[n-2:]
	}
	return wallClock(text)
}

// Where numbers of seconds, ms, us and ns since 1970 part: the limits are the year 5138
// in the smaller unit and 1973 in the larger.
const (
	leastMS = 1e11
	leastUS = 1e14
	leastNS = 1e17
)

// epochTime reads a number as a time, in a unit that follows from its size: seconds
// below 10^11, then ms, us and ns. It returns ns, rounded once to 1 us.
func epochTime(text []byte) (ns int64, ok bool) {
	d := parseDecimal(text)
	if d.neg && len(d.digits) > 0 {
		return 0, false
	}
	v, _, ok := d.scaled(0)
	if !ok {
		return 0, false
	}
	shift := 6 // to us
	switch {
	case v >= leastNS:
		shift = -3
	case v >= leastUS:
		shift = 0
	case v >= leastMS:
		shift = 3
	}
	us, _, ok := parseDecimal(text).scaled(shift)
	return us * 1000, ok && us <= maxUS
}

// maxUS is the latest time, us.
const maxUS = (1<<63 - 1) / 1000

// clockZero is the least time, ns, that is one since 1970 and not one since the start
// of a recording: 1973.
const clockZero = 1e8 * 1_000_000_000
