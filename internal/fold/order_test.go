package fold

import (
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
)

func TestOrder(t *testing.T) {
	good := func() *run.Request {
		return &run.Request{RequestID: 1, DueNS: some(0), DispatchedNS: some(1e6), ConnAskedNS: some(2e6), DNSNS: some(3e6), ConnectNS: some(4e6), TLSNS: some(5e6),
			ConnReadyNS: some(6e6), WriteDoneNS: some(7e6), FirstByteKernelNS: some(8e6), FirstByteNS: some(8e6), FirstEventNS: some(9e6), FirstTokenKernelNS: some(9e6),
			FirstTokenNS: some(10e6), LastTokenNS: some(11e6), EndNS: some(12e6), ChunkGapUS: []int64{500, 0, 500}, ChunkDelayUS: []formats.Int{some(0), {}, some(3), some(1)}}
	}
	for _, c := range []struct {
		name              string
		change            func(q *run.Request)
		breach            int64
		rows, over, early int64
	}{
		{"good", func(*run.Request) {}, 0, 0, 0, 0},
		{"null stamps", func(q *run.Request) { *q = run.Request{DueNS: some(5), EndNS: some(9)} }, 0, 0, 0, 0},
		{"early send", func(q *run.Request) { q.DispatchedNS = some(-30_000) }, 30_000, 1, 0, 1},
		{"at the slack", func(q *run.Request) { q.FirstByteNS = some(7e6 - 50_000); q.FirstByteKernelNS = formats.Int{} }, 50_000, 1, 0, 0},
		{"beyond it", func(q *run.Request) { q.FirstByteNS = some(7e6 - 50_001); q.FirstByteKernelNS = formats.Int{} }, 50_001, 1, 1, 0},
		{"early answer", func(q *run.Request) { q.WriteDoneNS = some(9.5e6); q.EarlyResponse = some(1) }, 0, 0, 0, 0},
		{"early answer, written before connected", func(q *run.Request) { q.WriteDoneNS = some(5.5e6); q.EarlyResponse = some(1) }, 500_000, 1, 1, 0},
		{"against a stamp further back", func(q *run.Request) { q.FirstTokenNS = some(6.5e6); q.FirstTokenKernelNS = some(6e6) }, 2_500_000, 1, 1, 0},
		{"kernel after user", func(q *run.Request) { q.FirstTokenKernelNS = some(10e6 + 7) }, 7, 1, 0, 0},
		{"arrived before the request was written", func(q *run.Request) { q.FirstByteKernelNS = some(7e6 - 9) }, 9, 1, 0, 0},
		{"so early", func(q *run.Request) { q.FirstByteKernelNS, q.EarlyResponse = some(7e6-9), some(1) }, 0, 0, 0, 0},
		{"falling chunks", func(q *run.Request) { q.ChunkGapUS[1] = -2 }, 2000, 1, 0, 0},
		{"chunk seen before its arrival", func(q *run.Request) { q.ChunkDelayUS[2] = some(-60) }, 60_000, 1, 1, 0},
	} {
		q := good()
		c.change(q)
		var o order
		var lists chunks
		if err := lists.take(q); err != nil {
			t.Fatal(err)
		}
		o.add(q, lists.low)
		if o.rows != c.rows || o.over != c.over || o.early != c.early || o.most != c.breach {
			t.Errorf("%s: rows %d, over %d, early %d, most %d; want %d, %d, %d, %d", c.name, o.rows, o.over, o.early, o.most, c.rows, c.over, c.early, c.breach)
		}
	}
}
