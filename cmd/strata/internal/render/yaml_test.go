package render

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/terminal"
)

func TestYAMLHasTheFieldsOfJSONInTheirOrder(t *testing.T) {
	var text bytes.Buffer
	if err := YAML(&text, struct {
		Zone  string         `json:"zone"`
		Alike []string       `json:"alike"`
		Empty []string       `json:"empty"`
		Inner map[string]any `json:"inner"`
	}{"a", []string{"true", "1", "null", "~", "a: b", "- x", "2026-11-23", "", " blank ", "two words", "two\nlines\n"}, []string{}, map[string]any{"n": 1.5, "yes": true}}); err != nil {
		t.Fatal(err)
	}
	want := `zone: a
alike:
  - "true"
  - "1"
  - "null"
  - "~"
  - "a: b"
  - "- x"
  - "2026-11-23"
  - ""
  - " blank "
  - two words
  - |
    two
    lines
empty: []
inner:
  "n": 1.5
  "yes": true
`
	if text.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &text, want)
	}
}

// FuzzYAML checks that a team's text neither leaves its field nor reaches the terminal unescaped.
func FuzzYAML(f *testing.F) {
	for _, seed := range []string{
		"plain", "two\nlines\n", "\x1b[2J", "\u202ereversed", "a\nb: c\x1b", "---\n", "é\u0301\u0301\u0301\u0301\u0301\u0301", "\u2028", "\ufeff", "\U000e0041",
		"'\"\\\x07", "#", "&a *a", "!!binary x", "<<", "\x85", "tab\tend ", "\r\n", "=", "12:30:45", "0x10", "e1", "\n", " \nx", "\tx\n y", "x\n\n ", "\x7f", "\n\nx", "\\e",
	} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		in := map[string]any{"m": map[string]any{"k" + key: value}, "list": []any{value, key}}
		raw, err := json.Marshal(in)
		if err != nil {
			t.Skip()
		}
		var text bytes.Buffer
		if err := YAML(&text, in); err != nil {
			t.Fatalf("%q, %q: %v", key, value, err)
		}
		if shown := text.String(); terminal.Escape(shown) != shown {
			t.Errorf("the terminal interprets %q", shown)
		}
		var want, got any
		if err := json.Unmarshal(raw, &want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text.Bytes(), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %#v (%v), want %#v, from\n%s", got, err, want, strings.TrimSpace(text.String()))
		}
	})
}
