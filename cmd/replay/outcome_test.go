package main

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hydrant/formats"
	format "hydrant/formats/run"
	"hydrant/formats/schedule"
)

// faultSpec makes the simulated server fail each way, by request id.
const faultSpec = "default,step=20ms,step_per_seq=0s" +
	",fail=503:ids:1,error_mid=ids:2,garbage=ids:3,cut=ids:4,empty=ids:5,hang=ids:6,stall_mid=20s:ids:7,drip=200ms:ids:8+9,reset=ids:10"

// Every outcome there is, each produced once or more in one run, and all of them
// together are the plan.
func TestEveryOutcome(t *testing.T) {
	requests := make([]schedule.Request, 0, 40)
	for id := range 12 {
		requests = append(requests, request(id, time.Duration(id)*5*time.Millisecond))
	}
	requests[8].OutputTokens = formats.Some(100) // drips for 20 s: --total-timeout
	for id := 12; id < 37; id++ {                // long enough to be cut by the plan
		q := request(id, time.Duration(id)*5*time.Millisecond)
		q.OutputTokens = formats.Some(15)
		requests = append(requests, q)
	}
	// Sent before --duration ends and not done at the end of its grace, with a turn
	// that waits for it.
	late := request(37, 1600*time.Millisecond)
	late.OutputTokens, late.Last = formats.Some(200), false
	turn := request(38, 0)
	turn.AtNS, turn.After, turn.Session, turn.Turn = formats.Int{}, []int64{37}, late.Session, 1
	beyond := request(39, time.Hour)
	requests = append(requests, late, turn, beyond)

	p := replay(t, 0, planFile(t, requests), "--sim", faultSpec, "--workers", "2", "--seed", "11", "--preflight", "off", "--model", "sim",
		"--first-byte-timeout", "900ms", "--idle-timeout", "900ms", "--total-timeout", "1500ms", "--cancel", "0.2@100ms", "--duration", "2500ms", "--grace", "300ms")
	run := read(t, p.out.Bytes())
	if run.end.Status != format.Complete || run.end.Planned != 39 {
		t.Errorf("status %s, planned %d; want complete, 39: the plan ends with --duration", run.end.Status, run.end.Planned)
	}
	got := run.outcomes()
	for _, o := range format.Outcomes {
		if got[o] == 0 {
			t.Errorf("no request is %s", o)
		}
	}
	for id, want := range map[int64]string{1: format.HTTPError, 2: format.StreamError, 3: format.Malformed, 4: format.Truncated, 5: format.Empty,
		6: format.TimeoutFirstByte, 7: format.TimeoutIdle, 8: format.TimeoutTotal, 10: format.ConnectError, 37: format.Cancelled, 38: format.NotSent} {
		if o := run.rows[id].Outcome; o != want {
			t.Errorf("request %d is %s (%s); want %s", id, o, run.rows[id].Error, want)
		}
	}
	if e := run.rows[38].Error; e != "--duration 2.5s ended" {
		t.Errorf("not_sent for %q; want the flag that ended it", e)
	}
	if run.rows[38].DueNS.Valid {
		t.Errorf("a turn whose predecessor was cancelled by the end is due at %v; want null", run.rows[38].DueNS)
	}
}

// Timeouts, plan and target are what the flags say, in effect and in the header.
func TestHeaderHoldsTheEffectiveFlags(t *testing.T) {
	plan := planFile(t, []schedule.Request{request(0, 0), request(1, 0), request(2, 0)})
	p := replay(t, 0, plan, "--null", "--requests", "2", "--endpoint", "completions", "--prompt", "tokens", "--stream", "off",
		"--label", "gpu=H200", "--label", "note=a=b", "--cancel", "0.5@1h", "--warmup", "1s", "--server-block", "64")
	run := read(t, p.out.Bytes())
	if len(run.rows) != 2 || string(run.end.Detail.ScheduleEnd) != "null" || len(run.end.Detail.ScheduleSHA256) != 0 {
		t.Errorf("%d rows, schedule end %s; want 2, and no word on a schedule that was not read whole", len(run.rows), run.end.Detail.ScheduleEnd)
	}
	h := run.header
	want := map[string]string{"endpoint": "completions", "prompt": "tokens", "stream": "off", "chunks": "off", "requests": "2", "cancel": "0.5@1h0m0s",
		"warmup": "1s", "server-block": "64", "total-timeout": "1h0m0s"}
	got := map[string]string{}
	for k := range want {
		got[k] = h.Flags[k]
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"gpu": "H200", "note": "a=b"}, h.Labels); d != "" {
		t.Error(d)
	}
	if h.Endpoint != "completions" || h.Prompt != "tokens" || h.Streaming || h.Model != "sim" || h.Timing != "schedule" || h.WarmupNS != int64(time.Second) ||
		h.ChunkLists != "off" || h.Epoch.WallNS == 0 || h.Host.CPUs == 0 || len(h.Target) != 1 {
		t.Errorf("header = %+v", h)
	}
	for id, row := range run.rows {
		if row.Outcome != format.OK || row.InputTokens != formats.Some(20) || row.OutputTokens != formats.Some(3) || row.ChunkGapUS != nil {
			t.Errorf("request %d = %+v", id, row)
		}
	}
}

// Delta sessions send their history once; the reply that fails ends its session only.
func TestDeltaSessions(t *testing.T) {
	var requests []schedule.Request
	for id := range 9 {
		q := request(id, time.Duration(id)*10*time.Millisecond)
		q.Session, q.Turn, q.Context, q.Last = fmt.Sprint("s", id%3), int64(id/3), schedule.Delta, id >= 6
		if id >= 3 {
			q.After = []int64{int64(id - 3)}
		}
		requests = append(requests, q)
	}
	p := replay(t, 0, planFile(t, requests), "--sim", "null,fail=500:ids:1,empty=ids:5", "--workers", "2")
	run := read(t, p.out.Bytes())
	want := map[int64]string{0: format.OK, 1: format.HTTPError, 2: format.OK, 3: format.OK, 4: format.NotSent, 5: format.Empty, 6: format.OK, 7: format.NotSent, 8: format.NotSent}
	got := map[int64]string{}
	for id, row := range run.rows {
		got[id] = row.Outcome
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// 20 words a turn and a reply of 3 tokens after each.
	for _, id := range []int64{0, 3, 6} {
		if in := run.rows[id].InputTokens.V; in != 20+id/3*23 {
			t.Errorf("turn %d: the server counts %d prompt tokens; want %d", id/3, in, 20+id/3*23)
		}
	}
	if e := run.rows[7].Error; e != "the session lost a reply: request 1 ended as http_error" {
		t.Errorf("request 7 is not sent for %q", e)
	}
}
