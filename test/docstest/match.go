package docstest

import (
	"fmt"
	"regexp"
	"strings"
)

// Left stands in a document for any number of lines of output that are left out.
const Left = "…"

// Changing is something in an output that is another each time.
type Changing struct {
	// Name says what it is, in capitals.
	Name    string
	Pattern *regexp.Regexp
}

// Outputs compares outputs that documents show with real ones. The zero value compares them literally.
type Outputs []Changing

// settle puts names in the place of what changes.
func (o Outputs) settle(text string) string {
	for _, c := range o {
		text = c.Pattern.ReplaceAllLiteralString(text, "<"+c.Name+">")
	}
	return text
}

// Same tells whether an output is what a document shows, but for what changes and for the lines that the document leaves
// out.
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

// As returns commands in the form in which something printed them, where a line printed is the same but for what changes:
// a document cannot know the port of the reader's platform, and the reader takes the line from there. Where no such line
// was printed, the command is as the document has it.
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

// Replace returns a document in which other text stands in the place of blocks, by the numbers of their first lines.
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
		return "", fmt.Errorf("%d of %d blocks were found", replaced, len(texts))
	}
	return changed.String(), nil
}
