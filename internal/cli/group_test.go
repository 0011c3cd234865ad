package cli

import (
	"errors"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func mustDuration(t *testing.T, s string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestGroup(t *testing.T) {
	var g Group
	var n atomic.Int64
	for range 100 {
		g.Go(func() error { n.Add(1); return nil })
	}
	if err := g.Wait(); err != nil || n.Load() != 100 {
		t.Errorf("Wait = %v after %d calls; want nil after 100", err, n.Load())
	}
}

func TestGroupFirstErrorStays(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	var g Group
	done := make(chan struct{})
	g.Go(func() error { defer close(done); return first })
	<-done
	g.wg.Wait()
	g.Go(func() error { return second })
	if err := g.Wait(); err != first {
		t.Errorf("Wait = %v; want %v", err, first)
	}
}

func TestGroupPanicComesBeforeErrors(t *testing.T) {
	var g Group
	g.Go(func() error { return errors.New("first") })
	g.wg.Wait()
	g.Go(func() error { panic("broken") })
	g.wg.Wait()
	g.Go(func() error { return errors.New("later") })
	err := g.Wait()
	var p *PanicError
	if !errors.As(err, &p) || err.Error() != "internal error: broken" || !strings.Contains(string(p.Stack), "group_test.go") {
		t.Errorf("Wait = %v; want the panic with its stack", err)
	}
}

func TestBuild(t *testing.T) {
	if Build() != "hydrant "+Version || strings.ContainsAny(Version, "/: ") || Version == "" {
		t.Errorf("Build() = %q", Build())
	}
	set := func(kv ...string) *debug.BuildInfo {
		b := &debug.BuildInfo{}
		for i := 0; i < len(kv); i += 2 {
			b.Settings = append(b.Settings, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return b
	}
	release := set("vcs.revision", "0123456789abcdef")
	release.Main.Version = "v1.2.3"
	pseudo := set("vcs.revision", "0123456789abcdef", "vcs.time", "2024-01-01", "vcs.modified", "true")
	pseudo.Main.Version = "v0.0.0-20240101000000-0123456789ab+dirty"
	for _, tt := range []struct {
		info *debug.BuildInfo
		ok   bool
		want string
	}{
		{nil, false, "devel"},
		{set(), true, "devel"},
		{set("vcs.revision", "0123456789abcdef"), true, "0123456789ab"},
		{set("vcs.revision", "0123"), true, "0123"},
		{pseudo, true, "0123456789ab-dirty"},
		{release, true, "v1.2.3"},
	} {
		if got := version(tt.info, tt.ok); got != tt.want {
			t.Errorf("version(%v) = %q; want %q", tt.info, got, tt.want)
		}
	}
}
