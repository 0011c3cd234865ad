package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/codec"
)

// forge is a command of the tests: forge IN OUT LINE WHAT [VALUE] writes a schedule with a
// change and a trailer that fits it. LINE counts requests from 1.
func forge() {
	if err := forged(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "forge:", err)
		os.Exit(1)
	}
}

func forged(args []string) error {
	packed, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	plain, err := codec.Unzstd(packed, 1<<24)
	if err != nil {
		return err
	}
	r, err := schedule.NewReader(bytes.NewReader(plain), args[0])
	if err != nil {
		return err
	}
	at, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	h, value := r.Header(), int64(0)
	if len(args) > 4 {
		if value, err = strconv.ParseInt(args[4], 10, 64); err != nil {
			return err
		}
	}
	if args[3] == "quantum_ns" {
		h.QuantumNS = value
	}
	var out bytes.Buffer
	w, err := schedule.NewWriter(&out, h)
	for n := 1; err == nil; n++ {
		var q *schedule.Request
		if q, err = r.Next(); err != nil {
			break
		}
		if n == at && args[3] == "drop" {
			continue
		}
		if n == at && args[3] == "input_tokens" {
			q.InputTokens = formats.Some(value)
		}
		err = w.Write(q)
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	end := r.Trailers()[0]
	if args[3] == "count" {
		end.Counts = append(end.Counts, schedule.Count{Name: "invented", N: 1})
	}
	if _, err := w.Close(schedule.Trailer{Counts: end.Counts, Sources: end.Sources}); err != nil {
		return err
	}
	return os.WriteFile(args[1], codec.Zstd(out.Bytes()), 0o644)
}
