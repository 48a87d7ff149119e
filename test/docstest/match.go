package docstest

import (
	"fmt"
	"regexp"
	"strings"
)

// Left stands in a document for any number of omitted lines of output.
const Left = "…"

// Changing is a part of an output that differs from run to run.
type Changing struct {
	// Name is a name for the part, in capitals.
	Name    string
	Pattern *regexp.Regexp
}

// Outputs compares outputs in documents with real ones. The zero value compares them literally.
type Outputs []Changing

// settle replaces the changing parts by their names.
func (o Outputs) settle(text string) string {
	for _, c := range o {
		text = c.Pattern.ReplaceAllLiteralString(text, "<"+c.Name+">")
	}
	return text
}

// Same reports whether an output equals the one in a document, except for the changing parts and the lines that the
// document omits.
func (o Outputs) Same(shown, printed string) bool {
	var pattern strings.Builder
	pattern.WriteString(`\A`)
	for line := range strings.Lines(o.settle(shown)) {
		if strings.TrimSpace(line) == Left {
			pattern.WriteString(`(?:.*\n)*?`)
		} else {
			pattern.WriteString(regexp.QuoteMeta(line))
		}
	}
	pattern.WriteString(`\z`)
	return regexp.MustCompile(pattern.String()).MatchString(o.settle(printed))
}

// As returns commands with the values of the printed output: it replaces a command by a printed line that differs only in
// changing parts. A document cannot know the port of the reader's platform, and the reader copies the line from the
// output. A command without such a line stays as it is in the document.
func (o Outputs) As(commands, printed string) string {
	var lines strings.Builder
	for line := range strings.Lines(commands) {
		command := line
		for output := range strings.Lines(printed) {
			line, output := strings.TrimSpace(line), strings.TrimSpace(output)
			if line != output && o.settle(line) == o.settle(output) {
				command = output + "\n"
				break
			}
		}
		lines.WriteString(command)
	}
	return lines.String()
}

// Replace returns a document with new texts for blocks, which are given by the numbers of their first lines.
func Replace(document string, texts map[int]string) (string, error) {
	var changed strings.Builder
	replaced, skip := 0, false
	number := 0
	for line := range strings.Lines(document) {
		number++
		if text, ok := texts[number]; ok {
			changed.WriteString(text)
			replaced, skip = replaced+1, true
		}
		if skip && strings.HasPrefix(line, "```") {
			skip = false
		}
		if !skip {
			changed.WriteString(line)
		}
	}
	if replaced != len(texts) || skip {
		return "", fmt.Errorf("the document has %d of %d blocks", replaced, len(texts))
	}
	return changed.String(), nil
}
