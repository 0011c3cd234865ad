package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		name         string
		o            options
		files, ports int64
		err, warns   string
	}{
		{"plenty", options{workers: 2, concurrency: 50000, urls: []string{"http://a", "http://b"}}, 1 << 20, 28232, "", ""},
		{"few files for the cap", options{workers: 2, concurrency: 5000, urls: []string{"http://a"}}, 2048, 28232, "may have 2500 requests in flight, but 2048 files open", ""},
		{"enough workers for it", options{workers: 4, concurrency: 5000, urls: []string{"http://a"}}, 2048, 28232, "", ""},
		{"few files for an open loop", options{workers: 1, urls: []string{"http://a"}}, 1024, 28232, "", "fails with about 960 requests in flight"},
		{"few ports for the cap", options{workers: 8, concurrency: 30000, urls: []string{"http://a"}}, 1 << 20, 28232, "", "28232 local ports"},
		{"two addresses", options{workers: 8, concurrency: 30000, urls: []string{"http://a", "http://b"}}, 1 << 20, 28232, "", ""},
		{"few ports for an open loop", options{workers: 1, urls: []string{"http://a"}}, 1 << 20, 1000, "", "1000 local ports"},
		{"no ports needed", options{workers: 1, urls: []string{"unix:/s:"}}, 1 << 20, 10, "", ""},
		{"shared connections", options{workers: 1, http2: true, urls: []string{"https://a"}}, 1 << 20, 10, "", ""},
	} {
		var warned []string
		err := c.o.limits(c.files, c.ports, func(f string, a ...any) { warned = append(warned, fmt.Sprintf(f, a...)) })
		if (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v; want %q", c.name, err, c.err)
		}
		if got := strings.Join(warned, "; "); (got != "") != (c.warns != "") || !strings.Contains(got, c.warns) {
			t.Errorf("%s: warnings %q; want %q", c.name, got, c.warns)
		}
	}
}
