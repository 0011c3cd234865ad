package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A signal ends the wait for whoever is to read the run.
func TestASignalEndsTheWaitForAReader(t *testing.T) {
	dir, err := os.MkdirTemp("", "z") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "s")
	p := start(t, nil, planFile(t, longPlan()), "--null", "--workers", "1", "-o", "zmq+ipc://"+socket+"?bind", "--timeout", "90s")
	until(t, "the wait for a reader", func() bool { _, err := os.Stat(socket); return err == nil })
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status := p.end(); status != 130 || !strings.HasSuffix(p.said(), "interrupted\n") {
		t.Errorf("status %d; want 130\n%s", status, p.said())
	}
}
