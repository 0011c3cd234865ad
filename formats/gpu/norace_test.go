//go:build !race

package gpu

const stride = 1
