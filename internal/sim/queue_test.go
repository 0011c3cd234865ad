package sim

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// poisson arrives n times at rate per second.
func poisson(seed uint64, rate float64, n int, fill func(*Arrival)) iter.Seq[Arrival] {
	return func(yield func(Arrival) bool) {
		r := rand.New(rand.NewPCG(seed, 0))
		t := 0.0
		for i := range n {
			t += r.ExpFloat64() / rate
			a := Arrival{AtNS: int64(t * 1e9), ID: strconv.Itoa(i), Output: 1}
			if fill != nil {
				fill(&a)
			}
			if !yield(a) {
				return
			}
		}
	}
}

// erlangC is the mean wait in an M/M/c queue: C(c, a)/(c·mu − lambda), by the
// recursion of Erlang's B.
func erlangC(c int, lambda, mu float64) float64 {
	a := lambda / mu
	b := 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	rho := a / float64(c)
	return b / (1 - rho*(1-b)) / (float64(c)*mu - lambda)
}

func TestErlangC(t *testing.T) {
	// c = 1 has the closed form rho/(mu − lambda); the value for two servers at
	// a = 1 is C = 1/3.
	if got, want := erlangC(1, 0.5, 1), 1.0; math.Abs(got-want) > 1e-12 {
		t.Errorf("erlangC(1, 0.5, 1) = %v; want %v", got, want)
	}
	if got, want := erlangC(2, 1, 1), 1.0/3; math.Abs(got-want) > 1e-12 {
		t.Errorf("erlangC(2, 1, 1) = %v; want %v", got, want)
	}
}

// The model against theory: waits of M/M/c. Waits follow each other closely, so
// the interval comes from independent replications: 40 runs, each with its own
// seeds and a warm-up cut off, the mean of each run being one value of a t-test.
func TestWaitMatchesErlangC(t *testing.T) {
	const (
		slots, mean = 8, 50 * time.Millisecond
		load        = 0.8
		runs, n     = 40, 7000
		warm        = 1000
		t99         = 2.7079 // Student, 39 degrees of freedom, two-sided 99 %
	)
	mu := 1 / mean.Seconds()
	lambda := load * slots * mu
	wait := func(service time.Duration) (mean, half float64) {
		var sum, square float64
		for run := range runs {
			spec := parse(t, fmt.Sprintf("default,slots=%d,stagger,service=exp:%s,cache=0,seed=%d", slots, service, run+1))
			total, count := 0.0, 0
			Virtual(spec, poisson(uint64(run), lambda, n, nil), func(s Served) {
				if i, _ := strconv.Atoi(s.ID); i >= warm {
					total += float64(s.AdmittedNS-s.ArrivedNS) / 1e9
					count++
				}
			})
			m := total / float64(count)
			sum += m
			square += m * m
		}
		mean = sum / runs
		return mean, t99 * math.Sqrt((square/runs-mean*mean)/(runs-1))
	}
	theory := erlangC(slots, lambda, mu)
	got, half := wait(mean)
	t.Logf("theory %.4f s, simulated %.4f ± %.4f s", theory, got, half)
	if math.Abs(got-theory) > half {
		t.Errorf("mean wait = %.5f ± %.5f s; want Erlang C's %.5f inside", got, half, theory)
	}
	if half > 0.1*theory {
		t.Errorf("half width = %.5f s; want a tenth of %.5f at most, else the test says little", half, theory)
	}
	for _, factor := range []float64{0.9, 1.1} {
		got, half := wait(time.Duration(factor * float64(mean)))
		t.Logf("service × %.1f: simulated %.4f ± %.4f s", factor, got, half)
		if math.Abs(got-theory) <= half {
			t.Errorf("service × %.1f: mean wait = %.5f ± %.5f s; want Erlang C's %.5f outside", factor, got, half, theory)
		}
	}
}

// Little's law in both modes: what is inside on average = rate × mean time inside.
// The average inside is sampled on a grid of its own, not summed from latencies.
// wg/wrk#114 printed three figures that could not all be true.
func TestInFlightIsRateTimesLatency(t *testing.T) {
	for _, text := range []string{
		"default,slots=64",
		"default,slots=64,stagger,jitter=lognormal:1:0.3",
		"default,slots=20,stagger,service=lognormal:400ms:1",
	} {
		spec := parse(t, text)
		const rate, n, every = 40.0, 20000, int64(10 * time.Millisecond)
		e := newEngine(&spec, virtual{})
		var total float64
		e.tell = virtual{func(s Served) { total += float64(s.EndNS-s.ArrivedNS) / 1e9 }}
		grid, samples, inside, last := int64(0), 0, 0, int64(0)
		fill := func(a *Arrival) { a.Prompt, a.Output = 4000, 100 }
		for a := range poisson(9, rate, n, fill) {
			for ; grid <= a.AtNS; grid += every {
				e.run(grid)
				inside += len(e.running) + len(e.waiting)
				samples++
			}
			e.run(a.AtNS)
			e.arrive(&job{id: a.ID, prompt: a.Prompt, output: a.Output}, a.AtNS)
			last = a.AtNS
		}
		e.run(forever - 1)
		left, right := float64(inside)/float64(samples), total/n*(n/(float64(last)/1e9))
		t.Logf("%s: %.2f in flight, rate × latency %.2f", text, left, right)
		if math.Abs(left-right) > 0.02*right {
			t.Errorf("%s: in flight = %.3f; want rate × latency = %.3f within 2 %%", text, left, right)
		}
	}
}
