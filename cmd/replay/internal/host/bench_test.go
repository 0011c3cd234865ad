package host

import (
	"os"
	"runtime"
	"testing"
	"time"

	"hydrant/formats/run"
)

// BenchmarkRead is one tick of a worker with many threads and many sockets. It must stay
// far below 10 ms, 1 % of a core at one tick a second.
func BenchmarkRead(b *testing.B) {
	const threads, files = 64, 10_000
	quit := make(chan struct{})
	defer close(quit)
	for range threads {
		go func() {
			runtime.LockOSThread()
			<-quit
		}()
	}
	for range files {
		f, err := os.Open("/dev/null")
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
	}
	m := NewMeter()
	defer m.Close()
	var c run.Client
	b.ReportAllocs()
	for b.Loop() {
		m.Read(&c, time.Second)
	}
	if c.OpenFDs.V < files {
		b.Fatalf("open_fds = %d; want at least %d", c.OpenFDs.V, files)
	}
}
