package sim

import (
	"math"
	"strconv"
	"sync/atomic"
)

// histogram counts observations in fixed buckets. Any goroutine may observe.
type histogram struct {
	name, help string
	bounds     []float64
	count      []atomic.Uint64 // one per bound and one above
	sum        atomic.Uint64   // bits of a float64
}

func newHistogram(name, help string, bounds []float64) *histogram {
	return &histogram{name: name, help: help, bounds: bounds, count: make([]atomic.Uint64, len(bounds)+1)}
}

func (h *histogram) observe(v float64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.count[i].Add(1)
	for {
		old := h.sum.Load()
		if h.sum.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)) {
			return
		}
	}
}

func (h *histogram) total() float64 { return math.Float64frombits(h.sum.Load()) }

// metrics is what /metrics shows, under vLLM's names where vLLM has the value.
type metrics struct {
	model                             string
	running, waiting                  atomic.Int64
	kvUsage                           atomic.Uint64 // bits of a float64
	prompt, generation, queries, hits atomic.Int64
	stop, length, abort               atomic.Int64
	requests, connections             atomic.Int64
	ttft, itl, queue, e2e, late       *histogram
}

// Buckets in seconds, the ones a vLLM server uses.
var (
	ttftBounds = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560}
	itlBounds  = []float64{.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	longBounds = []float64{.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
	lateBounds = []float64{20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 50e-3, .1, 1}
)

func newMetrics(model string) *metrics {
	return &metrics{
		model: model,
		ttft:  newHistogram("vllm:time_to_first_token_seconds", "Arrival of a request to its first token.", ttftBounds),
		itl:   newHistogram("vllm:inter_token_latency_seconds", "Time between two decode steps of a request.", itlBounds),
		queue: newHistogram("vllm:request_queue_time_seconds", "Arrival of a request to its slot.", longBounds),
		e2e:   newHistogram("vllm:e2e_request_latency_seconds", "Arrival of a request to its last token.", longBounds),
		late:  newHistogram("sim:pacing_lateness_seconds", "Time by which a decode step was carried out after it was due.", lateBounds),
	}
}

// stepped books a decode step of j that was due at t and is carried out now.
func (m *metrics) stepped(j *job, t, now int64, perStep int) {
	m.late.observe(seconds(now - t))
	if j.made == 1 {
		m.prompt.Add(int64(j.prompt))
		m.ttft.observe(seconds(now - j.arrived))
	} else {
		m.itl.observe(seconds(now - j.seen))
	}
	j.seen = now
	m.generation.Add(int64(max(0, min(perStep, j.output-(j.made-1)*perStep))))
}

func (m *metrics) finish(reason string) {
	switch reason {
	case "stop":
		m.stop.Add(1)
	case "length":
		m.length.Add(1)
	default:
		m.abort.Add(1)
	}
}

// gauges takes over the state of the engine.
func (m *metrics) gauges(e *engine) {
	m.running.Store(int64(len(e.running)))
	m.waiting.Store(int64(len(e.waiting)))
	m.queries.Store(e.queries)
	m.hits.Store(e.hits)
	usage := 0.0
	if e.spec.Cache > 0 {
		usage = float64(e.cache.size()) / float64(e.spec.Cache)
	}
	m.kvUsage.Store(math.Float64bits(usage))
}

// text is the exposition format of Prometheus.
func (m *metrics) text() []byte {
	var b []byte
	label := `model_name=` + string(appendJSON(nil, m.model))
	begin := func(name, typ, help string) {
		b = append(b, "# HELP "+name+" "+help+"\n# TYPE "+name+" "+typ+"\n"...)
	}
	value := func(name, labels string, v float64) {
		b = append(b, name+"{"+labels+"} "...)
		b = strconv.AppendFloat(b, v, 'g', -1, 64)
		b = append(b, '\n')
	}
	one := func(name, typ, help string, v float64) {
		begin(name, typ, help)
		value(name, label, v)
	}
	one("vllm:num_requests_running", "gauge", "Requests that hold a slot.", float64(m.running.Load()))
	one("vllm:num_requests_waiting", "gauge", "Requests that wait for a slot.", float64(m.waiting.Load()))
	one("vllm:kv_cache_usage_perc", "gauge", "Filled share of the prefix cache, 0 to 1; 0 when it has no limit.", math.Float64frombits(m.kvUsage.Load()))
	one("vllm:num_preemptions_total", "counter", "Always 0: the model does not preempt.", 0)
	one("vllm:prompt_tokens_total", "counter", "Prompt tokens of requests whose prefill is done.", float64(m.prompt.Load()))
	one("vllm:generation_tokens_total", "counter", "Tokens generated.", float64(m.generation.Load()))
	one("vllm:prefix_cache_queries_total", "counter", "Prompt tokens looked up in the prefix cache.", float64(m.queries.Load()))
	one("vllm:prefix_cache_hits_total", "counter", "Prompt tokens found in the prefix cache.", float64(m.hits.Load()))
	begin("vllm:request_success_total", "counter", "Requests that ended, by reason.")
	value("vllm:request_success_total", `finished_reason="stop",`+label, float64(m.stop.Load()))
	value("vllm:request_success_total", `finished_reason="length",`+label, float64(m.length.Load()))
	value("vllm:request_success_total", `finished_reason="abort",`+label, float64(m.abort.Load()))
	for _, h := range []*histogram{m.ttft, m.itl, m.queue, m.e2e, m.late} {
		begin(h.name, "histogram", h.help)
		total := uint64(0)
		for i := range h.count {
			total += h.count[i].Load()
			le := "+Inf"
			if i < len(h.bounds) {
				le = strconv.FormatFloat(h.bounds[i], 'g', -1, 64)
			}
			value(h.name+"_bucket", label+`,le="`+le+`"`, float64(total))
		}
		value(h.name+"_sum", label, h.total())
		value(h.name+"_count", label, float64(total))
	}
	one("sim:requests_total", "counter", "Generation requests received, whatever became of them.", float64(m.requests.Load()))
	one("sim:connections_total", "counter", "Connections accepted.", float64(m.connections.Load()))
	return b
}
