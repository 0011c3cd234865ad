package traces

import (
	"strings"
	"testing"

	"hydrant/formats/jsonl"
)

func TestTable(t *testing.T) {
	read := func(text string, strict bool) (rows []string, in *intake, err error) {
		in = newIntake("t.csv", strict)
		err = in.table(strings.NewReader(text), "t.csv", []string{"a", "b"}, []string{"c"}, func(cells []string) (*jsonl.Fault, error) {
			in.n++
			rows = append(rows, strings.Join(cells, "|"))
			return nil, nil
		})
		return rows, in, err
	}
	for _, tt := range []struct{ name, text, want string }{
		{"LF", "a,b\n1,2\n3,4\n", "1|2| 3|4|"},
		{"CRLF, no last newline", "a,b\r\n1,2\r\n3,4", "1|2| 3|4|"},
		{"byte order mark, other order, one column more", "\uFEFFc,x,b,a\n9,8,2,1\n", "1|2|9"},
		{"quotes, spaces, blank lines", "a, b\n\n\"1,5\",2\n \n\"x\"\"y\", 3 \n", "1,5|2| x\"y|3|"},
	} {
		rows, in, err := read(tt.text, false)
		if got := strings.Join(rows, " "); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
		if strings.Contains(tt.text, "x,b") && in.counts["unknown_key:x"] != 1 {
			t.Errorf("%s: counts = %v; want the unknown column", tt.name, in.counts)
		}
	}
	for _, tt := range []struct{ name, text, want string }{
		{"no such column", "a,c\n1,2\n", `t.csv:1: header: got "a,c", want a column "b"`},
		{"a column twice", "a,b,a\n", `t.csv:1: header: got "column \"a\" twice", want each column once`},
		{"too few cells", "a,b\n1,2\n3\n", `t.csv:3: row: got "1 cell", want 2 cells as in the header`},
		{"an open quote", "a,b\n1,\"2\n", `t.csv:2: row: got "1,\"2", want cells of CSV, quotes closed on the same line`},
		{"not text", "a,b\n1,\xff\n", `t.csv:2: row: got "bytes that are not UTF-8", want text`},
	} {
		if _, _, err := read(tt.text, false); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v; want %s", tt.name, err, tt.want)
		}
	}
	if _, _, err := read("a,b,x\n1,2,3\n", true); err == nil || !strings.Contains(err.Error(), "known columns only") {
		t.Errorf("strict: %v", err)
	}
}

// A damaged row may be as long as a line gets; what is said of it is not.
func TestLongRowsInShort(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for text, want := range map[string]string{
		"TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,1,\"" + long:              "t:2: row: got ",
		"TIMESTAMP,ContextTokens,G" + long + "\n2023-11-16 18:15:46,1,2\n":                      "t:1: header: got ",
		"TIMESTAMP,ContextTokens,GeneratedTokens," + long + "," + long + "\n2023-11-16,1,2,3\n": "t:1: header: got ",
	} {
		_, err := azureFormat.Read(piped("t", strings.NewReader(text)), Options{})
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%.60s…: %.400v; want %s and what is long in short", text, err, want)
		}
	}
	tr, err := mooncakeFormat.Read(piped("t", strings.NewReader(`{"timestamp":0,"input_length":5,"`+long+`":1}`)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	_, end := plan(t, tr)
	if len(tr.Warnings) != 1 || len(tr.Warnings[0]) > 300 || len(end.Counts) != 1 || len(end.Counts[0].Name) > 100 {
		t.Errorf("an unknown key of 1 MiB: warnings %.400q, counts %.400v; want its beginning", tr.Warnings, end.Counts)
	}
	_, err = mooncakeFormat.Read(piped("t", strings.NewReader(`{"timestamp":0,"input_length":5,"`+long+`":tru}`)), Options{})
	if err == nil || len(err.Error()) > 300 {
		t.Errorf("a fault under a key of 1 MiB: %.400v; want its beginning", err)
	}
}
