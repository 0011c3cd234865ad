package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"hydrant/cmd/replay/internal/worker"
	"hydrant/formats"
	format "hydrant/formats/run"
	"hydrant/formats/schedule"
)

// asTool makes the test binary behave as replay, and as the workers and the simulated
// server that it forks.
const asTool = "REPLAY_TEST_TOOL"

// asQuick makes it leave out the calibrations that nobody asked for.
const asQuick = "REPLAY_TEST_QUICK"

func TestMain(m *testing.M) {
	tool := func() {
		if os.Getenv(asQuick) != "" {
			os.Args = append(os.Args[:1], quick(os.Args[1:])...)
		}
		os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if os.Getenv(asTool) != "" && filepath.Base(os.Args[0]) != "plan" {
		tool()
	}
	if os.Getenv("GORACE") == "" {
		// Under the race detector each process would sleep for a second as it ends.
		os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	testscript.Main(m, map[string]func(){
		"replay": func() { os.Setenv(asTool, "1"); os.Setenv(asQuick, "1"); tool() },
		"plan":   writePlan,
	})
}

// quick leaves the calibration out of a replay, which says nothing else of it.
func quick(args []string) []string {
	for _, a := range args {
		if a == "serve" || a == worker.Arg || strings.HasPrefix(a, "--calibrat") {
			return args
		}
	}
	return append([]string{"--calibrate", "off"}, args...)
}

// writePlan is the command `plan N GAP` of the scripts: a schedule of N requests, one
// each GAP.
func writePlan() {
	n, err := strconv.Atoi(os.Args[1])
	gap, err2 := time.ParseDuration(os.Args[2])
	if err := errors.Join(err, err2); err != nil {
		panic(err)
	}
	requests := make([]schedule.Request, n)
	for i := range requests {
		requests[i] = request(i, time.Duration(i)*gap)
	}
	if err := write(os.Stdout, requests); err != nil {
		panic(err)
	}
}

// request is a plain request of 20 tokens in and 3 out.
func request(id int, at time.Duration) schedule.Request {
	return schedule.Request{ID: int64(id), AtNS: formats.Some(int64(at)), Session: fmt.Sprint("s", id), Stream: "0", Last: true,
		Context: schedule.Whole, InputTokens: formats.Some(20), OutputTokens: formats.Some(3)}
}

func write(w io.Writer, requests []schedule.Request) error {
	sw, err := schedule.NewWriter(w, schedule.Header{Build: "test", Block: &schedule.Block{Tokens: 64, Last: schedule.Partial}})
	if err != nil {
		return err
	}
	for i := range requests {
		if err := sw.Write(&requests[i]); err != nil {
			return err
		}
	}
	_, err = sw.Close(schedule.Trailer{})
	return err
}

// planFile writes a schedule into a temporary file and returns its name.
func planFile(t *testing.T, requests []schedule.Request) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "plan.sched")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(write(f, requests), f.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// process is a replay that runs, or has run.
type process struct {
	*exec.Cmd
	t   *testing.T
	out bytes.Buffer
	err saying
}

// saying is what a process has said so far.
type saying struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *saying) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// said returns what the process has said on standard error.
func (p *process) said() string {
	p.err.mu.Lock()
	defer p.err.mu.Unlock()
	return p.err.b.String()
}

// patience bounds every process of the tests; none comes near it unless it hangs.
const patience = 2 * time.Minute

// start starts replay; stdin may be nil.
func start(t *testing.T, stdin io.Reader, args ...string) *process {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	p := &process{Cmd: exec.CommandContext(ctx, exe, quick(args)...), t: t}
	p.Env = append(os.Environ(), asTool+"=1")
	p.Stdin, p.Stdout, p.Stderr = stdin, &p.out, &p.err
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	return p
}

// end waits for the process and returns its status.
func (p *process) end() int {
	p.t.Helper()
	if err := p.Wait(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			p.t.Fatal(err)
		}
	}
	return p.ProcessState.ExitCode()
}

// replay runs replay to its end and expects status.
func replay(t *testing.T, status int, args ...string) *process {
	t.Helper()
	p := start(t, nil, args...)
	if got := p.end(); got != status {
		t.Fatalf("replay %s: status %d; want %d\n%s", strings.Join(args, " "), got, status, p.said())
	}
	return p
}

// result is a whole run, in memory.
type result struct {
	header  format.Header
	rows    map[int64]format.Request
	clients []format.Client
	end     *format.End
}

// read reads a run and checks what holds for every run: unique ids, one row per planned
// request, and counts of both tables that agree.
func read(t *testing.T, b []byte) *result {
	t.Helper()
	r, err := format.NewReader(bytes.NewReader(b), "run")
	if err != nil {
		t.Fatal(err)
	}
	part, err := r.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	res := &result{header: part.Header(), rows: map[int64]format.Request{}}
	var dispatched, ended int64
	for {
		row, err := part.NextRequest()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, twice := res.rows[row.RequestID]; twice {
			t.Errorf("request %d has two rows", row.RequestID)
		}
		res.rows[row.RequestID] = *row
		if row.DispatchedNS.Valid {
			dispatched++
			if !row.EndNS.Valid || row.DispatchedNS.V < row.DueNS.V || row.EndNS.V < row.DispatchedNS.V {
				t.Errorf("request %d: due %v, dispatched %v, end %v", row.RequestID, row.DueNS, row.DispatchedNS, row.EndNS)
			}
			ended++
		} else if row.Outcome != format.NotSent {
			t.Errorf("request %d was not dispatched and is %s", row.RequestID, row.Outcome)
		}
	}
	for {
		c, err := part.NextClient()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		res.clients = append(res.clients, *c)
		dispatched -= c.Dispatched.V
		ended -= c.Completed.V
	}
	if res.end, err = part.End(); err != nil {
		t.Fatal(err)
	}
	if res.end.Planned != int64(len(res.rows)) {
		t.Errorf("%d planned, %d rows", res.end.Planned, len(res.rows))
	}
	if dispatched != 0 || ended != 0 {
		t.Errorf("rows less the client table's sums: %d dispatched, %d ended; want 0, 0", dispatched, ended)
	}
	counts := map[string]int64{}
	for _, row := range res.rows {
		counts[row.Outcome]++
	}
	for _, o := range res.end.Detail.Outcomes {
		if counts[o.Name] != o.N {
			t.Errorf("the end counts %d %s, the rows %d", o.N, o.Name, counts[o.Name])
		}
	}
	return res
}

// outcomes counts the rows of each outcome.
func (r *result) outcomes() map[string]int {
	m := map[string]int{}
	for _, row := range r.rows {
		m[row.Outcome]++
	}
	return m
}

// pids returns the distinct process ids of the client table.
func (r *result) pids() map[int64]bool {
	m := map[int64]bool{}
	for _, c := range r.clients {
		m[c.PID] = true
	}
	return m
}

// server starts `replay serve` and returns its URL and a function that ends it.
func server(t *testing.T, args ...string) (url string, stop func()) {
	t.Helper()
	stdin, hold := io.Pipe()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{"serve", "--quiet", "--until-eof", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env = append(os.Environ(), asTool+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { io.Copy(in, stdin); in.Close() }()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	url, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			hold.Close()
			if err := cmd.Wait(); err != nil {
				t.Errorf("serve: %v", err)
			}
		}
	}
	t.Cleanup(stop)
	return strings.TrimSpace(url), stop
}
