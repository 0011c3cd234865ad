package main

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hydrant/formats/summary"
	"hydrant/internal/fixture"
)

// drawn reduces a made-up run with --plot and returns the page and the summary.
func drawn(t *testing.T, args ...string) (string, *summary.Summary) {
	t.Helper()
	return drawnWith(t, false, args...)
}

// drawnWith does the same, beside a gpu stream where there are devices.
func drawnWith(t *testing.T, devices bool, args ...string) (string, *summary.Summary) {
	t.Helper()
	dir := t.TempDir()
	in, page, out := filepath.Join(dir, "run.arrows"), filepath.Join(dir, "page.html"), filepath.Join(dir, "run.json")
	if err := mkrun(append(args, in)); err != nil {
		t.Fatal(err)
	}
	inputs := []string{in}
	if devices {
		inputs = append(inputs, filepath.Join(dir, "gpu.arrows"))
		if err := mkgpu(inputs[1]); err != nil {
			t.Fatal(err)
		}
	}
	if code := run(append(inputs, "--slo", "ttft:p90<200ms", "--slo", "tpot:p90<60ms", "--plot", page, "-o", out), nil, io.Discard, os.Stderr); code != 0 {
		t.Fatalf("exit status %d", code)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := summary.Read(f, out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), s
}

// figures of the page, by the place in the summary that each names.
var shownFigure = regexp.MustCompile(`<data data-id="([^"]+)" value="([^"]*)">`)

// inJSON lists the figures of a summary by the names that the page gives them, as the
// JSON writes them; null is "".
func inJSON(t *testing.T, s *summary.Summary) map[string]string {
	t.Helper()
	all := map[string]string{}
	put := func(id string, v any) {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if all[id] = string(b); all[id] == "null" {
			all[id] = ""
		}
	}
	put("plan in_window", s.Plan.InWindow)
	for _, o := range s.Outcomes {
		put("outcome "+o.Name+" n", o.N)
		put("outcome "+o.Name+" in_window", o.InWindow)
	}
	for _, v := range s.Scalars {
		put("scalar "+v.ID, v.Value)
		put("scalar "+v.ID+" n", v.N)
	}
	for _, m := range s.Metrics {
		at := "metric " + m.ID + " " + strings.ReplaceAll(m.Population, " ", "_") + " "
		put(at+"n", m.N)
		put(at+"nulls", m.Nulls)
		put(at+"mean", m.Mean)
		put(at+"std", m.Std)
		put(at+"min", m.Min)
		put(at+"max", m.Max)
		for _, p := range m.Percentiles {
			name := "p" + strings.TrimSuffix(strconv.FormatFloat(float64(p.Level)/10, 'f', 1, 64), ".0")
			put(at+name, p.Value)
			put(at+name+" low", p.Low)
			put(at+name+" high", p.High)
		}
	}
	for _, x := range s.Series {
		for i, v := range x.Values {
			put(fmt.Sprintf("series %s %d", x.ID, i), v)
		}
	}
	for i, d := range s.GPUs {
		for name, v := range d.Values {
			put(fmt.Sprintf("gpu %d %s", i, name), v)
		}
	}
	for i, c := range s.Clients {
		at := fmt.Sprintf("client %d ", i)
		put(at+"rows_sent", c.RowsSent)
		put(at+"cpu_ns", c.CPUNS)
		for name, v := range c.Values {
			put(at+name, v)
		}
	}
	return all
}

func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && x == y
}

// Each figure on the page is that of the JSON, digit for digit. Counts that only the
// page makes, by slices of its own and over the limits, are told apart by name.
func TestPageSaysWhatTheJSONSays(t *testing.T) {
	for _, args := range [][]string{{"-n", "1200"}, {"-n", "1500", "-fail", "7"}, {"-n", "12"}} {
		page, s := drawn(t, args...)
		want := inJSON(t, s)
		compared := 0
		for _, m := range shownFigure.FindAllStringSubmatch(page, -1) {
			id, got := html.UnescapeString(m[1]), html.UnescapeString(m[2])
			if strings.HasPrefix(id, "slice ") || strings.HasPrefix(id, "miss ") {
				continue
			}
			w, ok := want[id]
			if !ok && got == "" && strings.HasPrefix(id, "client ") {
				continue // a value of a worker that is not known stands nowhere in the JSON
			}
			if !ok || !sameNumber(w, got) {
				t.Errorf("%v: the page says %s = %q; the JSON %q", args, id, got, w)
			}
			compared++
		}
		if compared < 200 {
			t.Errorf("%v: %d figures compared; want at least 200", args, compared)
		}
		for _, id := range []string{"metric ttft_user ok p50", "scalar sent_rps", "outcome ok n"} {
			if !strings.Contains(page, `data-id="`+id+`"`) {
				t.Errorf("%v: the page lacks %s", args, id)
			}
		}
		if strings.Contains(page, "<script") || strings.Contains(page, "http://") || strings.Contains(page, "https://") {
			// The name space of SVG inside HTML needs no address.
			t.Errorf("%v: the page has a script or an address", args)
		}
		if again, _ := drawn(t, args...); again != page {
			t.Errorf("%v: the same run gives another page", args)
		}
	}
}

// With a gpu stream each figure of a device, in the table and on the curves, is that of
// the JSON, and every value of a series that is drawn stands on the page.
func TestPageShowsTheDevicesOfTheJSON(t *testing.T) {
	page, s := drawnWith(t, true, "-n", "1000")
	want := inJSON(t, s)
	shown := map[string]string{}
	for _, m := range shownFigure.FindAllStringSubmatch(page, -1) {
		id := html.UnescapeString(m[1])
		if shown[id] = html.UnescapeString(m[2]); !strings.Contains(id, "gpu") {
			continue
		}
		if w, ok := want[id]; ok && !sameNumber(w, shown[id]) || !ok && shown[id] != "" {
			t.Errorf("the page says %s = %q; the JSON %q", id, shown[id], w)
		}
	}
	for _, key := range []string{"utilization_mean", "power_w_mean", "memory_used_bytes_max", "temperature_c_max", "energy_j"} {
		if id := "gpu 0 " + key; shown[id] == "" || want[id] == "" {
			t.Errorf("%s: the page says %q, the JSON %q; want a number", id, shown[id], want[id])
		}
	}
	for _, id := range []string{"gpu_utilization", "gpu0_power_w"} {
		values := 0
		for _, x := range s.Series {
			if x.ID != id {
				continue
			}
			for i := range x.Values {
				at := fmt.Sprintf("series %s %d", id, i)
				if values++; !sameNumber(shown[at], want[at]) || want[at] == "" {
					t.Errorf("%s: the page says %q, the JSON %q", at, shown[at], want[at])
				}
			}
		}
		if values < 40 {
			t.Errorf("%s: %d values drawn; want those of 50 s", id, values)
		}
	}
}

// Whatever a name says, it stays text.
func TestNamesOnThePageStayText(t *testing.T) {
	dir := t.TempDir()
	name := `"><script>alert(1)<` + "\u202e&amp;' onload=x .arrows"
	in, page := filepath.Join(dir, name), filepath.Join(dir, "page.html")
	if err := mkrun([]string{"-n", "300", in}); err != nil {
		t.Fatal(err)
	}
	if code := run([]string{in, "--plot", page, "-o", filepath.Join(dir, "s.json")}, nil, io.Discard, os.Stderr); code != 0 {
		t.Fatalf("exit status %d", code)
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(b); strings.Contains(text, "<script") || strings.Contains(text, "&amp; onload") || !strings.Contains(text, "&lt;script&gt;alert(1)") {
		t.Errorf("the name of the run is not escaped: %.600s", text)
	}
}

// Drawings go into a folder, one per chart, each a picture by itself.
func TestDrawings(t *testing.T) {
	dir := t.TempDir()
	in, plots := filepath.Join(dir, "run.arrows"), filepath.Join(dir, "plots")
	if err := mkrun([]string{"-n", "400", in}); err != nil {
		t.Fatal(err)
	}
	if code := run([]string{in, "--plot", plots, "-o", filepath.Join(dir, "s.json")}, nil, io.Discard, os.Stderr); code != 0 {
		t.Fatalf("exit status %d", code)
	}
	for _, name := range charts {
		b, err := os.ReadFile(filepath.Join(plots, name+".svg"))
		if err != nil || !strings.HasPrefix(string(b), "<svg ") || !strings.Contains(string(b), "xmlns=") {
			t.Errorf("%s: %v, %.40q", name, err, b)
		}
	}
	for _, bad := range [][]string{{in, "--plot", in}, {in, "--plot", ""}, {in, "--plot", "-"}, {in, "--plot", filepath.Join(dir, "a.html"), "-o", filepath.Join(dir, "a.html")}} {
		if code := run(bad, nil, io.Discard, io.Discard); code != 2 {
			t.Errorf("reduce %v: exit status %d; want 2", bad[1:], code)
		}
	}
}

// The page in a browser: nothing to complain of, nothing asked for beside the page,
// nothing wider than the window, two pages of paper at most, in light and in dark. The
// pictures stay in .cache/artefacts.
func TestPageInABrowser(t *testing.T) {
	b := fixture.NewBrowser(t)
	dir := t.TempDir()
	page, _ := drawn(t, "-n", "1500", "-fail", "40")
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dark := range []bool{false, true} {
		seen := b.Open(file, fixture.Visit{Dark: dark, Width: 1040, Height: 900, Print: true,
			Script: `getComputedStyle(document.body).backgroundColor + " " + document.querySelectorAll("svg").length`})
		if len(seen.Complaints) > 0 || len(seen.Requests) > 0 {
			t.Errorf("dark %v: complaints %q, requests %q; want none", dark, seen.Complaints, seen.Requests)
		}
		if seen.Wide > 1040 {
			t.Errorf("dark %v: the page is %d px wide in a window of 1040", dark, seen.Wide)
		}
		if n := fixture.Pages(seen.PDF); n < 1 || n > 2 {
			t.Errorf("dark %v: %d pages of paper; want one or two", dark, n)
		}
		name := "reduce-light.png"
		if dark {
			name = "reduce-dark.png"
		}
		if err := os.WriteFile(fixture.Artefact(t, name), seen.PNG, 0o644); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(seen.Value), " 1") { // ten charts or more
			t.Errorf("dark %v: %s; want ten charts or more", dark, seen.Value)
		}
	}
}
