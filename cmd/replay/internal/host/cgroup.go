package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hydrant/formats"
)

// group is one control group folder; v1 says which file names it has.
type group struct {
	dir string
	v1  bool
}

// groups returns the CPU control groups of this process from its own up to the root.
// selfCgroup is /proc/self/cgroup, root the mount of the hierarchies. Inside a
// container the path may lie outside the mount: what does not exist is left out.
func groups(selfCgroup, root string) []group {
	b, err := os.ReadFile(selfCgroup)
	if err != nil {
		return nil
	}
	var all []group
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		controllers := strings.Split(parts[1], ",")
		switch {
		case parts[0] == "0" && parts[1] == "":
			all = append(all, upwards(root, parts[2], false)...)
		case contains(controllers, "cpu"):
			for _, mount := range []string{parts[1], "cpu", "cpu,cpuacct"} {
				if g := upwards(filepath.Join(root, mount), parts[2], true); len(g) > 0 {
					all = append(all, g...)
					break
				}
			}
		}
	}
	return all
}

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func upwards(root, path string, v1 bool) []group {
	var all []group
	for p := filepath.Clean("/" + path); ; p = filepath.Dir(p) {
		dir := filepath.Join(root, p)
		if _, err := os.Stat(filepath.Join(dir, "cpu.stat")); err == nil {
			all = append(all, group{dir, v1})
		}
		if p == "/" {
			return all
		}
	}
}

// quota returns the tightest CPU quota over the groups, in CPUs.
func quota(selfCgroup, root string) (cpus float64, ok bool) {
	for _, g := range groups(selfCgroup, root) {
		var limit, period string
		if g.v1 {
			limit, period = word(filepath.Join(g.dir, "cpu.cfs_quota_us")), word(filepath.Join(g.dir, "cpu.cfs_period_us"))
		} else {
			limit, period, _ = strings.Cut(word(filepath.Join(g.dir, "cpu.max")), " ")
		}
		l, errL := number(limit)
		p, errP := number(period)
		if errL != nil || errP != nil || l <= 0 || p <= 0 {
			continue // "max" or -1: no limit here
		}
		if c := float64(l) / float64(p); !ok || c < cpus {
			cpus, ok = c, true
		}
	}
	return cpus, ok
}

// throttled returns for how long quotas have stopped the groups so far, in ns.
func throttled(all []group) formats.Int {
	var sum formats.Int
	for _, g := range all {
		key, unit := "throttled_usec", int64(1000)
		if g.v1 {
			key, unit = "throttled_time", 1
		}
		if v, ok := field(word(filepath.Join(g.dir, "cpu.stat")), key); ok {
			sum = formats.Some(sum.V + v*unit)
		}
	}
	return sum
}

// pressure returns for how long some task of the group (else of the host) has waited
// for a CPU so far, in µs.
func pressure(all []group, proc string) formats.Int {
	paths := []string{filepath.Join(proc, "pressure/cpu")}
	if len(all) > 0 && !all[0].v1 {
		paths = append([]string{filepath.Join(all[0].dir, "cpu.pressure")}, paths...)
	}
	for _, p := range paths {
		for line := range strings.Lines(word(p)) {
			if !strings.HasPrefix(line, "some ") {
				continue
			}
			if _, total, ok := strings.Cut(line, "total="); ok {
				if v, err := number(total); err == nil {
					return formats.Some(v)
				}
			}
		}
	}
	return formats.Int{}
}

// field finds "key value" in a kernel file of such lines.
func field(text, key string) (int64, bool) {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), " "); ok && k == key {
			n, err := number(v)
			return n, err == nil
		}
	}
	return 0, false
}

func number(s string) (int64, error) { return strconv.ParseInt(strings.TrimSpace(s), 10, 64) }
