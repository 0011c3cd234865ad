package main

import (
	"strings"
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/replay/internal/wire"
	"hydrant/internal/cli"
)

// maxSlow bounds what one token event may cost: beyond it a worker would count as hung.
const maxSlow = time.Second

// parseSlow reads the flags that make the client slow on purpose.
func (o *options) parseSlow(c *ucli.Context) error {
	o.slow = wire.Slowness{Work: c.Duration("client-work"), Stall: c.Duration("client-stall")}
	for name, d := range map[string]time.Duration{"client-work": o.slow.Work, "client-stall": o.slow.Stall} {
		if c.IsSet(name) && (d <= 0 || d > maxSlow) {
			return cli.Usagef("--%s: got %q, want more than 0s and at most %s", name, plain(d), maxSlow)
		}
	}
	if o.slow.Work > 0 && o.slow.Stall > 0 {
		return cli.WithHint(cli.Usagef("--client-work: cannot stand beside --client-stall"), "one cause at a time: a run that is slow for two reasons shows neither")
	}
	return nil
}

// injected returns the slowness put in on purpose as the header has it, null for none.
func (o *options) injected() map[string]string {
	switch {
	case o.slow.Work > 0:
		return map[string]string{"client_work": plain(o.slow.Work)}
	case o.slow.Stall > 0:
		return map[string]string{"client_stall": plain(o.slow.Stall)}
	}
	return nil
}

// slowed names the flag in effect with its value, "" for none.
func (o *options) slowed() string {
	for what, d := range o.injected() {
		return "--" + strings.ReplaceAll(what, "_", "-") + " " + d
	}
	return ""
}

// plain writes a duration in ASCII, as flags take it.
func plain(d time.Duration) string { return strings.Replace(d.String(), "µ", "u", 1) }
