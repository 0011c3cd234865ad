package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hydrant/internal/fixture"
)

// witness runs the independent program that reads traces and schedules on its own.
func witness(t *testing.T, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(fixture.Python(t), append([]string{"testdata/witness.py"}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// witnessedTraces are traces of all formats, as they are or drawn from a seed.
func witnessedTraces(t *testing.T) (all []struct{ format, path string }) {
	dir := t.TempDir()
	add := func(format, path string) { all = append(all, struct{ format, path string }{format, path}) }
	for _, f := range [][2]string{
		{"azure", "azure/AzureLLMInferenceTrace_code.csv.zst"}, {"azure", "azure/AzureLLMInferenceTrace_code_1week_head5.csv"}, {"vidur", "vidur/splitwise_code.csv.zst"},
		{"burstgpt", "burstgpt/BurstGPT_1_head3.csv"}, {"burstgpt", "burstgpt/BurstGPT_3_head4.csv"}, {"burstgpt", "burstgpt/BurstGPT_3_rows_0-51_reconstructed.csv"},
		{"mooncake", "mooncake/conversation_lines_1-6011.jsonl.zst"}, {"mooncake", "mooncake/synthetic_trace.jsonl.zst"}, {"mooncake", "mooncake/aiperf_multiturn_delay_sample.jsonl"},
		{"bailian", "bailian/qwen_thinking_first_record.jsonl"}, {"otel", "otel/parallel_requests.json"}, {"otel", "otel/simple_chain.json"},
		{"ragpulse", "ragpulse/0_trace_lines_1-2500_and_3801-5300.jsonl.zst"}, {"weka", "weka/dev_bundle_310_traces.jsonl.zst"},
		{"weka", "semianalysis/cc-traces-weka-no-subagents-051226_sessions_1-7_no_hash_ids.jsonl.zst"},
	} {
		add(f[0], fixture.Shared(t, "data/"+f[1]))
	}
	files, _ := filepath.Glob(filepath.Join(fixture.Shared(t, "data/weka"), "trace_*.json.zst"))
	folder := filepath.Join(dir, "weka")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Symlink(f, filepath.Join(folder, filepath.Base(f))); err != nil {
			t.Fatal(err)
		}
	}
	add("weka", folder)
	r := rand.New(rand.NewPCG(5, 6))
	for format, text := range map[string]string{"bailian": drawnChats(r), "openai-jsonl": drawnBodies(r), "burstgpt": drawnCalls(r)} {
		path := filepath.Join(dir, "drawn-"+format)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		add(format, path)
	}
	for _, name := range []string{"snappy.parquet", "small.arrow"} {
		add("baseten", filepath.Join(drawnLog(t, r), name))
	}
	return all
}

// drawnChats are conversations that branch, with rows in the order of time.
func drawnChats(r *rand.Rand) string {
	var b strings.Builder
	type chat struct{ id, turn, blocks int }
	var all []chat
	at := 0.0
	for id := range 300 {
		at += r.ExpFloat64()
		c, parent := chat{id, 1, 1 + r.IntN(5)}, -1
		if len(all) > 0 && r.IntN(3) > 0 {
			p := all[r.IntN(len(all))]
			c, parent = chat{id, p.turn + 1, p.blocks + r.IntN(4)}, p.id
		}
		all = append(all, c)
		ids := []int{}
		for k := range c.blocks { // the last one is full as well, so that no id has two sizes
			ids = append(ids, k*1000+min(k, c.turn))
		}
		list, _ := json.Marshal(ids)
		fmt.Fprintf(&b, `{"chat_id":%d,"parent_chat_id":%d,"timestamp":%.3f,"input_length":%d,"output_length":%d,"type":"text","turn":%d,"hash_ids":%s}`+"\n", id, parent, at, 16*c.blocks, r.IntN(50), c.turn, list)
	}
	return b.String()
}

// drawnBodies are recorded requests whose sessions overlap, out of order.
func drawnBodies(r *rand.Rand) string {
	var lines []string
	for i := range 250 {
		line := fmt.Sprintf(`{"timestamp":%d.%06d,"body":{"model":"m","messages":[],"max_tokens":%d}`, 1767225600+r.IntN(600), i*3999, r.IntN(9))
		if r.IntN(5) > 0 {
			line += fmt.Sprintf(`,"session_id":"s%d"`, r.IntN(20))
		}
		if r.IntN(4) > 0 {
			line += fmt.Sprintf(`,"duration_ms":%d.25`, r.IntN(40000))
		}
		if r.IntN(2) > 0 {
			line += fmt.Sprintf(`,"response":{"usage":{"prompt_tokens":%d}}`, r.IntN(999))
		}
		lines = append(lines, line+"}")
	}
	return strings.Join(lines, "\n") + "\n"
}

// drawnCalls are BurstGPT rows with sessions whose calls overlap.
func drawnCalls(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n")
	for i := range 400 {
		session, elapsed := "", ""
		if r.IntN(5) > 0 {
			session = fmt.Sprint("s", r.IntN(30))
		}
		if r.IntN(6) > 0 {
			elapsed = fmt.Sprint(r.IntN(90))
		}
		in, out := r.IntN(2000), r.IntN(300)
		fmt.Fprintf(&b, "%d.0,%s,%s,GPT-4,%d,%d,%d,Conversation log\n", 5000+3*i, session, elapsed, in, out, in+out)
	}
	return b.String()
}

// drawnLog has pyarrow write a request log of 200 rows and returns its folder.
func drawnLog(t *testing.T, r *rand.Rand) string {
	t.Helper()
	l := map[string][]any{}
	for i, n := range r.Perm(200) {
		var session, e2e, hashes any
		if r.IntN(5) > 0 {
			session = fmt.Sprint("s", r.IntN(15))
		}
		if r.IntN(5) > 0 {
			e2e = r.IntN(60_000)
		}
		tokens := 1 + r.IntN(900)
		if r.IntN(4) > 0 {
			ids := []int64{}
			for k := range int64(tokens / 64) {
				ids = append(ids, 1<<53+k+min(k, int64(r.IntN(3)))<<20)
			}
			hashes = ids
		}
		for name, v := range map[string]any{"timestamp_start_unix_ms": 1767225600000 + 997*n, "prompt": fmt.Sprint("p", i), "input_tokens": tokens, "output_tokens": r.IntN(90),
			"total_hashes": hashes, "block_size": 64, "provided_session_id": session, "duration_e2e_ms": e2e} {
			l[name] = append(l[name], v)
		}
	}
	dir := t.TempDir()
	raw, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(dir, "rows.json")
	if err := os.WriteFile(source, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(fixture.Python(t), "../../traces/testdata/baseten.py", dir, source).CombinedOutput(); err != nil {
		t.Fatalf("baseten.py: %v\n%s", err, out)
	}
	return dir
}

// thinned is a trace without every seventh row: no expected figure is known of it.
func thinned(t *testing.T, format, path string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "thin-"+strings.TrimSuffix(filepath.Base(path), ".zst"))
	files := map[string]string{path: out}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		if err := os.Mkdir(out, 0o700); err != nil {
			t.Fatal(err)
		}
		all, _ := os.ReadDir(path)
		delete(files, path)
		for _, f := range all {
			files[filepath.Join(path, f.Name())] = filepath.Join(out, strings.TrimSuffix(f.Name(), ".zst"))
		}
	}
	for from, to := range files {
		if text, err := witness(t, nil, "thin", format, from, to); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	return out
}

// Every schedule has the requests that a program in Python finds in the trace by itself:
// times, tokens, sessions, blocks, hits, what waits for what and how long. That holds for
// the traces as they are and without every seventh row, so no figure is known beforehand.
func TestWitness(t *testing.T) {
	for _, w := range witnessedTraces(t) {
		for _, thin := range []bool{false, true} {
			name := w.format + "/" + filepath.Base(w.path)
			if thin {
				name += "/thinned"
			}
			t.Run(name, func(t *testing.T) {
				if big := strings.Contains(w.path, "bundle"); big && !thin {
					return // its figures are asserted elsewhere, and it is large
				}
				path := w.path
				args := []string{w.format}
				if thin {
					path = thinned(t, w.format, path)
				}
				var env []string
				if w.format == "ragpulse" {
					args = append(args, "--tables", filepath.Dir(w.path))
					env = []string{"WITNESS_TABLES=" + filepath.Dir(w.path)}
				}
				out := filepath.Join(t.TempDir(), "out.sched.zst")
				make := func(more ...string) {
					t.Helper()
					var stderr bytes.Buffer
					if code := run(append(append(args, path, "-o", out, "--force"), more...), strings.NewReader(""), &stderr, &stderr); code != 0 {
						t.Fatalf("exit %d: %s", code, stderr.String())
					}
				}
				make()
				text, err := witness(t, env, "check", w.format, path, out)
				if err != nil {
					t.Fatalf("%v\n%s", err, text)
				}
				var f map[string]int64
				if err := json.Unmarshal([]byte(text), &f); err != nil || f["requests"] == 0 || f["output"] == 0 {
					t.Errorf("figures: %s, %v", text, err)
				}
				if thin || f["last_ns"] == 0 {
					return
				}
				make("--speed", "2")
				if text, err := witness(t, env, "check", w.format, path, out); err == nil || !strings.Contains(text, "last_ns") {
					t.Errorf("a schedule at another speed passes: %v\n%s", err, text)
				}
			})
		}
	}
}

// Requests of ServeGen are drawn: their number in every window is given, and so are the
// lengths that they may have there.
func TestWitnessServeGen(t *testing.T) {
	for _, name := range []string{"language_m-large_chunk-106", "multimodal_mm-image_chunk-16", "reason_deepseek-r1_chunk-52"} {
		for _, thin := range []bool{false, true} {
			folder, client := t.TempDir(), name[strings.Index(name, "chunk-"):]
			files, _ := filepath.Glob(fixture.Shared(t, "data/servegen") + "/" + name + "-*")
			for _, f := range files {
				to := filepath.Join(folder, client+strings.TrimPrefix(filepath.Base(f), name))
				switch {
				case thin && strings.Contains(f, "-trace.csv"):
					if text, err := witness(t, nil, "thin", "servegen", f, strings.TrimSuffix(to, ".zst")); err != nil {
						t.Fatalf("%v\n%s", err, text)
					}
				default:
					if err := os.Symlink(f, to); err != nil {
						t.Fatal(err)
					}
				}
			}
			out := filepath.Join(t.TempDir(), "out.sched.zst")
			for _, seed := range []string{"1", "7"} {
				var stderr bytes.Buffer
				if code := run([]string{"servegen", folder, "--seed", seed, "--quiet", "-o", out, "--force"}, strings.NewReader(""), &stderr, &stderr); code != 0 {
					t.Fatalf("%s: exit %d: %s", name, code, stderr.String())
				}
				text, err := witness(t, nil, "check", "servegen", folder, out)
				var f map[string]int64
				if err != nil || json.Unmarshal([]byte(text), &f) != nil || f["requests"] == 0 {
					t.Errorf("%s, thinned %v, seed %s: %v\n%s", name, thin, seed, err, text)
				}
			}
			var stderr bytes.Buffer
			run([]string{"servegen", folder, "--speed", "2", "--quiet", "-o", out, "--force"}, strings.NewReader(""), &stderr, &stderr)
			if text, err := witness(t, nil, "check", "servegen", folder, out); err == nil {
				t.Errorf("%s: a schedule at another speed passes:\n%s", name, text)
			}
		}
	}
}
