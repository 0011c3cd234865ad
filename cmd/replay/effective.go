package main

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// note keeps the value that each choice has after defaults, for the header. Secrets are
// left out: of headers only the names are kept.
func (o *options) note() {
	onOff := map[bool]string{true: "on", false: "off"}
	m := map[string]string{
		"engine": o.engine, "endpoint": o.endpoint, "prompt": o.prompt, "stream": onOff[o.stream], "pin-output": onOff[o.pin], "preflight": onOff[o.preflight],
		"workers": strconv.Itoa(o.workers), "warmup": o.warmup.String(), "grace": o.grace.String(), "spin": o.spin.String(), "nice": strconv.Itoa(o.nice),
		"connect-timeout": o.connect.String(), "first-byte-timeout": o.firstByte.String(), "idle-timeout": o.idle.String(), "total-timeout": o.total.String(),
		"chunks": o.chunks, "server-block": strconv.FormatInt(o.serverBlock, 10), "seed": strconv.FormatInt(o.seed, 10),
		"calibrate": o.calibration(), "timing": o.timing, "loop": onOff[o.loop],
		"gomaxprocs": strconv.Itoa(workerProcs), "headers": headerNames(o.header),
	}
	if o.http2 {
		m["http2"] = "on"
	}
	if o.proxy {
		m["proxy"] = "on"
	}
	if len(o.ca) > 0 {
		sum := sha256.Sum256(o.ca)
		m["ca-file"] = "sha256 " + hex.EncodeToString(sum[:])
	}
	if o.model != "" {
		m["model"] = o.model
	}
	if o.sim != nil {
		m["sim"] = o.sim.String()
	}
	if o.concurrency > 0 {
		m["concurrency"] = strconv.FormatInt(o.concurrency, 10)
	}
	if o.sessions > 0 {
		m["sessions"] = strconv.FormatInt(o.sessions, 10)
	}
	if o.ramp > 0 {
		m["ramp"] = o.ramp.String()
	}
	for what, d := range o.injected() {
		m[strings.ReplaceAll(what, "_", "-")] = d
	}
	if o.requests > 0 {
		m["requests"] = strconv.FormatInt(o.requests, 10)
	}
	if o.duration > 0 {
		m["duration"] = o.duration.String()
	}
	if o.cancel.ppm > 0 {
		m["cancel"] = strconv.FormatFloat(float64(o.cancel.ppm)/1e6, 'g', -1, 64) + "@" + o.cancel.after.String()
	}
	o.effective = m
}

// workerProcs is GOMAXPROCS of a worker: one each for the pacer and the probe of the
// system, which keep theirs while they wait, one for the preparer and one for the rest. More
// workers, not more threads, use more CPUs.
const workerProcs = 4
