package main

import (
	"bytes"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/terminal/terminaltest"
)

// TestATerminalReceivesOnlyLinesAndColors runs strata on a terminal that answers no query. The library bubbletea would send two
// queries before main begins (package quiet).
func TestATerminalReceivesOnlyLinesAndColors(t *testing.T) {
	t.Setenv(home.Variable, t.TempDir())
	t.Setenv("NO_COLOR", "")
	for name, test := range map[string]struct {
		environment []string
		args        []string
		colors      bool
	}{
		"a command prints no control sequence":           {[]string{"TERM=xterm-256color"}, []string{"version"}, false},
		"help has none":                                  {[]string{"TERM=xterm-256color", "COLORTERM=truecolor"}, []string{"--help"}, false},
		"a status has colors":                            {[]string{"TERM=xterm-256color"}, []string{"status"}, true},
		"NO_COLOR is respected":                          {[]string{"TERM=xterm-256color", "NO_COLOR=1"}, []string{"status"}, false},
		"a dumb terminal is respected":                   {[]string{"TERM=dumb"}, []string{"status"}, false},
		"an error has none":                              {[]string{"TERM=xterm-256color"}, []string{"kubeconfig"}, false},
		"a completion has none":                          {[]string{"TERM=xterm-256color"}, []string{"__complete", "status", "--target", ""}, false},
		"a step on a dumb terminal is a line at its end": {[]string{"TERM=dumb"}, []string{"local", "stop"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			written, _ := terminaltest.Run(t, callOf(t, test.environment, test.args...))
			if len(written) == 0 {
				t.Fatal("it prints nothing")
			}
			rest := written
			for _, color := range []string{"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[2m", "\x1b[0m"} {
				rest = bytes.ReplaceAll(rest, []byte(color), nil)
			}
			if colored := len(rest) != len(written); colored != test.colors {
				t.Errorf("colors: %v, want %v: %q", colored, test.colors, written)
			}
			if bytes.Contains(rest, []byte("\x1b")) || bytes.Contains(bytes.ReplaceAll(rest, []byte("\r\n"), nil), []byte("\r")) {
				t.Errorf("the terminal receives a control sequence: %q", written)
			}
		})
	}
}
