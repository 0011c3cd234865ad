package gpu

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
)

// update tells the tests to rewrite the golden file and the generated parts of the page.
var update = os.Getenv("HYDRANT_GOLDEN") == "write"

const golden = "testdata/v1.arrows"

func some(v int64) formats.Int { return formats.Some(v) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// goldenSamples are three batches of two devices: one that reports everything
// NVML can, one in MIG mode that reports little.
func goldenSamples() [][]Sample {
	var batches [][]Sample
	for i := range int64(3) {
		full := Sample{WallNS: 1_790_000_000_000_000_000 + i*100_000_000, MonotonicNS: 5_000_000_000 + i*100_000_000, Host: "host", Source: "nvml",
			UUID: "GPU-0", Name: "Card", UtilizationPPM: some(990_000), MemoryActivityPPM: some(0), MemoryUsedBytes: some(70 << 30),
			MemoryTotalBytes: some(80 << 30), PowerMW: some(651_234 + i), PowerLimitMW: some(700_000), EnergyMJ: some(1_000_000 + i*65_123),
			TemperatureC: some(61), SMClockMHz: some(1980), MemoryClockMHz: some(2619), ThrottleReasons: some(4), ThrottlePowerNS: some(i * 1000),
			ThrottleThermalNS: some(0), SamplerLateNS: some(12_345), SamplerMissed: some(0)}
		mig := Sample{WallNS: full.WallNS + 1000, MonotonicNS: full.MonotonicNS + 1000, Host: "host", Source: "nvml", Index: 1, UUID: "GPU-1",
			Name: "Card", MemoryUsedBytes: some(1 << 30), PowerMW: some(90_000), SamplerLateNS: some(13_345), SamplerMissed: some(i)}
		if i > 0 {
			full.IntervalNS, mig.IntervalNS = some(100_000_000), some(100_000_000*(i+1))
		}
		batches = append(batches, []Sample{full, mig})
	}
	return batches
}

func goldenServer() []Server {
	return []Server{{WallNS: 1_790_000_000_000_000_000, MonotonicNS: 5_000_000_000, Instance: "http://127.0.0.1:8000/metrics",
		Name: "vllm:num_requests_running", Labels: `{model_name="m"}`, Value: 3}}
}

func goldenHost() []Host {
	return []Host{{WallNS: 1_790_000_000_000_000_000, MonotonicNS: 5_000_000_000, Host: "host", Kind: "process", Name: "vllm", CPUNS: some(77)},
		{WallNS: 1_790_000_000_000_000_000, MonotonicNS: 5_000_000_000, Host: "host", Kind: "link", Name: "eth0", RxBytes: some(1), TxBytes: some(2), LinkBitsPS: some(25_000_000_000)}}
}

func goldenHeader() Header {
	return Header{Build: "hydrant test", Host: "host", BootID: "b", PeriodNS: 100_000_000, Source: "nvml", Driver: "570.1",
		Labels: map[string]string{"run": "golden"}, Devices: []Device{{Index: 0, UUID: "GPU-0", Name: "Card", MemoryTotalBytes: some(80 << 30), PowerLimitMW: some(700_000)}, {Index: 1, UUID: "GPU-1", Name: "Card"}}}
}

// write makes one part from these rows.
func write(t testing.TB, batches [][]Sample, server []Server, host []Host, end End) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, goldenHeader())
	check(t, err)
	for _, rows := range batches {
		check(t, w.Samples(rows))
		check(t, w.Flush())
	}
	check(t, w.Server(server))
	check(t, w.Host(host))
	check(t, w.Close(end))
	return out.Bytes()
}

// part is one part as read back.
type part struct {
	Header  string
	Samples []Sample
	Server  []Server
	Host    []Host
	End     *End
}

// pipe hides that a reader can seek.
type pipe struct{ r *bytes.Reader }

func (p pipe) Read(b []byte) (int, error) { return p.r.Read(b) }

func input(b []byte, seekable bool) io.Reader {
	if seekable {
		return bytes.NewReader(b)
	}
	return pipe{bytes.NewReader(b)}
}

// read reads everything; what was handed out before an error is returned with it.
func read(b []byte, seekable bool) (parts []part, err error) {
	r, err := NewReader(input(b, seekable), "f")
	if err != nil {
		return nil, err
	}
	for {
		p, err := r.NextPart()
		if err != nil {
			return parts, err
		}
		parts = append(parts, part{Header: string(p.HeaderJSON())})
		got := &parts[len(parts)-1]
		got.Samples = all(p.NextSample)
		got.Server = all(p.NextServer)
		got.Host = all(p.NextHost)
		if got.End, err = p.End(); err != nil {
			return parts, err
		}
	}
}

func all[T any](next func() (*T, error)) (rows []T) {
	for {
		row, err := next()
		if err != nil {
			return rows
		}
		rows = append(rows, *row)
	}
}

func goldenBytes(t testing.TB) []byte {
	t.Helper()
	b, err := os.ReadFile(golden)
	check(t, err)
	return b
}

func TestGolden(t *testing.T) {
	want := write(t, goldenSamples(), goldenServer(), goldenHost(), End{Status: Complete})
	if update {
		check(t, os.MkdirAll("testdata", 0o755))
		check(t, os.WriteFile(golden, want, 0o644))
	}
	b := goldenBytes(t)
	if !bytes.Equal(b, want) {
		t.Errorf("the writer makes other bytes (%d) than %s (%d)", len(want), golden, len(b))
	}
	if !Sniff(b[:512]) || Sniff(b[:3]) {
		t.Error("Sniff does not know a gpu stream from its first bytes")
	}
	var samples []Sample
	for _, rows := range goldenSamples() {
		samples = append(samples, rows...)
	}
	for _, seekable := range []bool{true, false} {
		parts, err := read(append(b[:len(b):len(b)], b...), seekable)
		if err != io.EOF || len(parts) != 2 {
			t.Fatalf("read = %d parts, %v; want 2, EOF", len(parts), err)
		}
		for _, p := range parts {
			if d := cmp.Diff(samples, p.Samples); d != "" {
				t.Errorf("samples (-want +got):\n%s", d)
			}
			if d := cmp.Diff(goldenServer(), p.Server); d != "" {
				t.Errorf("server (-want +got):\n%s", d)
			}
			if d := cmp.Diff(goldenHost(), p.Host); d != "" {
				t.Errorf("host (-want +got):\n%s", d)
			}
			if e := p.End; e.Status != Complete || e.GPURows != 6 || e.ServerRows != 1 || e.HostRows != 2 || len(e.Offsets) != 8 || len(e.SHA256) != 64 {
				t.Errorf("end = %+v", e)
			}
		}
	}
	r, _ := NewReader(bytes.NewReader(b), "f")
	p, err := r.NextPart()
	check(t, err)
	h := goldenHeader()
	h.Format, h.Version = Format, Version
	if d := cmp.Diff(h, p.Header()); d != "" {
		t.Errorf("header (-want +got):\n%s", d)
	}
}

// TestEmpty is the stream of a host without devices: whole, and it says why.
func TestEmpty(t *testing.T) {
	b := write(t, nil, nil, nil, End{Status: Complete, Reason: "no driver"})
	for _, seekable := range []bool{true, false} {
		parts, err := read(b, seekable)
		if err != io.EOF || len(parts) != 1 || parts[0].Samples != nil || parts[0].End.Reason != "no driver" {
			t.Fatalf("read = %+v, %v; want one part without rows and its reason", parts, err)
		}
	}
}

// TestBatches checks that samples reach the output without a call of Flush.
func TestBatches(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, goldenHeader())
	check(t, err)
	head := out.Len()
	check(t, w.Samples(make([]Sample, batchRows-1)))
	if out.Len() != head {
		t.Errorf("%d rows made a batch", batchRows-1)
	}
	check(t, w.Samples(make([]Sample, 1)))
	if out.Len() == head {
		t.Errorf("%d rows made no batch", batchRows)
	}
}

func TestWriteFails(t *testing.T) {
	full := errors.New("no space left")
	for n := range 3 {
		w, err := NewWriter(writerFunc(func(p []byte) (int, error) {
			if n--; n < 0 {
				return 0, full
			}
			return len(p), nil
		}), goldenHeader())
		if err == nil {
			w.Samples(goldenSamples()[0])
			w.Flush()
			err = w.Close(End{Status: Complete})
		}
		if !errors.Is(err, full) {
			t.Errorf("%v; want %v", err, full)
		}
	}
	w, err := NewWriter(io.Discard, goldenHeader())
	check(t, err)
	if err := w.Close(End{Status: "good"}); err == nil {
		t.Error("Close with an unknown status = nil; want an error")
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestForeign(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", "f: gpu: truncated: got end of input, want a part with its tables"},
		{"text", "no stream at all", `f: gpu: byte 0: message prefix: got "0x73206f6e", want 0xffffffff`},
		{"junk after", string(goldenBytes(t)) + "junk and more", `f: part 2: gpu: byte `},
	} {
		for _, seekable := range []bool{true, false} {
			if _, err := read([]byte(c.in), seekable); !typed(err) || len(err.Error()) < len(c.want) || err.Error()[:len(c.want)] != c.want {
				t.Errorf("%s, seekable %v: %v; want %s", c.name, seekable, err, c.want)
			}
		}
	}
	run, err := os.ReadFile("../run/testdata/v1.arrows")
	check(t, err)
	if _, err := read(run, true); fmt.Sprint(err) != `f: gpu: schema metadata: got "no hydrant.gpu", want the header of a hydrant-gpu` {
		t.Errorf("a run: %v", err)
	}
}
