package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"hydrant/formats"
	"hydrant/internal/cli"
)

// ours lists the headers that a file may not set: replay or the protocol needs them, or
// (the idempotency keys) they would let the library send a request twice.
var ours = []string{"Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Idempotency-Key", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "X-Idempotency-Key", "X-Request-Id"}

// headers reads the headers that every request gets, from a file and from the variable
// that holds the key. Their values appear nowhere else, in messages neither.
func headers(file, keyEnv string) (http.Header, error) {
	h := http.Header{}
	if file != "" {
		b, err := small(file)
		if err != nil {
			return nil, err
		}
		if err := readHeaders(h, file, b); err != nil {
			return nil, err
		}
	}
	if keyEnv == "" {
		return h, nil
	}
	key := os.Getenv(keyEnv)
	switch {
	case key == "":
		return nil, cli.Usagef("--api-key-env: environment variable %q is not set or empty", keyEnv)
	case h.Get("Authorization") != "":
		return nil, cli.Usagef("--api-key-env: %s has an Authorization header too, want one of them", file)
	case !printable(key):
		return nil, cli.Usagef("--api-key-env: environment variable %q holds characters that a header cannot have", keyEnv)
	}
	h.Set("Authorization", "Bearer "+key)
	return h, nil
}

// readHeaders reads "Name: value" lines; empty lines and lines that begin with # are left out.
func readHeaders(h http.Header, file string, b []byte) error {
	n := 0
	for line := range bytes.Lines(b) {
		n++
		place := fmt.Sprintf("%s:%d", file, n)
		text := strings.TrimSpace(string(line))
		if text == "" || text[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(text, ":")
		value = strings.TrimSpace(value)
		key := http.CanonicalHeaderKey(name)
		switch {
		case !ok || !token(name) || !printable(value):
			return &formats.SyntaxError{Place: place, What: "header", Got: "another line", Want: `a line "Name: value"`}
		case slices.Contains(ours, key):
			return &formats.SyntaxError{Place: place, What: "header", Got: key, Want: "a header that replay does not set itself"}
		}
		h.Add(key, value)
	}
	return nil
}

// token reports whether s is a header name (RFC 9110, 5.1).
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

func printable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// headerNames lists the names of the extra headers, for the header of the run.
func headerNames(h http.Header) string {
	names := make([]string, 0, len(h))
	for k := range h {
		names = append(names, k)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
