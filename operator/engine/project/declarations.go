package project

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"go.yaml.in/yaml/v3"
)

// undeclarable returns the first declaration of a program that Allowed does not permit. The language host ignores the case
// of keys, and does not support YAML aliases. So each declaration is written out at the node that undeclarable reads.
func undeclarable(node *yaml.Node, allowed *Allowed) *Offence {
	if node.Kind == yaml.DocumentNode {
		if len(node.Content) == 0 {
			return nil
		}
		node = node.Content[0]
		for _, resources := range append(members(node, "resources"), componentResources(node)...) {
			if found := undeclarableResource(resources, allowed); found != nil {
				return found
			}
		}
	}
	for i, child := range node.Content {
		var found *Offence
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			found = undeclarableKey(child, node.Content[i+1])
		} else {
			found = undeclarable(child, allowed)
		}
		if found != nil {
			return found
		}
	}
	return nil
}

// undeclarableResource returns the first offence of the resources: a type or a name that the team may not use, or a provider in
// the options, which could act under another identity.
func undeclarableResource(resources *yaml.Node, allowed *Allowed) *Offence {
	for i := 0; resources.Kind == yaml.MappingNode && i+1 < len(resources.Content); i += 2 {
		name, resource := resources.Content[i].Value, resources.Content[i+1]
		for _, kind := range members(resource, "type") {
			if allowed.has(kind.Value) {
				continue
			}
			found := &Offence{Line: kind.Line, Message: fmt.Sprintf("resource %q is of type %s", name, kind.Value)}
			if isPulumi(kind.Value) {
				found.Kind = aboutStacks
			}
			return found
		}
		if found := misnamed(name, resource, allowed); found != nil {
			return found
		}
		for _, options := range members(resource, "options") {
			for _, provider := range append(members(options, "provider"), members(options, "providers")...) {
				return &Offence{Line: provider.Line, Message: fmt.Sprintf("resource %q names a provider in its options", name), Kind: aboutProviders}
			}
		}
	}
	return nil
}

// undeclarableKey returns an offence for a key that is forbidden everywhere in a program.
func undeclarableKey(key, value *yaml.Node) *Offence {
	function := ""
	switch lower := strings.ToLower(key.Value); lower {
	case "plugindownloadurl":
		return &Offence{Line: key.Line, Message: "pluginDownloadURL is set", Kind: aboutPlugins}
	case "fn::stackreference":
		return &Offence{Line: key.Line, Message: key.Value + " is called", Kind: aboutStacks}
	case "fn::invoke":
		for _, called := range members(value, "function") {
			if function = called.Value; isPulumi(function) {
				break
			}
		}
	default:
		_, function, _ = strings.Cut(lower, "fn::")
	}
	if isPulumi(function) {
		return &Offence{Line: key.Line, Message: "function " + function + " is called", Kind: aboutStacks}
	}
	return nil
}

// componentResources returns the resources sections of the components in a file.
func componentResources(file *yaml.Node) []*yaml.Node {
	var all []*yaml.Node
	for _, components := range members(file, "components") {
		for i := 1; components.Kind == yaml.MappingNode && i < len(components.Content); i += 2 {
			all = append(all, members(components.Content[i], "resources")...)
		}
	}
	return all
}

// members returns the values of a key, whose case it ignores. members returns all values of a key that occurs more than
// once.
func members(node *yaml.Node, key string) []*yaml.Node {
	var values []*yaml.Node
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if strings.EqualFold(node.Content[i].Value, key) {
			values = append(values, node.Content[i+1])
		}
	}
	return values
}

// declaredPackages refuses package declarations that say where to get a plugin, or that parameterize or extend a plugin. The
// language host looks for package declarations in all files below the program's folder.
func declaredPackages(root *os.Root, dir string) error {
	return fs.WalkDir(root.FS(), dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(file) != ".yaml" {
			return err
		}
		data, err := ReadFile(root, file)
		if err != nil {
			return fmt.Errorf("its %s cannot be read: %w", file, err)
		}
		var declared struct {
			Version          int       `yaml:"packageDeclarationVersion"`
			Name             string    `yaml:"name"`
			DownloadURL      string    `yaml:"downloadUrl"`
			Parameterization yaml.Node `yaml:"parameterization"`
			Extension        yaml.Node `yaml:"extension"`
		}
		if yaml.Unmarshal(data, &declared) != nil || declared.Version != 1 {
			return nil
		}
		if declared.DownloadURL != "" || !declared.Parameterization.IsZero() || !declared.Extension.IsZero() || !packageSource.MatchString(declared.Name) {
			return &Offence{File: file, Message: fmt.Sprintf("package %q sets the address or the parameters of its plugin", declared.Name), Kind: aboutPlugins}
		}
		return nil
	})
}
