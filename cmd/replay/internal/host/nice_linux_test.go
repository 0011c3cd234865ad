package host

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

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

// A thread that wakes must not wait for the slice of another to end. Kernels that know no
// slices of a thread's own keep what they had.
func TestSetNiceAsksForAShortSlice(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetAttr(0, before, 0)
	nice := niceness()
	if err := SetNice(nice); err != nil {
		t.Fatal(err)
	}
	after, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if after.Runtime != shortSlice && after.Runtime != before.Runtime || niceness() != nice || after.Policy != before.Policy {
		t.Errorf("slice %d ns, niceness %d, policy %d; want %d ns or as before, %d, %d", after.Runtime, niceness(), after.Policy, shortSlice, nice, before.Policy)
	}
}
