package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"hydrant/formats"
	"hydrant/formats/schedule"
	"hydrant/internal/cli"
	"hydrant/internal/codec"
	"hydrant/traces"
)

// withCommand puts the subcommand in front of a command line that leaves it out: the
// format is the one that the input's first bytes show. It returns the input to use for
// standard input, since some of it may have been read.
//
// A command line that names no input that is there, asks for help, or begins with a
// subcommand is left as it is.
func withCommand(args []string, commands []string, stdin io.Reader) ([]string, io.Reader, error) {
	if len(args) > 0 && slices.Contains(commands, args[0]) {
		return args, stdin, nil
	}
	for _, a := range args {
		if a == "--" {
			break
		}
		if w := strings.TrimLeft(a, "-"); w != a && (w == "h" || w == "help" || w == "version") {
			return args, stdin, nil
		}
	}
	for _, a := range args {
		if a[:min(1, len(a))] == "-" {
			continue
		}
		if st, err := os.Stat(a); err == nil {
			f, err := sniffFile(a, st)
			return append([]string{f}, args...), stdin, err
		}
		if a == args[0] {
			return args, stdin, nil // no file: a command that is not known
		}
	}
	if len(args) > 0 && args[0][:min(1, len(args[0]))] != "-" || cli.IsTerminal(stdin) {
		return args, stdin, nil
	}
	head, err := readHead(stdin)
	if err != nil || len(args) == 0 && len(head) == 0 {
		return args, stdin, nil // whoever reads on meets the error again
	}
	f, err := sniff("standard input", head, nil)
	return append([]string{f}, args...), io.MultiReader(bytes.NewReader(head), stdin), err
}

func sniffFile(path string, st fs.FileInfo) (string, error) {
	if st.IsDir() {
		entries, err := os.ReadDir(path)
		if err != nil {
			return "", err
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return sniff(path, nil, names)
	}
	if !st.Mode().IsRegular() { // a pipe has no bytes to spare
		return "", cli.Usagef("got %q, want FORMAT in front of it: what is no file shows its format only once; standard input, as -, needs none", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head, err := readHead(f)
	if err != nil {
		return "", err
	}
	return sniff(path, head, nil)
}

// readHead reads the beginning of a stream.
func readHead(r io.Reader) ([]byte, error) {
	head := make([]byte, traces.SniffBytes)
	n, err := io.ReadFull(r, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return head[:n], err
}

// sniff names the command for an input that begins with head, compressed or not.
func sniff(place string, head []byte, names []string) (string, error) {
	whole := len(head) < traces.SniffBytes // head is all there is
	z, _, err := codec.NewReader(bytes.NewReader(head))
	if err == nil {
		plain := make([]byte, traces.SniffBytes)
		var n int
		n, err = io.ReadFull(z, plain) // as far as the head goes
		z.Close()
		head = plain[:n]
	}
	switch {
	case !whole || names != nil:
	case errors.Is(err, io.EOF):
		return "", &formats.TruncatedError{Place: place, Want: "a first row", Help: "the input is empty: look at what the tool before it said"}
	case errors.Is(err, io.ErrUnexpectedEOF) && err != io.ErrUnexpectedEOF: // that of the container
		return "", &formats.TruncatedError{Place: place, Want: "the rest of the trace", Err: err, Help: "the file was cut off; copy it again"}
	}
	if bytes.HasPrefix(head, []byte(`{"schedule":`)) || bytes.Contains(head[:min(200, len(head))], []byte(`"`+schedule.Format+`"`)) {
		return "schedule", nil
	}
	f, err := traces.Sniff(place, head, names)
	return f.Name, err
}
