package slo

import (
	"slices"
	"strings"
)

// presets holds the latency limits of MLPerf Inference, in ms at p99; 0 means no such
// limit. They come from loadgen/mlperf.conf of mlcommons/inference@b66003e, except
// where the name ends in -rules: inference_rules.adoc of
// mlcommons/inference_policies@ac93e89 differs there. A preset lends its limits only;
// it does not make a run an MLPerf result.
var presets = [...]struct {
	name            string
	ttft, tpot, e2e int64
}{
	{"mlperf/llama2-70b/server", 2000, 200, 0},
	{"mlperf/llama2-70b/interactive", 450, 40, 0},
	{"mlperf/llama3.1-8b/server", 2000, 100, 0},
	{"mlperf/llama3.1-8b/interactive", 500, 30, 0},
	{"mlperf/llama3.1-405b/server", 6000, 175, 0},
	{"mlperf/llama3.1-405b/interactive", 4500, 80, 0},
	{"mlperf/mixtral-8x7b/server", 2000, 200, 0},
	{"mlperf/deepseek-r1/server", 2000, 80, 0},
	{"mlperf/deepseek-r1/interactive", 1500, 15, 0},
	{"mlperf/gpt-oss-120b/server", 3000, 80, 0},
	{"mlperf/gpt-oss-120b/interactive", 2000, 15, 0},
	{"mlperf/gpt-oss-120b/interactive-rules", 2000, 20, 0},
	{"mlperf/qwen3-vl-235b/server", 0, 0, 12000},
}

// Presets returns the names of all presets.
func Presets() []string {
	var names []string
	for _, p := range presets {
		names = append(names, p.name)
	}
	return names
}

func preset(place, name string) ([]Objective, error) {
	i := slices.Index(Presets(), name)
	if i < 0 {
		return nil, &Error{place, "preset", name, "one of " + strings.Join(Presets(), ", ")}
	}
	var set []Objective
	for _, l := range []struct {
		metric string
		ms     int64
	}{{"ttft", presets[i].ttft}, {"tpot", presets[i].tpot}, {"e2e", presets[i].e2e}} {
		if l.ms == 0 {
			continue
		}
		o := Objective{Kind: Quantile, P: 0.99, Limit: Limit{Metric: l.metric, Side: User, BaseNS: l.ms * 1e6}}
		o.Text = l.metric + ":p99<=" + o.Limit.Bound()
		set = append(set, o)
	}
	return set, nil
}
