//go:build race

package run

// stride of the tests that go through a file byte by byte: the race detector
// makes them ten times slower and finds nothing more at each byte.
const stride = 13
