package sim

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const msec = time.Millisecond

// The live server keeps the model's times exactly: in false time nothing is late.
func TestEventsComeAtModelTimes(t *testing.T) {
	for _, mode := range []string{"", ",stagger"} {
		synctest.Test(t, func(t *testing.T) {
			_, c := bubble(t, "default,prefill=1e3,step=7ms,step_per_seq=0s"+mode)
			v := watch(c, "1", `{"prompt":[1,2,3],"max_tokens":500,"stream":true}`)
			if v.err != nil || len(v.data) != 502 || v.headers != 0 {
				t.Fatalf("mode %q: %d events, headers at %v, error %v; want 502, 0", mode, len(v.data), v.headers, v.err)
			}
			for i := range 500 {
				if want := 3*msec + time.Duration(i+1)*7*msec; v.at[i] != want {
					t.Fatalf("mode %q: token %d at %v; want %v", mode, i, v.at[i], want)
				}
			}
			if want := v.at[499]; v.end != want {
				t.Errorf("mode %q: end at %v; want %v", mode, v.end, want)
			}
		})
	}
}

// Two requests, one slot: the second waits for the first, and its cache hit is
// reported. The metrics tell the same.
func TestQueueAndCacheAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := bubble(t, "default,slots=1,prefill=inf,step=10ms,step_per_seq=0s,block=2")
		body := `{"prompt":"a b c d e","max_tokens":4,"stream":true,"stream_options":{"include_usage":true}}`
		var one, two seen
		var wg sync.WaitGroup
		wg.Go(func() { one = watch(c, "1", body) })
		synctest.Wait()
		wg.Go(func() { two = watch(c, "2", body) })
		synctest.Wait()
		for name, want := range map[string]int64{"running": 1, "waiting": 1} {
			got := map[string]int64{"running": s.metrics.running.Load(), "waiting": s.metrics.waiting.Load()}[name]
			if got != want {
				t.Errorf("%s = %d; want %d", name, got, want)
			}
		}
		wg.Wait()
		if one.at[3] != 40*msec || two.at[0] != 50*msec || two.at[3] != 80*msec {
			t.Errorf("first ends at %v, second from %v to %v; want 40ms, 50ms, 80ms", one.at[3], two.at[0], two.at[3])
		}
		for i, v := range []seen{one, two} {
			want := fmt.Sprintf(`"usage":{"prompt_tokens":5,"completion_tokens":4,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":%d}}`, 4*i)
			if u := v.data[len(v.data)-2]; !strings.Contains(u, want) {
				t.Errorf("request %d: usage event %s; want %s", i+1, u, want)
			}
		}
		m := s.metrics
		if m.queries.Load() != 10 || m.hits.Load() != 4 || m.prompt.Load() != 10 || m.generation.Load() != 8 || m.length.Load() != 2 {
			t.Errorf("metrics: %s", m.text())
		}
		if got := m.queue.total(); got != 0.04 {
			t.Errorf("sum of queue times = %v; want 0.04", got)
		}
		if got := m.ttft.total(); got < 0.0599 || got > 0.0601 {
			t.Errorf("sum of TTFT = %v; want 0.06", got)
		}
	})
}

// A client that does not read holds up nobody else, costs no memory per event, and
// finds everything when it comes back.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := bubble(t, "default,prefill=inf,step=1ms,step_per_seq=0s,stagger")
		var m *memory = newMemory()
		go s.Serve(m)
		slow, _ := m.dial(t.Context(), "", "")
		body := `{"prompt":"a","max_tokens":1000,"stream":true}`
		fmt.Fprintf(slow, "POST /v1/completions HTTP/1.1\r\nHost: x\r\nX-Request-Id: slow\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		other := watch(c, "2", body)
		if other.at[0] != msec || other.at[999] != 1000*msec {
			t.Errorf("other stream from %v to %v; want 1ms to 1s", other.at[0], other.at[999])
		}
		time.Sleep(5 * time.Second)
		var got strings.Builder
		buf := make([]byte, 4096)
		for !strings.HasSuffix(got.String(), "0\r\n\r\n") {
			n, err := slow.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			got.Write(buf[:n])
		}
		var want []string
		for i := range 1000 {
			want = append(want, fmt.Sprintf("t%04d", i))
		}
		if w := wordsOf(dataLines(got.String())); !slices.Equal(w, want) {
			t.Errorf("slow reader got %d words; want t0000 … t0999", len(w))
		}
		slow.Close()
	})
}

// wordsOf collects the answer's words from completion events.
func wordsOf(data []string) (w []string) {
	for _, d := range data {
		_, rest, ok := strings.Cut(d, `"text":"`)
		if !ok {
			continue
		}
		text, _, _ := strings.Cut(rest, `"`)
		w = append(w, strings.Fields(text)...)
	}
	return w
}

func TestBundle(t *testing.T) {
	for bundle, want := range map[string][]time.Duration{
		"1": {10 * msec, 20 * msec, 30 * msec, 40 * msec, 50 * msec},
		"2": {20 * msec, 20 * msec, 40 * msec, 40 * msec, 50 * msec},
		"0": {50 * msec, 50 * msec, 50 * msec, 50 * msec, 50 * msec},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, c := bubble(t, "default,prefill=inf,step=10ms,step_per_seq=0s,bundle="+bundle)
			v := watch(c, "1", `{"prompt":"a","max_tokens":5,"stream":true}`)
			if v.err != nil || !slices.Equal(v.at[:5], want) {
				t.Errorf("bundle %s: tokens at %v, error %v; want %v", bundle, v.at, v.err, want)
			}
		})
	}
}

// The faults that are a matter of time, each with what the client sees when.
func TestTimedFaults(t *testing.T) {
	body := `{"prompt":"a","max_tokens":4,"stream":true}`
	for _, c := range []struct {
		fault   string
		headers time.Duration
		at      []time.Duration // tokens, finish, [DONE]
	}{
		{"hold=500ms:1", 500 * msec, []time.Duration{500 * msec, 500 * msec, 500 * msec, 500 * msec, 500 * msec, 500 * msec}},
		{"hold=25ms:1", 25 * msec, []time.Duration{25 * msec, 25 * msec, 30 * msec, 40 * msec, 40 * msec, 40 * msec}},
		{"stall_first=25ms:1", 0, []time.Duration{25 * msec, 25 * msec, 30 * msec, 40 * msec, 40 * msec, 40 * msec}},
		{"stall_mid=1s:1", 0, []time.Duration{10 * msec, 20 * msec, 1020 * msec, 1020 * msec, 1020 * msec, 1020 * msec}},
		{"drip=1s:1", 0, []time.Duration{10 * msec, 1010 * msec, 2010 * msec, 3010 * msec, 4010 * msec, 4010 * msec}},
	} {
		for _, base := range []string{"default,prefill=inf,step=10ms,step_per_seq=0s,", "default,stagger,prefill=inf,step=10ms,step_per_seq=0s,"} {
			synctest.Test(t, func(t *testing.T) {
				_, client := bubble(t, base+c.fault)
				v := watch(client, "1", body)
				if v.err != nil || v.headers != c.headers || !slices.Equal(v.at, c.at) {
					t.Errorf("%s: headers at %v, events at %v, error %v; want %v, %v", c.fault, v.headers, v.at, v.err, c.headers, c.at)
				}
			})
		}
		// Without a model of time only the fault's own delay is left.
		synctest.Test(t, func(t *testing.T) {
			_, client := bubble(t, "null,"+c.fault)
			v := watch(client, "1", body)
			last := v.end
			if v.err != nil || len(v.data) != 6 || last < 25*msec {
				t.Errorf("null,%s: %d events until %v, error %v", c.fault, len(v.data), last, v.err)
			}
		})
		// A request that does not stream is delayed as a whole.
		synctest.Test(t, func(t *testing.T) {
			_, client := bubble(t, "default,prefill=inf,step=10ms,step_per_seq=0s,"+c.fault)
			v := watch(client, "1", strings.Replace(body, `,"stream":true`, "", 1))
			if v.err != nil || v.status != 200 || v.headers < 40*msec {
				t.Errorf("%s: whole answer %d after %v, error %v", c.fault, v.status, v.headers, v.err)
			}
		})
	}
}

// A hung request stays open until the client leaves; others are not touched.
func TestHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := bubble(t, "default,hang=ids:1,prefill=inf,step=10ms,step_per_seq=0s")
		hung := make(chan seen, 1)
		impatient := *c
		impatient.Timeout = time.Hour
		go func() { hung <- watch(&impatient, "1", `{"prompt":"a","max_tokens":4,"stream":true}`) }()
		if v := watch(c, "2", `{"prompt":"a","max_tokens":4,"stream":true}`); v.end != 40*msec {
			t.Errorf("other request ended at %v; want 40ms", v.end)
		}
		if v := <-hung; v.err == nil || v.headers != time.Hour {
			t.Errorf("hung request: %v after %v; want an error after the client's hour", v.err, v.headers)
		}
		synctest.Wait()
		if n := s.inside.Load(); n != 0 {
			t.Errorf("%d requests inside; want 0", n)
		}
	})
}

// A client that goes away frees its slot at once.
func TestAbortFreesTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c := bubble(t, "default,slots=1,prefill=inf,step=10ms,step_per_seq=0s")
		gone := *c
		gone.Timeout = 105 * msec
		if v := watch(&gone, "1", `{"prompt":"a","max_tokens":100000,"stream":true}`); v.err == nil || len(v.data) != 10 {
			t.Errorf("%d events, error %v; want 10 and a timeout", len(v.data), v.err)
		}
		if v := watch(c, "2", `{"prompt":"a","max_tokens":1,"stream":true}`); v.err != nil || v.end > 20*msec {
			t.Errorf("next request: end at %v, error %v; want within 20ms", v.end, v.err)
		}
		if s.metrics.abort.Load() != 1 || s.metrics.length.Load() != 1 || s.inside.Load() != 0 {
			t.Errorf("abort %d, length %d, inside %d; want 1, 1, 0", s.metrics.abort.Load(), s.metrics.length.Load(), s.inside.Load())
		}
	})
}

func TestQueueLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, c := bubble(t, "default,slots=1,queue=1,prefill=inf,step=10ms,step_per_seq=0s")
		got := make([]seen, 3)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() { got[i] = watch(c, fmt.Sprint(i), `{"prompt":"a","max_tokens":2,"stream":true}`) })
			synctest.Wait()
		}
		wg.Wait()
		if got[0].end != 20*msec || got[1].end != 40*msec || got[2].status != 503 {
			t.Errorf("ends at %v, %v, status %d; want 20ms, 40ms, 503", got[0].end, got[1].end, got[2].status)
		}
	})
}
