// Package source finds the places of objects and fields in the files of a repository.
package source

import (
	"bytes"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile bounds the size of a file in bytes. A build refuses a larger one, and a parser needs a hundred times as much memory.
const maxFile = 1 << 20

// Place is a place in a file. Line and Column begin at one.
type Place struct {
	File         string
	Line, Column int
}

// ID identifies an object.
type ID struct{ APIVersion, Kind, Namespace, Name string }

// Files are the YAML files of a repository.
type Files struct {
	tree   fs.FS
	all    []*Document
	parsed map[string][]*yaml.Node
}

// Document is an object in a file.
type Document struct {
	file string
	node *yaml.Node
	id   ID
}

// Read reads the given files. It skips files that it cannot read, or that are larger than a build takes, and the rest of a file after an error: the build reports
// both.
func Read(tree fs.FS, names []string) *Files {
	f := &Files{tree: tree, parsed: map[string][]*yaml.Node{}}
	for _, name := range names {
		for _, node := range f.parse(name) {
			f.add(name, node)
		}
	}
	return f
}

// parse returns the documents of a file. It does not expand aliases.
func (f *Files) parse(name string) []*yaml.Node {
	if known, ok := f.parsed[name]; ok {
		return known
	}
	info, err := fs.Lstat(f.tree, name)
	if err != nil || info.Size() > maxFile {
		return nil
	}
	content, err := fs.ReadFile(f.tree, name)
	if err != nil {
		return nil
	}
	var all []*yaml.Node
	for documents := yaml.NewDecoder(bytes.NewReader(content)); ; {
		var document yaml.Node
		if documents.Decode(&document) != nil {
			break
		}
		if len(document.Content) > 0 {
			all = append(all, document.Content[0])
		}
	}
	f.parsed[name] = all
	return all
}

func (f *Files) add(file string, node *yaml.Node) {
	id := ID{text(node, "apiVersion"), text(node, "kind"), "", ""}
	if strings.HasSuffix(id.Kind, "List") {
		if items := member(node, "items"); items != nil && items.Kind == yaml.SequenceNode {
			for _, each := range items.Content {
				f.add(file, each)
			}
		}
		return
	}
	if metadata := member(node, "metadata"); metadata != nil {
		id.Namespace, id.Name = text(metadata, "namespace"), text(metadata, "name")
	}
	if id.Kind != "" {
		f.all = append(f.all, &Document{file, node, id})
	}
}

// Find returns the document of a built object, or nil if no file contains the object: a generator made it. origin is the
// file that the object comes from, or "". kustomize may have changed the object's name and namespace.
func (f *Files) Find(origin string, id ID) *Document {
	var best *Document
	fit := -1
	for _, each := range f.all {
		if each.id.APIVersion != id.APIVersion || each.id.Kind != id.Kind || origin != "" && each.file != origin {
			continue
		}
		// The longest name that the build can have prefixed or suffixed wins.
		score := 0
		switch {
		case each.id.Name == id.Name:
			score = 1000
		case each.id.Name != "" && strings.Contains(id.Name, each.id.Name):
			score = len(each.id.Name)
		case origin == "":
			continue
		}
		if each.id.Namespace == id.Namespace {
			score++
		}
		if score > fit {
			best, fit = each, score
		}
	}
	return best
}

// Field returns the place of a field in the first document of a file, or the beginning of the file.
func (f *Files) Field(file, field string) Place {
	if all := f.parse(file); len(all) > 0 {
		return (&Document{file: file, node: all[0]}).Field(field)
	}
	return Place{file, 1, 1}
}

// Entry returns the place of a text in a list of a file, such as a file that a kustomization lists. It returns the beginning
// of the file if it finds none.
func (f *Files) Entry(file, entry string) Place {
	for _, document := range f.parse(file) {
		for i := 1; document.Kind == yaml.MappingNode && i < len(document.Content); i += 2 {
			for _, each := range document.Content[i].Content {
				if each.Kind == yaml.ScalarNode && path.Clean(each.Value) == path.Clean(entry) {
					return Place{file, each.Line, each.Column}
				}
			}
		}
	}
	return Place{file, 1, 1}
}

// Field returns the place of a field, such as spec.containers[0].name or spec.ports[name="http"].port: of its key, or of
// the innermost enclosing field that the file contains.
func (d *Document) Field(field string) Place {
	node, at := d.node, d.node
	for rest := field; rest != ""; {
		key, inner, after := step(node, rest)
		if inner == nil {
			break
		}
		node, at, rest = inner, key, after
	}
	return Place{d.file, max(at.Line, 1), max(at.Column, 1)}
}

// step follows the first part of a path. It returns the node that people see as the part, its value, and the rest.
func step(node *yaml.Node, rest string) (key, value *yaml.Node, after string) {
	if node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	if node.Kind == yaml.SequenceNode {
		inside, after, found := strings.Cut(strings.TrimPrefix(rest, "["), "]")
		if !found || !strings.HasPrefix(rest, "[") {
			// Paths of Programs have numbers between dots.
			inside, after, _ = strings.Cut(strings.TrimPrefix(rest, "["), ".")
		}
		for i, each := range node.Content {
			if inside == strconv.Itoa(i) || hasMember(each, inside) {
				return each, each, strings.TrimPrefix(after, ".")
			}
		}
		return nil, nil, ""
	}
	// Keys can contain dots and brackets, so the longest key of the file that fits wins. A step over an empty key does not shorten
	// the path, and aliases can lead back to the same map.
	longest := 0
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		name := node.Content[i].Value
		for _, written := range []string{name, "[" + name + "]", `["` + name + `"]`} {
			tail, fits := strings.CutPrefix(rest, written)
			if fits && len(name) > longest && (tail == "" || tail[0] == '.' || tail[0] == '[') {
				longest, key, value, after = len(name), node.Content[i], node.Content[i+1], strings.TrimPrefix(tail, ".")
			}
		}
	}
	return key, value, after
}

// hasMember reports whether a map has the values of a selector such as name="http",protocol="TCP". Values that the cluster
// fills in may be missing.
func hasMember(node *yaml.Node, selector string) bool {
	equal := 0
	for each := range strings.SplitSeq(selector, ",") {
		key, value, isPair := strings.Cut(each, "=")
		switch found := member(node, key); {
		case !isPair:
			return false
		case found != nil && found.Value != strings.Trim(value, `"`):
			return false
		case found != nil:
			equal++
		}
	}
	return equal > 0
}

func member(node *yaml.Node, key string) *yaml.Node {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

func text(node *yaml.Node, key string) string {
	if found := member(node, key); found != nil && found.Kind == yaml.ScalarNode {
		return found.Value
	}
	return ""
}
