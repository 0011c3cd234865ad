package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	ucli "github.com/urfave/cli/v2"
)

// The signal tests need a process of their own: the test binary runs itself with
// this variable set to what the child's action does.
const childEnv = "HYDRANT_CLI_TEST_CHILD"

func TestMain(m *testing.M) {
	what := os.Getenv(childEnv)
	if what == "" {
		os.Exit(m.Run())
	}
	os.Exit(Run(filter(func(c *ucli.Context) error {
		switch what {
		case "wait": // for the signal, then report how the context ended
			io.WriteString(Stdout(c), "ready\n")
			<-Context(c).Done()
			return Context(c).Err()
		case "stubborn": // a drain that the second signal ends
			io.WriteString(Stdout(c), "ready\n")
			<-Context(c).Done()
			io.WriteString(Stdout(c), "draining\n")
			select {}
		case "write": // until nobody reads
			for {
				if _, err := io.WriteString(Stdout(c), strings.Repeat("x", 1<<16)); err != nil {
					defer io.WriteString(Stderr(c), "deferred work ran\n")
					return err
				}
			}
		}
		return errors.New("no such child")
	}), nil, os.Stdin, os.Stdout, os.Stderr))
}

func child(t *testing.T, what string) (cmd *exec.Cmd, out *stream, errw *strings.Builder) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	cmd = exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+what)
	errw = new(strings.Builder)
	cmd.Stderr = errw
	p, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, &stream{bufio.NewReader(p), p}, errw
}

func expect(t *testing.T, r *stream, want string) {
	t.Helper()
	if got, err := r.ReadString('\n'); got != want {
		t.Fatalf("child said %q, %v; want %q", got, err, want)
	}
}

func TestFirstSignalCancels(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd, out, errw := child(t, "wait")
		expect(t, out, "ready\n")
		cmd.Process.Signal(sig)
		cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 130 || errw.String() != "reduce: interrupted\n" {
			t.Errorf("%v: status %d, stderr %q; want 130 and one line", sig, code, errw)
		}
	}
}

func TestSecondSignalLeavesAtOnce(t *testing.T) {
	cmd, out, errw := child(t, "stubborn")
	expect(t, out, "ready\n")
	cmd.Process.Signal(syscall.SIGINT)
	expect(t, out, "draining\n")
	cmd.Process.Signal(syscall.SIGTERM)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 || errw.String() != "" {
		t.Errorf("status %d, stderr %q; want 130 and silence", code, errw)
	}
}

func TestClosedStdoutEndsQuietly(t *testing.T) {
	cmd, out, errw := child(t, "write")
	if _, err := out.ReadByte(); err != nil {
		t.Fatal(err)
	}
	out.Close()
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 3 || errw.String() != "deferred work ran\n" {
		t.Errorf("status %d, stderr %q; want 3 and only the deferred line", code, errw)
	}
}

func TestSignalsStop(t *testing.T) {
	ctx, stop := Signals(context.Background())
	stop()
	stop()
	<-ctx.Done()
	if errors.Is(context.Cause(ctx), ErrInterrupted) {
		t.Error("stop counts as an interruption")
	}
}

// stream is the reading end of a child's output.
type stream struct {
	*bufio.Reader
	io.Closer
}
