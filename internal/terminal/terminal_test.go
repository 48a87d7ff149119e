package terminal

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"plain text stays":                       {"Stack team-web/x: it fails: `a`", "Stack team-web/x: it fails: `a`"},
		"other scripts stay":                     {"données 数据 ✓ └─ …", "données 数据 ✓ └─ …"},
		"newlines and tabs stay":                 {"a\n\tb", "a\n\tb"},
		"a backslash stays":                      {`C:\x1b`, `C:\x1b`},
		"a color is escaped":                     {"\x1b[32m✓ ready\x1b[0m", `\x1b[32m✓ ready\x1b[0m`},
		"a title is escaped":                     {"\x1b]0;root\x07", `\x1b]0;root\x07`},
		"access to the clipboard is escaped":     {"\x1b]52;c;cm0gLXJm\x07", `\x1b]52;c;cm0gLXJm\x07`},
		"a carriage return is escaped":           {"failed\rready ", `failed\x0dready `},
		"a backspace is escaped":                 {"failed\b\b\x7f", `failed\x08\x08\x7f`},
		"a C1 control is escaped":                {"\u009b2J", `\u009b2J`},
		"a lone byte of a C1 control is escaped": {"\x9b2J", `\x9b2J`},
		"bidirectional controls are escaped":     {"\u202edaer\u2066\u2069\u200f\u061c", `\u202edaer\u2066\u2069\u200f\u061c`},
		"characters without width are escaped":   {"a\u200b\u2060\ufeffb\u00ad", `a\u200b\u2060\ufeffb\u00ad`},
		"a Unicode line separator is escaped":    {"a\u2028b\u2029c\u0085", `a\u2028b\u2029c\u0085`},
		"invisible tags are escaped":             {"a\U000e0041", `a\U000e0041`},
		"unusual blanks are escaped":             {"a\u00a0b\u3000", `a\u00a0b\u3000`},
		"excess combining marks are escaped":     {"a" + strings.Repeat("\u0301", 6), "a" + strings.Repeat("\u0301", 4) + `\u0301\u0301`},
		"NUL is escaped":                         {"a\x00b", `a\x00b`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Escape(tc.text); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLineKeepsBothEnds(t *testing.T) {
	const most = 40
	got := Line("Stack team-web/x:\n"+strings.Repeat("a\x1b ", 2<<20)+"correct it and push", most)
	if utf8.RuneCountInString(got) != most || !strings.HasPrefix(got, "Stack team-web/x:") || !strings.HasSuffix(got, "it and push") {
		t.Errorf("got %q", got)
	}
	if got := Line("a\n b", most); got != "a b" {
		t.Errorf("a short text is changed: %q", got)
	}
}

func TestLinesAreBounded(t *testing.T) {
	if got, want := Lines("a\n  b\x1b\nc\nd\n", 2, 10), "a\n  b\\x1b\n… and 2 more lines"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWriterTakesACharacterInPieces(t *testing.T) {
	var out strings.Builder
	w := NewWriter(&out)
	for _, b := range []byte("é\u202e✓\x1b") {
		if _, err := w.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Write([]byte("\xe2\x9c")); err != nil {
		t.Fatal(err)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), `é\u202e✓\x1b\xe2\x9c`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// checkSafe fails the test if a terminal would do anything except printing, ending a line, or moving to the next tab
// stop.
func checkSafe(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%q is not UTF-8", text)
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.In(r, unicode.C, unicode.Zl, unicode.Zp) || unicode.IsControl(r)) {
			t.Errorf("%q contains %U", text, r)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, text := range []string{"", "a\n b", "\x1b[2J", "\u202e", "\x9b", "é\xe2", "\\", "\U000e0041", "a\u0301\u0301\u0301\u0301\u0301"} {
		f.Add(text, 20)
	}
	f.Fuzz(func(t *testing.T, text string, most int) {
		most = min(max(most, 0), 1000)
		safe := Escape(text)
		checkSafe(t, safe)
		if again := Escape(safe); again != safe {
			t.Errorf("escaped twice %q becomes %q", safe, again)
		}
		line := Line(text, most)
		checkSafe(t, line)
		if strings.ContainsAny(line, "\n\t") || utf8.RuneCountInString(line) > most {
			t.Errorf("%q is not a line of at most %d characters", line, most)
		}
		lines := Lines(text, 3, most)
		checkSafe(t, lines)
		if strings.Count(lines, "\n") > 3 {
			t.Errorf("%q has too many lines", lines)
		}
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		var want, got string
		safeJSON := JSON(raw)
		checkSafe(t, string(safeJSON))
		if json.Unmarshal(raw, &want) != nil || json.Unmarshal(safeJSON, &got) != nil || got != want {
			t.Errorf("%q becomes %q in JSON, want %q", text, got, want)
		}
	})
}
