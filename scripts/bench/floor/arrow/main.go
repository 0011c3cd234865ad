// Command arrow reads the first table of an Arrow stream, as the Arrow library does it, and
// does nothing with what it reads: no sums, no checks, no rows. It prints rows, the wall and
// CPU time it took and its resident set, as JSON.
//
//	arrow FILE
package main

import (
	"bufio"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/apache/arrow/go/v17/arrow/ipc"
)

func main() {
	if err := read(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "arrow: error:", err)
		os.Exit(1)
	}
}

func read(name string) error {
	start := time.Now()
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := ipc.NewReader(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return err
	}
	defer r.Release()
	rows := int64(0)
	for r.Next() {
		rows += r.Record().NumRows()
	}
	if err := r.Err(); err != nil {
		return err
	}
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return err
	}
	cpu := time.Duration(u.Utime.Nano() + u.Stime.Nano())
	fmt.Printf(`{"rows":%d,"wall_s":%.6f,"cpu_s":%.6f,"rss_bytes":%d}`+"\n", rows, time.Since(start).Seconds(), cpu.Seconds(), u.Maxrss<<10)
	return nil
}
