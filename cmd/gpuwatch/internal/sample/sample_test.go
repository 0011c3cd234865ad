package sample

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hydrant/cmd/gpuwatch/internal/nvml"
	"hydrant/formats"
	"hydrant/formats/gpu"
)

func some(v int64) formats.Int { return formats.Some(v) }

// bubble is the clock of a synctest bubble; monotonic time is 1 s after its start.
type bubble struct{ start time.Time }

func (b bubble) Now() (wall, mono int64) {
	now := time.Now()
	return now.UnixNano(), int64(now.Sub(b.start)) + int64(time.Second)
}

// card is a fake device: it answers after a while, and from some reading on it is
// lost.
type card struct {
	id        nvml.Identity
	takes     func(n int) time.Duration
	lostAfter int // readings; 0: never
	reading   func(n int) nvml.Reading
	n         int
}

func (c *card) Identity() nvml.Identity { return c.id }

func (c *card) Read() (nvml.Reading, error) {
	c.n++
	if c.takes != nil {
		time.Sleep(c.takes(c.n - 1))
	}
	if c.lostAfter > 0 && c.n > c.lostAfter {
		return nvml.Reading{}, nvml.ErrLost
	}
	if c.reading == nil {
		return nvml.Reading{EnergyMJ: some(int64(c.n))}, nil
	}
	return c.reading(c.n - 1), nil
}

func newCard(i int64) *card {
	return &card{id: nvml.Identity{Index: i, UUID: fmt.Sprintf("GPU-%d", i), Name: "Card"}}
}

// kept keeps the rows, and how many had arrived at each flush.
type kept struct {
	rows    []gpu.Sample
	flushes []int
	err     error
	at      int // flush that fails, from 1
}

func (k *kept) Samples(rows []gpu.Sample) error {
	k.rows = append(k.rows, rows...)
	return nil
}

func (k *kept) Flush() error {
	k.flushes = append(k.flushes, len(k.rows))
	if k.at > 0 && len(k.flushes) >= k.at {
		return k.err
	}
	return nil
}

// runs samples cards inside a bubble.
func runs(t *testing.T, o Options, sink *kept, cancelAfter time.Duration, cards ...*card) (tally Tally, warnings []string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		if cancelAfter > 0 {
			time.AfterFunc(cancelAfter, func() { cancel(errStop) })
		}
		o.Host, o.Source = "host", "nvml"
		o.Warn = func(f string, a ...any) { warnings = append(warnings, fmt.Sprintf(f, a...)) }
		var ds []nvml.Device
		for _, c := range cards {
			ds = append(ds, c)
		}
		tally, err = Run(ctx, ds, sink, bubble{time.Now()}, o)
	})
	return tally, warnings, err
}

var errStop = errors.New("interrupted")

// column picks one value of each row.
func column[V any](rows []gpu.Sample, f func(gpu.Sample) V) (out []V) {
	for _, r := range rows {
		out = append(out, f(r))
	}
	return out
}

const ms = int64(time.Millisecond)

func TestOnTime(t *testing.T) {
	sink := &kept{}
	tally, warnings, err := runs(t, Options{Period: 100 * time.Millisecond, Duration: 2500 * time.Millisecond}, sink, 0, newCard(0), newCard(1))
	if err != nil || warnings != nil {
		t.Fatalf("Run = %v, %v; want no error and no warning", err, warnings)
	}
	if want := (Tally{Samples: 26}); tally != want {
		t.Errorf("tally = %+v; want %+v", tally, want)
	}
	if len(sink.rows) != 52 {
		t.Fatalf("%d rows; want 52", len(sink.rows))
	}
	if d := cmp.Diff([]int{22, 42, 52}, sink.flushes); d != "" {
		t.Errorf("rows at each flush, once a second (-want +got):\n%s", d)
	}
	for i, r := range sink.rows {
		k := int64(i / 2)
		want := gpu.Sample{WallNS: r.WallNS, MonotonicNS: int64(time.Second) + 100*ms*k, IntervalNS: some(100 * ms), Host: "host", Source: "nvml",
			Index: int64(i % 2), UUID: fmt.Sprintf("GPU-%d", i%2), Name: "Card", EnergyMJ: some(k + 1), SamplerLateNS: some(0), SamplerMissed: some(0)}
		if k == 0 {
			want.IntervalNS = formats.Int{}
		}
		if d := cmp.Diff(want, r); d != "" {
			t.Fatalf("row %d (-want +got):\n%s", i, d)
		}
	}
}

// TestSlowDevice has a device that takes 250 ms for its third reading: the next
// instant is read late at once, the one in between is missed, and the timeline
// does not move.
func TestSlowDevice(t *testing.T) {
	slow := newCard(0)
	slow.takes = func(n int) time.Duration {
		if n == 2 {
			return 250 * time.Millisecond
		}
		return 0
	}
	sink := &kept{}
	tally, _, err := runs(t, Options{Period: 100 * time.Millisecond, Duration: 600 * time.Millisecond}, sink, 0, slow, newCard(1))
	if err != nil {
		t.Fatal(err)
	}
	late := column(sink.rows, func(s gpu.Sample) int64 { return s.SamplerLateNS.V / ms })
	if d := cmp.Diff([]int64{0, 0, 0, 0, 0, 250, 50, 50, 0, 0, 0, 0}, late); d != "" {
		t.Errorf("lateness in ms (-want +got):\n%s", d)
	}
	missed := column(sink.rows, func(s gpu.Sample) int64 { return s.SamplerMissed.V })
	if d := cmp.Diff([]int64{0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0}, missed); d != "" {
		t.Errorf("missed (-want +got):\n%s", d)
	}
	interval := column(sink.rows, func(s gpu.Sample) int64 { return s.IntervalNS.V / ms })
	if d := cmp.Diff([]int64{0, 0, 100, 100, 100, 350, 250, 0, 50, 50, 100, 100}, interval); d != "" {
		t.Errorf("interval in ms (-want +got):\n%s", d)
	}
	if want := (Tally{Samples: 6, Missed: 1, MaxLate: 250 * ms}); tally != want {
		t.Errorf("tally = %+v; want %+v", tally, want)
	}
}

// TestUnsupported: null is never 0, and a query that fails is said once.
func TestUnsupported(t *testing.T) {
	mig := newCard(1)
	mig.reading = func(int) nvml.Reading {
		return nvml.Reading{MemoryUsedBytes: some(0), Failed: []nvml.Failure{{Query: "power", Err: errors.New("no permission")}}}
	}
	sink := &kept{}
	_, warnings, err := runs(t, Options{Period: time.Second, Duration: 2 * time.Second}, sink, 0, mig)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range sink.rows {
		if r.UtilizationPPM.Valid || r.PowerMW.Valid || r.EnergyMJ.Valid || r.MemoryUsedBytes != some(0) {
			t.Errorf("row = %+v; want nulls where nothing was reported and the 0 that was", r)
		}
	}
	if d := cmp.Diff([]string{"device 1 (GPU-1): power: no permission; its values are null from now on"}, warnings); d != "" {
		t.Errorf("warnings (-want +got):\n%s", d)
	}
}

func TestLostDevice(t *testing.T) {
	gone := newCard(0)
	gone.lostAfter = 2
	sink := &kept{}
	tally, warnings, err := runs(t, Options{Period: time.Second, Duration: 4 * time.Second}, sink, 0, gone, newCard(1))
	if err != nil || tally.Lost != "GPU-0" || len(warnings) != 1 {
		t.Fatalf("Run = %+v, %v, %v; want GPU-0 lost and one warning", tally, err, warnings)
	}
	energy := column(sink.rows, func(s gpu.Sample) string { return s.EnergyMJ.String() })
	if d := cmp.Diff([]string{"1", "1", "2", "2", "null", "3", "null", "4", "null", "5"}, energy); d != "" {
		t.Errorf("energy (-want +got):\n%s", d)
	}
	if gone.n != 3 {
		t.Errorf("a lost device was read %d times; want 3", gone.n)
	}
	alone := newCard(0)
	alone.lostAfter = 1
	if _, _, err = runs(t, Options{Period: time.Second}, &kept{}, 0, alone); !errors.Is(err, ErrAllLost) {
		t.Errorf("Run of lost devices = %v; want %v", err, ErrAllLost)
	}
}

func TestInterrupted(t *testing.T) {
	sink := &kept{}
	tally, _, err := runs(t, Options{Period: time.Second}, sink, 2500*time.Millisecond, newCard(0))
	if err != errStop || tally.Samples != 3 || len(sink.rows) != 3 || sink.flushes[len(sink.flushes)-1] != 3 {
		t.Errorf("Run = %+v, %v with %d rows; want 3 rows, all flushed, and the cause", tally, err, len(sink.rows))
	}
}

func TestSinkFails(t *testing.T) {
	full := errors.New("no space left")
	sink := &kept{err: full, at: 1}
	if tally, _, err := runs(t, Options{Period: time.Second}, sink, 0, newCard(0)); err != full || tally.Samples != 2 {
		t.Errorf("Run = %+v, %v; want %v at the first flush, after a second", tally, err, full)
	}
}

func TestSelect(t *testing.T) {
	all := []nvml.Device{newCard(0), newCard(1), newCard(2)}
	for _, c := range []struct{ names, want string }{{"", "GPU-0 GPU-1 GPU-2"}, {"2 0", "GPU-0 GPU-2"}, {"GPU-1", "GPU-1"}, {"1 GPU-1", "GPU-1"}} {
		got, err := Select(all, strings.Fields(c.names))
		if err != nil {
			t.Fatal(err)
		}
		var uuids []string
		for _, d := range got {
			uuids = append(uuids, d.Identity().UUID)
		}
		if s := strings.Join(uuids, " "); s != c.want {
			t.Errorf("Select(%q) = %s; want %s", c.names, s, c.want)
		}
	}
	_, err := Select(all, []string{"3"})
	var unknown *UnknownDeviceError
	if !errors.As(err, &unknown) || err.Error() != `--devices: got "3", want an index below 3 or a uuid` || !strings.Contains(unknown.Hint(), "1 GPU-1 (Card)") {
		t.Errorf("Select(3) = %v; want an error that lists the devices", err)
	}
}
