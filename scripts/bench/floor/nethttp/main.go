//go:build linux

// Command nethttp is not a floor but the usual way: net/http, a goroutine per stream, a
// line scanner and encoding/json for every event.
//
//	nethttp ADDR STREAMS EVENTS SECONDS
//
// Arguments and output are those of recv.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

type chunk struct {
	Choices []struct {
		Delta        struct{ Content string }
		FinishReason *string
	} `json:"choices"`
}

func main() {
	streams, events, seconds := number(2), number(3), number(4)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: streams}}
	var open, seen atomic.Int64
	body := fmt.Sprintf(`{"model":"paced","messages":[{"role":"user","content":"go"}],"stream":true,"max_tokens":%d}`, events)
	start := time.Now()
	for i := range streams {
		time.Sleep(time.Until(start.Add(time.Duration(i) * 1061800)))
		go func() {
			resp, err := client.Post("http://"+os.Args[1]+"/v1/chat/completions", "application/json", strings.NewReader(body))
			check(err)
			open.Add(1)
			for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
				data, ok := strings.CutPrefix(lines.Text(), "data: ")
				if !ok || data == "[DONE]" {
					continue
				}
				var c chunk
				check(json.Unmarshal([]byte(data), &c))
				if len(c.Choices) > 0 && c.Choices[0].Delta.Content != "" {
					seen.Add(1)
				}
			}
		}()
	}
	for ; open.Load() < int64(streams); time.Sleep(10 * time.Millisecond) {
	}
	time.Sleep(time.Second)
	before, n := cpu(), seen.Load()
	time.Sleep(time.Duration(seconds) * time.Second)
	used, n := cpu()-before, seen.Load()-n
	fmt.Printf(`{"cpu_per_event_ns":%.1f,"events":%d,"events_per_s":%.0f}`+"\n", float64(used)/float64(n), n, float64(n)/float64(seconds))
}

// cpu is the time this process has been on a CPU, in ns.
func cpu() int64 {
	var r unix.Rusage
	check(unix.Getrusage(unix.RUSAGE_SELF, &r))
	return r.Utime.Nano() + r.Stime.Nano()
}

func number(i int) int { n, err := strconv.Atoi(os.Args[i]); check(err); return n }

func check(err error) {
	if err != nil {
		panic(err)
	}
}
