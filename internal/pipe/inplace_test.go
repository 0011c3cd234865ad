package pipe

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInPlace(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "run.arrows")
	out := create(t, name, Options{InPlace: true, Binary: true})
	put(t, out, "first batch")
	if err := out.Sync(); err != nil {
		t.Fatal(err)
	}
	if got := content(t, name); got != "first batch" {
		t.Errorf("after Sync the file holds %q", got)
	}
	put(t, out, ", second")
	dead := errors.New("a worker died")
	if err := out.Finish(dead); err != dead {
		t.Errorf("Finish = %v", err)
	}
	if got := content(t, name); got != "first batch, second" {
		t.Errorf("after a failure the file holds %q; want everything written", got)
	}
}

// A tool that fails before its first byte has changed nothing.
func TestInPlaceUntouched(t *testing.T) {
	for _, old := range []string{"", "a run of yesterday"} {
		dir := t.TempDir()
		name := filepath.Join(dir, "run.arrows")
		want := ""
		if old != "" {
			os.WriteFile(name, []byte(old), 0o600)
			want = "run.arrows"
		}
		out := create(t, name, Options{InPlace: true})
		out.Finish(errors.New("no server"))
		if got := names(t, dir); got != want {
			t.Errorf("the folder holds %q; want %q", got, want)
		}
		if old != "" && content(t, name) != old {
			t.Errorf("the old file is now %q", content(t, name))
		}
		out = create(t, name, Options{InPlace: true})
		if err := out.Finish(nil); err != nil || content(t, name) != "" {
			t.Errorf("Finish(nil) without a write = %v, file %q; want an empty file", err, content(t, name))
		}
	}
}

func TestInPlaceOneWriter(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.arrows")
	first := create(t, name, Options{InPlace: true})
	put(t, first, "mine")
	if out, err := Create(ctx, name, io.Discard, Options{InPlace: true}); err == nil || !strings.Contains(err.Error(), "another process is writing it") {
		t.Fatalf("second Create = %v, %v; want a refusal", out, err)
	}
	if err := first.Finish(nil); err != nil || content(t, name) != "mine" {
		t.Errorf("Finish = %v, file %q; want what the first wrote", err, content(t, name))
	}
	create(t, name, Options{InPlace: true}).Finish(nil)
}

// File names the file beside which a tool may put others, and nothing but a regular file.
func TestFile(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"-", "run"} { // a file may have the name of standard output
		os.WriteFile(name, nil, 0o600)
	}
	for name, want := range map[string]string{"": "", "-": "", "/dev/stdout": "", "/dev/null": "", "run": "run", "new": "new", "./-": "./-"} {
		out := create(t, name, Options{InPlace: true})
		if got := out.File(); got != want {
			t.Errorf("Create(%q).File() = %q; want %q", name, got, want)
		}
		out.Finish(nil)
	}
	if out := create(t, "run", Options{}); out.File() != "" {
		t.Errorf("File() = %q of an output that is renamed; want none", out.File())
	}
}
