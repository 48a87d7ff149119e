package engine

import "go.yaml.in/yaml/v3"

// literalSecrets returns the texts that a program marks as secret by fn::secret. The engine masks them, because messages
// reach more readers than the program does.
func literalSecrets(program []byte) []string {
	var document yaml.Node
	if yaml.Unmarshal(program, &document) != nil {
		return nil
	}
	var found []string
	var look func(node *yaml.Node, secret bool)
	look = func(node *yaml.Node, secret bool) {
		if secret && node.Kind == yaml.ScalarNode {
			found = append(found, node.Value)
		}
		for i, child := range node.Content {
			called := node.Kind == yaml.MappingNode && i%2 == 1 && node.Content[i-1].Value == "fn::secret"
			key := node.Kind == yaml.MappingNode && i%2 == 0
			look(child, !key && (secret || called))
		}
	}
	look(&document, false)
	return found
}
