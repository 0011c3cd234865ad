package rows

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hydrant/internal/fixture"
)

// The page lists exactly the columns of the code; HYDRANT_GOLDEN=write rewrites it.
func TestPage(t *testing.T) {
	name := filepath.Join(fixture.Root(), "docs", "formats", "rows.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- columns -->\n", "<!-- end -->"
	before, rest, ok := strings.Cut(string(text), begin)
	table, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s lacks %q or %q", name, begin, end)
	}
	if table == Markdown() {
		return
	}
	if os.Getenv("HYDRANT_GOLDEN") != "write" {
		t.Fatalf("%s differs from the columns; HYDRANT_GOLDEN=write rewrites it", name)
	}
	if err := os.WriteFile(name, []byte(before+begin+Markdown()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}
