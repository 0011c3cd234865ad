package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"hydrant/internal/sim"
)

// stopWait is how long a server may take to end before it is killed.
const stopWait = 5 * time.Second

// Start forks exe as `exe serve` on a free loopback port and returns its URL once
// it accepts connections. The server's messages and warnings go to stderr (nil:
// nowhere); more arguments, such as --hash-log FILE, may follow. ctx bounds the
// start only: the server runs until stop is called or this process ends, and signals
// of the terminal do not reach it. stop ends it and returns an error when it did not
// end well; it may be called more than once.
func Start(ctx context.Context, exe string, spec sim.Spec, stderr io.Writer, args ...string) (url string, stop func() error, err error) {
	cmd := exec.Command(exe, append([]string{"serve", "--quiet", "--until-eof", "--sim", spec.String(), "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Stderr = stderr
	cmd.WaitDelay = time.Second // a grandchild could hold stderr open
	apart(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, fmt.Errorf("simulated server: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, fmt.Errorf("simulated server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("simulated server: %w", err)
	}
	line := make(chan string, 1) // the one line
	ended := make(chan struct{})
	var exit error
	go func() {
		text, _ := bufio.NewReader(stdout).ReadString('\n')
		line <- strings.TrimSpace(text)
		_, _ = io.Copy(io.Discard, stdout)
		exit = cmd.Wait()
		close(ended)
	}()
	var once sync.Once
	stop = func() error {
		once.Do(func() {
			stdin.Close()
			t := time.NewTimer(stopWait)
			defer t.Stop()
			select {
			case <-ended:
			case <-t.C:
				_ = cmd.Process.Kill()
			}
		})
		<-ended
		if exit != nil {
			return fmt.Errorf("simulated server: %w", exit)
		}
		return nil
	}
	select {
	case url = <-line:
		if url != "" {
			return url, stop, nil
		}
		err = stop()
		if err == nil {
			err = errors.New("simulated server: ended without its URL")
		}
		return "", nil, err
	case <-ctx.Done():
		_ = cmd.Process.Kill()
		<-ended
		return "", nil, context.Cause(ctx)
	}
}
