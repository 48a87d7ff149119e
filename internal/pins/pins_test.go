package pins_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/pins"
)

func TestTheFileIsReadAsWritten(t *testing.T) {
	p := pins.Pins{
		Strata: "v0.2.0", Sync: pins.Sync{URL: "https://git.example.com/strata", Commit: strings.Repeat("0a", 20)},
		Versions: map[string]string{"flux": "v2.9.4"},
	}
	content, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := pins.Decode(content)
	if err != nil {
		t.Fatal(err)
	}
	if got.Strata != p.Strata || got.Sync != p.Sync || got.Versions["flux"] != "v2.9.4" || got.Branch() != "sync/v0.2.0" {
		t.Errorf("%+v is read as %+v", p, got)
	}
}

func TestRefusedPins(t *testing.T) {
	const good = `apiVersion: strata/v1
kind: Repository
strata: v0.1.0
sync: {url: "https://git.example.com/strata", commit: 0123456789abcdef0123456789abcdef01234567}
`
	if _, err := pins.Decode([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for name, each := range map[string]struct{ old, new, want string }{
		"an empty file":                   {good, "", `apiVersion and kind are "" and "", not strata/v1 and Repository; strata is ""`},
		"another kind":                    {"Repository", "Teams", `kind are "strata/v1" and "Teams"`},
		"a branch in place of a version":  {"v0.1.0", "main", `strata is "main", not a version`},
		"a version that names a folder":   {"v0.1.0", "v0.1.0/../../main", `not a version`},
		"a short version":                 {"v0.1.0", "v0.1", `not a version`},
		"a short commit":                  {"0123456789abcdef0123456789abcdef01234567", "'01234567'", `sync.commit is "01234567"`},
		"a tag in place of a commit":      {"0123456789abcdef0123456789abcdef01234567", "v1", `sync.commit is "v1"`},
		"an address without encryption":   {"https:", "http:", "sync.url must be an https:// URL"},
		"an address with a login":         {"https://", "https://me:canary@", "without a login"},
		"an address that is a local path": {"https://git.example.com/strata", "/tmp/strata", "must be an https:// URL"},
		"an unknown field":                {"kind:", "script: x\nkind:", `unknown field "script"`},
		"text that is no YAML":            {good, "\t", "yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pins.Decode([]byte(strings.Replace(good, each.old, each.new, 1)))
			if err == nil || !strings.Contains(err.Error(), each.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v, want %q in one line", err, each.want)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("the error contains a password: %v", err)
			}
		})
	}
}
