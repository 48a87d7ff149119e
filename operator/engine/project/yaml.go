package project

import (
	"fmt"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// MaxExpanded bounds the size of a YAML document with its aliases expanded, in bytes. A
// document of 1 MB can expand to many terabytes.
const MaxExpanded = 8 << 20

// DecodeYAML decodes a document from a team. DecodeYAML rejects a document that expands
// to more than MaxExpanded bytes.
func DecodeYAML(data []byte, into any) error {
	if err := checkExpansion(data); err != nil {
		return err
	}
	return yaml.Unmarshal(data, into)
}

// StrictJSON converts a document from a team to JSON. StrictJSON rejects a document that
// expands to more than MaxExpanded bytes, or that has a key twice.
func StrictJSON(data []byte) ([]byte, error) {
	if err := checkExpansion(data); err != nil {
		return nil, err
	}
	return yaml.YAMLToJSONStrict(data)
}

func checkExpansion(data []byte) error {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(data, &document); err != nil {
		return err
	}
	if size := (expansion{}).of(&document); size > MaxExpanded {
		return fmt.Errorf("its aliases make it larger than %d bytes: write out fewer", MaxExpanded)
	}
	return nil
}

// expansion caches the sizes of anchored nodes. The size -1 marks a node whose size is
// being computed.
type expansion map[*yamlv3.Node]int

// of returns the size of a node. For a node that is larger than MaxExpanded or contains
// itself, it returns some number larger than MaxExpanded.
func (e expansion) of(node *yamlv3.Node) int {
	if node.Kind == yamlv3.AliasNode {
		node = node.Alias
		if known, seen := e[node]; seen {
			if known < 0 {
				return MaxExpanded + 1
			}
			return known
		}
	}
	if node.Anchor != "" {
		e[node] = -1
	}
	size := len(node.Value) + 1
	for _, child := range node.Content {
		if size += e.of(child); size > MaxExpanded {
			break
		}
	}
	if node.Anchor != "" {
		e[node] = size
	}
	return size
}
