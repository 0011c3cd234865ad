package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"hydrant/cmd/reduce/internal/table"
	"hydrant/formats/summary"
)

// figure names one number of a summary. Percentiles are p50, p50_low and so on.
type figure struct{ group, kind, id, population, statistic string }

// figures reads the numbers out of a summary's JSON with nothing of reduce: the value's
// digits, "" for null.
func figures(t *testing.T, text []byte) map[figure]string {
	t.Helper()
	var s map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&s); err != nil {
		t.Fatal(err)
	}
	all := map[figure]string{}
	put := func(f figure, v any) {
		if _, twice := all[f]; twice {
			t.Fatalf("the summary has %v twice", f)
		}
		n, _ := v.(json.Number)
		all[f] = n.String()
	}
	objects := func(v any, do func(map[string]any)) {
		for _, x := range v.([]any) {
			do(x.(map[string]any))
		}
	}
	numbers := func(group, kind string, o map[string]any, leave ...string) {
		for k, v := range o {
			_, text := v.(string)
			if _, list := v.([]any); text || list || slices.Contains(leave, k) {
				continue
			}
			put(figure{group, kind, k, "", "value"}, v)
		}
	}
	window := s["window"].(map[string]any)
	for k, v := range window {
		if id, ns := strings.CutSuffix(k, "_ns"); ns {
			put(figure{"", "window", id, "", "value"}, v)
		}
	}
	numbers("", "plan", s["plan"].(map[string]any))
	objects(s["outcomes"], func(o map[string]any) {
		put(figure{"", "outcome", o["name"].(string), "", "n"}, o["n"])
		put(figure{"", "outcome", o["name"].(string), "", "in_window"}, o["in_window"])
	})
	objects(s["metrics"], func(m map[string]any) {
		at := figure{"", "metric", m["id"].(string), m["population"].(string), ""}
		for _, k := range []string{"n", "nulls", "sum", "mean", "std", "min", "max"} {
			at.statistic = k
			put(at, m[k])
		}
		objects(m["percentiles"], func(p map[string]any) {
			level, _ := p["level"].(json.Number).Int64()
			name := "p" + strconv.FormatFloat(float64(level)/10, 'f', -1, 64)
			for k, end := range map[string]string{"value": "", "low": "_low", "high": "_high", "tau": "_tau", "n_eff": "_n_eff"} {
				at.statistic = name + end
				put(at, p[k])
			}
		})
	})
	objects(s["scalars"], func(v map[string]any) {
		put(figure{"", "scalar", v["id"].(string), "", "value"}, v["value"])
		put(figure{"", "scalar", v["id"].(string), "", "n"}, v["n"])
	})
	objects(s["series"], func(v map[string]any) {
		from, _ := v["from_ns"].(json.Number).Int64()
		step, _ := v["step_ns"].(json.Number).Int64()
		for i, x := range v["values"].([]any) {
			put(figure{fmt.Sprint(from + int64(i)*step), "series", v["id"].(string), "", "value"}, x)
		}
	})
	objects(s["clients"], func(c map[string]any) {
		group := fmt.Sprintf("part=%v,worker=%v", c["part"], c["worker"])
		numbers(group, "client", c, "part", "worker", "values")
		numbers(group, "client", c["values"].(map[string]any))
	})
	objects(s["gpus"], func(g map[string]any) {
		group := fmt.Sprintf("host=%v,index=%v,uuid=%v", g["host"], g["index"], g["uuid"])
		put(figure{group, "gpu", "samples", "", "value"}, g["samples"])
		numbers(group, "gpu", g["values"].(map[string]any))
	})
	return all
}

// reduced runs reduce and returns what it prints.
func reduced(t *testing.T, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := run(args, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Fatalf("reduce %v: status %d: %s", args, code, stderr.String())
	}
	return stdout.Bytes()
}

// samples are runs with figures of every kind: many, few, none at all, with devices.
func samples(t *testing.T) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for name, args := range map[string][]string{"healthy": {"-n", "700", "-fail", "0"}, "mixed": {"-n", "900", "-fail", "30"}, "few": {"-n", "6", "-fail", "3", "-status", "failed"}, "failures": {"-n", "400", "-fail", "1"}} {
		if err := mkrun(append(args, at(name))); err != nil {
			t.Fatal(err)
		}
	}
	if err := mkgpu(at("gpu")); err != nil {
		t.Fatal(err)
	}
	return map[string][]string{"healthy": {at("healthy"), at("gpu"), "--slo", "ttft:p90<60ms"}, "mixed": {at("mixed")}, "few": {at("few")}, "failures": {at("failures")}}
}

// TestFormatsSayWhatTheJSONSays parses each format back and compares every figure.
func TestFormatsSayWhatTheJSONSays(t *testing.T) {
	for _, format := range []struct {
		name  string
		least int // figures of run healthy
		check func(t *testing.T, text []byte, want map[figure]string) int
	}{
		{"csv", 2500, checkLong}, {"csv-wide", 2500, checkWide}, {"openmetrics", 1500, checkOpenMetrics},
		{"table", 50, checkTable}, {"markdown", 50, checkMarkdown},
	} {
		t.Run(format.name, func(t *testing.T) {
			for name, args := range samples(t) {
				want := figures(t, reduced(t, args...))
				text := reduced(t, append(args, "--format", format.name)...)
				if again := reduced(t, append(args, "--format", format.name)...); !bytes.Equal(text, again) {
					t.Errorf("%s: two calls print different bytes", name)
				}
				n := format.check(t, text, want)
				if n < format.least && name == "healthy" {
					t.Errorf("%s: compared %d figures; want at least %d", name, n, format.least)
				}
				t.Logf("%s: %d figures compared", name, n)
			}
		})
	}
}

// check compares one figure and takes it out of want.
func check(t *testing.T, want map[figure]string, f figure, got string) {
	t.Helper()
	v, known := want[f]
	if !known {
		t.Errorf("%v = %q; the JSON has no such figure", f, got)
	} else if v != got {
		t.Errorf("%v = %q; the JSON has %q", f, got, v)
	}
	delete(want, f)
}

func left(t *testing.T, want map[figure]string) {
	t.Helper()
	for f := range want {
		t.Errorf("%v is missing", f)
	}
}

func checkLong(t *testing.T, text []byte, want map[figure]string) int {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		f := figure{row[0], row[1], row[2], row[4], row[6]}
		if f.kind == "series" {
			f.group = row[8]
		}
		check(t, want, f, row[9])
		if row[9] == "" && row[10] == "" {
			t.Errorf("%v is empty without a reason", f)
		}
	}
	left(t, want)
	return len(rows) - 1
}

func checkWide(t *testing.T, text []byte, want map[figure]string) (n int) {
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	head := rows[0]
	statistics := map[string][]string{"metric": {"n", "nulls", "sum", "mean", "std", "min", "max"}, "scalar": {"value", "n"}, "outcome": {"n", "in_window"}}
	for _, name := range head[7 : len(head)-1] {
		if strings.HasPrefix(name, "p") {
			statistics["metric"] = append(statistics["metric"], name)
		}
	}
	for _, row := range rows[1:] {
		of := statistics[row[1]]
		if of == nil {
			of = []string{"value"}
		}
		reasons := row[len(row)-1]
		for i, name := range head[7 : len(head)-1] {
			v := row[7+i]
			switch {
			case !slices.Contains(of, name):
				if v != "" {
					t.Errorf("%v: column %s = %q; want nothing", row[:4], name, v)
				}
				continue
			case v == "" && !regexp.MustCompile(`(^|[ ;])`+regexp.QuoteMeta(name)+`( |:)`).MatchString(reasons):
				t.Errorf("%v: %s is empty and not among the reasons %q", row[:4], name, reasons)
			}
			check(t, want, figure{row[0], row[1], row[2], row[4], name}, v)
			n++
		}
	}
	for f := range want {
		if f.kind == "series" {
			delete(want, f)
		}
	}
	left(t, want)
	return n
}

// checkOpenMetrics reads the text with Prometheus's own parser. Null figures are absent.
func checkOpenMetrics(t *testing.T, text []byte, want map[figure]string) (n int) {
	if !bytes.HasSuffix(text, []byte("\n# EOF\n")) {
		t.Error("the text does not end with # EOF")
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	value := func(family string, labels map[string]string) (float64, bool) {
		f := families[family]
		if f == nil {
			return 0, false
		}
		found, v := 0, 0.0
		for _, m := range f.Metric {
			if matches(m, labels) {
				found++
				v = m.GetGauge().GetValue()
			}
		}
		if found > 1 {
			t.Errorf("%s%v stands there %d times", family, labels, found)
		}
		return v, found == 1
	}
	for f, digits := range want {
		family, labels := openMetricsName(families, f)
		if family == "" {
			continue
		}
		n++
		got, ok := value(family, labels)
		if (digits != "") != ok {
			t.Errorf("%v = %q in the JSON; the text has %s%v: %v", f, digits, family, labels, ok)
			continue
		}
		if !ok {
			continue
		}
		exact, _ := new(big.Rat).SetString(digits)
		if strings.HasSuffix(family, "_seconds") && !strings.HasSuffix(f.id, "_s") {
			exact.Quo(exact, big.NewRat(1e9, 1))
		}
		if f.id == "speed" || f.id == "prefill_speed" {
			if !strings.HasSuffix(family, "_n") {
				exact.Quo(exact, big.NewRat(1000, 1))
			}
		}
		if v, _ := exact.Float64(); v != got {
			t.Errorf("%v = %v; the JSON has %v", f, got, v)
		}
	}
	return n
}

func matches(m *dto.Metric, labels map[string]string) bool {
	if len(m.Label) != len(labels) {
		return false
	}
	for _, l := range m.Label {
		if labels[l.GetName()] != l.GetValue() {
			return false
		}
	}
	return true
}

// openMetricsName says where the text has a figure, "" for those it leaves out.
func openMetricsName(families map[string]*dto.MetricFamily, f figure) (string, map[string]string) {
	find := func(base string) string {
		for _, unit := range []string{"", "_seconds", "_ratio", "_bytes", "_joules", "_watts"} {
			if families[base+unit] != nil {
				return base + unit
			}
		}
		return base
	}
	labels := map[string]string{}
	if f.population != "" {
		labels["population"] = f.population
	}
	switch f.kind {
	case "window", "plan":
		labels["of"] = f.id
		return find(map[string]string{"window": "hydrant_bound", "plan": "hydrant_plan"}[f.kind]), labels
	case "outcome":
		labels["outcome"], labels["of"] = f.id, map[string]string{"n": "run", "in_window": "window"}[f.statistic]
		return "hydrant_requests", labels
	case "scalar":
		if f.statistic == "n" {
			return "", nil
		}
		if base := find("hydrant_" + f.id); families[base] != nil {
			return base, labels
		}
		return find("hydrant_" + strings.TrimSuffix(strings.TrimSuffix(f.id, "_ns"), "_s")), labels
	case "client", "gpu":
		for pair := range strings.SplitSeq(f.group, ",") {
			k, v, _ := strings.Cut(pair, "=")
			labels[k] = v
		}
		return "hydrant_" + f.kind + "_" + f.id, labels
	case "metric":
		level, end, _ := strings.Cut(f.statistic, "_")
		switch {
		case f.statistic == "n":
			labels["of"] = "values"
			return "hydrant_" + f.id + "_n", labels
		case f.statistic == "nulls":
			labels["of"] = "nulls"
			return "hydrant_" + f.id + "_n", labels
		case !strings.HasPrefix(f.statistic, "p"):
			labels["moment"] = f.statistic
			return find("hydrant_" + f.id + "_moment"), labels
		case end == "tau" || end == "n_eff":
			return "", nil
		}
		k, _ := strconv.ParseFloat(level[1:], 64)
		labels["quantile"] = strconv.FormatFloat(math.Round(k*10)/1000, 'f', -1, 64)
		if end == "" {
			return find("hydrant_" + f.id), labels
		}
		labels["end"] = end
		return find("hydrant_" + f.id + "_interval"), labels
	}
	return "", nil
}

// tableRows maps the names of a row of the table to its metric.
var tableRows = map[string][2]string{
	"TTFT user": {"ttft_user", "ok"}, "TTFT all": {"ttft_user", "planned"}, "TTFT wire": {"ttft_wire", "ok"}, "TTFT sent": {"ttft_sent", "ok"}, "TTFO user": {"ttfo_user", "ok"},
	"TPOT": {"tpot_user", "ok"}, "ICL": {"icl", "ok, by gap"}, "ITL even": {"itl_even", "ok, by token"},
	"E2E user": {"e2e_user", "ok"}, "E2E all": {"e2e_user", "planned"}, "E2E wire": {"e2e_wire", "ok"}, "E2E sent": {"e2e_sent", "ok"}, "lag": {"send_lag", "dispatched"},
}

func checkTable(t *testing.T, text []byte, want map[figure]string) int {
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" && len(rows) > 0:
			return checkGrid(t, rows, want)
		case strings.HasPrefix(line, "     ") && len(rows) == 0, len(rows) > 0 && regexp.MustCompile(`  [0-9–∞]`).MatchString(line):
			cells := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1)
			if len(rows) > 0 && !strings.ContainsAny(cells[1][:1], "0123456789") { // a short label, padded
				cells = append([]string{cells[0] + " " + cells[1]}, cells[2:]...)
			}
			if strings.HasPrefix(line, " ") && len(rows) > 0 { // the label stands above
				cells[0] = " " + cells[0]
			}
			rows = append(rows, cells)
		}
	}
	return checkGrid(t, rows, want)
}

func checkMarkdown(t *testing.T, text []byte, want map[figure]string) int {
	var rows [][]string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		name := strings.TrimSpace(cells[0] + " " + cells[1])
		if cells[0] == "" && len(rows) > 0 {
			name = " " + name
		}
		if len(rows) == 0 {
			rows = append(rows, cells[2:])
			continue
		}
		rows = append(rows, append([]string{name}, cells[2:]...))
	}
	return checkGrid(t, rows, want)
}

// checkGrid compares rounded figures: each lies within half a unit of its last digit.
func checkGrid(t *testing.T, rows [][]string, want map[figure]string) (n int) {
	if len(rows) < 2 {
		t.Fatalf("no table: %q", rows)
	}
	head := rows[0]
	label := ""
	scales := map[string]float64{"ms": 1e-6, "s": 1e-9, "µs": 1e-3}
	for _, row := range rows[1:] {
		name, own := strings.CutPrefix(row[0], " ")
		words := strings.Fields(name)
		scale, unit := scales[words[len(words)-1]]
		if !unit {
			t.Fatalf("row %q has no unit", row)
		}
		words = words[:len(words)-1]
		if own {
			words = append([]string{label}, words...)
		}
		label = words[0]
		metric, known := tableRows[strings.Join(words, " ")]
		if !known {
			t.Fatalf("row %q is no metric", row)
		}
		for i, column := range head {
			at := figure{"", "metric", metric[0], metric[1], column}
			shown := []string{row[1+i]}
			ats := []figure{at}
			if level, interval := strings.CutPrefix(column, "95 % of "); interval {
				low, high := at, at
				low.statistic, high.statistic = level+"_low", level+"_high"
				if rest, above := strings.CutPrefix(row[1+i], "above "); above {
					shown, ats = []string{rest, "–"}, []figure{low, high}
				} else if a, b, both := strings.Cut(row[1+i], " – "); both {
					shown, ats = []string{a, b}, []figure{low, high}
				} else {
					continue // a dash or the error of a sketch
				}
			}
			for j, s := range shown {
				digits, found := want[ats[j]]
				if !found {
					t.Errorf("%v: the JSON has no such figure", ats[j])
				}
				if (digits == "") != (s == "–" || s == "∞") {
					t.Errorf("%v = %q; the JSON has %q", ats[j], s, digits)
				}
				n++
				if digits == "" {
					continue
				}
				exact, _ := strconv.ParseFloat(digits, 64)
				if column != "n" {
					exact *= scale
				}
				s = strings.ReplaceAll(s, ",", "")
				got, err := strconv.ParseFloat(s, 64)
				half := 0.5
				if _, frac, dot := strings.Cut(s, "."); dot {
					half *= math.Pow(10, -float64(len(frac)))
				} else if whole := strings.TrimRight(s, "0"); column != "n" {
					half *= math.Pow(10, float64(max(0, len(s)-max(len(whole), 4))))
				}
				if err != nil || math.Abs(got-exact) > half*(1+1e-9) {
					t.Errorf("%v = %s; the JSON has %v", ats[j], s, exact)
				}
			}
		}
	}
	return n
}

// TestGoldenFormats keeps the bytes that each text format has for the golden summary.
func TestGoldenFormats(t *testing.T) {
	const name = "../../formats/summary/testdata/v1.summary.json"
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	s, err := summary.Read(in, name)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"csv", "csv-wide", "markdown", "openmetrics"} {
		f, err := parseForm(format, false)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := f.write(&got, s, &options{view: table.Options{Levels: []int64{500, 900, 999}}}); err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", "golden", format)
		if os.Getenv("HYDRANT_GOLDEN") == "write" {
			if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("--format %s differs from %s; HYDRANT_GOLDEN=write makes it anew", format, golden)
		}
	}
}
