package traces

import (
	"bytes"

	"hydrant/formats/jsonl"
)

// firstLine returns the first line of head that is not blank, as far as head goes.
func firstLine(head []byte) []byte {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\uFEFF")), " \t\r\n")
	if i := bytes.IndexByte(head, '\n'); i >= 0 {
		head = head[:i]
	}
	return head
}

// hasKeys reports whether the first line is a JSON object with all these keys at its
// top. A line that head cuts off is read as far as it goes.
func hasKeys(head []byte, keys ...string) bool {
	found := map[string]bool{}
	var s jsonl.Scanner
	s.Reset(firstLine(head))
	for ok := s.Open('{'); ok; ok = s.More('{') {
		key := string(s.Key())
		if s.Err != nil {
			break
		}
		found[key] = true
		s.Raw()
	}
	for _, key := range keys {
		if !found[key] {
			return false
		}
	}
	return true
}

// hasColumns reports whether the first line names all these columns.
func hasColumns(head []byte, names ...string) bool {
	cells, fault := split(bytes.TrimRight(firstLine(head), "\r"))
	if fault != nil {
		return false
	}
	have := map[string]bool{}
	for _, c := range cells {
		have[c] = true
	}
	for _, n := range names {
		if !have[n] {
			return false
		}
	}
	return true
}
