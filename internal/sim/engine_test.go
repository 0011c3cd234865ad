package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// journal writes down what the engine says, times in µs.
type journal struct{ lines []string }

func (l *journal) admittedAt(j *job, t int64) {
	l.lines = append(l.lines, fmt.Sprintf("%d %s admitted cached=%d", t/1000, j.id, j.cached))
}

func (l *journal) steppedAt(j *job, t int64, last bool) {
	s := fmt.Sprintf("%d %s step %d", t/1000, j.id, j.made)
	if last {
		s += " last"
	}
	l.lines = append(l.lines, s)
}

// play feeds jobs, whose arrived field says when, and runs to the end.
func play(t *testing.T, text string, jobs ...*job) []string {
	t.Helper()
	spec := parse(t, text)
	var l journal
	e := newEngine(&spec, &l)
	for _, j := range jobs {
		e.run(j.arrived)
		e.arrive(j, j.arrived)
	}
	e.run(forever - 1)
	return l.lines
}

const ms = int64(time.Millisecond)

func TestCommonLoop(t *testing.T) {
	// Prefill 1 token a µs in chunks of 1,000; a step is 10 ms and 1 ms per slot.
	got := play(t, "default,slots=2,prefill=1e6,chunk=1000,step=10ms,step_per_seq=1ms,cache=100,block=100",
		&job{id: "a", prompt: 1500, output: 2, blocks: []uint64{1, 2, 3}, arrived: 5 * ms},
		&job{id: "b", prompt: 500, output: 1, blocks: []uint64{1, 2, 9}, arrived: 6 * ms},
		&job{id: "c", prompt: 100, output: 1, blocks: []uint64{1}, arrived: 7 * ms},
	)
	want := []string{
		"5000 a admitted cached=0",
		// 5 ms + 11 ms + 1,000 tokens: b gets the second slot, c waits
		"17000 b admitted cached=200",
		// 17 ms + 12 ms + the last 500 tokens of a and 300 of b
		"29800 a step 1",
		"29800 b step 1 last",
		"29800 c admitted cached=100", // wholly cached: a step all the same
		"41800 a step 2 last",
		"41800 c step 1 last",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestStagger(t *testing.T) {
	got := play(t, "default,slots=2,stagger,prefill=1e6,step=10ms,step_per_seq=1ms,cache=0",
		&job{id: "a", prompt: 1000, output: 3, arrived: 0},
		&job{id: "b", prompt: 2000, output: 1, arrived: 5 * ms},
		&job{id: "c", prompt: 0, output: 0, arrived: 6 * ms},
	)
	want := []string{
		"0 a admitted cached=0",
		"5000 b admitted cached=0",
		"12000 a step 1",      // 1 ms prefill, 11 ms alone
		"19000 b step 1 last", // 2 ms prefill, 12 ms with a
		"19000 c admitted cached=0",
		"24000 a step 2",      // 12 ms with b
		"31000 c step 1 last", // no tokens, one step
		"36000 a step 3 last", // with c when it began
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestServiceIsSpreadOverEvents(t *testing.T) {
	got := play(t, "default,slots=1,stagger,service=const:40ms,tokens_per_event=2",
		&job{id: "a", output: 8, arrived: ms})
	want := []string{"1000 a admitted cached=0", "11000 a step 1", "21000 a step 2", "31000 a step 3", "41000 a step 4 last"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q; want %q", got, want)
	}
}

func TestCancelFreesTheSlot(t *testing.T) {
	for _, mode := range []string{"", ",stagger"} {
		spec := parse(t, "default,slots=1,step=10ms,step_per_seq=0s"+mode)
		var l journal
		e := newEngine(&spec, &l)
		a, b, c := &job{id: "a", output: 100}, &job{id: "b", output: 1}, &job{id: "c", output: 1}
		e.arrive(a, 0)
		e.arrive(b, 0)
		e.arrive(c, 0)
		e.run(15 * ms)
		e.cancel(b, 15*ms) // waiting
		e.cancel(a, 15*ms) // running
		e.cancel(a, 15*ms) // twice is once
		e.run(100 * ms)
		if n := len(e.running) + len(e.waiting); n != 0 || c.last < 0 || b.admitted >= 0 {
			t.Errorf("stagger %q: %d left, %q; want c alone served", mode, n, l.lines)
		}
		if _, ok := e.next(); ok {
			t.Errorf("stagger %q: not idle after the last job", mode)
		}
	}
}

// Same seed, same arrivals: the same times to the nanosecond, in any process.
// Another seed: others.
func TestVirtualRepeats(t *testing.T) {
	run := func(text string) (out []Served) {
		fill := func(a *Arrival) { a.Prompt, a.Output = 3000, 50 }
		Virtual(parse(t, text), poisson(3, 50, 500, fill), func(s Served) { out = append(out, s) })
		return out
	}
	for _, text := range []string{"default,jitter=lognormal:1:0.4", "default,stagger,jitter=exp:1", "default,stagger,service=exp:80ms"} {
		a, b := run(text+",seed=5"), run(text+",seed=5")
		if !slices.Equal(a, b) || len(a) != 500 {
			t.Errorf("%s: two runs of one seed differ, or %d answers are missing", text, 500-len(a))
		}
		if slices.Equal(a, run(text+",seed=6")) {
			t.Errorf("%s: another seed gives the same times", text)
		}
	}
}

// Two hours of steps: each lies exactly where the first and the step time put it.
// evalscope#1367: sleeps added one after the other lost a quarter of the rate.
func TestStepsDoNotDrift(t *testing.T) {
	for _, mode := range []string{"", ",stagger"} {
		spec := parse(t, "default,slots=4,prefill=inf,step=7ms,step_per_seq=0s"+mode)
		n, wrong := int64(0), 0
		e := newEngine(&spec, listener(func(j *job, at int64, last bool) {
			n++
			if at != 1234567+n*7*ms {
				wrong++
			}
		}))
		e.arrive(&job{id: "a", output: 1030000, prompt: 10}, 1234567)
		e.run(forever - 1)
		if n != 1030000 || wrong != 0 {
			t.Errorf("stagger %q: %d steps, %d off; want 1030000 and none", mode, n, wrong)
		}
	}
}

type listener func(j *job, t int64, last bool)

func (listener) admittedAt(*job, int64)                 {}
func (f listener) steppedAt(j *job, t int64, last bool) { f(j, t, last) }
