package traces

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"hydrant/formats/jsonl"
)

// table reads CSV: LF or CRLF, with or without a last newline, with or without a byte
// order mark. Columns are found by their names in the first line, in any order; columns
// that are not asked for count as unknown keys. A quoted cell must end on its line.
//
// cells calls back with the cells of want and then of optional, "" for an optional
// column that is not there; they are valid until the next row.
func (in *intake) table(r io.Reader, name string, want, optional []string, row func(cells []string) (*jsonl.Fault, error)) error {
	var names []string // of the columns
	place := map[string]int{}
	var extra []string
	cells := make([]string, len(want)+len(optional))
	in.things = "column"
	return in.lines(r, name, func(line []byte) (*jsonl.Fault, error) {
		if !utf8.Valid(line) {
			return &jsonl.Fault{What: "row", Got: "bytes that are not UTF-8", Want: "text"}, nil
		}
		fields, fault := split(line)
		if fault != nil {
			return fault, nil
		}
		if names == nil {
			names = fields
			for i, n := range fields {
				if _, twice := place[n]; twice {
					return &jsonl.Fault{What: "header", Got: fmt.Sprintf("column %q twice", n), Want: "each column once"}, nil
				}
				place[n] = i
				if !slices.Contains(want, n) && !slices.Contains(optional, n) {
					extra = append(extra, n)
				}
			}
			for _, n := range want {
				if _, ok := place[n]; !ok {
					return &jsonl.Fault{What: "header", Got: string(line), Want: "a column " + strconv.Quote(n)}, nil
				}
			}
			return nil, nil
		}
		if len(fields) != len(names) {
			return &jsonl.Fault{What: "row", Got: counted(len(fields), "cell"), Want: counted(len(names), "cell") + " as in the header"}, nil
		}
		for _, n := range extra {
			if fault := in.key(n); fault != nil {
				return fault, nil
			}
		}
		for i, n := range want {
			cells[i] = fields[place[n]]
		}
		for i, n := range optional {
			cells[len(want)+i] = ""
			if k, ok := place[n]; ok {
				cells[len(want)+i] = fields[k]
			}
		}
		return row(cells)
	})
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// split cuts a line of CSV into its cells, spaces around them removed.
func split(line []byte) (cells []string, _ *jsonl.Fault) {
	if bytes.IndexByte(line, '"') < 0 {
		cells = strings.Split(string(line), ",")
	} else {
		r := csv.NewReader(bytes.NewReader(line))
		var err error
		if cells, err = r.Read(); err != nil {
			return nil, &jsonl.Fault{What: "row", Got: string(line), Want: "cells of CSV, quotes closed on the same line"}
		}
	}
	for i, c := range cells {
		cells[i] = strings.TrimSpace(c)
	}
	return cells, nil
}
