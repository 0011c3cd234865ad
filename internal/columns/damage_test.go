package columns_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"hydrant/formats"
	"hydrant/internal/columns"
)

// all reads every row of every column that can be read.
func all(b []byte, name string) (rows int, err error) {
	table, err := open(bytes.NewReader(b), int64(len(b)), name)
	if err != nil {
		return 0, err
	}
	var ask []int
	for i, c := range table.Columns() {
		if c.Kind != columns.Other {
			ask = append(ask, i)
		}
	}
	r, err := table.Rows(ask)
	if err != nil {
		return 0, err
	}
	for rows < 100_000 {
		if _, err = r.Next(); err != nil {
			break
		}
		rows++
	}
	if err == io.EOF {
		err = nil
	}
	return rows, err
}

// A file that is cut anywhere is an error, never fewer rows. One with changed bytes is
// an error or reads as something, and never costs memory or a panic.
func TestDamage(t *testing.T) {
	dir := tables(t)
	r := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{"none-1.0.parquet", "snappy-2.0.parquet", "gzip-1.0.parquet", "zstd-2.0.parquet", "lz4-1.0.parquet", "delta.parquet", "strange.parquet", "zstd.arrow", "lz4.arrow", "coded.arrow", "views.arrow", "grown.arrow"} {
		t.Run(name, func(t *testing.T) {
			whole, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			cuts := []int{0, 1, 3, 4, 7, 8, 11, 12, len(whole) - 1, len(whole) - 4, len(whole) - 8, len(whole) - 9}
			for range 60 {
				cuts = append(cuts, r.IntN(len(whole)))
			}
			for _, n := range cuts {
				if rows, err := all(whole[:n], name); err == nil {
					t.Errorf("cut after %d of %d bytes: %d rows and no error", n, len(whole), rows)
				}
			}
			var typed *formats.SyntaxError
			var cut *formats.TruncatedError
			refused := 0
			for i := range 600 {
				b := bytes.Clone(whole)
				span := len(b)
				if i%2 == 0 { // the footer says what everything else is
					span = min(span, 3000)
				}
				for range 1 + r.IntN(3) {
					b[len(b)-1-r.IntN(span)] ^= byte(1 << r.IntN(8))
				}
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := all(b, name)
				runtime.ReadMemStats(&after)
				if took := after.TotalAlloc - before.TotalAlloc; took > 400<<20 {
					t.Fatalf("change %d took %d MB for a file of %d bytes", i, took>>20, len(b))
				}
				if err != nil {
					refused++
					if !errors.As(err, &typed) && !errors.As(err, &cut) {
						t.Errorf("change %d: %T %v; want a typed error", i, err, err)
					}
				}
			}
			if refused < 100 {
				t.Errorf("%d of 600 changed files were refused; want those that cannot be read", refused)
			}
		})
	}
}
