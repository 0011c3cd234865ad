package ipc

import "slices"

// Cells are the values of one column of a batch, of the rows not handed out yet. They are
// valid until the next batch is loaded.
type Cells struct {
	v    *values // nil: the stream lacks the column
	from int
}

// Left returns how many rows of the batch have not been handed out.
func (d *Decoder[T]) Left() int { return d.rows - d.next }

// Pass hands out n rows unseen, of those that are left.
func (d *Decoder[T]) Pass(n int) { d.next += n }

// Cells returns a column by its place among those of the decoder. It may be asked for by
// those that know its type.
func (d *Decoder[T]) Cells(i int) Cells {
	if d.at[i] < 0 || d.skipped[i] {
		return Cells{}
	}
	return Cells{&d.vals[i], d.next}
}

// AllNull says that no row of the batch has a value.
func (c Cells) AllNull() bool { return c.v == nil || c.v.valid != nil && c.v.none == c.v.n }

// Ints copies the next numbers to out, with null in place of those that are, and returns how
// many these are.
func (c Cells) Ints(out []int64, null int64) (nulls int) {
	if c.AllNull() {
		for i := range out {
			out[i] = null
		}
		return len(out)
	}
	copy(out, c.v.i64[c.from:])
	if c.v.valid == nil {
		return 0
	}
	for i := 0; i < len(out); i += 8 {
		eight := eightBits(c.v.valid, c.from+i)
		if eight == 0xff {
			continue
		}
		for k := range min(8, len(out)-i) {
			if eight>>k&1 == 0 {
				out[i+k] = null
				nulls++
			}
		}
	}
	return nulls
}

// eightBits returns bits i to i+7 of a bitmap, 0 for those behind its end.
func eightBits(b []byte, i int) byte {
	k, s := i>>3, i&7
	x := b[k] >> s
	if s > 0 && k+1 < len(b) {
		x |= b[k+1] << (8 - s)
	}
	return x
}

// Null says whether the ith of the next rows has no value.
func (c Cells) Null(i int) bool {
	return c.v == nil || c.v.valid != nil && !bit(c.v.valid, c.from+i)
}

// Bool returns the value of the ith of the next rows; one that is null has any.
func (c Cells) Bool(i int) bool { return bit(c.v.bits, c.from+i) }

// Text returns the text of the ith of the next rows, empty where it is null.
func (c Cells) Text(i int) []byte {
	if c.Null(i) {
		return nil
	}
	return c.v.text[c.v.off[c.from+i]:c.v.off[c.from+i+1]]
}

// List returns the numbers of the ith of the next rows, none where it is null. It is for
// lists whose items are never null.
func (c Cells) List(i int) []int64 {
	if c.Null(i) {
		return nil
	}
	return c.v.i64[c.v.off[c.from+i]:c.v.off[c.from+i+1]]
}

// Empty says that the lists of the next n rows hold nothing, be they there or not.
func (c Cells) Empty(n int) bool {
	return c.AllNull() || c.v.off[c.from] == c.v.off[c.from+n]
}

// Numbers returns the list of the ith of the next rows, none where it is null, with null in place
// of the items that are, and how many these are. It lies in the batch, or in scratch, which comes
// back as long as that took.
func (c Cells) Numbers(i int, scratch []int64, null int64) (list, _ []int64, nulls int) {
	if c.Null(i) {
		return nil, scratch, 0
	}
	from, to := int(c.v.off[c.from+i]), int(c.v.off[c.from+i+1])
	if c.v.items == nil && c.v.typ == ListInt64 {
		return c.v.i64[from:to:to], scratch, 0
	}
	scratch = slices.Grow(scratch[:0], to-from)[:to-from]
	if c.v.typ == ListInt64 {
		copy(scratch, c.v.i64[from:to])
	} else {
		for k, v := range c.v.i32[from:to] {
			scratch[k] = int64(v)
		}
	}
	if c.v.items != nil {
		for k := range scratch {
			if !bit(c.v.items, from+k) {
				scratch[k] = null
				nulls++
			}
		}
	}
	return scratch, scratch, nulls
}
