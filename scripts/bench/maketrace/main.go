// Command maketrace writes an archived trace many times over, one copy after the other in
// time, as a zstd file: block ids, trace ids and times of each copy are its own.
//
//	maketrace mooncake|weka COPIES ARCHIVED OUT
//
// It prints how many requests and bytes of JSON that makes. The same arguments give the same
// bytes.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"hydrant/internal/codec"
)

func main() {
	if err := makeTrace(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "maketrace: error:", err)
		os.Exit(1)
	}
}

func makeTrace(args []string) error {
	if len(args) != 4 {
		return fmt.Errorf("got %d arguments, want KIND COPIES ARCHIVED OUT", len(args))
	}
	copies, err := strconv.Atoi(args[1])
	if err != nil || copies < 1 {
		return fmt.Errorf("copies: got %q, want a whole number of at least 1", args[1])
	}
	f, err := os.Open(args[2])
	if err != nil {
		return err
	}
	defer f.Close()
	in, _, err := codec.NewReader(f)
	if err != nil {
		return err
	}
	archived, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	out, err := os.Create(args[3])
	if err != nil {
		return err
	}
	defer out.Close()
	z, err := codec.NewZstdWriter(out)
	if err != nil {
		return err
	}
	c := &counter{w: bufio.NewWriterSize(z, 1<<20)}
	var requests int
	switch args[0] {
	case "mooncake":
		requests, err = mooncake(c, archived, copies)
	case "weka":
		requests, err = weka(c, archived, copies)
	default:
		err = fmt.Errorf("kind: got %q, want mooncake or weka", args[0])
	}
	if err != nil {
		return err
	}
	if err := c.w.Flush(); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	fmt.Printf(`{"requests":%d,"bytes":%d}`+"\n", requests, c.n)
	return out.Close()
}

// counter counts bytes.
type counter struct {
	w *bufio.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.w.Write(p)
}

// mooncake shifts the times of each copy behind the one before, and its ids but for the
// first, which all requests of the trace begin with.
func mooncake(w io.Writer, archived []byte, copies int) (requests int, err error) {
	var rows []struct {
		Timestamp int64   `json:"timestamp"`
		Input     int64   `json:"input_length"`
		Output    int64   `json:"output_length"`
		IDs       []int64 `json:"hash_ids"`
	}
	var span, top int64
	for line := range bytes.Lines(archived) {
		rows = append(rows, struct {
			Timestamp int64   `json:"timestamp"`
			Input     int64   `json:"input_length"`
			Output    int64   `json:"output_length"`
			IDs       []int64 `json:"hash_ids"`
		}{})
		r := &rows[len(rows)-1]
		if err := json.Unmarshal(line, r); err != nil {
			return 0, err
		}
		span = max(span, r.Timestamp+3000)
		for _, id := range r.IDs {
			top = max(top, id)
		}
	}
	var buf []byte
	for k := range int64(copies) {
		for _, r := range rows {
			buf = fmt.Appendf(buf[:0], `{"timestamp": %d, "input_length": %d, "output_length": %d, "hash_ids": [`, r.Timestamp+k*span, r.Input, r.Output)
			for i, id := range r.IDs {
				if i > 0 {
					buf = append(buf, ", "...)
				}
				if id > 0 {
					id += k * top
				}
				buf = strconv.AppendInt(buf, id, 10)
			}
			if _, err := w.Write(append(buf, "]}\n"...)); err != nil {
				return 0, err
			}
		}
	}
	return copies * len(rows), nil
}

// weka gives each copy an id of its own, which is the scope of its block ids, and lets it
// begin when the one before has ended.
func weka(w io.Writer, archived []byte, copies int) (requests int, err error) {
	var trace map[string]json.RawMessage
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(archived, &trace); err != nil {
		return 0, err
	}
	if err := json.Unmarshal(trace["requests"], &list); err != nil {
		return 0, err
	}
	var id string
	if err := json.Unmarshal(trace["id"], &id); err != nil {
		return 0, err
	}
	starts := make([]float64, len(list))
	for i, r := range list {
		if err := json.Unmarshal(r["t"], &starts[i]); err != nil {
			return 0, err
		}
	}
	span := slices.Max(starts) + 60
	for k := range copies {
		for i, r := range list {
			r["t"] = strconv.AppendFloat(nil, starts[i]+float64(k)*span, 'f', 3, 64)
		}
		trace["id"] = fmt.Appendf(nil, `"%s_%05d"`, id, k)
		if trace["requests"], err = json.Marshal(list); err != nil {
			return 0, err
		}
		line, err := json.Marshal(trace)
		if err != nil {
			return 0, err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return 0, err
		}
	}
	return copies * bytes.Count(archived, []byte(`"hash_ids"`)), nil
}
