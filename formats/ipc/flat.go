package ipc

import "encoding/binary"

// flat reads a flatbuffer without trusting it: every access is checked against
// the bytes, and one that leaves them sets bad and yields 0. A walk therefore
// checks bad once, at its end.
//
// Note: the flatbuffers runtime indexes without checks and panics on damage, and
// its vector lengths size allocations before anything was compared with them.
type flat struct {
	b   []byte
	bad bool
}

func (f *flat) has(p, n int) bool {
	if p < 0 || n < 0 || p > len(f.b)-n {
		f.bad = true
		return false
	}
	return true
}

func (f *flat) u8(p int) uint8 {
	if !f.has(p, 1) {
		return 0
	}
	return f.b[p]
}

func (f *flat) u16(p int) uint16 {
	if !f.has(p, 2) {
		return 0
	}
	return binary.LittleEndian.Uint16(f.b[p:])
}

func (f *flat) u32(p int) uint32 {
	if !f.has(p, 4) {
		return 0
	}
	return binary.LittleEndian.Uint32(f.b[p:])
}

func (f *flat) i64(p int) int64 {
	if !f.has(p, 8) {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(f.b[p:]))
}

// ref follows the unsigned offset stored at p.
func (f *flat) ref(p int) int {
	o := f.u32(p)
	if int64(p)+int64(o) > int64(len(f.b)) {
		f.bad = true
		return 0
	}
	return p + int(o)
}

// slot returns the position of field i of the table at t, 0 when it is absent.
func (f *flat) slot(t, i int) int {
	vt := t - int(int32(f.u32(t)))
	off := 4 + 2*i
	if off+2 > int(f.u16(vt)) {
		return 0
	}
	o := f.u16(vt + off)
	if o == 0 || f.bad {
		return 0
	}
	return t + int(o)
}

// child follows field i of the table at t to another table; 0 when absent.
func (f *flat) child(t, i int) int {
	p := f.slot(t, i)
	if p == 0 {
		return 0
	}
	return f.ref(p)
}

// vector returns where the elements of field i of table t start and how many
// there are, at size bytes each; 0, 0 when absent.
func (f *flat) vector(t, i, size int) (start, n int) {
	p := f.child(t, i)
	if p == 0 {
		return 0, 0
	}
	n = int(f.u32(p))
	if n > len(f.b)/size || !f.has(p+4, n*size) {
		f.bad = true
		return 0, 0
	}
	return p + 4, n
}

// text returns string field i of table t, "" when absent.
func (f *flat) text(t, i int) string {
	p, n := f.vector(t, i, 1)
	if f.bad || n == 0 {
		return ""
	}
	return string(f.b[p : p+n])
}
