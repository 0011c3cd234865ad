package testdata

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Tools are the five commands, in the order of the pipeline.
func Tools() []string { return []string{"tracegen", "replay", "reduce", "gpuwatch", "judge"} }

// buildAge is how long a set of binaries of an older tree is kept after its last use.
const buildAge = 2 * time.Hour

// Build returns a folder that holds the built tools. The set is made once per
// state of the sources, in a cache that all test processes share; a set is never
// changed once it is there, so a test may run its binaries while another process
// builds a newer one.
func Build(t testing.TB) string {
	t.Helper()
	dir, err := build(Root())
	if err != nil {
		t.Fatalf("building the tools: %v", err)
	}
	return dir
}

func build(root string) (string, error) {
	key, err := sourceKey(root)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "hydrant-test-tools")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	dir := filepath.Join(cache, key)
	now := time.Now()
	if err := os.Chtimes(dir, now, now); err == nil {
		return dir, nil
	}
	prune(cache, now)
	tmp, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	for _, tool := range Tools() {
		if err := compile(root, tool, filepath.Join(tmp, tool)); err != nil {
			return "", err
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	return dir, os.Rename(tmp, dir)
}

// compile builds one tool. A tool that does not exist is left out.
func compile(root, tool, out string) error {
	if _, err := os.Stat(filepath.Join(root, "cmd", tool)); err != nil {
		return nil
	}
	cgo := "0"
	if tool == "gpuwatch" && hasCompiler() {
		cgo = "1"
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", out, "./cmd/"+tool)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED="+cgo)
	if b, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build ./cmd/%s: %w\n%s", tool, err, b)
	}
	return nil
}

func hasCompiler() bool {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "gcc"
	}
	_, err := exec.LookPath(cc)
	return err == nil
}

// prune drops sets that nobody used for a while.
func prune(cache string, now time.Time) {
	entries, _ := os.ReadDir(cache)
	for _, e := range entries {
		if st, err := e.Info(); err == nil && e.IsDir() && now.Sub(st.ModTime()) > buildAge {
			os.RemoveAll(filepath.Join(cache, e.Name()))
		}
	}
}

// sourceKey hashes what the binaries are made from: the toolchain, go.mod and
// every file below the code folders that is neither a test nor test data.
func sourceKey(root string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, runtime.Version(), runtime.GOOS, runtime.GOARCH, hasCompiler(), os.Getenv("GOFLAGS"))
	for _, top := range []string{"go.mod", "go.sum", "cmd", "formats", "internal", "traces"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				if os.IsNotExist(err) {
					return nil // a folder that is not there yet, or a file that just went
				}
				return err
			}
			if d.IsDir() {
				if n := d.Name(); n == "testdata" || n == "archive" || strings.HasPrefix(n, ".") {
					return filepath.SkipDir
				}
				return nil
			}
			if strings.HasSuffix(path, "_test.go") || !d.Type().IsRegular() {
				return nil
			}
			rel, _ := filepath.Rel(root, path)
			return hashFile(h, rel, path)
		})
		if err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12]), nil
}

func hashFile(h io.Writer, rel, path string) error {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	sum := sha256.New()
	n, err := io.Copy(sum, f)
	fmt.Fprintf(h, "%s %d %x\n", rel, n, sum.Sum(nil))
	return err
}
