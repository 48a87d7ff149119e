package lint

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// builtins are the plugins that Flux's builds run, without the Helm plugin (kustomize,
// api/internal/plugins/builtinhelpers).
var builtins = []string{
	"AnnotationsTransformer", "ConfigMapGenerator", "HashTransformer", "IAMPolicyGenerator", "ImageTagTransformer",
	"LabelTransformer", "NamespaceTransformer", "PatchJson6902Transformer", "PatchStrategicMergeTransformer", "PatchTransformer",
	"PrefixSuffixTransformer", "PrefixTransformer", "ReplacementTransformer", "ReplicaCountTransformer", "SecretGenerator",
	"SortOrderTransformer", "SuffixTransformer", "ValueAddTransformer",
}

// loadingKeys are the keys, in lower case, whose values in a plugin's configuration name files to load. The path of an
// object's field also has the key path, but never looks like an address.
var loadingKeys = []string{"path", "paths", "files", "envs", "env", "targetfilepath"}

// plugins checks the configuration of plugins: a generator, transformer or validator, inline or in a file. It rejects
// a folder, because the folder's build could generate a configuration that no file contains.
func (c *checker) plugins(file, field, value string) error {
	target, reason := locate(file, value)
	if isRemote(value) {
		c.report(file, field, "%s", reason)
		return nil
	}
	documents, err := parse([]byte(value), c.limits.Nodes)
	switch {
	case err != nil && isText(value):
		c.report(file, field, "is not valid YAML: %v", err)
	case err == nil && slices.ContainsFunc(documents, isCollection):
		c.configurations(file, field, file, documents)
	case reason != "":
		c.report(file, field, "%s", reason)
	case c.isFolder(target):
		c.report(file, field, "is the folder %q; name files with the configuration of plugins", short(value))
	case c.isFile(target):
		return c.pluginFile(target, file)
	}
	return nil
}

// pluginFile checks a file with the configuration of plugins. The file kustomization names it.
func (c *checker) pluginFile(file, kustomization string) error {
	content, err := c.read(file)
	if err != nil || content == nil {
		return err
	}
	c.inline[file] = c.texts(file, content)
	documents, err := parse(content, c.limits.Nodes)
	if err != nil {
		c.report(file, "", "configures plugins and is not valid YAML: %v", err)
		return nil
	}
	c.configurations(file, "", kustomization, documents)
	return nil
}

// configurations checks documents that each configure a plugin. Paths in them are relative to the kustomization file
// that refers to them.
func (c *checker) configurations(file, field, kustomization string, documents []*yaml.Node) {
	for _, document := range documents {
		if empty(document) {
			continue
		}
		version, kind := scalar(document, "apiVersion"), scalar(document, "kind")
		if version != "builtin" || !slices.Contains(builtins, kind) {
			c.report(file, field, "configures the plugin %q of %q; builds by Flux run only builtin plugins, without Helm", short(kind), short(version))
			continue
		}
		for _, each := range loaded(document, "") {
			if _, reason := locate(kustomization, each.value); reason != "" {
				c.report(file, strings.TrimPrefix(field+": "+kind+"."+each.field, ": "), "%s", reason)
			}
		}
	}
}

// loaded returns the values of loadingKeys below a node.
func loaded(node *yaml.Node, key string) []place {
	var found []place
	switch node.Kind {
	case yaml.AliasNode:
		return loaded(node.Alias, key)
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			found = append(found, loaded(node.Content[i+1], root(node.Content[i]).Value)...)
		}
	case yaml.SequenceNode, yaml.DocumentNode:
		for _, each := range node.Content {
			found = append(found, loaded(each, key)...)
		}
	case yaml.ScalarNode:
		name := strings.ToLower(key)
		if !slices.Contains(loadingKeys, name) || node.Value == "" || name == "paths" && isText(node.Value) && !isRemote(node.Value) {
			break
		}
		value := node.Value
		if name == "files" {
			value = fileSource(value)
		}
		found = append(found, place{field: key, value: value})
	}
	return found
}

// errExpands means that the aliases of a file expand to too many values.
var errExpands = errors.New("its aliases expand to too many values")

// parse returns the documents of a YAML or JSON text, with unexpanded aliases. If the aliases expand to more than limit
// values in total, it returns errExpands, because following them would take too long.
func parse(content []byte, limit int) (documents []*yaml.Node, err error) {
	defer func() {
		// The parser may panic on some broken input.
		if broken := recover(); broken != nil {
			err = fmt.Errorf("parse YAML: %v", broken)
		}
	}()
	known, values := map[*yaml.Node]int{}, 0
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		document := &yaml.Node{}
		switch err := decoder.Decode(document); {
		case errors.Is(err, io.EOF):
			return documents, nil
		case err != nil:
			return documents, err
		}
		if values += expanded(document, known, limit); values > limit {
			return nil, errExpands
		}
		decodeBinary(document)
		documents = append(documents, document)
	}
}

// decodeBinary decodes scalars with the tag !!binary, as a decoder does that reads them as strings.
func decodeBinary(node *yaml.Node) {
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!binary" {
		if decoded, err := base64.StdEncoding.DecodeString(node.Value); err == nil {
			node.Value, node.Tag = string(decoded), yaml.NodeTagString
		}
	}
	for _, each := range node.Content {
		decodeBinary(each)
	}
}

// root returns the root node of a document. It follows an alias.
func root(document *yaml.Node) *yaml.Node {
	for document.Kind == yaml.DocumentNode && len(document.Content) == 1 {
		document = document.Content[0]
	}
	if document.Kind == yaml.AliasNode {
		return document.Alias
	}
	return document
}

func empty(document *yaml.Node) bool {
	node := root(document)
	return node.Kind == 0 || node.Kind == yaml.DocumentNode || node.Tag == yaml.NodeTagNull
}

func isCollection(document *yaml.Node) bool {
	kind := root(document).Kind
	return kind == yaml.MappingNode || kind == yaml.SequenceNode
}

// scalar returns the value of a key of a document. For a repeated key it returns the last value.
func scalar(document *yaml.Node, key string) string {
	node, value := root(document), ""
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if found := root(node.Content[i+1]); root(node.Content[i]).Value == key && found.Kind == yaml.ScalarNode {
			value = found.Value
		}
	}
	return value
}
