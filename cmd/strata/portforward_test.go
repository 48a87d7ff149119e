package main

import (
	"testing"

	"github.com/strata-platform/strata/test/docstest"
)

func TestPortForwardPrintsTheDocumentedJSON(t *testing.T) {
	docstest.CheckJSON[forwarded](t, "docs/reference/output.md", "forward")
}

func TestThePortsOfAForward(t *testing.T) {
	for text, want := range map[string]struct {
		local int
		port  string
		fails bool
	}{
		"80": {0, "80", false}, "http": {0, "http", false}, "8080:80": {8080, "80", false}, ":http": {0, "http", false},
		"8080:": {8080, "", false}, "x:80": {0, "", true}, "70000:80": {0, "", true}, "-1:80": {0, "", true},
	} {
		local, port, err := parsePorts([]string{text})
		if local != want.local || port != want.port || (err != nil) != want.fails {
			t.Errorf("%s: local port %d, port %q, %v, want %+v", text, local, port, err, want)
		}
	}
}
