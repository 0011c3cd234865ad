package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The behaviour of the tool, one script each.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata", RequireExplicitExec: true})
}
