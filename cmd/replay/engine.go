package main

import (
	"runtime"
	"strings"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/replay/internal/link"
	"hydrant/internal/cli"
)

// parseEngine decides which engine the workers use. The one on epoll speaks HTTP/1.1
// without TLS or a proxy, on Linux.
func (o *options) parseEngine(c *ucli.Context) error {
	o.engine = c.String("engine")
	unfit, hint := "", "--engine auto or http uses net/http"
	switch {
	case runtime.GOOS != "linux":
		unfit = "Linux"
	case o.http2:
		unfit = "HTTP/1.1, not --http2"
	case o.proxy:
		unfit = "no --proxy"
	}
	for _, u := range o.urls {
		if strings.HasPrefix(u, "https:") {
			unfit = "http:// or unix:, not " + u
		}
	}
	switch o.engine {
	case "auto":
		o.engine = link.Epoll
		if unfit != "" {
			o.engine = link.HTTP
		}
	case link.HTTP:
	case link.Epoll:
		if unfit != "" {
			return cli.WithHint(cli.Usagef("--engine: got %q, which needs %s", o.engine, unfit), hint)
		}
	default:
		return cli.Usagef("--engine: got %q, want auto, epoll or http", o.engine)
	}
	return nil
}
