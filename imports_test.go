// Package hydrant_test holds the rules of the house that no single package can check.
package hydrant_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// may lists, for each package or tree of packages (a trailing "/..."), what it may
// import of this module besides its own tree. Imports go down only; a new row or entry
// changes the design, so DESIGN.md is edited in the same commit.
var may = []struct {
	pkg string
	of  []string
}{
	{"formats", nil},
	{"formats/jsonl", []string{"formats"}},
	{"internal/tty", nil},
	{"internal/cli", []string{"internal/tty"}},
	{"internal/codec", nil},
	{"internal/stats", nil},
	{"internal/arrivals", nil},
	{"internal/fixture", nil},
	{"internal/plot", nil},
	{"internal/spill", nil},
	{"internal/pipe", []string{"internal/codec", "internal/tty", "formats"}},
	{"internal/sim", []string{"internal/stats"}},
	{"internal/slo", []string{"formats", "formats/run", "formats/summary"}},
	{"internal/columns", nil},
	{"internal/parquet", []string{"formats", "internal/codec", "internal/columns"}},
	{"formats/rows", []string{"formats", "formats/ipc", "internal/parquet"}},
	{"internal/fold", []string{"formats", "formats/rows", "formats/run", "formats/gpu", "formats/summary", "internal/slo", "internal/stats"}},
	{"formats/ipc", []string{"formats", "internal/codec", "internal/columns"}},
	{"formats/schedule", []string{"formats", "formats/jsonl"}},
	{"formats/verdict", []string{"formats", "formats/jsonl"}},
	{"formats/run", []string{"formats", "formats/ipc"}},
	{"formats/gpu", []string{"formats", "formats/ipc"}},
	{"formats/summary", []string{"formats", "formats/jsonl", "formats/ipc", "internal/stats"}},
	{"traces", []string{"formats", "formats/ipc", "formats/jsonl", "formats/schedule", "internal/arrivals", "internal/columns", "internal/parquet", "internal/spill", "internal/stats"}},
	{"cmd/tracegen/...", []string{"traces", "formats/jsonl", "formats/schedule", "internal/plot", "internal/arrivals", "internal/spill"}},
	{"cmd/replay/...", []string{"formats/schedule", "formats/run", "internal/sim"}},
	{"cmd/gpuwatch/...", []string{"formats/gpu"}},
	{"cmd/reduce/...", []string{"formats/rows", "formats/run", "formats/gpu", "formats/summary", "internal/fold", "internal/plot", "internal/slo"}},
	{"scripts/bench/...", []string{"formats", "formats/run", "formats/schedule", "internal/codec"}},
	{"scripts/redeal", []string{"formats/run"}},
	{"scripts/matrix", []string{"scripts/redeal"}},
	{"cmd/judge/...", []string{"formats/schedule", "formats/run", "formats/gpu", "formats/summary", "formats/verdict", "internal/fold", "internal/slo"}},
}

// shared is what every tool under cmd may use on top of its row.
var shared = []string{"formats", "internal/cli", "internal/pipe", "internal/codec", "internal/stats"}

// doors lists the only packages that may import a heavy dependency.
var doors = map[string][]string{
	"github.com/apache/arrow/go/v17":   {"formats/ipc", "formats/run", "formats/gpu", "scripts/bench/floor/arrow"},
	"github.com/parquet-go/parquet-go": {"internal/parquet"},
	"github.com/klauspost/compress":    {"internal/codec", "formats/ipc", "scripts/bench/floor/json"},
	"github.com/pierrec/lz4":           {"internal/codec"},
	"github.com/go-zeromq/zmq4":        {"internal/pipe"},
	"github.com/NVIDIA/go-nvml":        {"cmd/gpuwatch/internal/nvml"},
	"github.com/urfave/cli/v2":         {"internal/cli", "cmd/tracegen", "cmd/replay", "cmd/replay/internal/serve", "cmd/reduce", "cmd/gpuwatch", "cmd/judge"},
	"github.com/HdrHistogram":          {"internal/stats"},
	"gonum.org/v1/gonum":               {"internal/stats"},
	"go.yaml.in/yaml/v3":               {"cmd/tracegen/internal/synth"},
	"github.com/rogpeppe/go-internal":  {}, // tests only
	"github.com/google/go-cmp":         {}, // tests only
	"github.com/tiktoken-go/tokenizer": {}, // tests only
	"github.com/prometheus/common":     {},
	"os/signal":                        {"internal/cli", "cmd/replay/internal/worker", "cmd/replay/internal/drive"},
	"log":                              {},
	"flag":                             {},
}

// vague names say nothing about what a package is for.
var vague = []string{"util", "utils", "common", "helper", "helpers", "types", "core", "base", "lib", "misc"}

type listed struct {
	ImportPath string
	Name       string
	Imports    []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Name,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, "hydrant/")
		all = append(all, p)
	}
}

func under(pkg, tree string) bool {
	root, deep := strings.CutSuffix(tree, "/...")
	return pkg == root || deep && strings.HasPrefix(pkg, root+"/")
}

func TestImportsGoDownOnly(t *testing.T) {
	for _, p := range packages(t) {
		allowed, tree, found := []string(nil), "", false
		for _, row := range may {
			if under(p.ImportPath, row.pkg) {
				allowed, tree, found = row.of, row.pkg, true
			}
		}
		if !found && p.ImportPath != "hydrant" && p.ImportPath != "scripts" {
			t.Errorf("package %s has no row in the import table", p.ImportPath)
			continue
		}
		if strings.HasPrefix(p.ImportPath, "cmd/") {
			allowed = append(slices.Clone(allowed), shared...)
		}
		for _, imp := range p.Imports {
			of, ours := strings.CutPrefix(imp, "hydrant/")
			if ours && !slices.Contains(allowed, of) && !under(of, tree) {
				t.Errorf("%s imports %s; its row allows %v", p.ImportPath, of, allowed)
			}
		}
	}
}

func TestEachHeavyDependencyHasOneDoor(t *testing.T) {
	for _, p := range packages(t) {
		for _, imp := range p.Imports {
			for dep, by := range doors {
				if (imp == dep || strings.HasPrefix(imp, dep+"/")) && !slices.Contains(by, p.ImportPath) {
					t.Errorf("%s imports %s; its doors are %v", p.ImportPath, imp, by)
				}
			}
		}
	}
}

func TestPackageNamesSaySomething(t *testing.T) {
	for _, p := range packages(t) {
		if slices.Contains(vague, p.Name) {
			t.Errorf("%s is named %q, which says nothing", p.ImportPath, p.Name)
		}
	}
}

func TestFourToolsBuildWithoutCgo(t *testing.T) {
	for _, p := range packages(t) {
		if strings.HasPrefix(p.ImportPath, "cmd/") && !strings.HasPrefix(p.ImportPath, "cmd/gpuwatch") && slices.Contains(p.Imports, "C") {
			t.Errorf("%s imports C", p.ImportPath)
		}
	}
	cmd := exec.Command("go", "build", "-o", t.TempDir(), "./cmd/tracegen", "./cmd/replay", "./cmd/reduce", "./cmd/judge", "./cmd/gpuwatch")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go build with CGO_ENABLED=0: %v\n%s", err, out)
	}
}
