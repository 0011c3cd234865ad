package serve

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/internal/cli"
	"hydrant/internal/sim"
)

// asReplay in the environment makes the test binary be replay.
const asReplay = "HYDRANT_TEST_SERVE"

func TestMain(m *testing.M) {
	switch os.Getenv(asReplay) {
	case "":
		os.Exit(m.Run())
	case "dead":
		os.Exit(7)
	case "mute":
		select {}
	}
	os.Exit(cli.Run(app(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func app() *ucli.App {
	return &ucli.App{Name: "replay", Usage: "x", UsageText: "x", Description: "x", Commands: []*ucli.Command{Command()}}
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func TestCommandLine(t *testing.T) {
	if bad := cli.Audit(app()); len(bad) > 0 {
		t.Errorf("the command line has faults: %q", bad)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--sim", "default,slotz=3"}, "--sim: sim spec: slotz: unknown key, want one of model, slots, "},
		{[]string{"--sim", "fast"}, `got "fast" as its first word, want default or null`},
		{[]string{"--null", "--sim", "default"}, "--null: cannot stand beside --sim"},
		{[]string{"--listen", "8000"}, `--listen: got "8000", want HOST:PORT`},
		{[]string{"--listen", "0.0.0.0:8000"}, `--listen: got "0.0.0.0:8000", want a loopback address`},
		{[]string{"--listen", ":8000"}, `--listen: got ":8000", want a loopback address`},
		{[]string{"--listen", "example.org:80"}, "want a loopback address"},
		{[]string{"x.json"}, `serve: got input "x.json", want none`},
	} {
		var out, errs bytes.Buffer
		if code := cli.Run(app(), append([]string{"serve"}, c.args...), strings.NewReader(""), &out, &errs); code != 2 || !strings.Contains(errs.String(), c.says) || out.Len() > 0 {
			t.Errorf("%q: status %d, stdout %q, stderr %q; want 2 and %q", c.args, code, out.String(), errs.String(), c.says)
		}
	}
}

func TestServeUntilEOF(t *testing.T) {
	log := filepath.Join(t.TempDir(), "hashes")
	in, closeIn := io.Pipe()
	out, stdout := io.Pipe()
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- cli.Run(app(), []string{"serve", "--null", "--listen", "127.0.0.1:0", "--until-eof", "--hash-log", log}, in, stdout, &errs)
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url = strings.TrimSpace(url)
	r, _ := http.NewRequest("POST", url+"/v1/completions", strings.NewReader(`{"prompt":"a"}`))
	r.Header.Set("X-Request-Id", "17")
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != 200 {
		t.Fatalf("%v, %v", resp, err)
	}
	resp.Body.Close()
	closeIn.Close()
	if c := <-code; c != 0 {
		t.Errorf("status %d, %s; want 0 at the end of standard input", c, errs.String())
	}
	sum := sha256.Sum256([]byte(`{"prompt":"a"}`))
	if got, _ := os.ReadFile(log); string(got) != "17 "+hex.EncodeToString(sum[:])+"\n" {
		t.Errorf("hash log %q", got)
	}
	if want := "replay: serving null on " + url + "\n"; errs.String() != want {
		t.Errorf("stderr %q; want %q", errs.String(), want)
	}
}

func TestAddressInUse(t *testing.T) {
	t.Setenv(asReplay, "1")
	url, stop, err := Start(t.Context(), self(t), sim.Null(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var out, errs bytes.Buffer
	code := cli.Run(app(), []string{"serve", "--listen", strings.TrimPrefix(url, "http://")}, strings.NewReader(""), &out, &errs)
	if code != 3 || out.Len() > 0 || !strings.Contains(errs.String(), "replay: error: --listen: ") || !strings.Contains(errs.String(), "hint: ") {
		t.Errorf("status %d, stdout %q, stderr %q; want 3 and a hint", code, out.String(), errs.String())
	}
}

func TestHashLogCannotBeMade(t *testing.T) {
	var out, errs bytes.Buffer
	code := cli.Run(app(), []string{"serve", "--listen", "127.0.0.1:0", "--hash-log", filepath.Join(t.TempDir(), "no", "file")}, strings.NewReader(""), &out, &errs)
	if code != 3 || out.Len() > 0 || !strings.Contains(errs.String(), "--hash-log: ") {
		t.Errorf("status %d, stdout %q, stderr %q; want 3", code, out.String(), errs.String())
	}
}

// A signal ends the server with 130, and it says so in one line.
func TestInterrupted(t *testing.T) {
	cmd := exec.Command(self(t), "serve", "--quiet", "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), asReplay+"=1")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 || errs.String() != "replay: interrupted\n" {
		t.Errorf("Wait = %v, stderr %q; want 130", err, errs.String())
	}
}

func TestStart(t *testing.T) {
	t.Setenv(asReplay, "1")
	spec, err := sim.ParseSpec("default,model=forked,fail=418:ids:9")
	if err != nil {
		t.Fatal(err)
	}
	url, stop, err := Start(t.Context(), self(t), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(url + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	if !strings.Contains(string(b), `"forked"`) {
		t.Errorf("models %s; want forked", b)
	}
	for range 2 {
		if err := stop(); err != nil {
			t.Errorf("stop = %v; want nil, twice", err)
		}
	}
	if _, err := http.Get(url + "/health"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("after stop: %v; want connection refused", err)
	}
}

// A server that does not come up, or dies under way, is told; nothing is left.
func TestStartFails(t *testing.T) {
	if _, _, err := Start(t.Context(), filepath.Join(t.TempDir(), "nothing"), sim.Null(), nil); err == nil || !strings.HasPrefix(err.Error(), "simulated server: ") {
		t.Errorf("no such program: %v", err)
	}
	t.Setenv(asReplay, "dead")
	if _, _, err := Start(t.Context(), self(t), sim.Null(), nil); err == nil || !strings.Contains(err.Error(), "exit status 7") {
		t.Errorf("server that dies: %v; want exit status 7", err)
	}
	t.Setenv(asReplay, "mute")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := Start(ctx, self(t), sim.Null(), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("server that says nothing: %v; want the context's error", err)
	}
	t.Setenv(asReplay, "1")
	var errs bytes.Buffer
	if _, _, err := Start(t.Context(), self(t), sim.Null(), &errs, "--hash-log", filepath.Join(t.TempDir(), "no", "file")); err == nil || !strings.Contains(errs.String(), "--hash-log") {
		t.Errorf("server with a bad flag: %v, stderr %q", err, errs.String())
	}
}
