package project

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/strata-platform/strata/operator/engine/message"
)

// Allowed lists the declarations that a team's projects may make. The engine reads the project's files as the language host
// for YAML reads them, and compares them with Allowed before the engine runs anything. The engine refuses a project in
// another language, because the declarations of such a project are known only once it runs.
//
// Allowed bounds declarations only. The rights of a run's identity bound the actions of the run.
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
	// ProgramFiles lists the file names of a program, in the order in which the language host looks for them.
	ProgramFiles = []string{"Main.json", "Main.yaml", "Pulumi.yaml"}

	// packageSource matches a package that is given by a name, a version, or a name and a version, and by nothing else.
	packageSource = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9-]*(@v?[0-9][a-zA-Z0-9.+-]*)?|v?[0-9]+\.[0-9]+\.[0-9]+[a-zA-Z0-9.+-]*)$`)
)

// Offence is a declaration that the project may not make, and its place.
type Offence struct {
	// File is the path of the file, relative to the folder of the project's files. Line is zero if no single line contains
	// the declaration.
	File string
	Line int

	// Message names the declaration in one line, without the rule.
	Message string

	// Kind is the rule that the declaration breaks.
	Kind Rule
}

// Rule identifies a rule about declarations.
type Rule int

const (
	aboutTypes Rule = iota
	aboutStacks
	aboutProviders
	aboutPlugins
	aboutRuntimes
	aboutNames
	aboutTaking
)

// Refusal returns the rule that an offence breaks, in the wording of the admission policy for Programs.
func (a *Allowed) Refusal(broken Rule) string {
	begin, end := "Programs of team "+a.Team+" ", "; ask "+a.Contact
	switch broken {
	case aboutStacks:
		return begin + "may not read other stacks or declare providers" + end
	case aboutProviders:
		return begin + "run with the providers of the team" + end
	case aboutPlugins:
		return begin + "may name versions of packages, but no addresses" + end
	case aboutRuntimes:
		return begin + "must be written in YAML, which shows their resources before they run" + end
	case aboutNames:
		return begin + fmt.Sprintf("must name their databases and users %s, or %[1]s_ followed by letters, digits, _ and -, up to %d characters for a database and %d for a user",
			a.Team, databaseNameSize, userNameSize) + end
	case aboutTaking:
		return begin + "create their own databases and users, and may not take over existing ones" + end
	default:
		return begin + "may declare " + strings.Join(a.Written, ", ") + "; for others ask " + a.Contact
	}
}

// Error implements the error interface.
func (o *Offence) Error() string { return o.Message }

// Offence returns the project's first [*Offence], or the error of a file that it cannot read.
func (p *Project) Offence(root *os.Root, allowed *Allowed) error {
	if name := p.Language(); name != YAML {
		return &Offence{File: p.File, Message: "the runtime is " + name, Kind: aboutRuntimes}
	}
	if err := p.ownPlugins(root); err != nil {
		return err
	}
	dir, err := p.ProgramFolder(root)
	if err != nil {
		return err
	}
	document, file, err := p.program(root)
	if err != nil {
		return err
	}
	if document != nil {
		if found := undeclarable(document, allowed); found != nil {
			found.File = file
			return found
		}
	}
	return declaredPackages(root, dir)
}

// program returns the program in YAML and its file, or nil if there is none.
func (p *Project) program(root *os.Root) (document *yaml.Node, file string, err error) {
	dir, err := p.ProgramFolder(root)
	if err != nil {
		return nil, "", err
	}
	for _, name := range ProgramFiles {
		file := path.Join(dir, name)
		data, err := ReadFile(root, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, "", fmt.Errorf("its %s cannot be read: %w", file, err)
		}
		document = &yaml.Node{}
		if err := yaml.Unmarshal(data, document); err != nil {
			return nil, "", fmt.Errorf("its %s is not valid: %s", file, message.YAMLFault(err))
		}
		return document, file, nil
	}
	return nil, "", nil
}

// ProgramFolder returns the folder from which the language host reads the program.
func (p *Project) ProgramFolder(root *os.Root) (string, error) {
	main := path.Join(path.Dir(p.File), filepath.ToSlash(p.Main))
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
func (p *Project) ownPlugins(root *os.Root) error {
	data, err := ReadFile(root, p.File)
	if err != nil {
		return fmt.Errorf("its %s cannot be read: %w", p.File, err)
	}
	var file map[string]any
	if err := yaml.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("its %s is not valid: %s", p.File, message.YAMLFault(err))
	}
	for key, value := range file {
		switch {
		case strings.EqualFold(key, "plugins") && value != nil:
			return &Offence{p.File, message.LineOf(data, key), "plugins are among the project's files", aboutPlugins}
		case strings.EqualFold(key, "packages") && value != nil:
			packages, _ := value.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(packages)) {
				source, _ := packages[name].(string)
				_, local := root.Stat(filepath.Join(filepath.FromSlash(path.Dir(p.File)), source))
				if !packageSource.MatchString(source) || local == nil {
					return &Offence{p.File, message.LineOf(data, key, name), fmt.Sprintf("package %q comes from %v", name, packages[name]), aboutPlugins}
				}
			}
			if packages == nil {
				return &Offence{p.File, message.LineOf(data, key), "packages is not a map", aboutPlugins}
			}
		}
	}
	return nil
}
