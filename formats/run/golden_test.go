package run

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
)

// update tells the tests to rewrite the golden file and the generated parts of the page.
var update = os.Getenv("HYDRANT_GOLDEN") == "write"

const golden = "testdata/v1.arrows"

func some(v int64) formats.Int { return formats.Some(v) }

// goldenRequests are three batches of rows: complete ones, failed ones, one that
// was never sent; lists that are full, empty, null and with nulls inside.
func goldenRequests() [][]Request {
	ok := func(id, due int64) Request {
		return Request{
			RequestID: id, Session: fmt.Sprintf("s%d", id%2), Stream: "main", Turn: id / 2, Class: "chat", Model: "m",
			ScheduledNS: some(due), DueNS: some(due), PlannedInputTokens: some(100 + id), PlannedOutputTokens: some(4),
			ExpectedCachedTokens: some(16 * id), Worker: some(id % 2), PreparedNS: some(due - 5_000_000), CapWaitNS: some(0),
			DispatchedNS: some(due + 30_000), ConnAskedNS: some(due + 31_000), ConnReadyNS: some(due + 90_000),
			ConnReused: some(id & 1), DNSNS: some(due + 40_000), ConnectNS: some(due + 80_000), ConnID: some(7),
			RemoteAddr: "127.0.0.1:8000", WriteDoneNS: some(due + 120_000), HeadersNS: some(due + 1_000_000),
			FirstByteKernelNS: some(due + 1_990_000), FirstByteNS: some(due + 2_000_000), FirstEventNS: some(due + 2_010_000),
			FirstTokenKernelNS: some(due + 2_990_000), FirstTokenNS: some(due + 3_000_000), FirstAnswerKernelNS: some(due + 2_990_000),
			FirstAnswerNS: some(due + 3_000_000), LastTokenKernelNS: some(due + 62_990_000), LastTokenNS: some(due + 63_000_000 + id*1000),
			EndNS: some(due + 64_000_000), BytesSent: some(900), BytesReceived: some(1400), Reads: some(5), Events: some(6),
			MultiEventReads: some(1), SegmentsIn: some(5), Retransmits: some(0), RTTUS: some(41), InputTokens: some(101 + id),
			OutputTokens: some(4), ReasoningTokens: some(0), CachedTokens: some(16 * id), TokenSource: UsageChunks,
			FirstChunkTokens: some(1), TokenEvents: some(4), Outcome: OK, HTTPStatus: some(200), FinishReason: "length",
			EarlyResponse: some(0), ChunkGapUS: []int64{20_000, 19_500, 20_500 + id},
			ChunkDelayUS: []formats.Int{some(10), {}, some(11), some(9)}, ChunkTokens: []formats.Int{some(1), some(1), {}, some(1)},
		}
	}
	one := ok(2, 30_000_000)
	one.CapWaitNS = some(12_000)
	one.ChunkGapUS, one.ChunkDelayUS, one.ChunkTokens = []int64{}, nil, nil
	failed := Request{RequestID: 3, Turn: 1, After: []int64{1, 2}, Session: "s1", ScheduledNS: some(40_000_000), DueNS: some(95_000_000),
		Worker: some(1), DispatchedNS: some(95_020_000), EndNS: some(99_000_000), Outcome: HTTPError, HTTPStatus: some(503),
		Error: "HTTP 503: überlastet"}
	unsent := Request{RequestID: 4, After: []int64{}, Outcome: NotSent}
	return [][]Request{{ok(0, 10_000_000), ok(1, 20_000_000)}, {one, failed}, {unsent}}
}

func goldenClients() []Client {
	c := func(w int64) Client {
		return Client{TNS: 1_000_000_000, Worker: w, PID: 4000 + w, IntervalNS: some(1_000_000_000), CPUUserNS: some(12_000_000),
			CPUSystemNS: some(9_000_000), RunqueueWaitNS: some(400_000), Timeslices: some(310), RSSBytes: some(30 << 20),
			Dispatched: some(2), InFlight: some(0), Completed: some(2), TokenEvents: some(8), LagP99NS: some(30_000), LagMaxNS: some(31_000)}
	}
	return []Client{c(0), c(1)}
}

func goldenHeader() Header {
	return Header{Build: "hydrant test", Schedule: json.RawMessage(`{"format":"hydrant-schedule","version":1}`), Target: []string{"http://127.0.0.1:8000"},
		Endpoint: "chat", Model: "m", Server: json.RawMessage("null"), Streaming: true, Engine: "http", Prompt: "text", Timing: "schedule",
		Flags: map[string]string{"workers": "2", "chunks": "full"}, Seed: 7, Workers: 2, WorkerProcs: 4, ChunkLists: "full", Calibration: "off",
		Host:  Host{Hostname: "host", Kernel: "6.1", BootID: "b", Arch: "amd64", Go: "go1.26", CPUs: 2, CPUsAllowed: 2, ClockSync: "unknown"},
		Epoch: Epoch{MonotonicNS: 123_000_000_000, WallNS: 1_790_000_000_000_000_000}, Labels: map[string]string{"run": "golden"}}
}

func goldenEnd() End {
	return End{Status: Complete, Planned: 5, Detail: Detail{Workers: []WorkerExit{{Worker: 0, PID: 4000, Rows: 3}, {Worker: 1, PID: 4001, Rows: 2}},
		Clocks: []Clock{{Worker: 0, BootID: "b", StartNS: 1, EndNS: 2}}, ScheduleSHA256: []string{"00"}, ScheduleEnd: json.RawMessage(`{"status":"complete"}`),
		Outcomes: []Outcome{{OK, 3}, {HTTPError, 1}, {NotSent, 1}},
		Totals:   Totals{DurationNS: 1_000_000_000, TokenEvents: 9}}}
}

// write makes one part from these rows.
func write(t testing.TB, batches [][]Request, clients []Client, end End) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, goldenHeader(), nil)
	if err != nil {
		t.Fatal(err)
	}
	e := NewEncoder()
	for _, rows := range batches {
		for i := range rows {
			e.Append(&rows[i])
		}
		b, ids, err := e.Batch()
		if err != nil {
			t.Fatal(err)
		}
		if len(ids) != len(rows) || ids[0] != rows[0].RequestID {
			t.Fatalf("Batch() ids = %v; want those of %d rows", ids, len(rows))
		}
		if err := w.Requests(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Client(clients); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(end); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// part is one part as read back.
type part struct {
	Header   string
	Requests []Request
	Clients  []Client
	End      *End
}

func clone(r *Request) Request {
	c := *r
	c.After, c.ChunkGapUS = copied(r.After), copied(r.ChunkGapUS)
	c.ChunkDelayUS, c.ChunkTokens = copied(r.ChunkDelayUS), copied(r.ChunkTokens)
	return c
}

func copied[T any](v []T) []T {
	if v == nil {
		return nil
	}
	return append([]T{}, v...)
}

// pipe hides that a reader can seek.
type pipe struct{ r *bytes.Reader }

func (p pipe) Read(b []byte) (int, error) { return p.r.Read(b) }

// read reads everything; what was handed out before an error is returned with it.
func read(b []byte, seekable bool) (parts []part, err error) {
	var r *Reader
	if seekable {
		r, err = NewReader(bytes.NewReader(b), "f")
	} else {
		r, err = NewReader(pipe{bytes.NewReader(b)}, "f")
	}
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
		for {
			row, err := p.NextRequest()
			if err != nil {
				break
			}
			got.Requests = append(got.Requests, clone(row))
		}
		for {
			row, err := p.NextClient()
			if err != nil {
				break
			}
			got.Clients = append(got.Clients, *row)
		}
		if got.End, err = p.End(); err != nil {
			return parts, err
		}
	}
}

func TestGolden(t *testing.T) {
	want := write(t, goldenRequests(), goldenClients(), goldenEnd())
	if update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(golden, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the writer makes other bytes (%d) than %s (%d)", len(want), golden, len(got))
	}
	for _, seekable := range []bool{true, false} {
		parts, err := read(got, seekable)
		if err.Error() != "EOF" || len(parts) != 1 {
			t.Fatalf("read(golden, %v) = %d parts, %v; want 1, EOF", seekable, len(parts), err)
		}
		var rows []Request
		for _, b := range goldenRequests() {
			rows = append(rows, b...)
		}
		if d := cmp.Diff(rows, parts[0].Requests); d != "" {
			t.Errorf("requests (-want +got):\n%s", d)
		}
		if d := cmp.Diff(goldenClients(), parts[0].Clients); d != "" {
			t.Errorf("clients (-want +got):\n%s", d)
		}
		end := goldenEnd()
		end.RequestsRows, end.ClientRows = 5, 2
		e := *parts[0].End
		if len(e.Offsets) != 6 || len(e.SHA256) != 64 {
			t.Errorf("end = %d messages, sha256 %q; want 6 and 64 digits", len(e.Offsets), e.SHA256)
		}
		e.SHA256, e.Offsets, e.Lengths, e.CRC32C = "", nil, nil, nil
		if d := cmp.Diff(end, e); d != "" {
			t.Errorf("end (-want +got):\n%s", d)
		}
	}
}
