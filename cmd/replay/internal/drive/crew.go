package drive

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"hydrant/cmd/replay/internal/link"
	"hydrant/cmd/replay/internal/worker"
	"hydrant/formats/run"
)

// outboxFrames is how many frames may wait for a worker's pipe, beyond the 64 KiB that
// the pipe itself holds: enough to write while the feeder reads on.
const outboxFrames = 64

// member is one worker process as its parent sees it.
type member struct {
	index int
	cmd   *exec.Cmd
	pid   int
	in    *os.File // frames to it
	out   *os.File // frames from it
	said  tail     // the end of its stderr

	outbox chan frame
	closed chan struct{} // it takes no more frames
	once   sync.Once
	ended  chan struct{} // it has exited and all it wrote was read
	silent atomic.Int64  // seconds since it said something

	// Guarded by Drive's mutex.
	hello   *link.Hello
	ready   bool
	bye     *link.Bye
	rows    int64                                 // rows it delivered
	sent    int64                                 // of them, dispatched
	inTable struct{ dispatched, completed int64 } // sums of its client rows
	exit    int
	reason  string // why it did not end well
}

type frame struct {
	kind    link.Kind
	payload []byte
}

// spawn starts a worker: this program again, with its frames on descriptors 3 and 4 and
// the memory of the caps, when there is one, on 5.
func spawn(exe string, index int, shared *os.File, args ...string) (*member, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("worker %d: %w", index, err)
	}
	out, childOut, err := os.Pipe()
	if err != nil {
		childIn.Close()
		in.Close()
		return nil, fmt.Errorf("worker %d: %w", index, err)
	}
	m := &member{index: index, in: in, out: out, outbox: make(chan frame, outboxFrames), closed: make(chan struct{}), ended: make(chan struct{})}
	m.cmd = exec.Command(exe, append([]string{worker.Arg}, args...)...)
	m.cmd.ExtraFiles = []*os.File{childIn, childOut}
	if shared != nil {
		m.cmd.ExtraFiles = append(m.cmd.ExtraFiles, shared)
	}
	m.cmd.Stderr = &m.said
	err = m.cmd.Start()
	childIn.Close()
	childOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("worker %d: %w", index, err)
	}
	m.pid = m.cmd.Process.Pid
	return m, nil
}

// write sends the frames of the outbox until it is shut or the worker is gone.
func (m *member) write() error {
	defer m.in.Close()
	w := link.NewWriter(m.in)
	for {
		select {
		case f, ok := <-m.outbox:
			if !ok {
				return nil
			}
			if err := w.Write(f.kind, f.payload); err != nil {
				m.shut() // its death is told by who reads from it
				return nil
			}
		case <-m.closed:
			return nil
		}
	}
}

// send queues a frame; false when the worker is gone or stop is closed first.
func (m *member) send(f frame, stop <-chan struct{}) bool {
	select {
	case m.outbox <- f:
		return true
	case <-m.closed:
		return false
	case <-stop:
		return false
	}
}

func (m *member) sendJSON(kind link.Kind, v any) bool {
	b, err := json.Marshal(v)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return m.send(frame{kind, b}, nil)
}

// shut says that the worker takes no more frames.
func (m *member) shut() { m.once.Do(func() { close(m.closed) }) }

// kill ends the process at once.
func (m *member) kill() {
	m.shut()
	_ = m.cmd.Process.Kill() // it may have ended by itself
}

// wait collects the exit status once its output has ended.
func (m *member) wait() (exit int, how string) {
	m.shut()
	err := m.cmd.Wait()
	m.out.Close()
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 0, "ended"
	case errors.As(err, &failed):
		if s, ok := failed.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			return 128 + int(s.Signal()), "was killed by signal " + signalName(s.Signal())
		}
		how = fmt.Sprintf("ended with status %d", failed.ExitCode())
		if said := m.said.String(); said != "" {
			how += ": " + said
		}
		return failed.ExitCode(), how
	}
	return -1, err.Error()
}

func signalName(s syscall.Signal) string {
	switch s {
	case syscall.SIGKILL:
		return "SIGKILL (killed by hand, or by the kernel out of memory)"
	case syscall.SIGSEGV:
		return "SIGSEGV"
	case syscall.SIGABRT:
		return "SIGABRT"
	}
	return fmt.Sprintf("%d (%s)", int(s), s)
}

// exitRecord is the worker's line in the end of the run.
func (m *member) exitRecord() run.WorkerExit {
	return run.WorkerExit{Worker: m.index, PID: m.pid, Exit: m.exit, Rows: m.rows, Reason: m.reason}
}

// tail keeps the first and the last bytes written to it: what a dying process said. Go
// names the reason first, and then every goroutine.
type tail struct {
	mu   sync.Mutex
	head []byte
	b    []byte
}

const tailBytes = 4096

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := tailBytes - len(t.head); room > 0 {
		t.head = append(t.head, p[:min(room, len(p))]...)
	}
	t.b = append(t.b, p...)
	if extra := len(t.b) - tailBytes; extra > 0 {
		t.b = append(t.b[:0], t.b[extra:]...)
	}
	return len(p), nil
}

// String returns the line that says most: the panic, fatal error or signal of a Go
// process, else the last line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	last := ""
	for _, part := range [][]byte{t.head, t.b} {
		for line := range strings.Lines(string(part)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") || strings.HasPrefix(line, "SIG") {
				return line
			}
			if line != "" {
				last = line
			}
		}
	}
	return last
}

// killAfter is how long past its grace a worker may take to end before it is killed.
const killAfter = 10 * time.Second
