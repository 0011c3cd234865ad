package drive

import (
	"fmt"
	"strings"
	"testing"
)

// A Go process names the reason of its death first, and then every goroutine.
func TestWhatADyingProcessSaid(t *testing.T) {
	var trace strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&trace, "goroutine %d [select]:\nmain.f()\n", i)
	}
	for said, want := range map[string]string{
		"":                                   "",
		"warming up\nout of luck\n\n":        "out of luck",
		"panic: broken\n\n" + trace.String(): "panic: broken",
		"fatal error: all goroutines are asleep - deadlock!\n\n" + trace.String(): "fatal error: all goroutines are asleep - deadlock!",
		"SIGQUIT: quit\nPC=0x1\n" + trace.String() + "gs     0x0\n":               "SIGQUIT: quit",
		trace.String() + "panic: late\n":                                          "panic: late",
		trace.String() + "the end\n":                                              "the end",
	} {
		var v tail
		for b := []byte(said); len(b) > 0; {
			n := min(len(b), 777)
			v.Write(b[:n])
			b = b[n:]
		}
		if got := v.String(); got != want {
			t.Errorf("said %.40q…: got %q; want %q", said, got, want)
		}
		if n := len(v.head) + len(v.b); n > 2*tailBytes {
			t.Errorf("keeps %d bytes", n)
		}
	}
}
