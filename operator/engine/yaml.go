package engine

import (
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// maxExpanded bounds the size of a YAML document with its aliases expanded, in bytes. A
// document of 1 MB can expand to many terabytes.
const maxExpanded = 8 << 20

// decodeYAML decodes a document from a team. decodeYAML rejects a document that expands
// to more than maxExpanded bytes.
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

// expansion caches the sizes of anchored nodes. The size -1 marks a node whose size is
// being computed.
type expansion map[*yamlv3.Node]int

// of returns the size of a node. For a node that is larger than maxExpanded or contains
// itself, it returns some number larger than maxExpanded.
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
