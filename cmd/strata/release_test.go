package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/cmd/strata/internal/versioncmd"
)

func TestVersionNamesEveryPin(t *testing.T) {
	for format, decode := range map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(text []byte, to any) error { return yaml.UnmarshalStrict(text, to) },
	} {
		code, out, stderr := call(t, "version", "-o", format)
		var report versioncmd.Report
		if err := decode([]byte(out), &report); err != nil || code != exitDone {
			t.Fatalf("%s: %v: %s%s", format, err, out, stderr)
		}
		if report.Version != version || report.Go == "" || len(report.Tools) < 10 || report.ToolsError != "" {
			t.Errorf("%s: the report is %+v", format, report)
		}
	}
	if code, out, _ := call(t, "version"); code != exitDone || !strings.HasPrefix(out, version+"\n") || !strings.Contains(out, "\nkube-apiserver  ") {
		t.Errorf("as text it is %q", out)
	}
	if code, _, stderr := call(t, "version", "-o", "xml"); code != exitUsage || !strings.Contains(stderr, `unknown output "xml": use text, json or yaml`) {
		t.Errorf("it exits %d: %s", code, stderr)
	}
}

// TestFetchNeedsAChecksum runs a strata that is not from a release.
func TestFetchNeedsAChecksum(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	digest := strings.Repeat("a", 64)
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"dist"}, exitFailed, "strata: this strata is not from a release, so it has no checksum of a bundle: verify SHA256SUMS of the release, and pass"},
		{[]string{"dist", "--sha256", "abc"}, exitUsage, `--sha256 is "abc": a SHA-256 digest has 64 digits`},
		{[]string{"/nowhere", "--sha256", "sha256:" + strings.ToUpper(digest)}, exitFailed, "strata: fetch the tools from /nowhere: "},
		{nil, exitUsage, "give one URL|FOLDER|FILE"},
	} {
		code, out, stderr := call(t, append([]string{"toolchain", "fetch"}, test.args...)...)
		if code != test.code || out != "" || !strings.Contains(stderr, test.says) {
			t.Errorf("%v exits %d: %s%s", test.args, code, out, stderr)
		}
	}
	if tools, err := os.ReadDir(cache + "/strata/tools"); err != nil || len(tools) != 1 || !strings.HasSuffix(tools[0].Name(), ".lock") {
		t.Errorf("the cache contains %v, %v", tools, err)
	}
}
