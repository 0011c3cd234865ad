package pipe

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCheckNames(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"run", "other"} {
		if err := os.WriteFile(file(name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, make := range map[string]func(old, new string) error{"hard": os.Link, "soft": os.Symlink} {
		if err := make(file("run"), file(link)); err != nil {
			t.Fatal(err)
		}
	}
	redirected, err := os.Open(file("run"))
	if err != nil {
		t.Fatal(err)
	}
	defer redirected.Close()
	for _, c := range []struct {
		name   string
		stdin  io.Reader
		output string
		inputs []string
		want   string
	}{
		{"two files", nil, file("other"), []string{file("run")}, ""},
		{"a new file", nil, file("new"), []string{file("run"), "-"}, ""},
		{"standard output", nil, "-", []string{file("run")}, ""},
		{"a device", nil, os.DevNull, []string{os.DevNull}, ""},
		{"a missing input", nil, file("other"), []string{file("nosuch")}, ""},
		{"an endpoint", nil, "zmq+ipc:///x", []string{"zmq+ipc:///x"}, ""},
		{"itself", nil, file("run"), []string{file("other"), file("run")}, "which is an input: " + file("run")},
		{"another way to it", nil, dir + "/./run", []string{file("run")}, "which is an input"},
		{"a hard link", nil, file("hard"), []string{file("run")}, "which is an input"},
		{"a symbolic link", nil, file("soft"), []string{file("run")}, "which is an input"},
		{"redirected", redirected, file("run"), []string{""}, "which is an input: standard input"},
		{"another redirected", redirected, file("other"), []string{"-"}, ""},
		{"no file on standard input", strings.NewReader(""), file("run"), []string{"-"}, ""},
		{"standard input twice", nil, "", []string{"-", "/dev/stdin"}, "standard input: named 2 times, want once"},
	} {
		checkUsage(t, c.name, CheckNames(c.stdin, c.output, c.inputs...), c.want)
	}
}

func TestCheckTimeout(t *testing.T) {
	for _, c := range []struct {
		name string
		d    time.Duration
		set  bool
		ends []string
		want string
	}{
		{"default", time.Minute, false, []string{"a", "b"}, ""},
		{"for an endpoint", time.Second, true, []string{"a", "zmq+tcp://127.0.0.1:5555"}, ""},
		{"zero", 0, true, []string{"zmq+tcp://127.0.0.1:5555"}, `--timeout: got "0s", want more than 0`},
		{"negative", -time.Second, true, nil, `--timeout: got "-1s", want more than 0`},
		{"for nothing", time.Second, true, []string{"", "run.arrows"}, "none is named"},
	} {
		checkUsage(t, c.name, CheckTimeout(c.d, c.set, c.ends...), c.want)
	}
}

func checkUsage(t *testing.T, name string, err error, want string) {
	t.Helper()
	var u interface{ Usage() bool }
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v; want no error", name, err)
	case want != "" && (!errors.As(err, &u) || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: %v; want a usage error with %q", name, err, want)
	}
}
