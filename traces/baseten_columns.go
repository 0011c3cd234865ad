package traces

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"hydrant/formats"
	"hydrant/formats/jsonl"
	"hydrant/internal/columns"
)

// Columns that are read, as indices of basetenColumns.
const (
	colStart = iota
	colPrompt
	colInput
	colOutput
	colHashes
	colBlock
	colE2E
	colTTFT
	colCanceled
	colCached
	colModel
	colSession // the one chosen
)

// basetenColumn is a column that is read, with the values that it takes.
type basetenColumn struct {
	name     string
	kinds    []columns.Kind
	least    int64 // of whole numbers
	most     int64 // of whole numbers, and of ms; 0: what 64 bits hold
	required bool
}

// maxMS is the longest duration, ms: 292 years.
const maxMS = math.MaxInt64 / 1_000_000

var basetenColumns = [...]basetenColumn{
	colStart:    {"timestamp_start_unix_ms", []columns.Kind{columns.Int}, 0, 0, true},
	colPrompt:   {"prompt", []columns.Kind{columns.Text}, 0, 0, true},
	colInput:    {"input_tokens", []columns.Kind{columns.Int}, 0, 0, true},
	colOutput:   {"output_tokens", []columns.Kind{columns.Int}, 0, 0, true},
	colHashes:   {"total_hashes", []columns.Kind{columns.IntList}, 0, 0, false},
	colBlock:    {"block_size", []columns.Kind{columns.Int}, 1, MaxBlockSize, false},
	colE2E:      {"duration_e2e_ms", []columns.Kind{columns.Int, columns.Float}, 0, maxMS, false},
	colTTFT:     {"duration_ttft_ms", []columns.Kind{columns.Int, columns.Float}, 0, maxMS, false},
	colCanceled: {"request_canceled", []columns.Kind{columns.Int, columns.Bool}, 0, 1, false},
	colCached:   {"cached_tokens_reference", []columns.Kind{columns.Int}, 0, 0, false},
	colModel:    {"model_name", []columns.Kind{columns.Text}, 0, 0, false},
	colSession:  {"", []columns.Kind{columns.Text, columns.Int}, 0, 0, false},
}

// basetenSessions are the columns that hold a session, the better one first.
var basetenSessions = []string{"provided_session_id", "poor_man_session_id"}

// basetenIgnored are columns that are known and not carried.
var basetenIgnored = []string{"speculation_ratio", "total_hashes_len", "org_id", "features", "output_text", "__version__"}

// choose finds the columns to read and returns their indices.
func (b *baseten) choose(cols []columns.Column) (ask []int, _ error) {
	at := map[string]int{}
	for i, c := range cols {
		at[c.Name] = i
	}
	want := slices.Clone(basetenColumns[:])
	want[colSession].name = b.o.SessionColumn
	for _, name := range basetenSessions {
		if _, ok := at[name]; ok && want[colSession].name == "" {
			want[colSession].name = name
		}
	}
	b.column = want[colSession].name
	known := slices.Concat(basetenSessions, basetenIgnored)
	for c, w := range want {
		b.found[c] = -1
		known = append(known, w.name)
		i, ok := at[w.name]
		switch {
		case !ok && c == colSession && b.o.SessionColumn != "":
			return nil, &formats.SyntaxError{Place: b.place, What: "--session-column", Got: w.name, Want: "a column of the file"}
		case !ok && w.required:
			return nil, &formats.SyntaxError{Place: b.place, What: "columns", Got: "no " + w.name, Want: "timestamp_start_unix_ms, prompt, input_tokens and output_tokens"}
		case !ok:
			continue
		case cols[i].Kind == columns.Nulls && !w.required:
			continue // a column without a value is as good as none
		case !slices.Contains(w.kinds, cols[i].Kind):
			return nil, &formats.SyntaxError{Place: b.place, What: "type of column " + w.name, Got: cols[i].Type, Want: kindNames(w.kinds)}
		}
		b.found[c] = len(ask)
		ask = append(ask, i)
		if c == colSession {
			b.named = cols[i].Kind == columns.Text
		}
	}
	for _, c := range cols {
		if !slices.Contains(known, c.Name) {
			b.extra = append(b.extra, c.Name)
		}
	}
	return ask, nil
}

func kindNames(kinds []columns.Kind) string {
	names := map[columns.Kind]string{columns.Int: "whole numbers", columns.Float: "numbers", columns.Bool: "bool", columns.Text: "text", columns.IntList: "lists of whole numbers"}
	out := names[kinds[0]]
	for _, k := range kinds[1:] {
		out += " or " + names[k]
	}
	return out
}

// check refuses a value that the column does not take.
func (w *basetenColumn) check(name string, c *columns.Cell) *jsonl.Fault {
	number := "a whole number of at least " + strconv.FormatInt(w.least, 10)
	if w.most > 0 {
		number = fmt.Sprintf("a number between %d and %d", w.least, w.most)
	}
	switch {
	case c.Null && w.required:
		return &jsonl.Fault{What: name, Got: "null", Want: "a value"}
	case c.Null:
		return nil
	case c.Bad != "" && slices.Contains(w.kinds, columns.IntList):
		return &jsonl.Fault{What: name, Got: c.Bad, Want: "whole numbers of at least 0 and below 2^63"}
	case c.Bad != "":
		return &jsonl.Fault{What: name, Got: c.Bad, Want: number}
	case c.Int < w.least || w.most > 0 && c.Int > w.most:
		return &jsonl.Fault{What: name, Got: strconv.FormatInt(c.Int, 10), Want: number}
	case !(c.Float >= 0 && c.Float <= maxMS):
		return &jsonl.Fault{What: name, Got: strconv.FormatFloat(c.Float, 'g', -1, 64), Want: number}
	case !utf8.Valid(c.Text):
		return &jsonl.Fault{What: name, Got: "bytes that are not UTF-8", Want: "text"}
	}
	return nil
}
