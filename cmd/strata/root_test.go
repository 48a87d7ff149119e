package main

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/machine/home"
)

func TestAnUnknownCommandIsAnError(t *testing.T) {
	for _, group := range []string{"local", "toolchain", "layer"} {
		code, out, stderr := call(t, group, "bogus")
		if code != exitUsage || out != "" || !strings.Contains(stderr, `unknown command "bogus" for "strata `+group+`"`) {
			t.Errorf("%s bogus: code %d, output %q, error %q", group, code, out, stderr)
		}
		if code, out, stderr := call(t, group); code != exitDone || !strings.Contains(out, "Available Commands") || stderr != "" {
			t.Errorf("%s: code %d, output %q, error %q", group, code, out, stderr)
		}
	}
}

func TestWrongUsePrintsTheUsage(t *testing.T) {
	t.Setenv(home.Variable, t.TempDir())
	for line, want := range map[string]string{
		"team add":         "strata: strata team add: give one NAME\nRun 'strata team add --help' for usage.\n",
		"team add a b":     "strata: strata team add: give one NAME\nRun 'strata team add --help' for usage.\n",
		"team ad":          "strata: unknown command \"ad\" for \"strata team\": did you mean add?\nRun 'strata team --help' for usage.\n",
		"status extra":     "strata: strata status takes no argument, but got \"extra\"\nRun 'strata status --help' for usage.\n",
		"layer up":         "strata: give one layer: bootstrap or platform\nRun 'strata layer up --help' for usage.\n",
		"up --wait teams":  "strata: invalid argument \"teams\" for \"--wait\" flag: use platform or all\nRun 'strata up --help' for usage.\n",
		"status --nothing": "strata: unknown flag: --nothing\nRun 'strata status --help' for usage.\n",
	} {
		t.Run(line, func(t *testing.T) {
			if code, out, stderr := call(t, strings.Fields(line)...); code != exitUsage || out != "" || stderr != want {
				t.Errorf("code %d, output %q, error %q, want %q", code, out, stderr, want)
			}
		})
	}
}
