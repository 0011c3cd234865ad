package host

import "testing"

func TestGrantableAsksOnAThreadOfItsOwn(t *testing.T) {
	before := niceness()
	if got := Grantable(19); got != 19 {
		t.Errorf("Grantable(19) = %d; want 19: lowering the priority is always allowed", got)
	}
	if now := niceness(); now != before {
		t.Errorf("niceness = %d after asking; want %d as before", now, before)
	}
	if got := Grantable(-5); got != -5 && got != before {
		t.Errorf("Grantable(-5) = %d; want -5, or %d where it is not allowed", got, before)
	}
}
