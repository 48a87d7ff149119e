package project

import (
	"fmt"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits of MySQL for the length of names, in characters. MySQL refuses or truncates longer names.
const (
	databaseNameSize = 64
	userNameSize     = 32
)

var (
	// databaseType and userType match the resource types of databases and of their users in each spelling that Pulumi accepts.
	// Pulumi folds case as regular expressions do. The component Database of package strata creates a database and a user of one
	// name, so the shorter limit of users applies to it.
	databaseType = regexp.MustCompile(`(?i)^gcp:sql(/[^:]*)?:database$`)
	userType     = regexp.MustCompile(`(?i)^(gcp:sql(/[^:]*)?:user|strata(:[^:]*)?:database)$`)

	// databaseName matches a valid name. databaseName allows references, whose values are known only when the program runs.
	databaseName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\$\{[^{}]+\}[A-Za-z0-9_-]*)*$`)

	// printable matches text that a message may repeat. The message must equal that of the admission policy, and a policy
	// cannot escape other characters.
	printable = regexp.MustCompile(`^[ -~]*$`)

	// reference matches a reference in a name. The value of a reference is known only when the program runs.
	reference = regexp.MustCompile(`\$\{[^{}]+\}`)
)

// misnamed returns an offence if a database or a database user has a name that the team may not use on the instance that all
// teams share. A team uses names that consist of its own name, alone or followed by an underscore and more. No team's name
// contains an underscore. A team may not read or import existing databases and users. misnamed returns nil for resources of
// other types.
func misnamed(name string, resource *yaml.Node, allowed *Allowed) *Offence {
	limit := 0
	for _, kind := range members(resource, "type") {
		if databaseType.MatchString(kind.Value) {
			limit = databaseNameSize
		} else if userType.MatchString(kind.Value) {
			limit = userNameSize
		}
	}
	if limit == 0 {
		return nil
	}
	taken := members(resource, "get")
	for _, options := range members(resource, "options") {
		taken = append(taken, members(options, "import")...)
	}
	for _, node := range taken {
		return &Offence{Line: node.Line, Kind: aboutTaking, Message: fmt.Sprintf("resource %q reads or imports an existing resource", name)}
	}
	given, line := literalName(resource)
	if given == "" {
		return &Offence{Line: line, Kind: aboutNames, Message: fmt.Sprintf("resource %q has no plain-text name", name)}
	}
	if !printable.MatchString(given) {
		return &Offence{Line: line, Kind: aboutNames, Message: fmt.Sprintf("resource %q has a name with characters outside printable ASCII", name)}
	}
	if wrong := allowed.wrongName(given, limit); wrong != "" {
		return &Offence{Line: line, Kind: aboutNames, Message: fmt.Sprintf("resource %q has the name %q, which %s", name, given, wrong)}
	}
	return nil
}

// literalName returns the name in a resource's properties, and the line of that name. If the properties hold no name, more
// than one, or a name that is not plain text, it returns an empty name and the line of the resource.
func literalName(resource *yaml.Node) (string, int) {
	properties := members(resource, "properties")
	if len(properties) != 1 {
		return "", resource.Line
	}
	// Unlike other keys, keys of properties are case-sensitive. Without the key in lower case, the provider
	// generates a name.
	var found *yaml.Node
	for i := 0; properties[0].Kind == yaml.MappingNode && i+1 < len(properties[0].Content); i += 2 {
		key, value := properties[0].Content[i].Value, properties[0].Content[i+1]
		if key != "name" && strings.EqualFold(key, "name") || key == "name" && found != nil {
			return "", resource.Line
		}
		if key == "name" {
			found = value
		}
	}
	if found == nil || found.Kind != yaml.ScalarNode || found.ShortTag() != "!!str" {
		return "", resource.Line
	}
	return found.Value, found.Line
}

// wrongName returns the reason why the team may not use a name, in the wording of the admission policy. It returns an empty
// string if the team may use the name.
func (a *Allowed) wrongName(name string, limit int) string {
	first, _, _ := strings.Cut(name, "_")
	own := first == a.Team
	switch {
	case strings.Contains(first, "$"):
		return "begins with a value that is known only at run time"
	case !databaseName.MatchString(name), own && len(reference.ReplaceAllString(name, "")) > limit:
		return "is too long or has other characters"
	case !own:
		return "only team " + first + " may use"
	}
	return ""
}

// Types of the resources that [Project.Databases] returns, as states write them.
const (
	DatabaseType = "gcp:sql/database:Database"
	UserType     = "gcp:sql/user:User"
)

// Database is a database, or a user of databases, that a program declares.
type Database struct {
	// Resource is the logical name, and Type DatabaseType or UserType.
	Resource, Type string

	// Name and Instance are texts, which may contain references such as ${instance}. They are empty for other values.
	Name, Instance string

	// Inner says that the resource is in a component of the program. References are then to the inputs of this component.
	Inner bool
}

// Databases returns the databases and users that a program in YAML declares, and the default values of its config keys, as
// text. For programs in other languages, and for resources that the program only reads, it returns none.
func (p *Project) Databases(root *os.Root) (declared []Database, defaults map[string]string, err error) {
	if p.Language() != YAML {
		return nil, nil, nil
	}
	document, _, err := p.program(root)
	if err != nil || document == nil || len(document.Content) == 0 {
		return nil, nil, err
	}
	file := document.Content[0]
	own := members(file, "resources")
	for number, resources := range append(own, componentResources(file)...) {
		for i := 0; resources.Kind == yaml.MappingNode && i+1 < len(resources.Content); i += 2 {
			resource := resources.Content[i+1]
			found, component := Database{Resource: resources.Content[i].Value, Inner: number >= len(own)}, false
			for _, kind := range members(resource, "type") {
				if databaseType.MatchString(kind.Value) {
					found.Type = DatabaseType
				} else if userType.MatchString(kind.Value) {
					found.Type = UserType
					component = !strings.HasPrefix(strings.ToLower(kind.Value), "gcp:")
				}
			}
			if found.Type == "" || len(members(resource, "get")) > 0 {
				continue
			}
			for _, properties := range members(resource, "properties") {
				found.Name, found.Instance = textOf(properties, "name"), textOf(properties, "instance")
			}
			declared = append(declared, found)
			if component {
				// The component creates a database and a user of the same name.
				found.Type = DatabaseType
				declared = append(declared, found)
			}
		}
	}
	defaults = map[string]string{}
	for _, section := range append(members(file, "configuration"), members(file, "config")...) {
		for i := 0; section.Kind == yaml.MappingNode && i+1 < len(section.Content); i += 2 {
			if value := textOf(section.Content[i+1], "default"); value != "" {
				defaults[section.Content[i].Value] = value
			}
		}
	}
	return declared, defaults, nil
}

// textOf returns the value of a key if it is plain text, and otherwise "".
func textOf(node *yaml.Node, key string) string {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if value := node.Content[i+1]; node.Content[i].Value == key && value.Kind == yaml.ScalarNode {
			return value.Value
		}
	}
	return ""
}
