package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/strata-platform/strata/operator/engine/message"
)

// Allowed lists what a team's projects may declare. The engine reads the project's files as the language host for YAML reads
// them, and compares them with Allowed before the engine runs anything. The engine refuses a project in another language,
// because the declarations of such a project are known only once it runs.
//
// Allowed bounds declarations only. The rights of the identity that a run has bound what the run does.
type Allowed struct {
	// Types are resource types as a program writes them, Prefixes are prefixes of such types. Types of the package pulumi are
	// never allowed.
	Types, Prefixes []string

	// Team, Written and Contact appear in refusals. Team is the team's name, Written holds the allowed types as people write
	// them, and Contact is the contact for requests of other types.
	Team, Contact string
	Written       []string
}

func (a *Allowed) has(kind string) bool {
	return !isPulumi(kind) && (slices.Contains(a.Types, kind) ||
		slices.ContainsFunc(a.Prefixes, func(prefix string) bool { return strings.HasPrefix(kind, prefix) }))
}

// isPulumi reports whether a type or a function belongs to the Pulumi engine itself, such as stack references and providers.
func isPulumi(token string) bool { return strings.HasPrefix(strings.ToLower(token), "pulumi:") }

var (
	// programFiles lists the file names of a program, in the order in which the language host looks for them.
	programFiles = []string{"Main.json", "Main.yaml", "Pulumi.yaml"}

	// packageSource matches a package that is given by a name, a version, or a name and a version, and by nothing else.
	packageSource = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9-]*(@v?[0-9][a-zA-Z0-9.+-]*)?|v?[0-9]+\.[0-9]+\.[0-9]+[a-zA-Z0-9.+-]*)$`)
)

// offence is a declaration that the project may not make, and its place.
type offence struct {
	file    string
	line    int
	message string

	// kind is the rule that the declaration breaks.
	kind rule
}

// rule identifies a rule about declarations.
type rule int

const (
	aboutTypes rule = iota
	aboutStacks
	aboutProviders
	aboutPlugins
	aboutRuntimes
	aboutNames
	aboutTaking
)

// refusal returns the rule that an offence breaks, in the wording of the admission policy for Programs.
func (a *Allowed) refusal(broken rule) string {
	begin, end := "Programs of team "+a.Team+" ", "; ask "+a.Contact
	switch broken {
	case aboutStacks:
		return begin + "may read no other stack and bring no provider of their own" + end
	case aboutProviders:
		return begin + "run with the providers of the team" + end
	case aboutPlugins:
		return begin + "may name versions of packages, and no addresses" + end
	case aboutRuntimes:
		return begin + "are written in YAML, of which it is known what they declare before they run" + end
	case aboutNames:
		return begin + fmt.Sprintf("name databases and users %s, or %[1]s_ and then letters, digits, _ and -, up to %d characters for a database and %d for a user",
			a.Team, databaseNameSize, userNameSize) + end
	case aboutTaking:
		return begin + "make their own databases and users, and take over none" + end
	default:
		return begin + "may declare " + strings.Join(a.Written, ", ") + "; for others ask " + a.Contact
	}
}

// Error implements the error interface.
func (o *offence) Error() string { return o.message }

// checkAllowed refuses a project with a declaration that Allowed does not list. A nil Allowed permits everything.
func (r *run) checkAllowed(root *os.Root, p *project) error {
	if r.Allowed == nil {
		return nil
	}
	err := p.offence(root, r.Allowed)
	found := (*offence)(nil)
	switch {
	case err == nil:
		return nil
	case errors.As(err, &found):
		return r.failure(NotAllowed, "%s. %s", message.Place(found.file, found.line, found.message), r.Allowed.refusal(found.kind))
	}
	return err
}

// offence returns the project's first [*offence], or the error of a file that it cannot read.
func (p *project) offence(root *os.Root, allowed *Allowed) error {
	if name := p.runtime(); name != yamlRuntime {
		return &offence{file: p.file, message: "the runtime is " + name, kind: aboutRuntimes}
	}
	if err := p.ownPlugins(root); err != nil {
		return err
	}
	dir, err := p.programFolder(root)
	if err != nil {
		return err
	}
	for _, name := range programFiles {
		file := path.Join(dir, name)
		data, err := readFile(root, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("its %s cannot be read: %w", file, err)
		}
		var document yaml.Node
		if err := yaml.Unmarshal(data, &document); err != nil {
			return fmt.Errorf("its %s is not valid: %s", file, message.YAMLFault(err))
		}
		if found := undeclarable(&document, allowed); found != nil {
			found.file = file
			return found
		}
		break
	}
	return declaredPackages(root, dir)
}

// programFolder returns the folder from which the language host reads the program.
func (p *project) programFolder(root *os.Root) (string, error) {
	main := path.Join(path.Dir(p.file), filepath.ToSlash(p.Main))
	if p.Main == "" {
		return main, nil
	}
	info, err := root.Stat(filepath.FromSlash(main))
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		main = path.Dir(main)
	}
	return main, nil
}

// ownPlugins refuses a project that contains plugins or says where to get them.
func (p *project) ownPlugins(root *os.Root) error {
	data, err := readFile(root, p.file)
	if err != nil {
		return fmt.Errorf("its %s cannot be read: %w", p.file, err)
	}
	var file map[string]any
	if err := yaml.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("its %s is not valid: %s", p.file, message.YAMLFault(err))
	}
	for key, value := range file {
		switch {
		case strings.EqualFold(key, "plugins") && value != nil:
			return &offence{p.file, message.LineOf(data, key), "plugins are among the project's files", aboutPlugins}
		case strings.EqualFold(key, "packages") && value != nil:
			packages, _ := value.(map[string]any)
			for _, name := range sortedKeys(packages) {
				source, _ := packages[name].(string)
				_, local := root.Stat(filepath.Join(filepath.FromSlash(path.Dir(p.file)), source))
				if !packageSource.MatchString(source) || local == nil {
					return &offence{p.file, message.LineOf(data, key, name), fmt.Sprintf("package %q comes from %v", name, packages[name]), aboutPlugins}
				}
			}
			if packages == nil {
				return &offence{p.file, message.LineOf(data, key), "packages is no map", aboutPlugins}
			}
		}
	}
	return nil
}

// undeclarable returns the first declaration of a program that Allowed does not permit. The language host ignores the case
// of keys, and does not support YAML aliases. So each declaration is written out at the node that undeclarable reads.
func undeclarable(node *yaml.Node, allowed *Allowed) *offence {
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
		var found *offence
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

func undeclarableResource(resources *yaml.Node, allowed *Allowed) *offence {
	for i := 0; resources.Kind == yaml.MappingNode && i+1 < len(resources.Content); i += 2 {
		name, resource := resources.Content[i].Value, resources.Content[i+1]
		for _, kind := range members(resource, "type") {
			if allowed.has(kind.Value) {
				continue
			}
			found := &offence{line: kind.Line, message: fmt.Sprintf("resource %q is of type %s", name, kind.Value)}
			if isPulumi(kind.Value) {
				found.kind = aboutStacks
			}
			return found
		}
		if found := misnamed(name, resource, allowed); found != nil {
			return found
		}
		for _, options := range members(resource, "options") {
			for _, provider := range append(members(options, "provider"), members(options, "providers")...) {
				return &offence{line: provider.Line, message: fmt.Sprintf("resource %q names a provider in its options", name), kind: aboutProviders}
			}
		}
	}
	return nil
}

// undeclarableKey returns an offence for a key that is forbidden everywhere in a program.
func undeclarableKey(key, value *yaml.Node) *offence {
	function := ""
	switch lower := strings.ToLower(key.Value); lower {
	case "plugindownloadurl":
		return &offence{line: key.Line, message: "pluginDownloadURL is set", kind: aboutPlugins}
	case "fn::stackreference":
		return &offence{line: key.Line, message: key.Value + " is called", kind: aboutStacks}
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
		return &offence{line: key.Line, message: "function " + function + " is called", kind: aboutStacks}
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
		data, err := readFile(root, file)
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
			return &offence{file: file, message: fmt.Sprintf("package %q comes from elsewhere, or acts as another", declared.Name), kind: aboutPlugins}
		}
		return nil
	})
}
