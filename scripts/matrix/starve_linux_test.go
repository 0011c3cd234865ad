package matrix

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// busy is the variable that makes the test binary a busy loop on CPU 0.
const busy = "HYDRANT_MATRIX_BUSY"

func TestMain(m *testing.M) {
	if os.Getenv(busy) != "" {
		runtime.LockOSThread()
		if err := pin(0); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		syscall.Setpriority(syscall.PRIO_PROCESS, 0, -20)              // where the system grants it
		for began := time.Now(); time.Since(began) < 10*time.Minute; { // ended long before that
		}
	}
	os.Exit(m.Run())
}

// pin keeps a thread, 0 being the caller, on CPU 0.
func pin(tid int) error {
	mask := [16]uint64{1}
	if _, _, e := syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, uintptr(tid), unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask))); e != 0 {
		return e
	}
	return nil
}

// starve keeps the first worker of replay on CPU 0, and busy loops beside it there, until
// what it returns is called.
func starve(t *testing.T, replay *os.Process) func() {
	t.Helper()
	var loops []*exec.Cmd
	for range 2 {
		loop := exec.Command(os.Args[0])
		loop.Env = append(os.Environ(), busy+"=1")
		if err := loop.Start(); err != nil {
			t.Fatal(err)
		}
		loops = append(loops, loop)
	}
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if pid := worker(replay.Pid); pid != 0 {
				threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
				for _, thread := range threads {
					tid, _ := strconv.Atoi(filepath.Base(thread))
					pin(tid) // one that is gone by now needs none
				}
			}
			select {
			case <-stop:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(stop)
		<-done
		for _, loop := range loops {
			loop.Process.Kill()
			loop.Wait()
		}
	}
}

// worker returns the oldest worker of a replay, 0 while there is none.
func worker(replay int) int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", replay))
	first := 0
	for _, list := range lists {
		b, _ := os.ReadFile(list)
		for _, field := range strings.Fields(string(b)) {
			pid, _ := strconv.Atoi(field)
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			if bytes.Contains(line, []byte("worker-of-replay")) && (first == 0 || pid < first) {
				first = pid
			}
		}
	}
	return first
}
