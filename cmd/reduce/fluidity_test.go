package main

import (
	"testing"

	"hydrant/internal/fold"
)

func TestFluidityFlag(t *testing.T) {
	const ms = 1_000_000
	for s, want := range map[string]fold.Fluidity{"500ms:50ms": {FirstNS: 500 * ms, GapNS: 50 * ms}, "1s+20us:1ms": {FirstNS: 1000 * ms, PerInputNS: 20_000, GapNS: ms}} {
		if got, err := parseFluidity(s); err != nil || *got != want {
			t.Errorf("%s: %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "500ms", "500ms:", ":50ms", "0s:50ms", "500ms:0s", "500ms:-1ms", "500ms+:50ms", "500ms+0s:50ms", "2h:50ms", "a:b"} {
		if _, err := parseFluidity(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}
