package formats

import (
	"bytes"
	"fmt"
	"strconv"
)

// Int is an int64 that may be null. The zero value is null: in every format
// null means "did not happen" or "not known", and is never the same as 0.
type Int struct {
	V     int64
	Valid bool
}

// Some returns a non-null Int.
func Some(v int64) Int { return Int{V: v, Valid: true} }

// Or returns the value, or d when null.
func (i Int) Or(d int64) int64 {
	if i.Valid {
		return i.V
	}
	return d
}

// Minus returns i − j, null when either is null.
func (i Int) Minus(j Int) Int {
	if !i.Valid || !j.Valid {
		return Int{}
	}
	return Some(i.V - j.V)
}

// String prints the decimal value, or "null".
func (i Int) String() string {
	if !i.Valid {
		return "null"
	}
	return strconv.FormatInt(i.V, 10)
}

// IsZero reports whether i is null, so that `json:",omitzero"` leaves it out.
func (i Int) IsZero() bool { return !i.Valid }

// MarshalJSON writes the value or null.
func (i Int) MarshalJSON() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalJSON reads a JSON integer or null. Floats are refused: an id above
// 2^53 must not lose digits on the way.
func (i *Int) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*i = Int{}
		return nil
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return fmt.Errorf("got %q, want a whole number of 64 bits or null", b)
	}
	*i = Some(v)
	return nil
}
