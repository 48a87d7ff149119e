package userfile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// errStyle is the error of a file that a change by lines would break.
var errStyle = errors.New("its lists are not written as blocks with a line for each entry: run `kubectl config view --raw` into a new file, and name that in KUBECONFIG")

// section returns the list of a top-level key of a kubeconfig; nil without the key, or if the key has no value.
func section(text, name string) (key, list *yaml.Node, err error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, nil, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode || document.Content[0].Style&yaml.FlowStyle != 0 {
		return nil, nil, errStyle
	}
	pairs := document.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i].Value != name {
			continue
		}
		list := pairs[i+1]
		empty := list.Tag == "!!null" || list.Kind == yaml.SequenceNode && len(list.Content) == 0
		switch {
		case empty && (list.Line <= pairs[i].Line || list.Value == ""):
			return pairs[i], nil, nil
		case empty || list.Kind != yaml.SequenceNode || list.Style&yaml.FlowStyle != 0 || list.Line == pairs[i].Line:
			return nil, nil, errStyle
		}
		return pairs[i], list, nil
	}
	return nil, nil, nil
}

// with inserts an entry of one line at the beginning of a list.
func with(text, name, entry string) (string, error) {
	key, list, err := section(text, name)
	if err != nil {
		return "", err
	}
	lines := strings.SplitAfter(text, "\n")
	switch {
	case list != nil:
		indent := strings.Repeat(" ", list.Column-1)
		lines = slices.Insert(lines, list.Line-1, indent+"- "+entry+"\n")
	case key != nil:
		// The key has no entries: "users:", "users: []" or "users: null".
		lines[key.Line-1] = name + ":\n- " + entry + "\n"
	default:
		if last := &lines[len(lines)-1]; *last != "" {
			*last += "\n"
		}
		lines = append(lines, name+":\n- "+entry+"\n")
	}
	return verified(strings.Join(lines, ""))
}

// without removes the entries of a name from the three lists, and reports whether there were any.
func without(text, name string) (after string, found bool, err error) {
	for _, each := range []string{"clusters", "contexts", "users"} {
		for {
			key, list, err := section(text, each)
			if err != nil {
				return "", false, err
			}
			if list == nil {
				break
			}
			i := slices.IndexFunc(list.Content, func(entry *yaml.Node) bool { return nameOf(entry) == name })
			if i < 0 {
				break
			}
			found = true
			lines := strings.SplitAfter(text, "\n")
			lines = slices.Delete(lines, list.Content[i].Line-1, lastLine(list.Content[i]))
			if len(list.Content) == 1 {
				lines[key.Line-1] = each + ": []\n"
			}
			if text, err = verified(strings.Join(lines, "")); err != nil {
				return "", false, err
			}
		}
	}
	return text, found, nil
}

// nameOf returns the field name of an entry.
func nameOf(entry *yaml.Node) string {
	for i := 0; i+1 < len(entry.Content); i += 2 {
		if entry.Content[i].Value == "name" {
			return entry.Content[i+1].Value
		}
	}
	return ""
}

// lastLine returns the number of the last line of a node. The values of a kubeconfig are single lines.
func lastLine(node *yaml.Node) int {
	last := node.Line + strings.Count(strings.TrimRight(node.Value, "\n"), "\n")
	for _, below := range node.Content {
		last = max(last, lastLine(below))
	}
	return last
}

// verified returns a text that is still YAML.
func verified(text string) (string, error) {
	var value map[string]any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return "", fmt.Errorf("%w (%w)", errStyle, err)
	}
	return text, nil
}
