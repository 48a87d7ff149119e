package docstest_test

import (
	"regexp"
	"testing"

	"github.com/strata-platform/strata/test/docstest"
)

func TestASessionKeepsFoldersAndVariablesAndReturnsExitCodes(t *testing.T) {
	session := docstest.NewSession(t, t.TempDir(), []string{"PATH=/usr/bin:/bin"})
	for _, step := range []struct {
		commands, output string
		code             int
	}{
		{"mkdir a\ncd a\nname=b\n", "", 0},
		{"cat <<'END' >\"$name\"\nx\nEND\n", "", 0},
		{"cat b\necho y >&2\nprintf z\n", "x\ny\nz", 0},
		{"cat; false\n", "", 1},
		{"false\necho on\n", "on\n", 0},
	} {
		output, code, err := session.Run(step.commands)
		if err != nil || output != step.output || code != step.code {
			t.Errorf("%q prints %q, code %d (%v), want %q, code %d", step.commands, output, code, err, step.output, step.code)
		}
	}
	if _, _, err := session.Run("exit 3\n"); err == nil {
		t.Error("a shell that has ended runs commands")
	}
}

var outputs = docstest.Outputs{{Name: "PORT", Pattern: regexp.MustCompile(`:\d+\b`)}, {Name: "TIME", Pattern: regexp.MustCompile(` *\d+\.\ds`)}}

func TestOutputsMayDifferInChangingPartsOnly(t *testing.T) {
	for name, test := range map[string]struct {
		shown, real string
		want        bool
	}{
		"the same":                {"a\nb\n", "a\nb\n", true},
		"another port and time":   {"up  0.1s at x:80\n", "up 12.9s at x:8080\n", true},
		"another word":            {"a is ready\n", "a is red\n", false},
		"an extra line":           {"a\n", "a\nb\n", false},
		"a missing line":          {"a\nb\n", "a\n", false},
		"omitted lines":           {"a\n…\nd\n", "a\nb\nc\nd\n", true},
		"no omitted line":         {"a\n…\nd\n", "a\nd\n", true},
		"an omitted end":          {"a\n…\n", "a\nb\n", true},
		"another line after them": {"a\n…\nd\n", "a\nb\nc\n", false},
		"a pattern's own letters": {"a.b\n", "axb\n", false},
	} {
		if got := outputs.Same(test.shown, test.real); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

func TestACommandGetsItsPrintedValues(t *testing.T) {
	printed := "Try next\n  git clone http://x:4711/web\n"
	if got := outputs.As("git clone http://x:80/web\ncd web\n", printed); got != "git clone http://x:4711/web\ncd web\n" {
		t.Errorf("the result is %q", got)
	}
	if got := outputs.As("git clone http://y:80/web\n", printed); got != "git clone http://y:80/web\n" {
		t.Errorf("another command gets the values: %q", got)
	}
}

func TestABlockIsReplacedByTheOutput(t *testing.T) {
	document := "a\n```text\nold\nold\n```\nb\n```text\nkept\n```\n"
	got, err := docstest.Replace(document, map[int]string{3: "new\n"})
	if want := "a\n```text\nnew\n```\nb\n```text\nkept\n```\n"; err != nil || got != want {
		t.Errorf("the result is %q (%v), want %q", got, err, want)
	}
	if _, err := docstest.Replace(document, map[int]string{99: "new\n"}); err == nil {
		t.Error("a missing block is replaced")
	}
}
