package pipe

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hydrant/internal/fixture"
)

var ctx = context.Background()

// names lists a folder, hidden files too.
func names(t *testing.T, dir string) string {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, e := range es {
		s = append(s, e.Name())
	}
	return strings.Join(s, " ")
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func create(t *testing.T, name string, o Options) *Output {
	t.Helper()
	out, err := Create(ctx, name, io.Discard, o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func put(t *testing.T, w io.Writer, s string) {
	t.Helper()
	if n, err := io.WriteString(w, s); n != len(s) || err != nil {
		t.Fatalf("Write(%q) = %d, %v", s, n, err)
	}
}

func TestAtomicOutput(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "out.json")
	out := create(t, name, Options{})
	put(t, out, "whole")
	if got := names(t, dir); strings.Contains(got, "out.json ") || got == "out.json" {
		t.Errorf("before Finish the folder holds %q", got)
	}
	if err := out.Sync(); err != nil {
		t.Errorf("Sync = %v", err)
	}
	if err := out.Finish(nil); err != nil {
		t.Fatal(err)
	}
	if got := names(t, dir); got != "out.json" || content(t, name) != "whole" {
		t.Errorf("after Finish the folder holds %q, the file %q", got, content(t, name))
	}
	if err := out.Finish(errors.New("late")); err != nil || content(t, name) != "whole" {
		t.Errorf("second Finish = %v", err)
	}
	if _, err := out.Write([]byte("x")); err == nil {
		t.Error("Write after Finish succeeds")
	}
}

func TestFailureLeavesNothing(t *testing.T) {
	for _, old := range []string{"", "old"} {
		dir := t.TempDir()
		name := filepath.Join(dir, "out.json")
		want := ""
		if old != "" {
			os.WriteFile(name, []byte(old), 0o600)
			want = "out.json"
		}
		out := create(t, name, Options{})
		put(t, out, "half")
		broken := errors.New("input is cut")
		if err := out.Finish(broken); err != broken {
			t.Errorf("Finish(%v) = %v", broken, err)
		}
		if got := names(t, dir); got != want {
			t.Errorf("the folder holds %q; want %q", got, want)
		}
		if old != "" && content(t, name) != old {
			t.Errorf("the old file is now %q", content(t, name))
		}
		if err := out.Finish(nil); err != broken {
			t.Errorf("second Finish = %v; want the first error", err)
		}
	}
}

func TestVisibleTempFile(t *testing.T) { // for file systems without files that have no name
	dir := t.TempDir()
	name := filepath.Join(dir, "out")
	for _, fail := range []bool{true, false} {
		f, publish, err := visibleTemp(name)
		if err != nil {
			t.Fatal(err)
		}
		put(t, f, "x")
		if got := names(t, dir); !strings.HasPrefix(got, ".out.") {
			t.Errorf("the folder holds %q; want a hidden file named after the output", got)
		}
		want := "out"
		if fail {
			discard(f)
			want = ""
		} else if err := publish(); err != nil {
			t.Fatal(err)
		}
		f.Close()
		if got := names(t, dir); got != want {
			t.Errorf("the folder holds %q; want %q", got, want)
		}
	}
}

func TestReplacing(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	os.WriteFile(real, []byte("old"), 0o640)
	os.Chmod(real, 0o640)
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	out := create(t, link, Options{})
	put(t, out, "new")
	if err := out.Finish(nil); err != nil {
		t.Fatal(err)
	}
	st, _ := os.Lstat(real)
	if content(t, real) != "new" || st.Mode() != 0o640 {
		t.Errorf("the target holds %q with mode %v; want new, 0640", content(t, real), st.Mode())
	}
	if got, err := os.Readlink(link); got != "real" || err != nil {
		t.Errorf("the link is now %q, %v", got, err)
	}
}

func TestNewFileFollowsUmask(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	os.WriteFile(plain, nil, 0o666)
	name := filepath.Join(dir, "out")
	if err := create(t, name, Options{}).Finish(nil); err != nil {
		t.Fatal(err)
	}
	a, _ := os.Stat(plain)
	b, err := os.Stat(name)
	if err != nil || a.Mode() != b.Mode() {
		t.Errorf("mode %v, %v; want %v", b.Mode(), err, a.Mode())
	}
}

func TestCreateErrors(t *testing.T) {
	dir := t.TempDir()
	for name, want := range map[string]string{
		dir:                              dir + ": is a folder, want a file",
		filepath.Join(dir, "no", "file"): filepath.Join(dir, "no", "file") + ": no such file or directory",
	} {
		for _, o := range []Options{{}, {InPlace: true}} {
			if _, err := Create(ctx, name, io.Discard, o); err == nil || err.Error() != want {
				t.Errorf("Create(%s, %+v) = %v; want %s", name, o, err, want)
			}
		}
	}
}

func TestStdout(t *testing.T) {
	for _, name := range []string{"", "-", "/dev/stdout"} {
		var buf bytes.Buffer
		out, err := Create(ctx, name, &buf, Options{Binary: true})
		if err != nil {
			t.Fatal(err)
		}
		put(t, out, "x")
		if err := out.Finish(nil); err != nil || buf.String() != "x" {
			t.Errorf("Create(%q): Finish = %v, stdout %q", name, err, buf.String())
		}
	}
}

func TestDevicesAreWrittenDirectly(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 1)
	go func() {
		b, _ := os.ReadFile(fifo)
		got <- string(b)
	}()
	out := create(t, fifo, Options{})
	put(t, out, "through a fifo")
	if err := out.Finish(nil); err != nil {
		t.Fatal(err)
	}
	if s := <-got; s != "through a fifo" {
		t.Errorf("the reader got %q", s)
	}
	if st, err := os.Lstat(fifo); err != nil || st.Mode()&fs.ModeNamedPipe == 0 || names(t, dir) != "fifo" {
		t.Errorf("the fifo is now %v, %v, in %q", st.Mode(), err, names(t, dir))
	}
	null := create(t, os.DevNull, Options{Binary: true})
	put(t, null, "x")
	if err := null.Finish(nil); err != nil {
		t.Errorf("Finish of the null device = %v", err)
	}
	// A descriptor's name stands for an open file, even when that is a regular one.
	f, err := os.Create(filepath.Join(dir, "redirected"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd := create(t, "/dev/fd/"+strconv.Itoa(int(f.Fd())), Options{})
	put(t, fd, "direct")
	if got := content(t, f.Name()); got != "direct" {
		t.Errorf("before Finish the file holds %q", got)
	}
	if err := fd.Finish(nil); err != nil {
		t.Error(err)
	}
}

func TestFullDisk(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		fixture.Need(t, false, "no /dev/full here")
	}
	defer full.Close()
	onStdout, err := Create(ctx, "-", full, Options{})
	if err != nil {
		t.Fatal(err)
	}
	named := create(t, "/dev/full", Options{})
	for _, tt := range []struct {
		out  *Output
		want string
	}{
		{onStdout, "standard output: no space left on device"},
		{named, "/dev/full: no space left on device"},
	} {
		_, err := tt.out.Write([]byte("x"))
		if err == nil || err.Error() != tt.want || IsClosed(err) {
			t.Errorf("Write = %v; want %s", err, tt.want)
		}
		if e := tt.out.Finish(nil); e != err { // even when the caller lost the error
			t.Errorf("Finish(nil) = %v; want %v", e, err)
		}
	}
}

func TestClosedOutput(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	r.Close()
	out, err := Create(ctx, "-", w, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = out.Write([]byte("x"))
	if !IsClosed(err) || !errors.Is(err, syscall.EPIPE) {
		t.Errorf("Write = %v; want a closed output", err)
	}
	if err := out.Finish(nil); !IsClosed(err) {
		t.Errorf("Finish = %v; want a closed output", err)
	}
	if IsClosed(syscall.EPIPE) || IsClosed(nil) {
		t.Error("a broken pipe to somewhere else counts as a closed output")
	}
}

// openPTY returns both ends of a new terminal.
func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	m, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		fixture.Need(t, false, "no terminals here: "+err.Error())
	}
	t.Cleanup(func() { m.Close() })
	if err := unix.IoctlSetPointerInt(int(m.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		fixture.Need(t, false, "no terminals here: "+err.Error())
	}
	n, err := unix.IoctlGetInt(int(m.Fd()), unix.TIOCGPTN)
	if err != nil {
		fixture.Need(t, false, "no terminals here: "+err.Error())
	}
	s, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		fixture.Need(t, false, "no terminals here: "+err.Error())
	}
	t.Cleanup(func() { s.Close() })
	return m, s
}

func TestTerminal(t *testing.T) {
	_, tty := openPTY(t)
	for _, tt := range []struct {
		o  Options
		ok bool
	}{
		{Options{}, true},
		{Options{Binary: true}, false},
		{Options{Binary: true, Force: true}, true},
	} {
		for _, name := range []string{"-", tty.Name()} {
			out, err := Create(ctx, name, tty, tt.o)
			if (err == nil) != tt.ok {
				t.Errorf("Create(%s, %+v) = %v; want success %v", name, tt.o, err, tt.ok)
			}
			if err == nil {
				out.Finish(nil)
				continue
			}
			var u *usageError
			if !errors.As(err, &u) || !strings.Contains(u.Hint(), "--force") {
				t.Errorf("Create(%s, %+v) = %v; want a usage error with a hint", name, tt.o, err)
			}
		}
	}
	if _, err := Open(ctx, "", tty); err == nil || !strings.Contains(err.Error(), "terminal") {
		t.Errorf("Open of nothing at a terminal = %v; want a usage error", err)
	}
	r, err := Open(ctx, "-", tty)
	if err != nil {
		t.Errorf("Open(-) at a terminal = %v", err)
	} else {
		r.Close()
	}
}
