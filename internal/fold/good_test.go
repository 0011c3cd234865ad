package fold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
)

func objectives(t testing.TB, texts ...string) []slo.Objective {
	t.Helper()
	set, err := slo.Args(texts, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// naiveGood says of a row what docs/metrics.md says of a good request, for the
// limits of TestGoodputAgainstRows, written out.
var naiveGood = map[string]func(q *run.Request) bool{
	"ttft:p99<200ms": func(q *run.Request) bool { return atMost(q, "ttft_user", 200e6) },
	"good(ttft/sent<150ms,tpot<20ms):p90": func(q *run.Request) bool {
		neutral := q.TokenEvents.Or(2) < 2 || q.OutputTokens.Valid && q.OutputTokens.V <= q.FirstChunkTokens.Or(1)
		return atMost(q, "ttft_sent", 150e6) && (atMost(q, "tpot_user", 20e6) || neutral && !naive["tpot_user"](q).Valid)
	},
	"icl_max:p90<30ms": func(q *run.Request) bool {
		return atMost(q, "icl_max", 30e6) || q.TokenEvents.Or(2) < 2 && !naive["icl_max"](q).Valid
	},
	"e2e:p50<100ms+1ms*in": func(q *run.Request) bool {
		in := q.InputTokens
		if !in.Valid {
			in = q.PlannedInputTokens
		}
		return in.Valid && atMost(q, "e2e_user", 100e6+1e6*in.V)
	},
	"error_rate<5%": func(*run.Request) bool { return true },
	"out_tps>=2000": func(*run.Request) bool { return true },
}

func atMost(q *run.Request, id string, ns int64) bool {
	v := naive[id](q)
	return v.Valid && v.V <= ns
}

// Goodput, written out slowly, from the rows and again from the summary alone.
func TestGoodputAgainstRows(t *testing.T) {
	sets := [][]string{{"ttft:p99<200ms"}, {"good(ttft/sent<150ms,tpot<20ms):p90"}, {"icl_max:p90<30ms", "e2e:p50<100ms+1ms*in"},
		{"ttft:p99<200ms", "good(ttft/sent<150ms,tpot<20ms):p90", "icl_max:p90<30ms", "error_rate<5%"}, {"error_rate<5%", "out_tps>=2000"}}
	for seed, texts := range sets {
		rows := randomRows(300+uint64(seed), 700)
		o := Options{Build: "test", Window: &Span{FromNS: 2 * second, ToNS: some(23*second + 400_000_001)}, SLO: objectives(t, texts...)}
		b := encode(t, testHeader(), rows, nil, run.End{}, 64)
		s := reduce(t, o, b)
		var good, n, tokens float64
		for i := range rows {
			q := &rows[i]
			u, cut := naiveU(q), q.Outcome == run.CancelledPlanned
			yes := q.Outcome == run.OK
			for _, text := range texts {
				yes = yes && naiveGood[text](q)
			}
			if u.Valid && u.V >= s.Window.FromNS && u.V < s.Window.ToNS && !cut {
				n++
				if yes {
					good++
				}
			}
			for _, a := range naiveArrivals(q) {
				if (yes || cut) && a.t >= s.Window.FromNS && a.t < s.Window.ToNS {
					tokens += float64(a.n)
				}
			}
		}
		if good == 0 || good == n {
			t.Fatalf("%v: %v of %v rows are good: the set tries nothing", texts, good, n)
		}
		seconds := float64(s.Window.ToNS-s.Window.FromNS) / 1e9
		check := func(what string, s *summary.Summary) {
			t.Helper()
			for id, want := range map[string]float64{"attainment": good / n, "goodput_rps": good / seconds, "good_tps": tokens / seconds} {
				v := scalarOf(t, s, id)
				if v.Value == nil || !near(*v.Value, want) {
					t.Errorf("%v, %s: %s = %v (%s); want %v", texts, what, id, value(v.Value), v.Reason, want)
				}
			}
		}
		check("from rows", s)
		plain := reduce(t, Options{Build: "test", Window: o.Window}, b)
		again := reduce(t, Options{SLO: objectives(t, texts...)}, written(t, plain))
		check("from the summary", again)
		if x, y := bytesOf(t, s), bytesOf(t, again); x != y {
			t.Errorf("%v: a summary counted anew differs from one of the rows: %s", texts, firstDifference(x, y))
		}
	}
}

func written(t testing.TB, s *summary.Summary) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := summary.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestGoodputRefused(t *testing.T) {
	b := encode(t, testHeader(), randomRows(9, 100), nil, run.End{}, 64)
	null := func(s *summary.Summary, id, reason string) {
		t.Helper()
		if v := scalarOf(t, s, id); v.Value != nil || !strings.HasPrefix(v.Reason, reason) {
			t.Errorf("%s = %v (%s); want null: %s", id, value(v.Value), v.Reason, reason)
		}
	}
	s := reduce(t, whole(), b)
	for _, id := range goodScalars {
		null(s, id, "no objective given")
	}
	if s.Objectives != nil {
		t.Errorf("objectives %v; want none", s.Objectives)
	}
	o := whole()
	o.SLO = objectives(t, "ttft:p90<1s", "good(tpot<20ms)>=90%")
	s = reduce(t, o, b)
	null(s, "goodput_rps", "rates need a window of 10 s")
	null(s, "good_tps", "rates need a window of 10 s")
	if v := scalarOf(t, s, "attainment"); v.Value == nil || fmt.Sprint(s.Objectives) != "[ttft:p90<=1s good(tpot<=20ms):p90]" {
		t.Errorf("attainment %v by %v", value(v.Value), s.Objectives)
	}
	o.SLO = objectives(t, "ttft:p90<1s")
	empty := Options{WarmupNS: some(3600 * second), SLO: o.SLO}
	null(reduce(t, empty, b), "attainment", "no planned rows")

	_, err := Run(context.Background(), []Input{{"x.json", bytes.NewReader(written(t, reduce(t, Options{NoColumns: true}, b)))}}, Options{SLO: o.SLO})
	var syntax *formats.SyntaxError
	if !errors.As(err, &syntax) || syntax.What != "columns" || syntax.Help == "" {
		t.Errorf("a summary without columns: %v; want an error about columns with a hint", err)
	}
}

// A value that should exist and does not makes a request not good, and is counted.
func TestGoodputCountsTheUnmeasured(t *testing.T) {
	rows := steadyRows(400, 20, func(int) int64 { return 50_000_000 })
	for i := range rows {
		rows[i].FirstTokenKernelNS = formats.Int{}
	}
	o := whole()
	o.SLO = objectives(t, "ttft/wire:p90<1s")
	v := scalarOf(t, reduce(t, o, encode(t, testHeader(), rows, nil, run.End{}, 64)), "attainment")
	if v.Value == nil || *v.Value != 0 || v.Evidence != fmt.Sprintf("%d ok requests lack a value that an objective asks for", v.N) {
		t.Errorf("attainment without kernel stamps = %v, evidence %q", value(v.Value), v.Evidence)
	}
}

// When every request is good, good tokens are all tokens.
func TestGoodTokensAreAllTokens(t *testing.T) {
	o := whole()
	o.SLO = objectives(t, "e2e:p99<1min")
	s := reduce(t, o, encode(t, testHeader(), steadyRows(60, 5, func(int) int64 { return 50_000_000 }), nil, run.End{}, 64))
	if a, g, all := scalarOf(t, s, "attainment"), scalarOf(t, s, "good_tps"), scalarOf(t, s, "out_tps"); value(a.Value) != 1 || value(g.Value) != value(all.Value) || math.IsNaN(value(g.Value)) {
		t.Errorf("attainment %v, good_tps %v, out_tps %v; want 1 and the same twice", value(a.Value), value(g.Value), value(all.Value))
	}
}

// Whatever objectives can limit is a metric of the fold that the judge finds in a column.
func TestLimitsAreMetrics(t *testing.T) {
	for _, l := range slo.Limits(objectives(t, "ttft:p90<1s", "ttft/wire:p90<1s", "ttft/sent:p90<1s", "ttfo:p90<1s", "ttfo/wire:p90<1s", "ttfo/sent:p90<1s",
		"tpot:p90<1s", "tpot/wire:p90<1s", "e2e:p90<1s", "e2e/wire:p90<1s", "e2e/sent:p90<1s", "icl_mean:p90<1s", "icl_p99:p90<1s", "icl_max:p90<1s")) {
		if m := timingOf(l.ID()); m.unit != "ns" || !m.planned || intColumns[l.Column()] == nil {
			t.Errorf("%s is %+v, column %s", l, m, l.Column())
		}
	}
}
