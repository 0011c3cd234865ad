package pipe

import (
	"io"
	"os"
	"time"
)

// CheckNames refuses, before anything is opened, ends that cannot stand beside each
// other: standard input that two would read, and an output that is one of the
// inputs, since a run that its verdict has replaced cannot be measured again.
// stdin is what "-" and "" among the inputs stand for.
func CheckNames(stdin io.Reader, output string, inputs ...string) error {
	n := 0
	for _, name := range inputs {
		if isStdin(name) {
			n++
		}
	}
	if n > 1 {
		return usagef("", "standard input: named %d times, want once", n)
	}
	if isStdout(output) || isZMQ(output) {
		return nil
	}
	out, err := os.Stat(output)
	if err != nil || !out.Mode().IsRegular() {
		return nil // Create says what is wrong with it
	}
	for _, name := range inputs {
		if in := stat(name, stdin); in != nil && os.SameFile(in, out) {
			return usagef("name another file for the output", "--output: got %q, which is an input: %s", output, Place(name))
		}
	}
	return nil
}

// stat describes an input, nil when it is no file or cannot be looked at.
func stat(name string, stdin io.Reader) os.FileInfo {
	var st os.FileInfo
	var err error
	switch f, isFile := stdin.(*os.File); {
	case isZMQ(name):
		return nil
	case !isStdin(name):
		st, err = os.Stat(name)
	case isFile:
		st, err = f.Stat()
	}
	if err != nil {
		return nil
	}
	return st
}

// CheckTimeout refuses a --timeout that no end could meet, and one that was given
// (set) where no end is a ZMQ endpoint, the only kind it concerns.
func CheckTimeout(d time.Duration, set bool, ends ...string) error {
	if d <= 0 {
		return usagef("", "--timeout: got %q, want more than 0", d)
	}
	for _, name := range ends {
		if isZMQ(name) {
			set = false
		}
	}
	if set {
		return usagef("leave it out, or name an endpoint such as zmq+tcp://127.0.0.1:5555", "--timeout: got %q, which concerns ZMQ ends, and none is named", d)
	}
	return nil
}
