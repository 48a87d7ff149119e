// Package docstest extracts the examples from the documentation, so that tests can verify them.
package docstest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain"
)

// CheckJSON fails the test unless an example of a document decodes into a value of type T that encodes to the same JSON:
// the example has no unknown fields, and all required ones. The example is the code block that begins with ```json and
// the name.
func CheckJSON[T any](t *testing.T, document, name string) {
	t.Helper()
	_, rest, found := strings.Cut(Read(t, document), "\n```json "+name+"\n")
	example, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("%s has no example %s", document, name)
	}
	var value T
	if err := json.Unmarshal([]byte(example), &value); err != nil {
		t.Fatalf("%s, example %s: %v", document, name, err)
	}
	var again bytes.Buffer
	encoder := json.NewEncoder(&again)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	if again.String() != example {
		t.Errorf("%s: the example %s should be\n%s", document, name, again.String())
	}
}

// Block is a fenced code block of a document.
type Block struct {
	// Language and Name are the words after the fence: ```sh local.
	Language, Name string
	// Section is the preceding heading, without its number signs.
	Section string
	// Line is the number of the block's first line in the document.
	Line int
	Text string
}

// Blocks returns all code blocks of a document, in order.
func Blocks(t testing.TB, document string) []Block {
	t.Helper()
	blocks, err := Parse(Read(t, document))
	if err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	return blocks
}

// Parse returns all code blocks of a text in Markdown, in order.
func Parse(text string) ([]Block, error) {
	var blocks []Block
	var open *Block
	section := ""
	for i, line := range strings.Split(text, "\n") {
		fence, ok := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case ok && open == nil:
			language, name, _ := strings.Cut(fence, " ")
			open = &Block{Language: language, Name: name, Section: section, Line: i + 2}
		case ok:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.Text += line + "\n"
		case strings.HasPrefix(line, "#"):
			section = strings.TrimLeft(line, "# ")
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: a code block has no end", open.Line)
	}
	return blocks, nil
}

// Read returns the text of a document, given by its path in the repository.
func Read(t testing.TB, document string) string {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, document))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
