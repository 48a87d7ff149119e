package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/strata-platform/strata/internal/terminal"
)

// indentation is the number of blanks for each level of a document.
const indentation = 2

// YAML prints a value as a whole YAML document, with the fields of [JSON] in the same order. It escapes unprintable characters,
// so that a terminal can display it.
func YAML(w io.Writer, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	// JSON is YAML, and a node keeps the order of the fields.
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(escapeYAML(string(raw))), &document); err != nil {
		return fmt.Errorf("convert the output to YAML: %w", err)
	}
	block(&document)
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(indentation)
	if err := encoder.Encode(&document); err != nil {
		return err
	}
	_, err = io.WriteString(w, escapeYAML(text.String()))
	return err
}

// plainYAML matches strings that every version of YAML reads as strings without quotes, unless they are one of words.
var plainYAML = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9_./@-]*( [A-Za-z0-9_./@-]+)*$`)

// words are the plain words that some version of YAML does not read as strings (YAML 1.1, bool and null types).
var words = []string{"y", "n", "yes", "no", "on", "off", "true", "false", "null"}

// block changes a document from the style of JSON to that of YAML. Other strings than plain ones and ordinary lines keep their
// double quotes: only this style has escapes.
func block(node *yaml.Node) {
	value := node.Value
	lines := strings.Contains(value, "\n") && !strings.Contains(value, "\t") && value[0] > ' ' && terminal.Escape(value) == value
	plain := plainYAML.MatchString(value) && !slices.Contains(words, strings.ToLower(value))
	if node.Kind != yaml.ScalarNode || node.Tag != "!!str" || plain || lines {
		node.Style = 0
	}
	for _, below := range node.Content {
		block(below)
	}
}

// escapeYAML escapes the unprintable characters in the double-quoted strings of a document. No others contain them.
func escapeYAML(text string) string {
	if terminal.Escape(text) == text {
		return text
	}
	var safe strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || terminal.Escape(string(r)) == string(r) && !unicode.Is(unicode.M, r):
			safe.WriteRune(r)
		default:
			// YAML 1.2, section 5.7.
			fmt.Fprintf(&safe, `\U%08X`, r)
		}
	}
	return safe.String()
}
