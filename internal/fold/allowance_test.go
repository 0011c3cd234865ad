package fold

import (
	"testing"

	"hydrant/formats/run"
)

func TestAllowanceIsTheSmallest(t *testing.T) {
	quota := func(q float64) *float64 { return &q }
	for name, c := range map[string]struct {
		h    run.Header
		want float64
	}{
		"affinity over workers":   {run.Header{Workers: 2, Host: run.Host{CPUs: 8, CPUsAllowed: 6}}, 3},
		"quota over workers":      {run.Header{Workers: 2, Host: run.Host{CPUs: 8, CPUsAllowed: 6, CPUQuota: quota(1.5)}}, 0.75},
		"GOMAXPROCS":              {run.Header{Workers: 1, WorkerProcs: 4, Host: run.Host{CPUs: 16, CPUsAllowed: 16}}, 4},
		"GOMAXPROCS not known":    {run.Header{Workers: 1, Host: run.Host{CPUs: 16, CPUsAllowed: 16}}, 16},
		"GOMAXPROCS of no moment": {run.Header{Workers: 8, WorkerProcs: 4, Host: run.Host{CPUs: 16, CPUsAllowed: 16}}, 2},
	} {
		if got := (&part{header: c.h}).allowance(); got != c.want {
			t.Errorf("%s: allowance %v; want %v", name, got, c.want)
		}
	}
}
