package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/codec"
	"hydrant/internal/parquet"
)

// turn is a row of a request log, in ms; a duration of −1 is not known.
type turn struct {
	session string
	at, e2e int64
}

// logged writes a request log and returns its path.
func logged(t *testing.T, turns []turn) string {
	t.Helper()
	var buf bytes.Buffer
	w := parquet.NewWriter(&buf, []parquet.Column{{Name: "timestamp_start_unix_ms"}, {Name: "prompt", Text: true}, {Name: "input_tokens"}, {Name: "output_tokens"},
		{Name: "provided_session_id", Text: true}, {Name: "duration_e2e_ms"}}, nil)
	for i, r := range turns {
		w.Int(0, formats.Some(r.at))
		w.Text(1, fmt.Sprint("prompt ", i))
		w.Int(2, formats.Some(3))
		w.Int(3, formats.Some(1))
		w.Text(4, r.session)
		w.Int(5, formats.Int{V: r.e2e, Valid: r.e2e >= 0})
		if err := w.EndRow(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "log.parquet")
	if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// delays runs tracegen and prints session, time and delay, ms, of each request.
func delays(t *testing.T, args ...string) string {
	t.Helper()
	var out, stderr bytes.Buffer
	if code := run(append(args, "--quiet"), strings.NewReader(""), &out, &stderr); code != 0 {
		t.Fatalf("%v: exit %d: %s", args, code, stderr.String())
	}
	lines, err := codec.Unzstd(out.Bytes(), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	r, err := schedule.NewReader(bytes.NewReader(lines), "s")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for {
		q, err := r.Next()
		if err != nil {
			break
		}
		fmt.Fprintf(&b, "%s %g", q.Session, float64(q.AtNS.V)/1e6)
		if q.DelayNS.Valid {
			fmt.Fprintf(&b, "+%g", float64(q.DelayNS.V)/1e6)
		}
		b.WriteString(", ")
	}
	return b.String()
}

// Start gaps of a log hold the time that the old server took: it is paid once.
func TestBasetenDelays(t *testing.T) {
	log := logged(t, []turn{{"B", 9000, -1}, {"A", 1000, 800}, {"A", 3000, 700}, {"B", 1500, 600}, {"A", 6000, 500}})
	for _, c := range []struct{ flags, want string }{
		{"", "A 0, B 500, A 2000+1200, A 5000+2300, B 8000+6900, "},
		{"--speed 2", "A 0, B 250, A 1000+600, A 2500+1150, B 4000+3450, "},
	} {
		if got := delays(t, append([]string{"baseten", log}, strings.Fields(c.flags)...)...); got != c.want {
			t.Errorf("%s: %s; want %s", c.flags, got, c.want)
		}
	}
	if got := delays(t, log); got != "A 0, B 500, A 2000+1200, A 5000+2300, B 8000+6900, " {
		t.Errorf("without the name of the format: %s", got)
	}
}

// Idle time is cut, service time is not, and a cap is in the time of the replay.
func TestBasetenCaps(t *testing.T) {
	for _, c := range []struct {
		turns       []turn
		flags, want string
	}{
		{[]turn{{"A", 1000, -1}, {"B", 201_000, -1}}, "--gap-cap 30s", "A 0, B 30000, "},
		{[]turn{{"A", 0, 120_000}, {"A", 150_000, 1}}, "--gap-cap 30s", "A 0, A 150000+30000, "},
		{[]turn{{"A", 0, 0}, {"A", 6_000_000, 0}}, "--speed 10 --gap-cap 60s", "A 0, A 60000+60000, "},
		{[]turn{{"A", 0, 0}, {"A", 6_000_000, 0}}, "--speed 10 --think-cap 60s", "A 0, A 60000+60000, "},
	} {
		if got := delays(t, append([]string{"baseten", logged(t, c.turns)}, strings.Fields(c.flags)...)...); got != c.want {
			t.Errorf("%v %s: %s; want %s", c.turns, c.flags, got, c.want)
		}
	}
}

// A prompt that is there as text cannot be made shorter; an answer can.
func TestBasetenLimits(t *testing.T) {
	log := logged(t, []turn{{"A", 0, 0}})
	var stdout, stderr bytes.Buffer
	if code := run([]string{"baseten", log, "--max-input", "2"}, strings.NewReader(""), &stdout, &stderr); code != 2 || stdout.Len() > 0 {
		t.Errorf("--max-input: exit %d, %s; want 2", code, stderr.String())
	}
	if got := delays(t, "baseten", log, "--max-output", "1"); got != "A 0, " {
		t.Errorf("--max-output: %s", got)
	}
}

// A log that is damaged is one line of error, and no schedule.
func TestBasetenDamaged(t *testing.T) {
	whole, err := os.ReadFile(logged(t, []turn{{"A", 1, 2}, {"A", 3, 4}}))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := 0; i < len(whole)-12; i += 5 {
		b := bytes.Clone(whole)
		b[4+i] ^= 0xff
		path, out := filepath.Join(dir, "log.parquet"), filepath.Join(dir, "out")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := run([]string{"baseten", path, "-o", out}, strings.NewReader(""), &stdout, &stderr)
		_, err := os.Stat(out)
		switch {
		case code == 0 && err == nil:
			os.Remove(out)
		case code != 3 || err == nil || !strings.HasPrefix(stderr.String(), "tracegen: error: "+path) || strings.Contains(stderr.String(), "internal"):
			t.Fatalf("byte %d changed: exit %d, a schedule: %v, %s", 4+i, code, err == nil, stderr.String())
		}
	}
}
