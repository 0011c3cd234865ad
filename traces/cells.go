package traces

import (
	"hydrant/formats"
	"hydrant/formats/jsonl"
)

// cellTime reads a time in s from a cell of CSV and returns ns. It must not be empty.
func cellTime(column, cell string, g grain) (ns int64, _ *jsonl.Fault) {
	text := []byte(cell)
	if isDecimal(text) {
		if ns, ok := seconds(text, g); ok && cell[0] != '-' {
			return ns, nil
		}
	}
	return 0, &jsonl.Fault{What: column, Got: formats.Clip(cell), Want: "a time in s of at least 0 and within 292 years"}
}

// cellLength reads a number of tokens from a cell of CSV; an empty one is null.
func cellLength(column, cell string) (formats.Int, *jsonl.Fault) {
	if cell == "" {
		return formats.Int{}, nil
	}
	if text := []byte(cell); isDecimal(text) {
		if v, ok := whole(text); ok && v >= 0 {
			return formats.Some(v), nil
		}
	}
	return formats.Int{}, &jsonl.Fault{What: column, Got: formats.Clip(cell), Want: "a whole number of at least 0"}
}
