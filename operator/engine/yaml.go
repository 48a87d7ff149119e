package engine

import (
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// maxExpanded bounds the size of a YAML document with its aliases written out, in
// bytes. A document of 1 MB can stand for one of many terabytes.
const maxExpanded = 8 << 20

// decodeYAML decodes a document that a team wrote.
func decodeYAML(data []byte, into any) error {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(data, &document); err != nil {
		return err
	}
	if size := (expansion{}).of(&document); size > maxExpanded {
		return fmt.Errorf("its aliases make it larger than %d bytes: write out fewer", maxExpanded)
	}
	return yaml.Unmarshal(data, into)
}

// expansion remembers the sizes of what aliases stand for. A size of -1 is that of a
// node that is being looked at.
type expansion map[*yamlv3.Node]int

// of returns the size of a node, or something larger than maxExpanded for one that
// is larger, or without end.
func (e expansion) of(node *yamlv3.Node) int {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
		if known, seen := e[node]; seen {
			if known < 0 {
				return maxExpanded + 1
			}
			return known
		}
	}
	if node.Anchor != "" {
		e[node] = -1
	}
	size := len(node.Value) + 1
	for _, child := range node.Content {
		if size += e.of(child); size > maxExpanded {
			break
		}
	}
	if node.Anchor != "" {
		e[node] = size
	}
	return size
}
