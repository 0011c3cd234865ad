//go:build linux

// Command bench measures Hydrant against the floor: programs that do the bare system calls
// and nothing else. Each round runs all of a scenario's programs, one after the other, in an
// order that alternates; the table has medians over the rounds, and medians of the ratios
// taken round by round. Server and client are pinned to a CPU each.
//
//	bench BIN ROUNDS PAGE [SCENARIO...]
//
// BIN is the folder with replay and tracegen; PAGE is a Markdown page with the markers that the table
// goes between, or - for none.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

func main() {
	if err := measure(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		os.Exit(1)
	}
}

// bench is what the scenarios share.
type bench struct {
	bin, tmp       string
	server, client string // CPUs, as taskset takes them
	traces         map[string]*copied
	bodyBytes      int // of the requests of scenario "ask", as replay sends them
}

func measure(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("got %d arguments, want BIN ROUNDS PAGE [SCENARIO...]", len(args))
	}
	bin, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	rounds, err := strconv.Atoi(args[1])
	if err != nil || rounds < 1 {
		return fmt.Errorf("rounds: got %q, want a whole number of at least 1", args[1])
	}
	b := &bench{bin: bin}
	if b.tmp, err = os.MkdirTemp("", "hydrant-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.tmp)
	if b.server, b.client, err = twoCPUs(); err != nil {
		return err
	}
	// Replay runs its workers at this niceness where it may; the others get the same.
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, -10)
	if out, err := exec.Command("go", "build", "-o", b.tmp, "./scripts/bench/paced", "./scripts/bench/maketrace", "./scripts/bench/makerun", "./scripts/bench/floor/...").CombinedOutput(); err != nil {
		return fmt.Errorf("building the floor programs: %w\n%s", err, out)
	}
	t := newTable(rounds, args[3:])
	for _, s := range scenarios {
		if named := slices.Contains(args[3:], s.name); !named && (s.soak || len(args) > 3) {
			continue
		}
		if err := b.play(s, rounds, t); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	text := t.markdown()
	fmt.Print("\n", text)
	if args[2] != "-" {
		return insert(args[2], text)
	}
	return t.failed()
}

// twoCPUs returns the first two CPUs this process may use.
func twoCPUs() (server, client string, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return "", "", err
	}
	var cpus []string
	for i := 0; i < 4096 && len(cpus) < 2; i++ {
		if set.IsSet(i) {
			cpus = append(cpus, strconv.Itoa(i))
		}
	}
	if len(cpus) < 2 {
		return "", "", fmt.Errorf("got %d usable CPU, want 2: one for the server and one for the client", len(cpus))
	}
	return cpus[0], cpus[1], nil
}

// play runs the rounds of a scenario.
func (b *bench) play(s *scenario, rounds int, t *table) error {
	if s.rounds > 0 {
		rounds = min(rounds, s.rounds)
	}
	r := result{scenario: s}
	for i := range rounds {
		order := slices.Clone(s.programs)
		if i%2 == 1 {
			slices.Reverse(order)
		}
		got := map[string]figures{}
		for _, p := range order {
			f, err := p.run(b)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			got[p.name] = f
			fmt.Printf("%s, round %d of %d, %s: %s\n", s.name, i+1, rounds, p.name, f)
		}
		r.rounds = append(r.rounds, got)
	}
	t.results = append(t.results, r)
	return nil
}

// figures are what a program measured, by name.
type figures map[string]float64

func (f figures) String() string {
	var parts []string
	for k, v := range f {
		parts = append(parts, k+" "+plain(v))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
