package lint

import (
	"errors"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// textKeys are the keys, in lower case, of a kustomization file and of a plugin's configuration whose values are YAML
// themselves, or paths (sigs.k8s.io/kustomize/api/types and its builtin plugins).
var textKeys = []string{"patch", "jsonop", "patches", "patchesstrategicmerge", "generators", "transformers", "validators"}

const (
	tooManyValues = "holds more than %d values when its aliases are expanded"
	copying       = `is a patch with the operation "copy", by which an object doubles: write the value out`
)

// texts checks the YAML within a kustomization file or a plugin's configuration, which kustomize expands like a file.
func (c *checker) texts(file string, content []byte) {
	documents, _ := parse(content, c.limits.Nodes) // A broken file fails the build.
	for _, document := range documents {
		c.textsIn(file, "", document, map[*yaml.Node]bool{})
	}
}

// textsIn checks the texts at and below a node. Each anchor is entered once.
func (c *checker) textsIn(file, key string, node *yaml.Node, seen map[*yaml.Node]bool) {
	switch node.Kind {
	case yaml.AliasNode:
		if !seen[node.Alias] {
			seen[node.Alias] = true
			c.textsIn(file, key, node.Alias, seen)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			c.textsIn(file, node.Content[i].Value, node.Content[i+1], seen)
		}
	case yaml.SequenceNode, yaml.DocumentNode:
		for _, each := range node.Content {
			c.textsIn(file, key, each, seen)
		}
	case yaml.ScalarNode:
		if slices.Contains(textKeys, strings.ToLower(key)) {
			c.text(file, key, node.Value)
		}
	}
}

// text checks one text, and the texts within it. A path is a text without a collection.
func (c *checker) text(file, key, text string) {
	documents, err := parse([]byte(text), c.limits.Nodes)
	switch {
	case errors.Is(err, errExpands):
		c.report(file, key, tooManyValues, c.limits.Nodes)
		return
	case err != nil && isText(text):
		c.report(file, key, "is no YAML: %v", err)
		return
	case err != nil || !slices.ContainsFunc(documents, isCollection):
		return
	case slices.ContainsFunc(documents, copies):
		c.report(file, key, copying)
		return
	}
	c.inline[file] += values(documents, c.limits.Nodes)
	c.texts(file, []byte(text))
}

// copies tells whether a document is a JSON patch (RFC 6902) with the operation copy. kustomize does not bound the size of
// what is copied.
func copies(document *yaml.Node) bool {
	node := root(document)
	return node.Kind == yaml.SequenceNode && holdsCopy(node, map[*yaml.Node]bool{})
}

func holdsCopy(node *yaml.Node, seen map[*yaml.Node]bool) bool {
	if node.Kind == yaml.AliasNode {
		if seen[node.Alias] {
			return false
		}
		seen[node.Alias] = true
		return holdsCopy(node.Alias, seen)
	}
	for i, each := range node.Content {
		isOperation := node.Kind == yaml.MappingNode && i%2 == 1 && root(node.Content[i-1]).Value == "op"
		if isOperation && root(each).Value == "copy" || holdsCopy(each, seen) {
			return true
		}
	}
	return false
}
