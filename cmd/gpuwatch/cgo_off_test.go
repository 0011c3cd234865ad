//go:build !cgo || !linux

package main

const cgoEnabled = false
