package runlog

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/strata-platform/strata/operator/engine/message"
)

func write(t testing.TB, parts ...string) *Log {
	t.Helper()
	log := &Log{}
	for _, part := range parts {
		if n, err := log.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("wrote %d of %d bytes: %v", n, len(part), err)
		}
	}
	return log
}

func TestText(t *testing.T) {
	mask := message.NewMask("canary-4711", "canary-first-line\ncanary-second-line").Apply
	long := strings.Repeat("x", longestLine)
	for name, test := range map[string]struct{ printed, want string }{
		"nothing is empty":                         {"", ""},
		"the empty lines around the text are gone": {"\n\nUpdating (dev):\n\n + a\n\n\n", "Updating (dev):\n\n + a\n"},
		"a last line without an end gets one":      {"a", "a\n"},
		"a secret is replaced":                     {"password=canary-4711;\n", "password=[secret];\n"},
		"a secret of two lines is replaced":        {"a canary-first-line\ncanary-second-line b\n", "a [secret] b\n"},
		"one line of a secret is replaced":         {"a canary-second-line b\n", "a [secret] b\n"},
		"a secret with a colour inside is replaced": {
			"canary-\x1b[31m4711\n", "[secret]\n",
		},
		"a secret with a bell inside is replaced": {"canary\a-4711\n", "[secret]\n"},
		"colours, titles and links are gone": {
			"\x1b[1;31mred\x1b[0m \x1b]0;title\aplain \x1b]8;;http://example.com\x1b\\link\x1b]8;;\x1b\\ \x1bc\x1b(B.\n", "red plain link .\n",
		},
		"a title without an end hides no other line": {"\x1b]0;title\nnext\n", "\nnext\n"},
		"directions of text are gone":                {"a\u202eb\u2066c\u200f\n", "abc\n"},
		"a carriage return begins a line":            {"10%\r20%\r\n30%\n", "10%\n20%\n30%\n"},
		"C1 controls are gone":                       {"a\u009b31mb\n", "a31mb\n"},
		"invalid UTF-8 is replaced":                  {"a\xffb\n", "a\uFFFDb\n"},
		"a long line is cut":                         {long + "yz\n", long[:longestLine-len(cutLine)] + cutLine + "\n"},
		"a long line hides no part of a secret":      {long[:longestLine-len(cutLine)-4] + "canary-4711" + long + "\n", long[:longestLine-len(cutLine)-4] + "[sec" + cutLine + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			want := strings.TrimPrefix(test.want, "\n")
			if got := write(t, test.printed).Text(mask); got != want {
				t.Errorf("got %.300q, want %.300q", got, want)
			}
		})
	}
}

func TestTheOldestLinesAreCut(t *testing.T) {
	log := &Log{}
	for i := range 20_000 {
		fmt.Fprintf(log, "line %d\n", i)
	}
	got := log.Text(message.NewMask().Apply)
	rest, found := strings.CutPrefix(got, Cut)
	if !found || !strings.HasPrefix(rest, "line ") || !strings.HasSuffix(rest, "\nline 19999\n") {
		t.Errorf("the text is %.100q...", got)
	}
	if len(rest) > Size || len(rest) < Size-len("line 19999\n") {
		t.Errorf("the text has %d bytes, want almost %d", len(rest), Size)
	}
	if log.Reset(); log.Text(message.NewMask().Apply) != "" {
		t.Error("a reset log is not empty")
	}
}

// TestACutNeverSplitsASecret prints a secret at each place around the two places at which a Log cuts.
func TestACutNeverSplitsASecret(t *testing.T) {
	secrets := map[string]string{"one line": "canary-4711-canary-4711", "short lines": strings.Repeat("canary\n", 300), "one long line": strings.Repeat("canary-", 3000)}
	for name, secret := range secrets {
		t.Run(name, func(t *testing.T) {
			mask := message.NewMask(secret).Apply
			for _, cut := range []int{Size, Size + margin} {
				for after := cut - len(secret) - 2; after < cut+2; after += 1 + len(secret)/40 {
					log := write(t, "begin ", secret, "\n", strings.Repeat(strings.Repeat(".", 99)+"\n", after/100), strings.Repeat(".", after%100), "\n")
					if got := log.Text(mask); strings.Contains(got, "anar") {
						t.Fatalf("%d bytes after the secret, the text contains a part of it: %.200q", after, got)
					}
				}
			}
		})
	}
}

func TestAnEndlessLineLeavesTheLineThatSaysSo(t *testing.T) {
	if got := write(t, strings.Repeat("canary-4711", 100_000)).Text(message.NewMask("canary-4711").Apply); got != Cut {
		t.Errorf("got %.100q", got)
	}
}

func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "a\n", "\x1b]0;canary-4711\a", "canary-\x1b[0m4711", "\x1b\x1b[[0m", "can\x1b]x\x1b\\ary-4711", "c\ranary-4711"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := write(t, string(data)).Text(message.NewMask("canary-4711").Apply)
		if len(got) > Size+len(Cut) || !utf8.ValidString(got) || strings.Contains(got, "canary-4711") {
			t.Errorf("got %q", got)
		}
		if again := Clean(got); again != got {
			t.Errorf("%q still contains control characters", got)
		}
	})
}
