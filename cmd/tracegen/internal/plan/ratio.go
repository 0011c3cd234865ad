package plan

import (
	"fmt"
	"math/bits"
	"strings"
)

// Ratio is a positive number given as a decimal, exact as P/Q.
type Ratio struct{ P, Q uint64 }

// One changes nothing. The zero Ratio means the same.
var one = Ratio{1, 1}

// ParseRatio reads a positive decimal number of at most 18 digits, zeros in front not
// counted.
func ParseRatio(text string) (Ratio, error) {
	bad := fmt.Errorf("got %q, want a decimal number above 0 of at most 18 digits, such as 2 or 1.5", text)
	whole, fraction, point := strings.Cut(text, ".")
	if whole == "" || point && fraction == "" || len(strings.TrimLeft(whole, "0"))+len(fraction) > 18 {
		return Ratio{}, bad
	}
	r := Ratio{0, 1}
	for _, ch := range whole + fraction {
		if ch < '0' || ch > '9' {
			return Ratio{}, bad
		}
		r.P = r.P*10 + uint64(ch-'0')
	}
	if r.P == 0 {
		return Ratio{}, bad
	}
	for range fraction {
		r.Q *= 10
	}
	a, b := r.P, r.Q
	for b > 0 {
		a, b = b, a%b
	}
	return Ratio{r.P / a, r.Q / a}, nil
}

// IsOne reports whether dividing by r changes nothing.
func (r Ratio) IsOne() bool { return r == Ratio{} || r == one }

// of64 returns floor(r × 2^64) for r up to 1; all is true when that is 2^64.
func (r Ratio) of64() (v uint64, all bool) {
	if r.IsOne() {
		return 0, true
	}
	v, _ = bits.Div64(r.P, 0, r.Q)
	return v, false
}

// ParseShare reads a ratio of at most 1.
func ParseShare(text string) (Ratio, error) {
	r, err := ParseRatio(text)
	if err != nil || r.P > r.Q {
		return Ratio{}, fmt.Errorf("got %q, want a decimal number above 0 and up to 1, such as 0.1", text)
	}
	return r, nil
}

// Divide returns floor(x / r) for x ≥ 0, through a product of 128 bits; ok is false
// when that is beyond an int64.
func (r Ratio) Divide(x int64) (v int64, ok bool) {
	if r.IsOne() {
		return x, true
	}
	hi, lo := bits.Mul64(uint64(x), r.Q)
	if hi >= r.P {
		return 0, false
	}
	quo, _ := bits.Div64(hi, lo, r.P)
	return int64(quo), quo <= 1<<63-1
}

// String prints the ratio as the shortest decimal.
func (r Ratio) String() string {
	if r == (Ratio{}) {
		return "1"
	}
	p, q, digits := r.P, r.Q, 0
	for q > 1 { // Q divides a power of ten
		p, digits = p*10, digits+1
		g := q
		for b := p; b > 0; {
			g, b = b, g%b
		}
		p, q = p/g, q/g
	}
	s := fmt.Sprintf("%0*d", digits+1, p)
	if digits == 0 {
		return s
	}
	return s[:len(s)-digits] + "." + s[len(s)-digits:]
}
