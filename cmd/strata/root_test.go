package main

import (
	"strings"
	"testing"
)

func TestACommandThatIsNotThereIsRefused(t *testing.T) {
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
