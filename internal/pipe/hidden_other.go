//go:build !linux

package pipe

import "os"

func hidden(target string) (*os.File, func() error, error) { return visibleTemp(target) }
