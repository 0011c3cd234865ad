package cli

import (
	"cmp"
	"runtime/debug"
	"strings"
)

// stamp is what the linker was told: -ldflags '-X hydrant/internal/cli.stamp=v1.2.3'.
var stamp string

// Version names this build: the stamp, else the module's release, else the
// revision it was built from with "-dirty" when the tree had changes, else "devel".
// It holds no path and no time, and is the same for every run of one build.
var Version = cmp.Or(stamp, version(debug.ReadBuildInfo()))

// Build is what outputs carry as their maker: "hydrant <version>".
func Build() string { return "hydrant " + Version }

func version(info *debug.BuildInfo, ok bool) string {
	if !ok {
		return "devel"
	}
	// A pseudo-version carries the time of a commit, so only releases are taken.
	if v := info.Main.Version; strings.HasPrefix(v, "v") && !strings.ContainsAny(v, "-+") {
		return v
	}
	var rev, dirty string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			rev = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if rev == "" {
		return "devel"
	}
	return rev[:min(12, len(rev))] + dirty
}
