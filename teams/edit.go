package teams

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// Add returns the content of a teams.yaml with a team appended to its list. All other bytes stay the same, comments and
// blank lines included, unless the list is in flow style ([...]): then Add rewrites the file, and keeps its comments and
// order. Add writes the team's name, branch, path, allow and quota. It returns an error if the list already contains the
// team, or if Decode would refuse the result.
func Add(content []byte, team Team) ([]byte, error) {
	before, err := Decode(content)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(before.Teams, func(t Team) bool { return t.Name == team.Name }) {
		return nil, fmt.Errorf("team %s is in the list already", team.Name)
	}
	if problems := team.problems("team"); len(problems) > 0 {
		return nil, joined(problems)
	}
	list, err := parse(content)
	if err != nil {
		return nil, err
	}
	changed, err := list.add(team)
	if err != nil {
		return nil, err
	}
	team.setDefaults()
	return checked(changed, append(before.Teams, team))
}

// Remove returns the content of a teams.yaml without a team and without the comment right above it. It treats the other
// bytes as Add does. It returns an error if the list does not contain the team.
func Remove(content []byte, name string) ([]byte, error) {
	before, err := Decode(content)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(before.Teams, func(t Team) bool { return t.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("there is no team %q in the list: it has %s", name, names(before.Teams))
	}
	list, err := parse(content)
	if err != nil {
		return nil, err
	}
	changed, err := list.remove(at)
	if err != nil {
		return nil, err
	}
	return checked(changed, slices.Delete(slices.Clone(before.Teams), at, at+1))
}

func names(all []Team) string {
	var list []string
	for _, t := range all {
		list = append(list, t.Name)
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// checked returns the content if it decodes to the wanted teams, and an error otherwise.
func checked(content []byte, want []Team) ([]byte, error) {
	after, err := Decode(content)
	if err != nil {
		return nil, fmt.Errorf("the changed list would not be read: %w: change it by hand", err)
	}
	if len(after.Teams) != len(want) || len(want) > 0 && !reflect.DeepEqual(after.Teams, want) {
		return nil, errors.New("the list is written in a way that this command cannot change: change it by hand")
	}
	return content, nil
}

// ParseQuota returns a quota from the names of its fields in teams.yaml and their values, such as cpu and 4.
func ParseQuota(values map[string]string) (Quota, error) {
	var q Quota
	fields := map[string]*string{
		"cpu": &q.CPU, "memory": &q.Memory, "memoryLimit": &q.MemoryLimit, "pods": &q.Pods, "storage": &q.Storage, "volumes": &q.Volumes,
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if fields[name] == nil {
			return Quota{}, fmt.Errorf("a quota has no %q: it has cpu, memory, memoryLimit, pods, storage and volumes", name)
		}
		*fields[name] = values[name]
	}
	return q, nil
}

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

func indent(line string) int   { return len(line) - len(strings.TrimLeft(line, " ")) }
func isBlank(line string) bool { return strings.TrimSpace(line) == "" }
func isComment(line string) bool {
	return strings.HasPrefix(strings.TrimLeft(line, " "), "#")
}

// node encodes the non-empty fields of a team, in the order of Team's fields.
func (t Team) node() *yaml.Node {
	entry := &yaml.Node{Kind: yaml.MappingNode}
	put := func(to *yaml.Node, name string, value *yaml.Node) { to.Content = append(to.Content, text(name), value) }
	put(entry, "name", text(t.Name))
	if t.Branch != "" {
		put(entry, "branch", text(t.Branch))
	}
	if t.Path != "" {
		put(entry, "path", text(t.Path))
	}
	if len(t.Allow) > 0 {
		types := &yaml.Node{Kind: yaml.SequenceNode}
		for _, each := range t.Allow {
			types.Content = append(types.Content, text(each))
		}
		put(entry, "allow", types)
	}
	if t.Quota != (Quota{}) {
		quota := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		for _, field := range t.Quota.fields() {
			if field.value != "" {
				put(quota, field.name, text(field.value))
			}
		}
		put(entry, "quota", quota)
	}
	return entry
}

// text returns a scalar node that decodes to a string. It quotes a value that looks like a number or a boolean, also by
// the rules of YAML 1.1, in which on and off are booleans.
func text(value string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	if plain, err := sigsyaml.YAMLToJSON([]byte(value)); err != nil || !bytes.HasPrefix(plain, []byte(`"`)) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}
