package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	ucli "github.com/urfave/cli/v2"

	"hydrant/cmd/replay/internal/endpoint"
	"hydrant/cmd/replay/internal/host"
	"hydrant/cmd/replay/internal/prompt"
	"hydrant/cmd/replay/internal/wire"
	format "hydrant/formats/run"
	"hydrant/internal/cli"
	"hydrant/internal/sim"
)

// options is replay's command line, checked before a file, socket or server is touched.
type options struct {
	input  string
	output string
	force  bool
	quiet  bool
	shown  bool // --progress

	timeout time.Duration // of a ZMQ end

	urls      []string
	sim       *sim.Spec
	model     string
	header    http.Header
	ca        []byte // certificate authorities, PEM
	http2     bool
	proxy     bool   // obey the proxies of the environment
	engine    string // effective
	preflight bool

	endpoint string
	prompt   string
	stream   bool
	pin      bool
	cancel   share

	timing      string
	concurrency int64
	sessions    int64
	ramp        time.Duration
	loop        bool

	calibrate time.Duration // 0: off
	reuse     string        // the run whose calibration is taken; "": none

	workers  int
	requests int64
	duration time.Duration
	warmup   time.Duration
	grace    time.Duration
	spin     time.Duration
	nice     int // granted
	slow     wire.Slowness

	connect, firstByte, idle, total time.Duration

	chunks      string
	serverBlock int64
	labels      map[string]string
	config      *format.ServerConfig
	seed        int64

	effective map[string]string // for the header
}

// share is a part of all requests, and what happens to them after a delay.
type share struct {
	ppm   int64
	after time.Duration
}

// maxWorkers is far beyond the CPUs of any host; each worker is a process.
const maxWorkers = 4096

// parse reads the command line into options.
func parse(c *ucli.Context) (*options, error) {
	o := &options{output: c.String("output"), force: c.Bool("force"), quiet: c.Bool("quiet"), shown: c.Bool("progress"),
		model: c.String("model"), endpoint: c.String("endpoint"), prompt: c.String("prompt"),
		workers: c.Int("workers"), requests: c.Int64("requests"), serverBlock: c.Int64("server-block"), seed: c.Int64("seed"), chunks: c.String("chunks"),
		timeout: c.Duration("timeout")}
	if c.NArg() > 1 {
		return nil, cli.WithHint(cli.Usagef("got %d inputs, want one schedule", c.NArg()), "cat joins schedules: cat monday tuesday | replay")
	}
	o.input = c.Args().First()
	if err := o.checkEnds(c); err != nil {
		return nil, err
	}
	if o.quiet && o.shown {
		return nil, cli.Usagef("--progress: cannot stand beside --quiet")
	}
	for _, step := range []func(*ucli.Context) error{o.parseTarget, o.parseEngine, o.parseRequest, o.parseLoad, o.parseTiming, o.parseSlow, o.parseLimits, o.parseAbout, o.parseCalibration} {
		if err := step(c); err != nil {
			return nil, err
		}
	}
	o.note()
	return o, nil
}

func (o *options) parseTarget(c *ucli.Context) (err error) {
	n := 0
	for _, name := range []string{"url", "sim", "null"} {
		if c.IsSet(name) {
			n++
		}
	}
	switch {
	case n == 0:
		return cli.WithHint(cli.Usagef("no target: want --url URL, --sim SPEC or --null"), "--sim default needs no server")
	case n > 1:
		return cli.Usagef("more than one target: want --url, --sim or --null alone")
	}
	for _, s := range c.StringSlice("url") {
		base, err := baseURL(s)
		if err != nil {
			return err
		}
		if slices.Contains(o.urls, base) {
			return cli.Usagef("--url: got %q twice, want each server once", s)
		}
		o.urls = append(o.urls, base)
	}
	text := c.String("sim")
	if c.Bool("null") {
		text = "null"
	}
	if len(o.urls) == 0 {
		spec, err := sim.ParseSpec(text)
		if err != nil {
			return fmt.Errorf("--sim: %w", err)
		}
		o.sim = &spec
	}
	if o.preflight, err = onOff(c, "preflight"); err != nil {
		return err
	}
	if o.header, err = headers(c.String("header-file"), c.String("api-key-env")); err != nil {
		return err
	}
	return o.parseTLS(c)
}

// parseTLS reads what concerns https targets only.
func (o *options) parseTLS(c *ucli.Context) error {
	name := c.String("ca-file")
	o.http2, o.proxy = c.Bool("http2"), c.Bool("proxy")
	switch {
	case o.proxy && len(o.urls) == 0:
		return cli.Usagef("--proxy: has no effect without --url")
	case o.proxy && slices.ContainsFunc(o.urls, func(u string) bool { return strings.HasPrefix(u, "unix:") }):
		return cli.Usagef("--proxy: no proxy leads to unix:")
	}
	if !slices.ContainsFunc(o.urls, func(u string) bool { return strings.HasPrefix(u, "https://") }) {
		switch {
		case name != "":
			return cli.Usagef("--ca-file: has no effect without an https:// target")
		case o.http2:
			return cli.Usagef("--http2: has no effect without an https:// target")
		}
		return nil
	}
	if name == "" {
		return nil
	}
	b, err := small(name)
	if err != nil {
		return err
	}
	if _, err := wire.Trust(b); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	o.ca = b
	return nil
}

// baseURL checks a target and leaves off what every endpoint's path begins with.
func baseURL(s string) (string, error) {
	if socket, ok := strings.CutPrefix(s, "unix:"); ok {
		if !strings.HasPrefix(socket, "/") || strings.Contains(socket, ":/") {
			return "", cli.Usagef("--url: got %q, want unix:/PATH of a socket", s)
		}
		return wire.UnixURL(socket), nil
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", cli.Usagef("--url: got %q, want http://HOST:PORT or https://HOST:PORT, with a path before /v1 at most, or unix:/PATH", s)
	}
	if u.User != nil {
		return "", cli.WithHint(cli.Usagef("--url: got a user name or password, want none"), "the command line is visible to everybody; use --header-file or --api-key-env")
	}
	return strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/v1"), nil
}

func (o *options) parseRequest(c *ucli.Context) (err error) {
	e, err := endpoint.Lookup(o.endpoint)
	if err != nil {
		return cli.Usagef("--endpoint: got %q, want %s", o.endpoint, strings.Join(endpoint.Names(), " or "))
	}
	kind := prompt.Kind(o.prompt)
	switch {
	case kind != prompt.Text && kind != prompt.Tokens:
		return cli.Usagef("--prompt: got %q, want text or tokens", o.prompt)
	case !e.Accepts(kind):
		return cli.WithHint(cli.Usagef("--prompt: got %q, which --endpoint %s cannot carry", o.prompt, o.endpoint), "token ids go to --endpoint completions")
	}
	if o.stream, err = onOff(c, "stream"); err != nil {
		return err
	}
	if o.pin, err = onOff(c, "pin-output"); err != nil {
		return err
	}
	if s := c.String("cancel"); s != "" {
		part, after, ok := strings.Cut(s, "@")
		f, errF := strconv.ParseFloat(part, 64)
		d, errD := time.ParseDuration(after)
		o.cancel = share{int64(f*1e6 + 0.5), d}
		if !ok || errF != nil || errD != nil || !(f > 0 && f <= 1) || o.cancel.ppm < 1 || d <= 0 {
			return cli.Usagef("--cancel: got %q, want SHARE@DELAY with a share above 0 and up to 1, such as 0.05@2s", s)
		}
	}
	return nil
}

func (o *options) parseLoad(c *ucli.Context) error {
	if !c.IsSet("workers") {
		o.workers = host.Usable()
	}
	o.duration, o.warmup, o.grace, o.spin = c.Duration("duration"), c.Duration("warmup"), c.Duration("grace"), c.Duration("spin")
	o.nice = c.Int("nice")
	switch {
	case o.workers < 1 || o.workers > maxWorkers:
		return cli.Usagef("--workers: got %q, want a whole number from 1 to %d", c.String("workers"), maxWorkers)
	case c.IsSet("requests") && o.requests < 1:
		return cli.Usagef("--requests: got %q, want a whole number of at least 1", strconv.FormatInt(o.requests, 10))
	case c.IsSet("duration") && o.duration <= 0:
		return cli.Usagef("--duration: got %q, want more than 0s", o.duration)
	case o.duration > 0 && o.warmup >= o.duration:
		return cli.Usagef("--warmup: got %q, want less than --duration %s", o.warmup, o.duration)
	case o.nice < -20 || o.nice > 19:
		return cli.Usagef("--nice: got %q, want a whole number from -20 to 19", c.String("nice"))
	case o.spin > 10*time.Millisecond:
		return cli.Usagef("--spin: got %q, want at most 10ms", o.spin)
	}
	o.nice = host.Grantable(o.nice)
	return notNegative(map[string]time.Duration{"warmup": o.warmup, "grace": o.grace, "spin": o.spin})
}

func (o *options) parseLimits(c *ucli.Context) error {
	o.connect, o.firstByte, o.idle, o.total = c.Duration("connect-timeout"), c.Duration("first-byte-timeout"), c.Duration("idle-timeout"), c.Duration("total-timeout")
	for name, d := range map[string]time.Duration{"connect-timeout": o.connect, "first-byte-timeout": o.firstByte, "idle-timeout": o.idle} {
		if c.IsSet(name) && o.total > 0 && d >= o.total {
			return cli.Usagef("--%s: got %q, which --total-timeout %s never lets happen", name, d, o.total)
		}
	}
	return notNegative(map[string]time.Duration{"connect-timeout": o.connect, "first-byte-timeout": o.firstByte,
		"idle-timeout": o.idle, "total-timeout": o.total})
}

func notNegative(all map[string]time.Duration) error {
	for name, d := range all {
		if d < 0 {
			return cli.Usagef("--%s: got %q, want at least 0s", name, d)
		}
	}
	return nil
}

func (o *options) parseAbout(c *ucli.Context) error {
	switch {
	case o.chunks != "full" && o.chunks != "off":
		return cli.Usagef("--chunks: got %q, want full or off", o.chunks)
	case !o.stream && c.IsSet("chunks") && o.chunks == "full":
		return cli.Usagef("--chunks: got %q, which has no effect under --stream off", o.chunks)
	case !o.stream:
		o.chunks = "off"
	}
	if o.serverBlock < 1 {
		return cli.Usagef("--server-block: got %q, want a whole number of at least 1", strconv.FormatInt(o.serverBlock, 10))
	}
	o.labels = map[string]string{}
	for _, s := range c.StringSlice("label") {
		k, v, ok := strings.Cut(s, "=")
		if !ok || k == "" {
			return cli.Usagef("--label: got %q, want KEY=VALUE", s)
		}
		if _, twice := o.labels[k]; twice {
			return cli.Usagef("--label: got %q twice, want each key once", k)
		}
		o.labels[k] = v
	}
	name := c.String("server-config")
	if name == "" {
		return nil
	}
	b, err := small(name)
	if err != nil {
		return err
	}
	if !utf8.Valid(b) {
		return fmt.Errorf("%s: got bytes that are not UTF-8, want text", name)
	}
	sum := sha256.Sum256(b)
	o.config = &format.ServerConfig{SHA256: hex.EncodeToString(sum[:]), Text: string(b)}
	return nil
}

// onOff reads a flag that takes on or off.
func onOff(c *ucli.Context, name string) (bool, error) {
	switch s := c.String(name); s {
	case "on":
		return true, nil
	case "off":
		return false, nil
	default:
		return false, cli.Usagef("--%s: got %q, want on or off", name, s)
	}
}

// maxSmall bounds a file that is read whole: it goes into the header.
const maxSmall = 256 << 10

// small reads a file of at most maxSmall bytes.
func small(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if err == nil && len(b) > maxSmall {
		err = fmt.Errorf("%s: got more than %d bytes, want a small text file", name, maxSmall)
	}
	return b, err
}
