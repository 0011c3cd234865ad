package main

import (
	"fmt"
	"strings"
	"syscall"

	"hydrant/cmd/replay/internal/wire"
	"hydrant/internal/cli"
)

const (
	// fewFiles is the limit of open files below which it may be met by the load: one
	// connection per request in flight.
	fewFiles = 4096
	// ownFiles is what a worker has open besides its connections, generously.
	ownFiles = 64
	// fewPorts is the number of local ports below which an open loop may use them up.
	fewPorts = 4096
)

// checkLimits compares what the system allows with what the load will need, before any of
// it. The runtime has raised the soft limit of open files to the hard one already.
func (o *options) checkLimits(warn func(string, ...any)) error {
	files := int64(1) << 40
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) == nil && l.Cur < 1<<40 {
		files = int64(l.Cur)
	}
	return o.limits(files, int64(wire.LocalPorts()), warn)
}

// limits is checkLimits on a system with so many files a process and ports a destination.
func (o *options) limits(files, ports int64, warn func(string, ...any)) error {
	perWorker := (o.concurrency + int64(o.workers) - 1) / int64(o.workers)
	switch {
	case perWorker > files-ownFiles:
		return cli.WithHint(fmt.Errorf("--concurrency %d: a worker of %d may have %d requests in flight, but %d files open", o.concurrency, o.workers, perWorker, files),
			"raise the hard limit (ulimit -Hn), or take more --workers: each is a process with a limit of its own")
	case o.concurrency == 0 && files < fewFiles:
		warn("%d open files allowed, want at least %d: a worker fails with about %d requests in flight; raise it with ulimit -n", files, fewFiles, max(files-ownFiles, 0))
	}
	// a Unix socket needs no port, and HTTP/2 shares connections
	destinations := int64(0)
	for _, u := range o.urls {
		if !strings.HasPrefix(u, "unix:") {
			destinations++
		}
	}
	if destinations == 0 || o.http2 {
		return nil
	}
	each := (o.concurrency + destinations - 1) / destinations
	if each > ports || o.concurrency == 0 && ports < fewPorts {
		warn("%d local ports for the connections to one address (net.ipv4.ip_local_port_range): what finds none free ends as connect_error; widen the range, or give the server several addresses", ports)
	}
	return nil
}
