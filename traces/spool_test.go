package traces

import (
	"bytes"
	"fmt"
	"testing"
)

// Parts come back whole in any order, from memory and from the file.
func TestSpool(t *testing.T) {
	for _, limit := range []int{1, 100, 1 << 20} {
		s := newSpool()
		s.limit = limit
		part := func(i int) []byte { return bytes.Repeat([]byte(fmt.Sprint(i)), i%7) }
		for i := range 60 {
			if err := s.add(part(i)); err != nil {
				t.Fatal(err)
			}
		}
		var buf []byte
		for k := range 60 {
			i := k * 37 % 60
			b, err := s.get(i, buf)
			if err != nil || !bytes.Equal(b, part(i)) {
				t.Errorf("limit %d: part %d = %q, %v; want %q", limit, i, b, err, part(i))
			}
			buf = b
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	}
}
