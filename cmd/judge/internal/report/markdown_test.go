package report

import (
	"bytes"
	"strings"
	"testing"
)

// evil is text that a server, a run or a file name may bring: it stays text.
const evil = "a\x1b[2J\x07\u202e\x00|b</td><script>x</script>\n\n# c @dave #12 [l](http://x) `d` ```\n*e* ]]> &amp; \"q\""

func TestMarkdownStaysText(t *testing.T) {
	v := invalid()
	v.Headline, v.Cause.Text, v.Cause.Hint, v.Run.Model, v.Run.Host = evil, evil, evil, evil, evil
	v.Checks[0].Title, v.Objectives[0].Text, v.Notes, v.NotMeasured = evil, evil, []string{evil}, []string{evil}
	v.Worst[0].ID, v.Run.Target, v.TierNote, v.Inputs[0].Name = evil, []string{evil}, evil, evil
	var b bytes.Buffer
	if err := Markdown(&b, v); err != nil {
		t.Fatal(err)
	}
	code := ""
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSuffix(line, "\n")
		if fence := strings.TrimRight(line, "sh"); strings.HasPrefix(line, "```") && (code == "" || line == code) {
			code = map[bool]string{true: fence, false: ""}[code == ""]
			continue
		}
		if code != "" {
			continue // in a fence that the text cannot end
		}
		bare := strings.NewReplacer("<!-- -->", "", "<details><summary>", "", "</summary>", "", "</details>", "").Replace(line)
		if strings.Contains(bare, "<") || strings.Contains(line, "@d") || strings.Contains(line, "#1") || strings.ContainsAny(line, "\x1b\x07\x00\u202e") {
			t.Errorf("markup from the run: %s", line)
		}
		if strings.HasPrefix(line, "|") {
			if n := len(strings.Split(strings.ReplaceAll(line, `\|`, ""), "|")); n != 4 && n != 5 && n != 6 && n != 9 {
				t.Errorf("a row of %d cells: %s", n-2, line)
			}
		}
	}
	if code != "" {
		t.Error("a fence is left open")
	}
}

func TestMarkdownStart(t *testing.T) {
	for in, want := range map[string]string{"": "", "- a": `\- a`, "1. a": `1\. a`, "12) a": `12\) a`, "3.4 s": `3\.4 s`, "# a": "#<!-- --> a", "a - b": "a - b", "> a": "&gt; a"} {
		if got := start(in); got != want {
			t.Errorf("start(%q) = %q; want %q", in, got, want)
		}
	}
}
