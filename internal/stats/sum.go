package stats

import (
	"math"
	"math/big"
	"math/bits"
)

// Sum is a 128-bit signed integer that only grows by additions: the exact total
// of any number of int64 values or of their squares, whatever the order. The zero
// value is 0.
type Sum struct {
	hi uint64 // two's complement, high half
	lo uint64
}

// Add adds v.
func (s *Sum) Add(v int64) { s.add(uint64(v>>63), uint64(v)) }

// AddProduct adds a·b exactly.
func (s *Sum) AddProduct(a, b int64) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	if (a < 0) != (b < 0) {
		lo = ^lo
		hi = ^hi
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	s.add(hi, lo)
}

// AddSum adds another total.
func (s *Sum) AddSum(o Sum) { s.add(o.hi, o.lo) }

func (s *Sum) add(hi, lo uint64) {
	var carry uint64
	s.lo, carry = bits.Add64(s.lo, lo, 0)
	s.hi, _ = bits.Add64(s.hi, hi, carry)
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// Big returns the total as a big integer.
func (s Sum) Big() *big.Int {
	b := new(big.Int).SetInt64(int64(s.hi))
	b.Lsh(b, 64)
	return b.Add(b, new(big.Int).SetUint64(s.lo))
}

// String returns the total in decimal.
func (s Sum) String() string { return s.Big().String() }

// ParseSum reads what String wrote; false for anything else, and beyond 128 bits.
func ParseSum(text string) (s Sum, ok bool) {
	b, ok := new(big.Int), len(text) <= 40
	if ok {
		_, ok = b.SetString(text, 10)
	}
	if !ok || b.BitLen() > 127 {
		return s, false
	}
	low := new(big.Int).And(b, new(big.Int).SetUint64(math.MaxUint64)) // of two's complement, as And has it
	s.lo = low.Uint64()
	s.hi = uint64(new(big.Int).Rsh(b, 64).Int64())
	return s, true
}

// Float returns the total rounded once.
func (s Sum) Float() float64 {
	f, _ := new(big.Float).SetInt(s.Big()).Float64()
	return f
}

// Over returns s/d, rounded once at the end, or NaN for d = 0.
func (s Sum) Over(d Sum) float64 {
	b := d.Big()
	if b.Sign() == 0 {
		return math.NaN()
	}
	f, _ := new(big.Rat).SetFrac(s.Big(), b).Float64()
	return f
}

// OverInt returns s/d, rounded once at the end, or NaN for d = 0.
func (s Sum) OverInt(d int64) float64 {
	var t Sum
	t.Add(d)
	return s.Over(t)
}

// Moments collects count, exact sum and exact sum of squares of int64 values, and
// their extremes. The zero value is empty.
type Moments struct {
	N        int64
	Sum      Sum
	Squares  Sum
	Min, Max int64 // meaningful for N > 0
}

// Add takes in one value.
func (m *Moments) Add(v int64) { m.AddN(v, 1) }

// AddN takes in n equal values.
func (m *Moments) AddN(v, n int64) {
	if n <= 0 {
		return
	}
	if m.N == 0 || v < m.Min {
		m.Min = v
	}
	if m.N == 0 || v > m.Max {
		m.Max = v
	}
	m.N += n
	m.Sum.AddProduct(v, n)
	hi, lo := bits.Mul64(magnitude(v), magnitude(v))
	over, low := bits.Mul64(lo, uint64(n))
	m.Squares.add(hi*uint64(n)+over, low)
}

// AddAll takes in values.
func (m *Moments) AddAll(x []int64) {
	if len(x) == 0 {
		return
	}
	if m.N == 0 {
		m.Min, m.Max = x[0], x[0]
	}
	m.N += int64(len(x))
	var sum, squares Sum
	least, most := m.Min, m.Max
	for _, v := range x {
		least, most = min(least, v), max(most, v)
		sum.Add(v)
		hi, lo := bits.Mul64(magnitude(v), magnitude(v))
		squares.add(hi, lo)
	}
	m.Min, m.Max = least, most
	m.Sum.AddSum(sum)
	m.Squares.AddSum(squares)
}

// AddBelow takes in the values that lie below a limit.
func (m *Moments) AddBelow(x []int64, limit int64) {
	for len(x) > 0 {
		n := 0
		for n < len(x) && x[n] < limit {
			n++
		}
		m.AddAll(x[:n])
		for n < len(x) && x[n] >= limit {
			n++
		}
		x = x[n:]
	}
}

// Mean returns the mean, NaN when empty.
func (m *Moments) Mean() float64 {
	if m.N == 0 {
		return math.NaN()
	}
	return m.Sum.OverInt(m.N)
}

// Std returns the sample standard deviation (n−1), NaN for fewer than two values.
// The variance is one exact fraction, so that no digits cancel.
func (m *Moments) Std() float64 {
	if m.N < 2 {
		return math.NaN()
	}
	n := big.NewInt(m.N)
	top := new(big.Int).Mul(n, m.Squares.Big())
	s := m.Sum.Big()
	top.Sub(top, s.Mul(s, s))
	bottom := new(big.Int).Mul(n, big.NewInt(m.N-1))
	f, _ := new(big.Rat).SetFrac(top, bottom).Float64()
	return math.Sqrt(f)
}

// Merge takes in the values that o took in.
func (m *Moments) Merge(o *Moments) {
	if o.N == 0 {
		return
	}
	if m.N == 0 {
		m.Min, m.Max = o.Min, o.Max
	}
	m.N += o.N
	m.Min, m.Max = min(m.Min, o.Min), max(m.Max, o.Max)
	m.Sum.AddSum(o.Sum)
	m.Squares.AddSum(o.Squares)
}
