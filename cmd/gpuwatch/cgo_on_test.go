//go:build cgo && linux

package main

const cgoEnabled = true
