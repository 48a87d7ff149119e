package lint

import (
	"errors"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// textKeys are the keys, in lower case, whose values in kustomization files and plugin configurations are YAML texts
// or paths (sigs.k8s.io/kustomize/api/types and its builtin plugins).
var textKeys = []string{"patch", "jsonop", "patches", "patchesstrategicmerge", "generators", "transformers", "validators"}

const (
	tooManyValues = "contains more than %d values when its aliases are expanded"
	copying       = `copies a value (operation "copy" of a JSON patch), which can double an object: write the value itself`
)

// texts checks the YAML texts within a kustomization file or a plugin's configuration, because kustomize expands them
// like files. It returns the number of values in the texts.
func (c *checker) texts(file string, content []byte) int {
	t := &texts{checker: c, file: file, known: map[*yaml.Node]int{}}
	return t.within(content, 0)
}

// deepestText is how deep kustomize reads texts within texts: a patch in the inline plugin of a kustomization file.
const deepestText = 2

// texts holds the state of the check of one file.
type texts struct {
	*checker
	file string
	// known maps the node of a text to its number of values. Aliases may refer to the node many times.
	known map[*yaml.Node]int
}

func (t *texts) within(content []byte, depth int) (count int) {
	documents, _ := parse(content, t.limits.Nodes) // A broken file fails the build.
	for _, document := range documents {
		count = min(count+t.below("", document, depth), t.limits.Nodes+1)
	}
	return count
}

// below counts the values in the texts at and below a node. Each use of an alias counts. The parser has limited the number
// of nodes.
func (t *texts) below(key string, node *yaml.Node, depth int) (count int) {
	switch node.Kind {
	case yaml.AliasNode:
		return t.below(key, node.Alias, depth)
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			count = min(count+t.below(root(node.Content[i]).Value, node.Content[i+1], depth), t.limits.Nodes+1)
		}
	case yaml.SequenceNode, yaml.DocumentNode:
		for _, each := range node.Content {
			count = min(count+t.below(key, each, depth), t.limits.Nodes+1)
		}
	case yaml.ScalarNode:
		if !slices.Contains(textKeys, strings.ToLower(key)) || depth == deepestText {
			return 0
		}
		known, ok := t.known[node]
		if !ok {
			known = t.text(key, node.Value, depth+1)
			t.known[node] = known
		}
		return known
	}
	return count
}

// text checks one text, and the texts within it. A text without a collection is a path.
func (t *texts) text(key, text string, depth int) int {
	documents, err := parse([]byte(text), t.limits.Nodes)
	switch {
	case errors.Is(err, errExpands):
		t.report(t.file, key, tooManyValues, t.limits.Nodes)
		return 0
	case err != nil && isText(text):
		t.report(t.file, key, "is not valid YAML: %v", err)
		return 0
	case err != nil || !slices.ContainsFunc(documents, isCollection):
		return 0
	case slices.ContainsFunc(documents, copies):
		t.report(t.file, key, copying)
		return 0
	}
	return values(documents, t.limits.Nodes) + t.within([]byte(text), depth)
}

// copies reports whether a document is a JSON patch (RFC 6902) with a copy operation. kustomize does not bound the
// size of the copied values.
func copies(document *yaml.Node) bool {
	node := root(document)
	return node.Kind == yaml.SequenceNode && holdsCopy(node)
}

func holdsCopy(node *yaml.Node) bool {
	if node.Kind == yaml.AliasNode {
		return holdsCopy(node.Alias)
	}
	for i, each := range node.Content {
		isOperation := node.Kind == yaml.MappingNode && i%2 == 1 && root(node.Content[i-1]).Value == "op"
		if isOperation && root(each).Value == "copy" || holdsCopy(each) {
			return true
		}
	}
	return false
}
