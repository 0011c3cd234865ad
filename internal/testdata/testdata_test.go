package testdata

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRoot(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(Root(), "go.mod"))
	if err != nil || !strings.HasPrefix(string(b), "module hydrant\n") {
		t.Errorf("Root() = %s: %q, %v", Root(), b, err)
	}
}

// outcome runs f as a test and says how it ended.
type outcome struct {
	testing.TB
	skipped, failed string
}

func (o *outcome) Helper()                        {}
func (o *outcome) Skip(a ...any)                  { o.skipped = a[0].(string); panic(o) }
func (o *outcome) Fatalf(format string, a ...any) { o.failed = format; panic(o) }

func run(f func(testing.TB)) (o outcome) {
	defer func() {
		if v := recover(); v != nil && v != any(&o) {
			panic(v)
		}
	}()
	f(&o)
	return o
}

func TestNeed(t *testing.T) {
	for _, tt := range []struct {
		require      string
		ok           bool
		skip, failed bool
	}{
		{"", true, false, false},
		{"", false, true, false},
		{"all", true, false, false},
		{"all", false, false, true},
	} {
		t.Setenv("HYDRANT_REQUIRE", tt.require)
		o := run(func(t testing.TB) { Need(t, tt.ok, "no tool") })
		if (o.skipped == "no tool") != tt.skip || (o.failed != "") != tt.failed {
			t.Errorf("HYDRANT_REQUIRE=%q Need(%v): skipped %q, failed %q", tt.require, tt.ok, o.skipped, o.failed)
		}
	}
}

func TestSharedSkipsWhatIsNotThere(t *testing.T) {
	t.Setenv("HYDRANT_REQUIRE", "")
	o := run(func(t testing.TB) { Shared(t, "data/no such file") })
	if !strings.Contains(o.skipped, "no data/no such file") {
		t.Errorf("skipped %q", o.skipped)
	}
}

// sources makes a small module with two of the tools.
func sources(t *testing.T) string {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                       "module small\n\ngo 1.26\n",
		"cmd/judge/main.go":            "package main\n\nfunc main() { println(\"judge\") }\n",
		"cmd/judge/main_test.go":       "package main\n",
		"cmd/judge/testdata/a.txtar":   "x",
		"cmd/gpuwatch/main.go":         "package main\n\nfunc main() {}\n",
		"traces/archive/big.jsonl.zst": "x",
	} {
		path := filepath.Join(root, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestSourceKey(t *testing.T) {
	root := sources(t)
	key := func() string {
		k, err := sourceKey(root)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	first := key()
	for name, changes := range map[string]bool{
		"cmd/judge/main_test.go":       false,
		"cmd/judge/testdata/a.txtar":   false,
		"traces/archive/big.jsonl.zst": false,
		"README.md":                    false,
		"go.mod":                       true,
		"internal/new/page.html":       true,
		"cmd/judge/main.go":            true,
	} {
		before := key()
		path := filepath.Join(root, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, []byte("changed"), 0o644); err != nil {
			t.Fatal(err)
		}
		if (key() != before) != changes {
			t.Errorf("changing %s changes the key: %v; want %v", name, !changes, changes)
		}
	}
	if first == key() {
		t.Error("the key never changed")
	}
}

func TestBuildOnce(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	root := sources(t)
	dir, err := build(root)
	if err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(dir, "judge"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "replay")); err == nil {
		t.Error("a tool without sources is there")
	}
	again, err := build(root)
	if err != nil || again != dir {
		t.Errorf("a second build = %s, %v; want %s", again, err, dir)
	}
	if now, err := os.Stat(filepath.Join(dir, "judge")); err != nil || !os.SameFile(st, now) {
		t.Errorf("the binary was built again, %v", err)
	}
	os.WriteFile(filepath.Join(root, "cmd/judge/main.go"), []byte("package main\n\nfunc main() { missing() }\n"), 0o644)
	if dir, err := build(root); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a build that fails = %s, %v; want the compiler's words", dir, err)
	}
}
