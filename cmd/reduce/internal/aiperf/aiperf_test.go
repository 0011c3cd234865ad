package aiperf

import (
	"bufio"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"testing"

	"hydrant/internal/fixture"
)

// The formulas that use others find them where they stand.
func TestPositions(t *testing.T) {
	for at, name := range map[int]string{latencyAt: "request_latency", ttftAt: "time_to_first_token", itlAt: "inter_token_latency",
		inputAt: "input_sequence_length", outputAt: "output_sequence_length", reasoningAt: "reasoning_token_count"} {
		if tags[at].name != name {
			t.Errorf("tags[%d] = %s; want %s", at, tags[at].name, name)
		}
	}
}

// TestStatisticsAreAIPerfs computes the summary of a real export from its own lines and
// compares it with the summary that AIPerf 0.13.0 wrote.
func TestStatisticsAreAIPerfs(t *testing.T) {
	lines, err := os.Open(fixture.Shared(t, "data/aiperf-export/profile_export.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	all := map[string]counted{}
	in := bufio.NewScanner(lines)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var line struct {
			Metrics map[string]struct{ Value any }
		}
		if err := json.Unmarshal(in.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		for tag, m := range line.Metrics {
			if all[tag] == nil {
				all[tag] = counted{}
			}
			switch v := m.Value.(type) {
			case float64:
				all[tag].add(v)
			case []any:
				for _, x := range v {
					all[tag].add(x.(float64))
				}
			}
		}
	}
	text, err := os.ReadFile(fixture.Shared(t, "data/aiperf-export/profile_export_aiperf.json"))
	if err != nil {
		t.Fatal(err)
	}
	var summary map[string]json.RawMessage
	if err := json.Unmarshal(text, &summary); err != nil {
		t.Fatal(err)
	}
	compared := 0
	for tag, values := range all {
		var want result
		if err := json.Unmarshal(summary[tag], &want); err != nil {
			t.Fatalf("%s: %v", tag, err)
		}
		if want.Count == nil {
			continue // a scalar, made of the lines in another way
		}
		got := reflect.ValueOf(*values.distribution(want.Unit, 1))
		for i := range got.NumField() {
			name := got.Type().Field(i).Name
			a, ok := got.Field(i).Interface().(*float64)
			b, _ := reflect.ValueOf(want).Field(i).Interface().(*float64)
			if !ok {
				continue
			}
			compared++
			if a == nil || b == nil || math.Abs(*a-*b) > 1e-7+1e-9*math.Abs(*b) {
				t.Errorf("%s %s = %v; AIPerf wrote %v", tag, name, a, b)
			}
		}
	}
	if compared < 300 {
		t.Errorf("compared %d figures; want at least 300", compared)
	}
	t.Logf("%d figures compared", compared)
}

func TestDistribution(t *testing.T) {
	c := counted{}
	for _, v := range []float64{1, 2, 2, 10, math.NaN()} {
		c.add(v)
	}
	d := c.distribution("ms", 1)
	// By hand: rank q/100·3 of 1 2 2 10.
	for name, pair := range map[string][2]float64{"avg": {*d.Avg, 3.75}, "p50": {*d.P50, 2}, "p75": {*d.P75, 4}, "p99": {*d.P99, 9.76}, "max": {*d.Max, 10}, "sum": {*d.Sum, 15}} {
		if math.Abs(pair[0]-pair[1]) > 1e-12 {
			t.Errorf("%s = %v; want %v", name, pair[0], pair[1])
		}
	}
	if *d.Count != 4 {
		t.Errorf("count = %d; want 4: an absent value is none", *d.Count)
	}
	if got := (counted{}).distribution("ms", 1); got != nil {
		t.Errorf("a distribution of nothing = %v; want nil", got)
	}
}
