package aiperf

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"hydrant/formats"
	"hydrant/formats/run"
	"hydrant/formats/summary"
	"hydrant/internal/slo"
)

// SchemaVersion is that of profile_export_aiperf.json.
const SchemaVersion = "1.4"

// Options say what the summary does not.
type Options struct {
	SLO []slo.Objective // what a good request meets
}

// context is what both files need of the summary.
type context struct {
	epoch, warm int64 // Unix ns: of offset 0, and of the end of the warm-up
	load        int64 // Unix ns of the first planned request
	headers     []run.Header
}

func (c *context) warms() bool         { return c.warm > c.load }
func (c *context) warming(r *row) bool { return c.warms() && r.u != unplanned && r.u < c.warm }

// settle sorts the rows and reads what the summary knows of them.
func (e *Export) settle(s *summary.Summary, o Options) (*context, error) {
	if err := e.finish(); err != nil {
		return nil, err
	}
	c := &context{}
	for _, p := range s.Parts {
		var h run.Header
		if err := json.Unmarshal(p.Header, &h); err != nil {
			return nil, &formats.SyntaxError{Place: "header", What: "JSON", Err: err}
		}
		c.headers = append(c.headers, h)
	}
	c.epoch = c.headers[0].Epoch.WallNS
	c.load = c.epoch + s.Window.LoadFrom
	c.warm = c.load + s.Window.WarmupNS
	if len(o.SLO) == 0 {
		return c, nil
	}
	columns, err := s.Decode("summary")
	if err != nil {
		return nil, err
	}
	if columns == nil || columns.N != len(e.rows) {
		panic("internal error: good requests need the per-request columns")
	}
	limits := slo.Limits(o.SLO)
	e.goodOf = make([]bool, len(e.rows))
	for i := range e.rows {
		if columns.Ints["request_id"][i].V != e.rows[i].id {
			panic("internal error: the rows of the export are in another order than the columns")
		}
		e.goodOf[i], _ = slo.RowOf(columns, i).Good(limits)
	}
	return c, nil
}

// field is one key of the document, in its order.
type field struct {
	key   string
	value any
}

// Summary writes profile_export_aiperf.json.
func (e *Export) Summary(w io.Writer, s *summary.Summary, o Options) error {
	c, err := e.settle(s, o)
	if err != nil {
		return err
	}
	metrics, err := e.phase(c, false)
	if err != nil {
		return err
	}
	doc := []field{{"schema_version", SchemaVersion}, {"aiperf_version", "hydrant-" + s.Build}, {"benchmark_id", benchmarkID(s)}}
	doc = append(doc, metrics...)
	doc = append(doc, e.about(s, c)...)
	if c.warms() {
		warm, err := e.phase(c, true)
		if err != nil {
			return err
		}
		doc = append(doc, field{"warmup_metrics", object(warm)})
	}
	own, err := e.own(s)
	if err != nil {
		return err
	}
	doc = append(doc, field{"hydrant", own})
	text, err := json.Marshal(object(doc))
	if err != nil {
		return err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, text, "", "  "); err != nil {
		return err
	}
	pretty.WriteByte('\n')
	_, err = w.Write(pretty.Bytes())
	return err
}

// object is a JSON object that keeps the order of its keys.
type object []field

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, f := range o {
		b.WriteByte("{,"[min(i, 1)])
		v, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, `"%s":%s`, quoted(f.key), v)
	}
	if len(o) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// quoted escapes a key; only a host's name may need it.
func quoted(key string) string {
	b, err := json.Marshal(key)
	if err != nil {
		panic("internal error: " + err.Error())
	}
	return string(b[1 : len(b)-1])
}

// phase computes the metrics of the requests of one phase.
func (e *Export) phase(c *context, warming bool) ([]field, error) {
	dist := make([]counted, len(tags))
	for i := range dist {
		dist[i] = counted{}
	}
	chunks := counted{}
	var ok, failed, good, in, out, reasoning, failedIn int64
	first, last := int64(1<<63-1), int64(unplanned)
	for i := range e.rows {
		r := &e.rows[i]
		if !r.sent || c.warming(r) != warming {
			continue
		}
		if !r.ok {
			failed++
			failedIn += max(0, r.input)
			continue
		}
		ok++
		if e.goodOf != nil && e.goodOf[i] {
			good++
		}
		for j := range tags {
			dist[j].add(r.values[j])
		}
		in += whole(r.values[inputAt])
		out += whole(r.values[outputAt])
		reasoning += whole(r.values[reasoningAt])
		first = min(first, r.start)
		last = max(last, r.last)
		gaps, err := e.gapsOf(r)
		if err != nil {
			return nil, err
		}
		for _, g := range gaps {
			chunks.add(1000 * float64(g))
		}
	}
	var fields []field
	put := func(name string, v *result) {
		if v != nil {
			fields = append(fields, field{name, v})
		}
	}
	for j := range tags {
		put(tags[j].name, dist[j].distribution(tags[j].unit, tags[j].scale))
	}
	put(chunkTag, chunks.distribution("ms", nsPerMS))
	put("request_count", scalar("requests", float64(ok)))
	put("error_request_count", scalar("requests", float64(failed)))
	put("completed_request_count", scalar("requests", float64(ok+failed)))
	if ok+failed > 0 {
		put("request_error_rate", scalar("%", 100*float64(failed)/float64(ok+failed)))
	}
	if failed > 0 {
		put("total_error_isl", scalar("tokens", float64(failedIn)))
	}
	if e.goodOf != nil {
		put("good_request_count", scalar("requests", float64(good)))
	}
	if ok == 0 {
		return fields, nil
	}
	put("total_isl", scalar("tokens", float64(in)))
	put("total_osl", scalar("tokens", float64(out)))
	put("total_output_tokens", scalar("tokens", float64(out-reasoning)))
	if len(dist[reasoningAt]) > 0 {
		put("total_reasoning_tokens", scalar("tokens", float64(reasoning)))
	}
	if last <= first {
		return fields, nil
	}
	seconds := float64(last-first) / 1e9
	put("benchmark_duration", scalar("sec", seconds))
	put("request_throughput", scalar("requests/sec", float64(ok)/seconds))
	put("input_token_throughput", scalar("tokens/sec", float64(in)/seconds))
	put("output_token_throughput", scalar("tokens/sec", float64(out)/seconds))
	put("total_token_throughput", scalar("tokens/sec", float64(in+out)/seconds))
	if e.goodOf != nil {
		put("goodput", scalar("requests/sec", float64(good)/seconds))
	}
	return fields, nil
}

// whole reads a count that may be absent.
func whole(v float64) int64 {
	if v != v {
		return 0
	}
	return int64(v)
}

// about describes the run.
func (e *Export) about(s *summary.Summary, c *context) []field {
	cancelled, complete, reason := false, true, ""
	for _, p := range s.Parts {
		if p.End.Status != run.Complete {
			complete, reason = false, "the run is "+p.End.Status
		}
		cancelled = cancelled || p.End.Status == run.Interrupted
	}
	var start, end int64
	for i := range e.rows {
		if r := &e.rows[i]; r.sent {
			if start == 0 || r.start < start {
				start = r.start
			}
			end = max(end, r.end)
		}
	}
	h := &c.headers[0]
	fields := []field{{"input_config", config(h, s)},
		{"run_info", object{{"benchmark_id", benchmarkID(s)}, {"random_seed", max(0, h.Seed)}, {"trial", 0}, {"cli_command", command(h)}}},
		{"was_cancelled", cancelled}, {"is_complete", complete}}
	if reason != "" {
		fields = append(fields, field{"incomplete_reason", reason})
	}
	fields = append(fields, field{"error_summary", e.errors()})
	if end > 0 {
		fields = append(fields, field{"start_time", date(start)}, field{"end_time", date(end)})
	}
	if len(s.GPUs) > 0 && end > 0 {
		fields = append(fields, field{"telemetry_data", telemetry(s, date(start), date(end))})
	}
	return fields
}

// date writes an instant as AIPerf does, in UTC.
func date(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000") }

func benchmarkID(s *summary.Summary) string {
	if len(s.Parts) == 0 || len(s.Parts[0].End.SHA256) < 12 {
		return "unknown"
	}
	return s.Parts[0].End.SHA256[:12]
}

// command is the replay that made the run, as its header has it.
func command(h *run.Header) string {
	var b strings.Builder
	b.WriteString("replay")
	for _, k := range slices.Sorted(maps.Keys(h.Flags)) {
		fmt.Fprintf(&b, " --%s %s", k, strconv.Quote(h.Flags[k]))
	}
	return b.String()
}

// config is the part of AIPerf's configuration that has a counterpart here. Its own
// reader refuses what it does not know, so the rest is in object hydrant.
func config(h *run.Header, s *summary.Summary) object {
	name := h.Model
	if name == "" {
		name = "unknown"
	}
	var urls []string
	for _, t := range h.Target {
		if strings.HasPrefix(t, "http://") || strings.HasPrefix(t, "https://") {
			urls = append(urls, t)
		}
	}
	if len(urls) == 0 {
		urls = []string{"http://localhost"} // a Unix socket, or a server of the run's own
	}
	endpoint := h.Endpoint
	if endpoint != "completions" {
		endpoint = "chat"
	}
	phase := object{{"name", profiling}, {"kind", profiling}, {"type", "fixed_schedule"}}
	if n, err := strconv.Atoi(h.Flags["concurrency"]); err == nil && n > 0 && h.Timing == "asap" {
		phase = object{{"name", profiling}, {"kind", profiling}, {"type", "concurrency"}, {"requests", max(1, s.Plan.Requests)}, {"concurrency", n}}
	}
	return object{{"models", object{{"items", []object{{{"name", name}}}}}},
		{"endpoint", object{{"urls", urls}, {"type", endpoint}, {"streaming", h.Streaming}}},
		{"datasets", []object{{{"name", "main"}, {"type", "file"}, {"path", "schedule"}, {"format", "mooncake_trace"}}}},
		{"phases", []object{phase}}}
}

// errors counts the failures of one kind and text, most frequent first.
func (e *Export) errors() []object {
	type kind struct {
		code          int32
		name, message string
	}
	counts := map[kind]int{}
	for i := range e.rows {
		if r := &e.rows[i]; r.sent && !r.ok {
			f := e.failure(r)
			k := kind{name: f.Type, message: f.Message}
			if f.Code != nil {
				k.code = *f.Code
			}
			counts[k]++
		}
	}
	kinds := make([]kind, 0, len(counts))
	for k := range counts {
		kinds = append(kinds, k)
	}
	slices.SortFunc(kinds, func(a, b kind) int {
		return cmp.Or(-cmp.Compare(counts[a], counts[b]), cmp.Compare(a.name, b.name), cmp.Compare(a.message, b.message), cmp.Compare(a.code, b.code))
	})
	out := []object{}
	for _, k := range kinds {
		f := failure{Type: k.name, Message: k.message}
		if k.code != 0 {
			f.Code = &k.code
		}
		out = append(out, object{{"error_details", f}, {"count", counts[k]}})
	}
	return out
}

// own is what AIPerf has no place for.
func (e *Export) own(s *summary.Summary) (object, error) {
	hash := sha256.New()
	if err := summary.Write(hash, s); err != nil {
		return nil, err
	}
	var unsent int
	for i := range e.rows {
		if !e.rows[i].sent {
			unsent++
		}
	}
	return object{{"summary_sha256", hex.EncodeToString(hash.Sum(nil))}, {"window", s.Window}, {"rows", len(e.rows)}, {"rows_not_exported", unsent},
		{"rows_without_start", e.unusable}, {"objectives", append([]string{}, s.Objectives...)}, {"notes", append([]string{}, s.Notes...)}}, nil
}

// gpuMetrics maps the values of a device to AIPerf's names.
var gpuMetrics = [...]struct {
	name, unit, from string
	scale            float64
}{{"nvidia_power_usage", "W", "power_w", 1}, {"nvidia_gpu_utilization", "%", "utilization", 100}, {"nvidia_sm_utilization", "%", "sm_active", 100},
	{"nvidia_memory_used", "GB", "memory_used_bytes", 1e-9}, {"nvidia_temperature", "°C", "temperature_c", 1}}

// telemetry carries the devices, over the steady window.
func telemetry(s *summary.Summary, start, end string) object {
	hosts := []string{}
	gpus := map[string]object{}
	for i := range s.GPUs {
		g := &s.GPUs[i]
		if !slices.Contains(hosts, g.Host) {
			hosts = append(hosts, g.Host)
		}
		metrics := object{}
		for _, m := range gpuMetrics {
			scaled := func(key string) *float64 {
				v := g.Values[m.from+key]
				if v == nil {
					return nil
				}
				x := *v * m.scale
				return &x
			}
			if mean := scaled("_mean"); mean != nil {
				metrics = append(metrics, field{m.name, &result{Unit: m.unit, Avg: mean, P50: scaled("_p50"), P95: scaled("_p95"), Min: scaled("_min"), Max: scaled("_max")}})
			}
		}
		if v := g.Values["energy_j"]; v != nil {
			metrics = append(metrics, field{"nvidia_energy_consumption", scalar("MJ", *v/1e6)})
		}
		gpus[g.Host] = append(gpus[g.Host], field{fmt.Sprintf("gpu_%d", g.Index), object{{"gpu_index", g.Index}, {"gpu_name", g.Name}, {"gpu_uuid", g.UUID},
			{"platform", "nvidia"}, {"hostname", g.Host}, {"metrics", metrics}}})
	}
	endpoints := object{}
	for _, h := range hosts {
		endpoints = append(endpoints, field{h, object{{"gpus", gpus[h]}}})
	}
	return object{{"summary", object{{"endpoints_configured", hosts}, {"endpoints_successful", hosts}, {"start_time", start}, {"end_time", end}}},
		{"endpoints", endpoints}, {"error_summary", []object{}}}
}
