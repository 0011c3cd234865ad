package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/ipc"
	"hydrant/internal/fixture"
)

func pagePath() string { return filepath.Join(fixture.Root(), "docs", "formats", "run.md") }

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
	start := strings.Index(text, "<!-- "+marker+" -->\n")
	if start < 0 {
		t.Fatalf("the page has no marker %q", marker)
	}
	start += len("<!-- " + marker + " -->\n")
	end := start + strings.Index(text[start:], "<!-- end -->")
	if text[start:end] == want {
		return
	}
	if !update {
		t.Errorf("%s differs from the code; HYDRANT_GOLDEN=write rewrites it", marker)
		return
	}
	check(t, os.WriteFile(pagePath(), []byte(text[:start]+want+text[end:]), 0o644))
}

func TestPageFields(t *testing.T) {
	generated(t, "fields: requests", ipc.Markdown(Columns[:]))
	generated(t, "fields: client", ipc.Markdown(ClientColumns[:]))
	generated(t, "fields: end", ipc.Markdown(endColumns[:]))
}

// TestPageWords checks that the page knows every key of the JSON parts and every
// outcome.
func TestPageWords(t *testing.T) {
	text := page(t)
	for _, typ := range []reflect.Type{reflect.TypeFor[Header](), reflect.TypeFor[Detail]()} {
		for _, key := range jsonKeys(typ) {
			if !strings.Contains(text, "`"+key+"`") {
				t.Errorf("the page does not mention key %s of %s", key, typ.Name())
			}
		}
	}
	for _, o := range Outcomes {
		if !strings.Contains(text, "`"+o+"`") {
			t.Errorf("the page does not mention outcome %s", o)
		}
	}
}

func jsonKeys(typ reflect.Type) (keys []string) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ == reflect.TypeFor[formats.Int]() {
		return nil
	}
	for i := range typ.NumField() {
		if tag, ok := typ.Field(i).Tag.Lookup("json"); ok {
			keys = append(keys, strings.Split(tag, ",")[0])
		}
		keys = append(keys, jsonKeys(typ.Field(i).Type)...)
	}
	return keys
}

// fields renders a row as JSON in the order of its columns, nulls left out.
func fields[T any](cols []ipc.Column[T], row *T) string {
	var b strings.Builder
	for _, c := range cols {
		v := reflect.ValueOf(c.Field(row)).Elem()
		if c.Null != "" && v.IsZero() {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(",\n ")
		}
		j, _ := json.Marshal(v.Interface())
		if c.Type == ipc.Bool {
			j = map[string][]byte{"0": []byte("false"), "1": []byte("true")}[string(j)]
		}
		fmt.Fprintf(&b, "%q: %s", c.Name, j)
	}
	return "{" + b.String() + "}"
}

func TestPageExample(t *testing.T) {
	p := readGolden(t)
	var head bytes.Buffer
	check(t, json.Indent(&head, []byte(p.Header), "", " "))
	end, err := p.End.row()
	check(t, err)
	generated(t, "example", "```json\n"+head.String()+"\n```\n```json\n"+fields(Columns[:], &p.Requests[0])+"\n```\n```json\n"+
		fields(ClientColumns[:], &p.Clients[0])+"\n```\n```json\n"+fields(endColumns[:], end)+"\n```\n")
}

// python returns the interpreter of the independent readers' environment.
func python(t *testing.T) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(filepath.Join(fixture.Root(), "scripts", "pyenv"))
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	fixture.Need(t, err == nil, fmt.Sprintf("scripts/pyenv: %v: %s", err, bytes.TrimSpace(stderr.Bytes())))
	return strings.TrimSpace(string(out))
}

// snippet returns the python program of the page under a name.
func snippet(t *testing.T, name string) string {
	t.Helper()
	m := regexp.MustCompile("(?s)<!-- run: " + name + " -->\n```python\n(.*?)```").FindStringSubmatch(page(t))
	if m == nil {
		t.Fatalf("the page has no program %s", name)
	}
	return m[1]
}

// TestIndependentReaders runs the page's programs on a run of 300 requests in
// several batches, and on the golden file.
func TestIndependentReaders(t *testing.T) {
	py := python(t)
	var batches [][]Request
	var e2e []int64
	for i := range int64(300) {
		r := goldenRequests()[0][0]
		r.RequestID, r.LastTokenNS = i, some(r.DueNS.V+(i*7919)%300*1_000_003)
		if i%10 == 0 {
			r = Request{RequestID: i, DueNS: r.DueNS, Outcome: ConnectError, Error: "connection refused"}
		} else {
			e2e = append(e2e, r.LastTokenNS.V-r.DueNS.V)
		}
		if i%100 == 0 {
			batches = append(batches, nil)
		}
		batches[len(batches)-1] = append(batches[len(batches)-1], r)
	}
	sort.Slice(e2e, func(i, j int) bool { return e2e[i] < e2e[j] })
	rank := func(p int) int64 { return e2e[(len(e2e)*p+99)/100-1] }
	want := fmt.Sprintf("rows=300\ne2e_p50=%d\ne2e_p90=%d\ne2e_p99=%d\n", rank(50), rank(90), rank(99))
	end := goldenEnd()
	end.Planned = 300
	file := filepath.Join(t.TempDir(), "run.arrows")
	check(t, os.WriteFile(file, write(t, batches, goldenClients(), end), 0o600))
	for name, more := range map[string]string{"pyarrow-run": "planned=300\nstatus=complete\nclient_rows=2\n", "polars-run": "", "duckdb-run": ""} {
		out, err := exec.Command(py, "-c", snippet(t, name), file).CombinedOutput()
		if err != nil || string(out) != want+more {
			t.Errorf("%s printed %v\n%s\nwant\n%s", name, err, out, want+more)
		}
		out, err = exec.Command(py, "-c", snippet(t, name), golden).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "rows=5\n") {
			t.Errorf("%s on the golden file printed %v\n%s", name, err, out)
		}
	}
}

// TestRewritten has pyarrow delete a row. Under the old end that is found out;
// with an index made anew the run reads, one row short of its plan.
func TestRewritten(t *testing.T) {
	py := python(t)
	dir := t.TempDir()
	for _, seal := range []string{"old", "true"} {
		file := filepath.Join(dir, seal)
		if out, err := exec.Command(py, "testdata/rewrite.py", golden, file, seal).CombinedOutput(); err != nil {
			t.Fatalf("rewrite.py: %v\n%s", err, out)
		}
		b, err := os.ReadFile(file)
		check(t, err)
		for _, seekable := range []bool{true, false} {
			parts, err := read(b, seekable)
			var se *formats.SyntaxError
			if seal == "old" && !errors.As(err, &se) {
				t.Errorf("old end, seekable %v: %v; want a SyntaxError", seekable, err)
			}
			if seal == "true" && (err != io.EOF || len(parts[0].Requests) != 4 || parts[0].Requests[1].RequestID != 2 || parts[0].End.Planned != 5) {
				t.Errorf("true index, seekable %v: %v; want 4 rows of 5 planned", seekable, err)
			}
		}
	}
}
