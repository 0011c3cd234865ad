package decide

import (
	"math"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
	"hydrant/internal/stats"
)

// even is a series of 30 batches of one value.
func even(id string, v float64) summary.Series {
	s := summary.Series{ID: id, StepNS: 10e9}
	for range batches {
		s.Values = append(s.Values, &v)
	}
	return s
}

func TestRates(t *testing.T) {
	// 300 s with 10 requests a second, evenly; each third fails.
	c := columns(3000)
	for i := range c.N {
		c.Ints["u_ns"][i] = formats.Some(int64(i) * 1e8)
		if i%3 == 0 {
			c.Strings["outcome"][i] = run.HTTPError
		}
	}
	e := Evidence{Columns: c, FromNS: 0, ToNS: 300e9, Missing: map[string]string{"in_tps": "no usage"},
		Series: []summary.Series{even("batch_sent", 10), even("batch_ok", 6.7), even("batch_out_tps", 50), even("batch_in_tps", 0), even("out_tps", 9)}}
	decideRate := func(text string) Decision {
		o, err := slo.Parse("test", text)
		if err != nil {
			t.Fatal(err)
		}
		return All(o, e)[0]
	}
	for text, want := range map[string]string{
		"sent_rps>=9.9": Pass, "sent_rps<=10": Pass, "sent_rps<=9.9": Fail, "ok_rps>=6.8": Fail, "out_tps>=50": Pass, "out_tps>=50.1": Fail,
		"goodput>=6.5": Pass, "goodput>=6.8": Fail, "in_tps>=1": Inconclusive, "ended_rps>=1": Inconclusive,
	} {
		if d := decideRate(text); d.Result != want || (want == Inconclusive) != strings.HasPrefix(d.Reason, "not measured") {
			t.Errorf("%s: %s (%s), mean %v ± %v; want %s", text, d.Result, d.Reason, d.Rate.Mean, d.Rate.MarginPass, want)
		}
	}
	e.Series[0].Values[3] = nil
	if d := decideRate("sent_rps>=1"); d.Result != Inconclusive || !strings.Contains(d.Reason, "gaps") {
		t.Errorf("a series with a gap: %s (%s); want INCONCLUSIVE", d.Result, d.Reason)
	}
	e.Columns = nil
	if d := decideRate("goodput>=1"); d.Result != Inconclusive || !strings.Contains(d.Reason, "columns") {
		t.Errorf("goodput without columns: %s (%s); want INCONCLUSIVE", d.Result, d.Reason)
	}
	e.ToNS = 30e9 - 1
	if d := decideRate("out_tps>=1"); d.Result != Inconclusive || !strings.Contains(d.Reason, "batches") {
		t.Errorf("29.9 s: %s (%s); want INCONCLUSIVE", d.Result, d.Reason)
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
		d := Decision{Objective: slo.Objective{Kind: slo.Rate, AtLeast: c.atLeast, Bound: c.bound}, Result: Inconclusive}
		d.judgeRate(b)
		if d.Result != c.want {
			t.Errorf("bound %v, at least %v: %s; want %s", c.bound, c.atLeast, d.Result, c.want)
		}
	}
	for i := range values {
		values[i] = float64(i) // a trend: neighbours alike at 30 and at 15
	}
	d := Decision{Objective: slo.Objective{Kind: slo.Rate, AtLeast: true, Bound: 1}, Result: Inconclusive}
	d.judgeRate(stats.BatchMeans(values))
	if d.Result != Inconclusive || !strings.Contains(d.Reason, "alike") {
		t.Errorf("a trend: %s (%s); want INCONCLUSIVE", d.Result, d.Reason)
	}
}
