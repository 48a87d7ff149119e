package engine

import "go.yaml.in/yaml/v3"

// literalSecrets returns the texts that a program itself marks as secret, by fn::secret. The program can be read where it
// lies; messages go further.
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
