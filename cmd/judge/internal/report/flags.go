package report

import "strings"

// replayDefaults are the values of a run's flags that a command line need not repeat.
// What was granted or found (gomaxprocs, nice, engine) is no choice to be made again.
var replayDefaults = map[string]string{
	"chunks": "full", "connect-timeout": "10s", "endpoint": "chat", "first-byte-timeout": "10m0s", "grace": "30s", "headers": "",
	"idle-timeout": "5m0s", "loop": "off", "pin-output": "on", "preflight": "on", "prompt": "text", "server-block": "16", "spin": "0s",
	"stream": "on", "timing": "schedule", "total-timeout": "1h0m0s", "warmup": "0s", "calibrate": "5s",
}

// flag turns "name=value" of a run into the option of replay that sets it, "" when it
// need not be said.
func flag(said string) string {
	name, value, _ := strings.Cut(said, "=")
	if known, ok := replayDefaults[name]; ok && known == value {
		return ""
	}
	switch name {
	case "gomaxprocs", "nice", "engine":
		return ""
	case "headers":
		return "--header-file FILE"
	case "ca-file", "calibration":
		return "--" + name + " FILE"
	case "http2", "proxy", "loop":
		return "--" + name
	}
	return "--" + name + " " + quote(value)
}
