package calibrate

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"hydrant/formats/run"
	"hydrant/internal/cli"
)

// near is how far means over the lines of two schedules may lie apart.
const near = 0.05

// Reuse takes the calibration of an earlier run, in the file name, for a run that would be
// calibrated with o. Everything that a ceiling depends on has to be the same; the error
// names the first difference. Boots may differ.
func Reuse(name string, o Options) (*run.Calibration, error) {
	c, err := read(name)
	if err != nil {
		return nil, err
	}
	want := newResult(o)
	for _, f := range facts(c, want) {
		if f.got != f.want {
			return nil, cli.WithHint(fmt.Errorf("%s: calibration: %s: got %q, want %q", name, f.name, f.got, f.want), "leave --calibration out: the run is then calibrated itself")
		}
	}
	for _, m := range means(&c.Profile, &want.Profile) {
		if math.Abs(m.got-m.want) > near*math.Max(m.got, m.want) {
			return nil, cli.WithHint(fmt.Errorf("%s: calibration: profile %s: got %.6g, want %.6g within %.0f %%", name, m.name, m.got, m.want, 100*near),
				"leave --calibration out: the run is then calibrated itself")
		}
	}
	c.Status = run.Reused
	c.Offered, c.AtOffered = nil, nil
	if o.known() && c.Ceiling.RequestsPS > 0 {
		out, events := float64(c.Profile.BodyBytes.V), o.Sample.meanEvents(&step{per: per(&o.Profile)})
		in := 0.0
		if c.Ceiling.EventsPS > 0 {
			in = (c.Ceiling.BytesPS - c.Ceiling.RequestsPS*out) / c.Ceiling.EventsPS
		}
		offer(c, o.Sample.rate, events, out, in)
	}
	return c, nil
}

// read returns the calibration in the end of a run, of its last part.
func read(name string) (*run.Calibration, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := run.NewReader(f, name)
	if err != nil {
		return nil, err
	}
	var end *run.End
	for {
		part, err := r.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			end, err = part.End()
		}
		if err != nil {
			return nil, err
		}
	}
	if end == nil || end.Detail.Calibration == nil || end.Detail.Calibration.Ceiling == nil {
		return nil, cli.WithHint(fmt.Errorf("%s: calibration: got none, want a run whose calibration found a ceiling", name), "replay --calibrate 5s writes one into the end of its run")
	}
	return end.Detail.Calibration, nil
}

// fact is one thing that has to be equal.
type fact struct{ name, got, want string }

func facts(c, want *run.Calibration) []fact {
	h, w, p, q := &c.Host, &want.Host, &c.Profile, &want.Profile
	n := strconv.Itoa
	return []fact{
		{"host", h.Hostname, w.Hostname},
		{"kernel", h.Kernel, w.Kernel},
		{"architecture", h.Arch, w.Arch},
		{"Go version", h.Go, w.Go},
		{"CPUs", n(h.CPUs), n(w.CPUs)},
		{"CPUs allowed", n(h.CPUsAllowed), n(w.CPUsAllowed)},
		{"CPU quota", quota(h.CPUQuota), quota(w.CPUQuota)},
		{"build", c.Build, want.Build},
		{"engine", c.Engine, want.Engine},
		{"workers", n(c.Workers), n(want.Workers)},
		{"profile endpoint", p.Endpoint, q.Endpoint},
		{"profile streaming", strconv.FormatBool(p.Streaming), strconv.FormatBool(q.Streaming)},
		{"profile prompt", p.Prompt, q.Prompt},
		{"profile chunks", p.ChunkLists, q.ChunkLists},
		{"profile worker_procs", n(p.WorkerProcs), n(q.WorkerProcs)},
		{"profile nice", n(p.Nice), n(q.Nice)},
		{"profile spin_ns", strconv.FormatInt(p.SpinNS, 10), strconv.FormatInt(q.SpinNS, 10)},
		{"profile caps", strconv.FormatBool(p.Caps), strconv.FormatBool(q.Caps)},
		{"profile injected", pairs(p.Injected), pairs(q.Injected)},
		{"profile stagger", strconv.FormatBool(p.Stagger), strconv.FormatBool(q.Stagger)},
		{"profile tokens_per_event", n(p.TokensPerEvent), n(q.TokensPerEvent)},
	}
}

// mean is one figure that has to be near.
type mean struct {
	name      string
	got, want float64
}

func means(p, q *run.Profile) []mean {
	return []mean{
		{"event_gap_ns", float64(p.EventGapNS), float64(q.EventGapNS)},
		{"input_tokens", p.InputTokens, q.InputTokens},
		{"literal_bytes", p.LiteralBytes, q.LiteralBytes},
		{"output_tokens", p.OutputTokens, q.OutputTokens},
	}
}

func quota(q *float64) string {
	if q == nil {
		return "none"
	}
	return strconv.FormatFloat(*q, 'g', -1, 64)
}

func pairs(m map[string]string) string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		list = append(list, k+"="+m[k])
	}
	return strings.Join(list, " ")
}
