package sim

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// update tells the tests to write the tables of docs/sim.md anew.
var update = os.Getenv("HYDRANT_GOLDEN") == "write"

// tables is what the page shows of the code.
func tables() map[string]string {
	var f, k strings.Builder
	f.WriteString("| key | kind | unit | `default` | `null` | meaning |\n|---|---|---|---|---|---|\n")
	code := func(s string) string {
		if s == "" {
			return ""
		}
		return "`" + s + "`"
	}
	for _, x := range Fields {
		f.WriteString("| " + strings.Join([]string{code(x.Key), x.Type, x.Unit, code(x.Default), code(x.Null), x.Meaning}, " | ") + " |\n")
	}
	k.WriteString("| key | argument | outcome | what the server does |\n|---|---|---|---|\n")
	for _, x := range FaultKinds {
		k.WriteString("| " + strings.Join([]string{code(x.Key), x.Arg, code(x.Outcome), x.Meaning}, " | ") + " |\n")
	}
	return map[string]string{"fields": f.String(), "faults": k.String()}
}

// The page's tables are those of the code: every key with its unit and default.
func TestPageAgreesWithCode(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "sim.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	for name, want := range tables() {
		mark := "<!-- " + name + " -->\n"
		before, after, ok := strings.Cut(page, mark)
		if !ok {
			t.Fatalf("%s has no %s", path, mark)
		}
		after = strings.TrimLeft(after, "\n")
		got := ""
		for strings.HasPrefix(after, "|") {
			line, rest, _ := strings.Cut(after, "\n")
			got, after = got+line+"\n", rest
		}
		if got != want && !update {
			t.Errorf("table %s of %s:\n%s\nthe code says\n%s\n(HYDRANT_GOLDEN=write writes it)", name, path, got, want)
		}
		page = before + mark + "\n" + want + "\n" + strings.TrimLeft(after, "\n")
	}
	if update {
		if err := os.WriteFile(path, []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range []string{"num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "prompt_tokens_total", "generation_tokens_total"} {
		if !strings.Contains(page, "`vllm:"+m+"`") {
			t.Errorf("%s does not name vllm:%s", path, m)
		}
	}
	// Every metric that is shown is explained.
	for line := range strings.Lines(string(newMetrics("sim").text())) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, _, _ = strings.Cut(name, " ")
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("%s does not explain %s", path, name)
			}
		}
	}
}
