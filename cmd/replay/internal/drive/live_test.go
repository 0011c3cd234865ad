package drive

import "testing"

// The instants of a long plan are not kept: neither when nobody asks for the progress
// nor when they pass while lines come.
func TestPlannedInstantsPass(t *testing.T) {
	const ahead, lines = 100, 100_000
	var l live
	for i := range int64(lines) {
		l.planned(i, i-ahead)
		if len(l.dues) > ahead {
			t.Fatalf("%d instants are kept after %d lines; want at most %d", len(l.dues), i, ahead)
		}
	}
	if c := cap(l.dues); c > 4*ahead {
		t.Errorf("room for %d instants; want some %d", c, ahead)
	}
	l.pass(lines)
	if l.due != lines || l.span != lines-1 || len(l.dues) != 0 {
		t.Errorf("due %d, span %d, kept %d; want all", l.due, l.span, len(l.dues))
	}
}
