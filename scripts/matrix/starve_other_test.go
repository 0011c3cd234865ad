//go:build !linux

package matrix

import (
	"os"
	"testing"
)

// starve needs threads that can be kept on a CPU.
func starve(t *testing.T, _ *os.Process) func() {
	t.Helper()
	t.Skip("only Linux keeps a worker on a CPU")
	return nil
}
