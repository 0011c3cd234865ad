package main

import (
	"time"

	ucli "github.com/urfave/cli/v2"

	"hydrant/internal/cli"
)

// Categories of replay's flags.
const (
	ofTarget   = "Target"
	ofRequests = "Requests"
	ofLoad     = "Load"
	ofLimits   = "Limits"
	ofRun      = "About the run"
)

// flags lists the flags of replay; options reads each of them.
func flags() []ucli.Flag {
	own := []ucli.Flag{
		&ucli.StringSliceFlag{Name: "url", Category: ofTarget, Usage: "send to the server at `URL`, without /v1, or unix:/PATH; may be repeated, a session keeps one"},
		&ucli.StringFlag{Name: "sim", Category: ofTarget, Usage: "start the simulated server that `SPEC` describes and send to it"},
		&ucli.BoolFlag{Name: "null", Category: ofTarget, Usage: "start a server that answers at once and send to it"},
		&ucli.StringFlag{Name: "model", Category: ofTarget, Usage: "ask for `NAME`", DefaultText: "the server's only one, else the line's"},
		&ucli.StringFlag{Name: "header-file", Category: ofTarget, Usage: "add the headers in `FILE`, one \"Name: value\" a line"},
		&ucli.StringFlag{Name: "api-key-env", Category: ofTarget, Usage: "send the value of environment variable `NAME` as bearer token"},
		&ucli.StringFlag{Name: "ca-file", Category: ofTarget, Usage: "trust the certificate authorities in `FILE` (PEM) besides the system's"},
		&ucli.BoolFlag{Name: "http2", Category: ofTarget, Usage: "speak HTTP/2 with servers that offer it (https only); requests then share connections"},
		&ucli.StringFlag{Name: "engine", Category: ofTarget, Value: "auto", Usage: "send with `auto|epoll|http`: epoll where it can (Linux, http:// and unix:), else net/http"},
		&ucli.BoolFlag{Name: "proxy", Category: ofTarget, Usage: "go through the proxies that HTTP_PROXY, HTTPS_PROXY and NO_PROXY name; without it none is used"},
		&ucli.StringFlag{Name: "preflight", Category: ofTarget, Value: "on", Usage: "`on|off`: look at the server before any load"},

		&ucli.StringFlag{Name: "endpoint", Category: ofRequests, Value: "chat", Usage: "speak `chat|completions`"},
		&ucli.StringFlag{Name: "prompt", Category: ofRequests, Value: "text", Usage: "synthesise prompts as `text|tokens`; tokens are exact and need --endpoint completions"},
		&ucli.StringFlag{Name: "stream", Category: ofRequests, Value: "on", Usage: "`on|off`: ask for answers as a stream"},
		&ucli.StringFlag{Name: "pin-output", Category: ofRequests, Value: "on", Usage: "`on|off`: ask for exactly the planned output length (ignore_eos, min_tokens)"},
		&ucli.StringFlag{Name: "cancel", Category: ofRequests, Usage: "cut the answer to a share of the requests short, as `SHARE@DELAY` after the dispatch (0.05@2s)"},

		&ucli.IntFlag{Name: "workers", Category: ofLoad, Usage: "fork `N` worker processes", DefaultText: "one per usable CPU"},
		&ucli.StringFlag{Name: "timing", Category: ofLoad, Value: "schedule", Usage: "send at the time `schedule|strict|think|asap`: as planned, turns not before those they wait for; as planned whatever ended; a think time after those they wait for; at once"},
		&ucli.Int64Flag{Name: "closed", Category: ofLoad, Usage: "keep `N` requests in flight: --timing asap --concurrency N", DefaultText: "an open loop"},
		&ucli.Int64Flag{Name: "concurrency", Category: ofLoad, Usage: "have at most `N` requests in flight, over all workers; what waits is late", DefaultText: "no cap"},
		&ucli.Int64Flag{Name: "sessions", Category: ofLoad, Usage: "have at most `N` sessions open, over all workers, each from its first request to the end of its last", DefaultText: "no cap"},
		&ucli.DurationFlag{Name: "ramp", Category: ofLoad, Usage: "let the caps of --timing asap grow from 1 over `DURATION`; the measured window begins after it"},
		&ucli.BoolFlag{Name: "loop", Category: ofLoad, Usage: "play the schedule over and over, with fresh prompts, until --requests or --duration"},
		&ucli.Int64Flag{Name: "requests", Category: ofLoad, Usage: "end the plan after the first `N` requests of the schedule", DefaultText: "all"},
		&ucli.DurationFlag{Name: "duration", Category: ofLoad, Usage: "end the plan `DURATION` after its start; nothing is sent from then on", DefaultText: "the schedule's"},
		&ucli.DurationFlag{Name: "warmup", Category: ofLoad, Usage: "leave the first `DURATION` out of the measured window; its requests are sent as all others"},
		&ucli.DurationFlag{Name: "grace", Category: ofLoad, Value: 30 * time.Second, Usage: "let requests in flight go on for `DURATION` after the sending was stopped"},
		&ucli.IntFlag{Name: "nice", Category: ofLoad, Value: -10, Usage: "run the workers at niceness `N` where the system grants it; the run says what it granted"},
		&ucli.DurationFlag{Name: "spin", Category: ofLoad, Usage: "wake `DURATION` before each instant and wait busily; costs CPU", DefaultText: "0s"},

		&ucli.DurationFlag{Name: "client-work", Category: ofLoad, Usage: "slow the client down on purpose: burn `DURATION` of CPU per token event"},
		&ucli.DurationFlag{Name: "client-stall", Category: ofLoad, Usage: "slow the client down on purpose: read nothing for `DURATION` per token event"},

		&ucli.DurationFlag{Name: "connect-timeout", Category: ofLimits, Value: 10 * time.Second, Usage: "end a request that has no connection after `DURATION`; 0 never"},
		&ucli.DurationFlag{Name: "first-byte-timeout", Category: ofLimits, Value: 10 * time.Minute, Usage: "end a request without a first byte after `DURATION`; 0 never"},
		&ucli.DurationFlag{Name: "idle-timeout", Category: ofLimits, Value: 5 * time.Minute, Usage: "end an answer that is silent for `DURATION`; 0 never"},
		&ucli.DurationFlag{Name: "total-timeout", Category: ofLimits, Value: time.Hour, Usage: "end a request `DURATION` after its dispatch; 0 never"},

		&ucli.StringFlag{Name: "calibrate", Category: ofRun, Value: "5s", Usage: "before the load, find for about `DURATION` what this client can do with the run's payload; off leaves the headroom unproven"},
		&ucli.StringFlag{Name: "calibration", Category: ofRun, Usage: "take the calibration of an earlier run, `FILE`, instead: same host, kernel, build, workers, engine and payload"},
		&ucli.StringFlag{Name: "chunks", Category: ofRun, Value: "full", Usage: "keep the times of single token events: `full|off`"},
		&ucli.Int64Flag{Name: "server-block", Category: ofRun, Value: 16, Usage: "assume a server cache with blocks of `N` tokens for expected_cached_tokens"},
		&ucli.StringSliceFlag{Name: "label", Category: ofRun, Usage: "note `KEY=VALUE` in the run; may be repeated"},
		&ucli.StringFlag{Name: "server-config", Category: ofRun, Usage: "keep the text of `FILE` in the run: how the server was started"},
	}
	return append(own, cli.Flags("output", "force", "quiet", "progress", "seed", "timeout")...)
}
