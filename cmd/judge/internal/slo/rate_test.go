package slo

import (
	"math"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/stats"
)

func TestRatesFromColumns(t *testing.T) {
	// 300 s with 10 requests a second, evenly; each third fails.
	c := columns(3000)
	for i := range c.N {
		at := formats.Some(int64(i) * 1e8)
		c.Ints["u_ns"][i], c.Ints["conn_asked_ns"][i], c.Ints["end_ns"][i] = at, at, at
		c.Ints["ttft_user_ns"][i] = formats.Some(0)
		if i%3 == 0 {
			c.Strings["outcome"][i] = run.HTTPError
		}
	}
	o := []string{"sent_rps>=9.9", "sent_rps<=10.1", "ended_rps>=10", "ok_rps>=6.5", "goodput>=6.5", "goodput>=6.8", "in_tps>=999", "sent_rps<=9.9"}
	var objectives []Objective
	for _, text := range o {
		one, err := Parse("test", text)
		if err != nil {
			t.Fatal(err)
		}
		objectives = append(objectives, one...)
	}
	all := Decide(objectives, Evidence{Columns: c, FromNS: 0, ToNS: 300e9})
	for i, want := range []string{Pass, Pass, Pass, Pass, Pass, Fail, Pass, Fail} {
		if all[i].Result != want {
			t.Errorf("%s: %s (%s), mean %v ± %v; want %s", o[i], all[i].Result, all[i].Reason, all[i].Rate.Mean, all[i].Rate.MarginPass, want)
		}
	}
	short := Decide(objectives[:1], Evidence{Columns: c, FromNS: 0, ToNS: 29e9})
	if short[0].Result != Inconclusive || !strings.Contains(short[0].Reason, "batches") {
		t.Errorf("29 s: %s (%s); want INCONCLUSIVE", short[0].Result, short[0].Reason)
	}
}

func TestRateDecision(t *testing.T) {
	values := make([]float64, 30)
	for i := range values {
		values[i] = 100 + float64(i%2*2-1) // alternating 99, 101
	}
	b := stats.BatchMeans(values)
	se := math.Sqrt(30.0/29) / math.Sqrt(30)
	if b.K != 30 || math.Abs(b.SE-se) > 1e-12 {
		t.Fatalf("BatchMeans: k %d, se %v; want 30, %v", b.K, b.SE, se)
	}
	pass, fail := 2.4620213601503833*se, 1.6991270265334977*se // t(0.99, 29), t(0.95, 29)
	for _, c := range []struct {
		atLeast bool
		bound   float64
		want    string
	}{
		{true, 100 - pass - 1e-6, Pass},
		{true, 100 - pass + 1e-6, Inconclusive},
		{true, 100 + fail - 1e-6, Inconclusive},
		{true, 100 + fail + 1e-6, Fail},
		{false, 100 + pass + 1e-6, Pass},
		{false, 100 + pass - 1e-6, Inconclusive},
		{false, 100 - fail + 1e-6, Inconclusive},
		{false, 100 - fail - 1e-6, Fail},
	} {
		d := Decision{Objective: Objective{Kind: Rate, AtLeast: c.atLeast, Bound: c.bound}, Result: Inconclusive}
		d.judgeRate(b)
		if d.Result != c.want {
			t.Errorf("bound %v, at least %v: %s; want %s", c.bound, c.atLeast, d.Result, c.want)
		}
	}
	for i := range values {
		values[i] = float64(i) // a trend: neighbours alike at 30 and at 15
	}
	d := Decision{Objective: Objective{Kind: Rate, AtLeast: true, Bound: 1}, Result: Inconclusive}
	d.judgeRate(stats.BatchMeans(values))
	if d.Result != Inconclusive || !strings.Contains(d.Reason, "alike") {
		t.Errorf("a trend: %s (%s); want INCONCLUSIVE", d.Result, d.Reason)
	}
}

func TestTokenRateFromSeries(t *testing.T) {
	// 61 s of 50 tokens a second; the window lies half a second inside.
	s := summary.Series{ID: "out_tps", StepNS: 1e9}
	fifty := 50.0
	for range 61 {
		s.Values = append(s.Values, &fifty)
	}
	o, _ := Parse("test", "out_tps>=49.99")
	e := Evidence{FromNS: 5e8, ToNS: 605e8, Series: []summary.Series{s}}
	if d := Decide(o, e); d[0].Result != Pass || math.Abs(d[0].Rate.Mean-50) > 1e-9 {
		t.Errorf("%s, mean %v; want PASS at 50 (%s)", d[0].Result, d[0].Rate.Mean, d[0].Reason)
	}
	e.Series[0].Values[30] = nil
	if d := Decide(o, e); d[0].Result != Inconclusive || !strings.Contains(d[0].Reason, "not measured") {
		t.Errorf("%s (%s); want INCONCLUSIVE", d[0].Result, d[0].Reason)
	}
	e.Series[0].Values = e.Series[0].Values[:20]
	if d := Decide(o, e); d[0].Result != Inconclusive || !strings.Contains(d[0].Reason, "lacks") {
		t.Errorf("%s (%s); want INCONCLUSIVE", d[0].Result, d[0].Reason)
	}
}
