package message

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Place prefixes a message about a fault with the file and the line of that fault. Place omits line zero.
func Place(file string, line int, message string) string {
	if line == 0 {
		return file + ": " + message
	}
	return fmt.Sprintf("%s line %d: %s", file, line, message)
}

// LineOf returns the line of the node at a path of keys, or zero if there is no such node.
func LineOf(content []byte, keys ...string) int {
	var document yaml.Node
	if yaml.Unmarshal(content, &document) != nil || len(document.Content) == 0 {
		return 0
	}
	node, line := document.Content[0], 0
	for _, key := range keys {
		next := node
		for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
			if node.Content[i].Value == key {
				next, line = node.Content[i+1], node.Content[i].Line
			}
		}
		node = next
	}
	return line
}
