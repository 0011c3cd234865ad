//go:build !linux

package matrix

import (
	"os"
	"testing"

	"hydrant/internal/fixture"
)

// starve needs threads that can be kept on a CPU.
func starve(t *testing.T, _ *os.Process) func() {
	t.Helper()
	fixture.Need(t, false, "only Linux keeps a worker on a CPU")
	return nil
}
