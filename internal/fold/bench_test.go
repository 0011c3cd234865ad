package fold

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
)

// benchRows makes n answers of so many token events, a thousand a second.
func benchRows(n, events int) []run.Request {
	rows := make([]run.Request, n)
	for i := range rows {
		due := int64(i) * second / 1000
		at := func(us int64) formats.Int { return some(due + 1000*us) }
		q := run.Request{RequestID: int64(i), Session: fmt.Sprint("s", i%1000), Stream: "0", Class: "chat", Model: "m", ScheduledNS: some(due), DueNS: some(due),
			PlannedInputTokens: some(1000), PlannedOutputTokens: some(int64(events)), Worker: some(int64(i % 2)), Outcome: run.OK, HTTPStatus: some(200), TokenSource: run.Usage,
			PreparedNS: at(-500), DispatchedNS: at(20), ConnAskedNS: at(25), ConnReused: some(1), ConnReadyNS: at(27), WriteDoneNS: at(60), RemoteAddr: "127.0.0.1:8000",
			HeadersNS: at(20_000), FirstByteKernelNS: at(20_010), FirstByteNS: at(20_030), FirstEventNS: at(20_040), FirstTokenKernelNS: at(20_010), FirstTokenNS: at(20_050 + int64(i%977)),
			FirstAnswerKernelNS: at(20_010), FirstAnswerNS: at(20_050 + int64(i%977)), InputTokens: some(1004), OutputTokens: some(int64(events)), FirstChunkTokens: some(1),
			TokenEvents: some(int64(events)), BytesSent: some(4000), BytesReceived: some(90_000), Reads: some(int64(events)), Events: some(int64(events) + 2), SegmentsIn: some(int64(events)),
			MultiEventReads: some(0), Retransmits: some(0)}
		span := int64(0)
		if events > 1 {
			for j := range events - 1 {
				g := int64(9000 + (i*31+j*17)%2000)
				span += g
				q.ChunkGapUS = append(q.ChunkGapUS, g)
			}
			for j := range events {
				q.ChunkDelayUS = append(q.ChunkDelayUS, some(int64(30+(i+j*7)%50)))
			}
		} else {
			span = 3_000_000
			q.OutputTokens, q.TokenEvents = some(300), some(300)
		}
		q.LastTokenKernelNS, q.LastTokenNS, q.EndNS = at(20_010+span), at(20_050+int64(i%977)+span), at(21_500+span)
		rows[i] = q
	}
	return rows
}

// BenchmarkFold folds a run without chunk lists and one of 500 token events a row.
func BenchmarkFold(b *testing.B) {
	for _, c := range []struct {
		name         string
		rows, events int
	}{{"rows", 200_000, 1}, {"chunks", 4_000, 500}} {
		data := encode(b, testHeader(), benchRows(c.rows, c.events), nil, run.End{}, 4096)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if _, err := Run(context.Background(), []Input{{Name: "x", R: bytes.NewReader(data)}}, Options{NoColumns: true}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(c.rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
		b.Run("read_"+c.name, func(b *testing.B) {
			for b.Loop() {
				r, err := run.NewReader(bytes.NewReader(data), "x")
				if err != nil {
					b.Fatal(err)
				}
				p, err := r.NextPart()
				if err != nil {
					b.Fatal(err)
				}
				for {
					if _, err := p.NextRequest(); err != nil {
						break
					}
				}
			}
			b.ReportMetric(float64(c.rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
