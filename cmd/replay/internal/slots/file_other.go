//go:build !linux

package slots

import "os"

// nameless opens a file that has no name any more.
func nameless(name string) (*os.File, error) {
	f, err := os.CreateTemp("", name+"-")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name())
	return f, nil
}
