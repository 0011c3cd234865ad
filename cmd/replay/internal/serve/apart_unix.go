//go:build unix

package serve

import (
	"os/exec"
	"syscall"
)

// apart gives the server a process group of its own: Ctrl-C in a terminal goes to
// the whole group, and replay still drains its requests after the first one.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
