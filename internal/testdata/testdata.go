// Package testdata finds what tests share: the module's root, the data beside it
// that is not part of the project, and the built tools. Only tests import it.
//
// What is missing skips a test, with the reason printed. With HYDRANT_REQUIRE=all
// in the environment a skip is a failure.
package testdata

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// Root returns the folder of go.mod.
func Root() string {
	dir, err := os.Getwd()
	if err == nil {
		if root := above(dir); root != "" {
			return root
		}
	}
	if _, file, _, ok := runtime.Caller(0); ok {
		if root := above(filepath.Dir(file)); root != "" {
			return root
		}
	}
	panic("testdata: no go.mod above the working directory")
}

func above(dir string) string {
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// Require reports whether a skip is a failure.
func Require() bool { return os.Getenv("HYDRANT_REQUIRE") == "all" }

// Need skips the test with the reason unless ok. Under HYDRANT_REQUIRE=all it
// fails the test instead.
func Need(t testing.TB, ok bool, reason string) {
	t.Helper()
	if ok {
		return
	}
	if Require() {
		t.Fatalf("HYDRANT_REQUIRE=all: %s", reason)
	}
	t.Skip(reason)
}

// Shared returns the path of a file or folder of the data that lies beside the
// project, named relative to it: "data/expected.json".
func Shared(t testing.TB, rel string) string {
	t.Helper()
	path := filepath.Join(Root(), "..", "shared", filepath.FromSlash(rel))
	_, err := os.Stat(path)
	Need(t, err == nil, "no "+rel+" in the shared data beside the project")
	return path
}
