package teams

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// list is a teams.yaml as lines of text, with the YAML nodes that locate the teams in these lines.
type list struct {
	lines []string
	// end is the line ending of the file.
	end      string
	document *yaml.Node
	// key and value are the nodes of the field teams; nil if the file has none.
	key, value *yaml.Node
}

func parse(content []byte) (*list, error) {
	l := &list{document: &yaml.Node{}, end: "\n"}
	if err := yaml.Unmarshal(content, l.document); err != nil {
		return nil, oneLine(err)
	}
	if bytes.Contains(content, []byte("\r\n")) {
		l.end = "\r\n"
	}
	l.lines = strings.Split(strings.TrimSuffix(string(content), l.end), l.end)
	fields := l.document.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i].Value == "teams" {
			l.key, l.value = fields[i], fields[i+1]
		}
	}
	return l, nil
}

func (l *list) bytes() []byte { return []byte(strings.Join(l.lines, l.end) + l.end) }

func (l *list) add(team Team) ([]byte, error) {
	entry := team.node()
	switch {
	case l.key == nil:
		l.lines = append(l.lines, "teams:")
		return l.insert(len(l.lines), 2, entry)
	case l.value.Kind == yaml.ScalarNode && l.value.Value == "":
		return l.insert(l.key.Line, 2, entry)
	case len(l.value.Content) == 0 && strings.Contains(l.lines[l.value.Line-1], "[]"):
		line := &l.lines[l.value.Line-1]
		*line = strings.TrimRight(strings.Replace(*line, " []", "", 1), " ")
		return l.insert(l.value.Line, 2, entry)
	case l.inBrackets():
		l.value.Content = append(l.value.Content, entry)
		return l.rewrite()
	}
	last, dash := l.item(len(l.value.Content) - 1)
	return l.insert(l.endOf(last, dash)+1, dash, entry)
}

// insert inserts a new item before a line, with its dash at a column. Lines and columns count from 0.
func (l *list) insert(before, dash int, entry *yaml.Node) ([]byte, error) {
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(entry); err != nil {
		return nil, fmt.Errorf("write the team: %w", err)
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	for i, line := range lines {
		mark := "  "
		if i == 0 {
			mark = "- "
		}
		lines[i] = strings.Repeat(" ", dash) + mark + line
	}
	l.lines = slices.Insert(l.lines, before, lines...)
	return l.bytes(), nil
}

// remove removes an item, with the comments and blank lines that belong to it. It keeps the other lines, unless the list is in
// brackets.
func (l *list) remove(at int) ([]byte, error) {
	if l.inBrackets() {
		l.value.Content = slices.Delete(l.value.Content, at, at+1)
		return l.rewrite()
	}
	first, dash := l.item(at)
	end := l.endOf(first, dash) + 1
	for first > l.key.Line && isComment(l.lines[first-1]) && indent(l.lines[first-1]) == dash {
		first--
	}
	for first == l.key.Line && end < len(l.lines) && isBlank(l.lines[end]) {
		end++
	}
	// Also remove the blank lines above the item if blank lines, or the end of the file, follow it.
	for first > l.key.Line && isBlank(l.lines[first-1]) && (end == len(l.lines) || isBlank(l.lines[end])) {
		first--
	}
	l.lines = slices.Delete(l.lines, first, end)
	if len(l.value.Content) == 1 {
		line := &l.lines[l.key.Line-1]
		colon := l.key.Column - 1 + len("teams:")
		*line = (*line)[:colon] + " []" + (*line)[colon:]
	}
	return l.bytes(), nil
}

// inBrackets reports whether the list of teams is in flow style ([...]) instead of block style.
func (l *list) inBrackets() bool { return l.value.Style&yaml.FlowStyle != 0 }

// rewrite encodes the whole file again.
func (l *list) rewrite() ([]byte, error) {
	l.value.Style &^= yaml.FlowStyle
	// Block style has no closing bracket that the comment could follow, so the comment moves to the key.
	l.key.LineComment, l.value.LineComment = l.value.LineComment, ""
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(l.document); err != nil {
		return nil, fmt.Errorf("write the list of teams: %w", err)
	}
	return text.Bytes(), nil
}

// item returns the line and the column of an item's dash.
func (l *list) item(i int) (line, dash int) {
	node := l.value.Content[i]
	line = node.Line - 1
	// The item's node may start on a line below its dash.
	for line > l.key.Line && !strings.HasPrefix(strings.TrimLeft(l.lines[line], " "), "-") {
		line--
	}
	return line, indent(l.lines[line])
}

// endOf returns the last line of the item whose dash is at the given line and column. All lines of the item below its
// first are indented further than the dash.
func (l *list) endOf(first, dash int) int {
	last := first
	for i := first + 1; i < len(l.lines) && (isBlank(l.lines[i]) || indent(l.lines[i]) > dash); i++ {
		if !isBlank(l.lines[i]) {
			last = i
		}
	}
	return last
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

func isBlank(line string) bool { return strings.TrimSpace(line) == "" }

func isComment(line string) bool {
	return strings.HasPrefix(strings.TrimLeft(line, " "), "#")
}
