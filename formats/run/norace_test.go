//go:build !race

package run

const stride = 1
