package traces

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"hydrant/formats/jsonl"
	"hydrant/formats/schedule"
	"hydrant/internal/codec"
	"hydrant/internal/fixture"
)

const wekaBundle = "weka/dev_bundle_310_traces.jsonl.zst"

// openFile opens a file, compressed or not.
func openFile(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	z, _, err := codec.NewReader(f)
	return struct {
		io.Reader
		io.Closer
	}{z, f}, err
}

// readTable returns the rows of a CSV file by header name.
func readTable(t *testing.T, rel string) (rows []map[string]string) {
	t.Helper()
	b, err := os.ReadFile(fixture.Shared(t, "data/"+rel))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cells[1:] {
		row := map[string]string{}
		for i, name := range cells[0] {
			row[name] = c[i]
		}
		rows = append(rows, row)
	}
	return rows
}

// wekaSums are sums over the requests of a trace or of several, by the names of
// expected.json.
type wekaSums map[string]int64

func (f wekaSums) add(o wekaSums) {
	for name, n := range o {
		if name == "max_depth" || name == "max_id" {
			f[name] = max(f[name], n)
		} else {
			f[name] += n
		}
	}
}

// prefix is an infinite cache for one scope of ids, which count from 0.
type prefix struct {
	has      []bool
	distinct int64
}

// add reports whether the id is new.
func (c *prefix) add(id int64) bool {
	if id >= int64(len(c.has)) {
		c.has = append(c.has, make([]bool, id+1-int64(len(c.has)))...)
	}
	if c.has[id] {
		return false
	}
	c.has[id] = true
	c.distinct++
	return true
}

func (c *prefix) hit(runs []schedule.Run) (n int64) {
	open := true
	for _, run := range runs {
		for id := run[0]; id < run[0]+run[1]; id++ {
			if open = !c.add(id) && open; open {
				n++
			}
		}
	}
	return n
}

// listed returns the figures of a trace in the order in which it lists its requests.
func listed(tr *wekaTrace) wekaSums {
	f := wekaSums{"traces": 1, "subagents": int64(len(tr.agents))}
	cache, alone := &prefix{}, map[int]*prefix{}
	before := int64(0)
	for i := range tr.requests {
		r := &tr.requests[i]
		kind := "parent"
		if r.agent >= 0 {
			kind = "sub"
			f["subagent_requests"]++
			f["max_depth"] = 1
		} else {
			f["parent_requests"]++
			if r.in < before {
				f["context_drops"]++
			}
			before = r.in
		}
		f["in_"+kind] += r.in
		f["out_"+kind] += r.out
		f["think_time_sum_s"] += r.think.V / 1e9
		f["api_time_sum_cs"] += r.api.V / 1e7
		for name, yes := range map[string]bool{"think_time_missing": !r.think.Valid, "api_time_missing": !r.api.Valid, "ttft_present": r.ttft.Valid, "zero_out": r.out == 0} {
			if yes {
				f[name]++
			}
		}
		runs := tr.runs[r.from:r.to]
		if alone[r.agent] == nil {
			alone[r.agent] = &prefix{}
		}
		f["blocks"] += r.ids
		f["hit_blocks_listed"] += cache.hit(runs)
		f["hit_blocks_isolated"] += alone[r.agent].hit(runs)
		for _, run := range runs {
			f["max_id"] = max(f["max_id"], run[0]+run[1]-1)
		}
	}
	f["distinct_ids"] = cache.distinct
	return f
}

// eachWeka parses the 358 published traces, those in files first.
func eachWeka(t *testing.T, see func(container string, text []byte, tr *wekaTrace)) {
	t.Helper()
	folder := filepath.Dir(fixture.Shared(t, "data/"+wekaBundle))
	parser := wekaParser{unknown: func(key string) *jsonl.Fault { return &jsonl.Fault{What: "key", Got: key} }}
	var tr wekaTrace
	object := func(b []byte, container string) {
		p := newPieces(bytes.NewReader(b))
		parser.object(p, &tr)
		if p.err != nil || !p.done() {
			t.Fatalf("%s: %v", container, p.err)
		}
		see(container, b, &tr)
	}
	paths, err := filepath.Glob(filepath.Join(folder, "trace_*.json.zst"))
	if err != nil || len(paths) != 48 {
		t.Fatalf("%d files, %v; want 48", len(paths), err)
	}
	for _, path := range paths {
		r, err := openFile(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		object(b, "file")
	}
	r, err := openFile(filepath.Join(folder, filepath.Base(wekaBundle)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	lines := bufio.NewScanner(r)
	for lines.Buffer(nil, 1<<23); lines.Scan(); {
		object(lines.Bytes(), "bundle")
	}
	if lines.Err() != nil {
		t.Fatal(lines.Err())
	}
}

// Every figure that is known of the 358 published traces.
func TestWekaFigures(t *testing.T) {
	folder := filepath.Dir(fixture.Shared(t, "data/"+wekaBundle))
	got := map[string]wekaSums{}
	spans := map[string][2]string{} // id → container, hash
	models := map[string]string{}
	eachWeka(t, func(container string, b []byte, tr *wekaTrace) {
		f := listed(tr)
		f["bytes"] = int64(len(b))
		f["first_in"] = tr.requests[0].in
		var names []string
		for i := range tr.requests {
			if r := &tr.requests[i]; r.agent < 0 {
				f["last_parent_in"] = r.in
				f["span_parent_s"] = r.t / 1e9
			}
			names = append(names, tr.requests[i].model)
		}
		slices.Sort(names)
		models[tr.id] = strings.Join(slices.Compact(names), ";")
		sum := sha256.Sum256(b)
		spans[tr.id] = [2]string{container, hex.EncodeToString(sum[:6])}
		got[tr.id] = f
	})

	// In order of time, from what the reader hands out.
	whole, err := Weka(Input{Place: folder, Name: "weka", Path: folder, Open: openFile}, Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	caches, ends := map[string]*prefix{}, map[string]int64{}
	for {
		r, err := whole.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if caches[r.Session] == nil {
			caches[r.Session] = &prefix{}
		}
		if r.Blocks != nil {
			got[r.Session]["hit_blocks_time"] += caches[r.Session].hit(r.Blocks.Add)
		}
		ends[r.Session] = max(ends[r.Session], r.AtNS.V+r.Recorded.E2ENS.V)
	}

	sums := map[string]wekaSums{"file": {}, "bundle": {}, "all": {}}
	for _, row := range readTable(t, "weka/per_trace.csv") {
		id := row["trace_id"]
		f := got[id]
		for name, want := range row {
			var have string
			switch name {
			case "container":
				have = spans[id][0]
			case "sha256_12":
				have = spans[id][1]
			case "models_seen":
				have = models[id]
			case "trace_id":
				have = id
			case "last_end_s":
				v, err := strconv.ParseFloat(want, 64)
				if err != nil || math.Abs(v*1e9-float64(ends[id])) > 5e6 {
					t.Errorf("%s: last end = %d ns; want %s s", id, ends[id], want)
				}
				continue
			default:
				have = strconv.FormatInt(f[name], 10)
			}
			if have != want {
				t.Errorf("%s: %s = %s; want %s", id, name, have, want)
			}
		}
		sums[row["container"]].add(f)
		sums["all"].add(f)
		delete(got, id)
	}
	if len(got) > 0 {
		t.Errorf("%d traces that per_trace.csv does not have", len(got))
	}
	for key, name := range map[string]string{"weka/ (single files)": "file", wekaBundle: "bundle", "weka/ (all)": "all"} {
		f := sums[name]
		var want struct {
			Total map[string]json.Number
		}
		wekaExpected(t, key, &want)
		for field, v := range want.Total {
			have := strconv.FormatInt(f[field], 10)
			if over, hits := map[string]string{"block_hit_ratio_listed": "hit_blocks_listed", "block_hit_ratio_isolated": "hit_blocks_isolated", "token_hit_ratio_listed": "hit_blocks_listed"}[field]; hits {
				ratio := float64(f[over]) / float64(f["blocks"])
				if strings.HasPrefix(field, "token") {
					ratio = 64 * float64(f[over]) / float64(f["in_parent"]+f["in_sub"])
				}
				have = strconv.FormatFloat(math.Round(ratio*1e10)/1e10, 'f', -1, 64)
			}
			if have != v.String() {
				t.Errorf("%s: %s = %s; want %s", key, field, have, v)
			}
		}
	}
	counts := map[string]int64{}
	for _, c := range whole.Counts() {
		counts[c.Name] = c.N
	}
	delete(counts, "ties_kept")
	want := map[string]int64{"files_ignored": 2, "output_zero": 8, "overlap_rounded": 19, "overlapping": 4, "service_unknown": 1883, "subagent_times_relative": 33}
	if fmt.Sprint(counts) != fmt.Sprint(want) {
		t.Errorf("counts = %v; want %v", counts, want)
	}
}

// wekaExpected reads an entry of expected.json.
func wekaExpected(t *testing.T, key string, into any) {
	t.Helper()
	b, err := os.ReadFile(fixture.Shared(t, "data/expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(all[key], into); err != nil {
		t.Fatalf("%s: %v", key, err)
	}
}

// The 33 subagents: where they start, and what they hold.
func TestWekaSubagents(t *testing.T) {
	byTrace := map[string][]map[string]string{}
	for _, row := range readTable(t, "weka/subagents.csv") {
		byTrace[row["trace_id"]] = append(byTrace[row["trace_id"]], row)
	}
	n := 0
	for id, rows := range byTrace {
		reqs, _ := plan(t, load(t, Weka, "data/weka/"+id+".json.zst", Options{}))
		byStream := map[string][]*schedule.Request{}
		for _, r := range reqs {
			byStream[r.Stream] = append(byStream[r.Stream], r)
		}
		if len(byStream) != len(rows)+1 {
			t.Errorf("%s: %d streams; want %d", id, len(byStream), len(rows)+1)
		}
		for _, row := range rows {
			n++
			inner := byStream[row["agent_id"]]
			var in, out, api, end int64
			var names []string
			for _, r := range inner {
				if r.Class != row["subagent_type"] {
					t.Errorf("%s %s: class %q; want %q", id, row["agent_id"], r.Class, row["subagent_type"])
				}
				in += r.InputTokens.V
				out += r.OutputTokens.V
				api += r.Recorded.E2ENS.V / 1e7
				end = max(end, r.AtNS.V+r.Recorded.E2ENS.V-inner[0].AtNS.V)
				names = append(names, r.Model)
			}
			slices.Sort(names)
			for name, have := range map[string]string{
				"start_s": fmt.Sprintf("%.3f", float64(inner[0].AtNS.V)/1e9), "requests": strconv.Itoa(len(inner)), "sum_in": strconv.FormatInt(in, 10),
				"sum_out": strconv.FormatInt(out, 10), "api_sum_cs": strconv.FormatInt(api, 10), "inner_end_s": strconv.FormatFloat(float64(end)/1e9, 'f', -1, 64),
				"first_in": strconv.FormatInt(inner[0].InputTokens.V, 10), "models": strings.Join(slices.Compact(names), ";"),
			} {
				want := row[name]
				if strings.HasSuffix(name, "_s") {
					v, err := strconv.ParseFloat(want, 64)
					g, _ := strconv.ParseFloat(have, 64)
					if err == nil && math.Abs(v-g) < 1e-9 {
						continue
					}
				}
				if have != want {
					t.Errorf("%s %s: %s = %s; want %s", id, row["agent_id"], name, have, want)
				}
			}
		}
	}
	if n != 33 {
		t.Errorf("%d subagents; want 33", n)
	}
}
