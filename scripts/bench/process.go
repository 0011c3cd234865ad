//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// patience bounds each program; none comes near it unless it hangs.
const patience = 3 * time.Minute

// floor runs one of the small programs on the client's CPU and reads the line it prints.
func (b *bench) floor(name string, args ...any) (figures, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := b.command(ctx, b.client, filepath.Join(b.tmp, name), args...).Output()
	if err != nil {
		return nil, failed(err)
	}
	var f figures
	if err := json.Unmarshal(out, &f); err != nil {
		return nil, fmt.Errorf("%q: %w", out, err)
	}
	return f, nil
}

func failed(err error) error {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(e.Stderr))
	}
	return err
}

// command makes a command that runs on some CPUs; none given: on all.
func (b *bench) command(ctx context.Context, cpus, exe string, args ...any) *exec.Cmd {
	words := []string{exe}
	for _, a := range args {
		words = append(words, fmt.Sprint(a))
	}
	if cpus != "" {
		words = append([]string{"taskset", "-c", cpus}, words...)
	}
	return exec.CommandContext(ctx, words[0], words[1:]...)
}

// watched runs cmd and returns its peak resident set in bytes, to some 10 ms before its
// end. What wait says of that is never less than the memory of this process, which forked
// it.
func watched(cmd *exec.Cmd) (peak int64, err error) {
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for look := time.NewTicker(10 * time.Millisecond); ; {
		select {
		case err := <-ended:
			look.Stop()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, said.Bytes())
			}
			return peak, err
		case <-look.C:
			peak = max(peak, highWater(cmd.Process.Pid))
		}
	}
}

// highWater returns the peak resident set of a process in bytes, 0 when it is gone.
func highWater(pid int) (n int64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if _, rest, ok := bytes.Cut(b, []byte("VmHWM:")); ok {
		_, _ = fmt.Sscan(string(rest), &n)
	}
	return n << 10
}

// paced is a running server of the benchmarks.
type paced struct {
	addrs []string
	pid   int
	stop  func()
}

// serve starts a paced server on addresses 127.0.0.first and following.
func (b *bench) serve(cpus string, period time.Duration, first, n int) (*paced, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &paced{}
	args := []any{period}
	for i := range n {
		port, err := freePort()
		if err != nil {
			cancel()
			return nil, err
		}
		p.addrs = append(p.addrs, "127.0.0."+strconv.Itoa(first+i)+":"+strconv.Itoa(port))
		args = append(args, p.addrs[i])
	}
	cmd := b.command(ctx, cpus, filepath.Join(b.tmp, "paced"), args...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		cmd.Stderr = os.Stderr
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, err
	}
	p.pid = cmd.Process.Pid // taskset becomes the server
	p.stop = func() { cancel(); _ = cmd.Wait() }
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		p.stop()
		return nil, fmt.Errorf("the paced server did not start: %w", err)
	}
	return p, nil
}

// stats asks the server how it did.
func (p *paced) stats() (figures, error) {
	resp, err := http.Get("http://" + p.addrs[0] + "/stats")
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var f figures
	return f, json.Unmarshal(text, &f)
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
