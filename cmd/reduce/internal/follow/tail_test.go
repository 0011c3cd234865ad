package follow

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hydrant/formats"
)

// write appends to a file.
func write(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// A file that is not there yet, grows, and is whole in the end is read as it grows.
func TestTailReadsAsItGrows(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.arrows")
	synctest.Test(t, func(t *testing.T) {
		idle := 0
		tail := &Tail{Context: context.Background(), Name: name, Silence: 10 * time.Second, Idle: func() { idle++ }}
		defer tail.Close()
		go func() {
			for i := range 4 { // slower than silence would allow for all of them
				time.Sleep(8 * time.Second)
				write(t, name, strings.Repeat("x", i+1))
			}
			time.Sleep(5 * time.Second)
			write(t, name, "!")
		}()
		var got []byte
		p := make([]byte, 64)
		for {
			n, err := tail.Read(p)
			got = append(got, p[:n]...)
			if strings.HasSuffix(string(got), "!") {
				tail.Ended()
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if string(got) != "xxxxxxxxxx!" || idle < 300 {
			t.Errorf("read %q, idle %d times; want xxxxxxxxxx! over 37 s", got, idle)
		}
	})
}

// A writer that shows no life for the time of Silence is dead; client rows are life.
func TestTailGivesUp(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, spool string
		there       bool
		after       time.Duration
		missing     bool
	}{
		{"grown", "", true, 10 * time.Second, false},
		{"spool", "x", true, 14 * time.Second, false},
		{"absent", "", false, 10 * time.Second, true},
	} {
		name := filepath.Join(dir, c.name)
		if c.there {
			write(t, name, "begin")
		}
		synctest.Test(t, func(t *testing.T) {
			tail := &Tail{Context: context.Background(), Name: name, Silence: 10 * time.Second}
			defer tail.Close()
			start := time.Now()
			if c.spool != "" {
				go func() {
					time.Sleep(4 * time.Second)
					write(t, name+".client", c.spool)
				}()
			}
			_, err := io.ReadAll(tail)
			var cut *formats.TruncatedError
			if errors.As(err, &cut) == c.missing || errors.Is(err, fs.ErrNotExist) != c.missing {
				t.Errorf("%s: %v; want truncated, or missing %v", c.name, err, c.missing)
			}
			if took := time.Since(start); took < c.after || took > c.after+2*poll {
				t.Errorf("%s: gave up after %v; want %v", c.name, took, c.after)
			}
		})
	}
}

// A signal ends the wait, and a file that shrinks is another run.
func TestTailStops(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.arrows")
	write(t, name, "a long beginning")
	synctest.Test(t, func(t *testing.T) {
		stop := errors.New("interrupted")
		ctx, cancel := context.WithCancelCause(context.Background())
		tail := &Tail{Context: ctx, Name: name, Silence: time.Hour}
		defer tail.Close()
		time.AfterFunc(3*time.Second, func() { cancel(stop) })
		if _, err := io.ReadAll(tail); !errors.Is(err, stop) {
			t.Errorf("ReadAll = %v; want %v", err, stop)
		}
		tail.Context = context.Background()
		if err := os.Truncate(name, 3); err != nil {
			t.Fatal(err)
		}
		var bad *formats.SyntaxError
		if _, err := tail.Read(make([]byte, 8)); !errors.As(err, &bad) || !strings.Contains(err.Error(), `size: got "3", want at least 16`) {
			t.Errorf("Read = %v; want the size refused", err)
		}
	})
}
