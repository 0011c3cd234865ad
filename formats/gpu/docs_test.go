package gpu

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/ipc"
	"hydrant/internal/fixture"
)

func pagePath() string { return filepath.Join(fixture.Root(), "docs", "formats", "gpu.md") }

func page(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(pagePath())
	check(t, err)
	return string(b)
}

// generated compares the part of the page after a marker with what the code says,
// or with HYDRANT_GOLDEN=write rewrites it.
func generated(t *testing.T, marker, want string) {
	t.Helper()
	text := page(t)
	before, rest, ok := strings.Cut(text, "<!-- "+marker+" -->\n")
	got, after, ok2 := strings.Cut(rest, "<!-- end -->")
	if !ok || !ok2 {
		t.Fatalf("the page has no marker %q", marker)
	}
	if got == want {
		return
	}
	if !update {
		t.Errorf("%s differs from the code; HYDRANT_GOLDEN=write rewrites it", marker)
		return
	}
	check(t, os.WriteFile(pagePath(), []byte(before+"<!-- "+marker+" -->\n"+want+"<!-- end -->"+after), 0o644))
}

func TestPageFields(t *testing.T) {
	generated(t, "fields: gpu", ipc.Markdown(Columns[:]))
	generated(t, "fields: server", ipc.Markdown(ServerColumns[:]))
	generated(t, "fields: host", ipc.Markdown(HostColumns[:]))
	generated(t, "fields: end", ipc.Markdown(endColumns[:]))
	text := page(t)
	for _, typ := range []reflect.Type{reflect.TypeFor[Header](), reflect.TypeFor[Device]()} {
		for i := range typ.NumField() {
			if key := typ.Field(i).Tag.Get("json"); !strings.Contains(text, "`"+key+"`") {
				t.Errorf("the page does not mention key %s of %s", key, typ.Name())
			}
		}
	}
}

// fields renders a row as JSON in the order of its columns, nulls left out.
func fields[T any](cols []ipc.Column[T], row *T) string {
	var parts []string
	for _, c := range cols {
		v := reflect.ValueOf(c.Field(row)).Elem()
		if c.Null != "" && v.IsZero() {
			continue
		}
		j, _ := json.Marshal(v.Interface())
		parts = append(parts, fmt.Sprintf("%q: %s", c.Name, j))
	}
	return "```json\n{" + strings.Join(parts, ",\n ") + "}\n```\n"
}

func TestPageExample(t *testing.T) {
	parts, _ := read(goldenBytes(t), true)
	p := parts[0]
	var head bytes.Buffer
	check(t, json.Indent(&head, []byte(p.Header), "", " "))
	end := &endRow{End: *p.End}
	end.own = formats.Some(ipc.CRC32C(end.facts()))
	generated(t, "example", "```json\n"+head.String()+"\n```\n"+fields(Columns[:], &p.Samples[0])+fields(ServerColumns[:], &p.Server[0])+
		fields(HostColumns[:], &p.Host[0])+fields(endColumns[:], end))
}

// TestIndependentReader runs the page's program on the golden file.
func TestIndependentReader(t *testing.T) {
	var stderr bytes.Buffer
	env := exec.Command(filepath.Join(fixture.Root(), "scripts", "pyenv"))
	env.Stderr = &stderr
	py, err := env.Output()
	fixture.Need(t, err == nil, fmt.Sprintf("scripts/pyenv: %v: %s", err, bytes.TrimSpace(stderr.Bytes())))
	m := regexp.MustCompile("(?s)<!-- run: pyarrow-gpu -->\n```python\n(.*?)```").FindStringSubmatch(page(t))
	if m == nil {
		t.Fatal("the page has no program pyarrow-gpu")
	}
	out, err := exec.Command(strings.TrimSpace(string(py)), "-c", m[1], golden).CombinedOutput()
	if want := "rows=6\nGPU-0=3 samples, 130246 mJ\nGPU-1=3 samples, None mJ\n"; err != nil || string(out) != want {
		t.Errorf("pyarrow-gpu printed %v\n%s\nwant\n%s", err, out, want)
	}
}
