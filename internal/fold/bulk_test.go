package fold

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"hydrant/formats"
	"hydrant/formats/run"
)

// Rows that are taken in column by column give what they give one by one, whatever the length
// of the batches; and where one of them is not to be believed, the same error.
func TestRowsTakenTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 7))
	fold := func(rows []run.Request, h run.Header, batch int, each func(*run.Header, *run.Request) error) string {
		s, err := Run(context.Background(), []Input{{Name: "x", R: bytes.NewReader(encode(t, h, rows, nil, run.End{Detail: run.Detail{Totals: run.Totals{DurationNS: 1 << 40}}}, batch))}},
			Options{NoRows: true, Row: each})
		if err != nil {
			return "error: " + err.Error()
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	one := func(*run.Header, *run.Request) error { return nil }
	errors := 0
	for k := range 60 {
		rows := randomRows(uint64(k), 200+r.IntN(900))
		for i := range rows {
			q := &rows[i]
			if k%4 > 0 || i%2 == 0 {
				q.ChunkGapUS, q.ChunkDelayUS, q.ChunkTokens = nil, nil, nil
			}
			if k%5 == 0 { // some columns are null throughout
				q.Worker, q.DNSNS, q.EarlyResponse, q.After, q.Error = formats.Int{}, formats.Int{}, formats.Int{}, nil, ""
			}
			if k%7 == 0 && r.IntN(20) == 0 {
				*times(q)[r.IntN(len(timeNames))] = some(r.Int64N(1e9))
			}
		}
		if k%3 == 0 { // one value beyond its limits, or the mark of null
			q := &rows[r.IntN(len(rows))]
			wild := some([...]int64{math.MinInt64, math.MaxInt64, -1 << 61, -2e9, 1 << 61, 1 << 42}[r.IntN(6)])
			switch r.IntN(6) {
			case 0:
				q.Turn = wild.V
			case 1:
				q.Outcome = "unknown"
			case 2:
				q.TokenSource = "unknown"
			case 3, 4:
				*times(q)[r.IntN(len(timeNames))] = wild
			default:
				*[...]*formats.Int{&q.PlannedInputTokens, &q.InputTokens, &q.Worker, &q.BytesSent, &q.CapWaitNS, &q.Retransmits}[r.IntN(6)] = wild
			}
		}
		h := testHeader()
		if h.Streaming = k%6 > 0; k%8 == 1 {
			h.Timing = "asap"
		}
		batch := 1 + r.IntN(700)
		want, got := fold(rows, h, batch, one), fold(rows, h, batch, nil)
		if got != want {
			t.Fatalf("case %d, batches of %d: together %.300s\none by one %.300s", k, batch, got, want)
		}
		if bytes.HasPrefix([]byte(want), []byte("error")) {
			errors++
		}
	}
	if errors < 10 || errors > 30 {
		t.Errorf("%d of 60 runs are refused", errors)
	}
}

// times are the times of a row in the order of timeNames.
func times(q *run.Request) [len(timeNames)]*formats.Int {
	var all [len(timeNames)]*formats.Int
	for i, name := range timeNames {
		p, ok := run.Columns[run.ColumnIndex(name)].Field(q).(*formats.Int)
		if !ok {
			panic(fmt.Sprint(name, " is no time"))
		}
		all[i] = p
	}
	return all
}

// A text has one number, however many there are.
func TestTexts(t *testing.T) {
	x := newTexts()
	for range 2 {
		for i := range 5000 {
			if got := x.index(fmt.Append(nil, "text ", i)); got != int64(i) || x.of(got) != fmt.Sprint("text ", i) {
				t.Fatalf("text %d has number %d, of %q", i, got, x.of(got))
			}
		}
	}
}
