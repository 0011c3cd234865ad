package traces

import "math"

// decimal is a number as its text says it: 0.d₁d₂d₃… × 10^exp.
type decimal struct {
	neg    bool
	digits []byte // no zeros in front; may alias the text
	exp    int
}

// maxExp is where an exponent is as good as infinite: no int64 has 100 digits.
const maxExp = 1 << 20

// parseDecimal reads a number of the JSON grammar.
func parseDecimal(text []byte) (d decimal) {
	if len(text) > 0 && text[0] == '-' {
		d.neg = true
		text = text[1:]
	}
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	d.digits, d.exp = text[:n:n], n
	text = text[n:]
	if len(text) > 0 && text[0] == '.' {
		n = 1
		for n < len(text) && text[n] >= '0' && text[n] <= '9' {
			n++
		}
		d.digits = append(d.digits, text[1:n]...)
		text = text[n:]
	}
	if len(text) > 1 { // e, sign, digits
		text = text[1:]
		neg := text[0] == '-'
		if neg || text[0] == '+' {
			text = text[1:]
		}
		e := 0
		for _, ch := range text {
			e = min(e*10+int(ch-'0'), maxExp)
		}
		if neg {
			e = -e
		}
		d.exp += e
	}
	for len(d.digits) > 0 && d.digits[0] == '0' {
		d.digits = d.digits[1:]
		d.exp--
	}
	for len(d.digits) > 0 && d.digits[len(d.digits)-1] == '0' {
		d.digits = d.digits[:len(d.digits)-1]
	}
	return d
}

// scaled returns d × 10^shift rounded half away from zero, and whether that is exact;
// ok is false when it is beyond an int64.
func (d decimal) scaled(shift int) (v int64, exact, ok bool) {
	if len(d.digits) == 0 {
		return 0, true, true
	}
	n := d.exp + shift // digits before the point
	if n > 19 {
		return 0, false, false
	}
	var u uint64
	for i := range max(n, 0) {
		digit := uint64(0)
		if i < len(d.digits) {
			digit = uint64(d.digits[i] - '0')
		}
		u = u*10 + digit // at most 19 digits: below 2^64
	}
	exact = n >= len(d.digits)
	if n >= 0 && n < len(d.digits) && d.digits[n] >= '5' {
		u++
	}
	if u > math.MaxInt64 {
		return 0, false, false
	}
	if d.neg {
		return -int64(u), exact, true
	}
	return int64(u), exact, true
}

// whole reads a whole number from its text; 12.0 is 12, 12.5 is none.
func whole(text []byte) (v int64, ok bool) {
	if len(text) <= 18 {
		plain := true
		for _, ch := range text {
			if ch < '0' || ch > '9' {
				plain = false
				break
			}
			v = v*10 + int64(ch-'0')
		}
		if plain {
			return v, len(text) > 0
		}
	}
	v, exact, ok := parseDecimal(text).scaled(0)
	return v, exact && ok
}

// isDecimal reports whether text is a number of the JSON grammar, which has no NaN, no
// infinity and no sign or zero in front. Text from outside JSON is checked with it
// before it is parsed.
func isDecimal(text []byte) bool {
	digits := func() bool {
		n := 0
		for n < len(text) && text[n] >= '0' && text[n] <= '9' {
			n++
		}
		ok := n > 0
		text = text[n:]
		return ok
	}
	if len(text) > 0 && text[0] == '-' {
		text = text[1:]
	}
	if len(text) > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9' || !digits() {
		return false
	}
	if len(text) > 0 && text[0] == '.' {
		if text = text[1:]; !digits() {
			return false
		}
	}
	if len(text) > 0 && text[0]|0x20 == 'e' {
		if text = text[1:]; len(text) > 0 && (text[0] == '+' || text[0] == '-') {
			text = text[1:]
		}
		return digits() && len(text) == 0
	}
	return len(text) == 0
}

// grain is the finest step of a time that is kept: how many decimal digits of a
// second, and how many ns the last of them is worth.
type grain struct {
	digits int
	ns     int64
}

// Grains of traces in seconds.
var (
	wholeSeconds = grain{0, 1_000_000_000}
	grainMS      = grain{3, 1_000_000}
	grainUS      = grain{6, 1_000}
	grain100NS   = grain{7, 100}
)

// seconds reads a time in s from its text and returns ns, rounded once to the grain,
// half away from zero.
func seconds(text []byte, g grain) (ns int64, ok bool) {
	v, _, ok := parseDecimal(text).scaled(g.digits)
	if !ok || v > math.MaxInt64/g.ns || v < math.MinInt64/g.ns {
		return 0, false
	}
	return v * g.ns, true
}

// milliseconds reads a time in ms from its text and returns ns, rounded once to whole
// microseconds, half away from zero.
func milliseconds(text []byte) (ns int64, ok bool) {
	us, _, ok := parseDecimal(text).scaled(3)
	if us > math.MaxInt64/1000 || us < math.MinInt64/1000 {
		return 0, false
	}
	return us * 1000, ok
}

// later adds a wait to a time, capped.
func later(t, wait int64) int64 {
	if t > math.MaxInt64-wait {
		return math.MaxInt64
	}
	return t + wait
}
