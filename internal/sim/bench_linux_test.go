package sim

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// watched is the real clock; it remembers the thread that waits on it.
type watched struct {
	clock
	tid int
}

func (w *watched) start() {
	w.clock.start()
	w.tid = unix.Gettid()
}

// cpu is the time the pacing thread has been on a processor.
func (w *watched) cpu(b testing.TB) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/schedstat", w.tid))
	if err != nil {
		b.Fatal(err)
	}
	var ns int64
	fmt.Sscan(string(text), &ns)
	return time.Duration(ns)
}

// BenchmarkEvents paces 100 streams as `default` does and reports what one event
// costs the pacing thread, which writes all of them. An operation is one event.
func BenchmarkEvents(b *testing.B) {
	for _, spec := range []string{"default", "default,stagger"} {
		b.Run(spec, func(b *testing.B) {
			const streams = 100
			w := &watched{clock: newClock()}
			s := newServer(parse(b, spec), w)
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			go s.Serve(l)
			defer s.Close()
			var wg sync.WaitGroup
			each := b.N/streams + 1
			begin := time.Now()
			for i := range streams {
				wg.Go(func() {
					c, err := net.Dial("tcp", l.Addr().String())
					if err != nil {
						b.Error(err)
						return
					}
					defer c.Close()
					body := fmt.Sprintf(`{"prompt":"%s","max_tokens":%d,"stream":true}`, strings.Repeat("word ", 100), each)
					fmt.Fprintf(c, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: %d\r\nContent-Length: %d\r\n\r\n%s", i, len(body), body)
					buf := make([]byte, 64<<10)
					for {
						n, err := c.Read(buf)
						if err != nil {
							b.Error(err)
							return
						}
						if strings.HasSuffix(string(buf[:n]), "0\r\n\r\n") {
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(w.cpu(b).Nanoseconds())/1e3/float64(each*streams), "µs-cpu/event")
			b.ReportMetric(float64(each*streams)/time.Since(begin).Seconds(), "events/s")
			b.ReportMetric(s.metrics.late.mean()*1e6, "µs-late")
		})
	}
}

func (h *histogram) mean() float64 {
	n := uint64(0)
	for i := range h.count {
		n += h.count[i].Load()
	}
	if n == 0 {
		return 0
	}
	return h.total() / float64(n)
}
