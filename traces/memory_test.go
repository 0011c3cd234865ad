package traces

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"
)

// rowsOf yields a text of n rows, made as it is read.
type rowsOf struct {
	head string
	n, i int
	row  func(w io.Writer, i int)
	buf  bytes.Buffer
}

func (g *rowsOf) Read(p []byte) (int, error) {
	if g.i == 0 {
		g.buf.WriteString(g.head)
	}
	for g.buf.Len() == 0 || g.i == 0 {
		if g.i == g.n {
			return 0, io.EOF
		}
		g.row(&g.buf, g.i)
		g.i++
	}
	return g.buf.Read(p)
}

// Memory does not grow with rows: heap of many rows, half of them read, against few. It
// may grow by some bytes for each row where a format's page says so.
func TestReadersMemory(t *testing.T) {
	rag := ragReader(ragTables(t))
	for _, c := range []struct {
		name   string
		read   reader
		o      Options
		head   string
		row    func(w io.Writer, i int)
		perRow uint64
	}{
		{"azure", azure.read, Options{}, "TIMESTAMP,ContextTokens,GeneratedTokens\n", func(w io.Writer, i int) {
			fmt.Fprintf(w, "2024-05-10 %02d:%02d:%02d.5+00:00,%d,7\n", i/3600%24, i/60%60, i%60, i%5000)
		}, 0},
		{"vidur", vidur.read, Options{}, "arrived_at,num_prefill_tokens,num_decode_tokens\n", func(w io.Writer, i int) { fmt.Fprintf(w, "%d.%d,%d,7\n", i, i%1000, i%5000) }, 0},
		{"burstgpt", BurstGPT, Options{MintBlocks: 16}, burstHeader, func(w io.Writer, i int) { fmt.Fprintf(w, "%d,,3,M,%d,7,,x\n", i, i%5000) }, 0},
		{"burstgpt, with sessions", BurstGPT, Options{MintBlocks: 16}, burstHeader, func(w io.Writer, i int) { fmt.Fprintf(w, "%d,%036d,3,M,%d,7,,x\n", i, i/3, i%5000) }, 50},
		{"bailian", Bailian, Options{}, "", func(w io.Writer, i int) { io.WriteString(w, turnRow(int64(i), int64(i)-1, fmt.Sprint(i), i+1)) }, 90},
		{"ragpulse", rag, Options{}, "", func(w io.Writer, i int) {
			io.WriteString(w, ragLine(fmt.Sprint(i), fmt.Sprint(i%10), 50, ragLists("100,101", "202", "", fmt.Sprint(500+i%10), fmt.Sprint(400+i%7))))
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			heap := func(n int) uint64 {
				return heapHalfway(t, c.read, piped("t", &rowsOf{head: c.head, n: n, row: c.row}), c.o, n)
			}
			const few, many = 2_000, 60_000
			small, large := heap(few), heap(many)
			if large > small+1<<20+c.perRow*many {
				t.Errorf("heap of %d rows is %d KiB, of %d rows %d KiB; want at most 1 MiB and %d bytes a row more", many, large>>10, few, small>>10, c.perRow)
			}
		})
	}
}

// heapHalfway reads a trace of n rows, in order and whole, and returns the heap in use,
// bytes, after half of its requests.
func heapHalfway(t *testing.T, read reader, in Input, o Options, n int) uint64 {
	t.Helper()
	tr, err := read(in, o)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var m runtime.MemStats
	last, rows := int64(-1), 0
	for {
		r, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if r.AtNS.V < last || r.ID != int64(rows) {
			t.Fatalf("request %d at %d after %d", r.ID, r.AtNS.V, last)
		}
		last = r.AtNS.V
		if rows++; rows == n/2 {
			runtime.GC()
			runtime.ReadMemStats(&m)
		}
	}
	if rows != n {
		t.Fatalf("%d requests out of %d rows", rows, n)
	}
	return m.HeapAlloc
}
