package engine

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// MySQL's limits of names, in characters: longer ones it refuses or cuts off.
const (
	databaseNameSize = 64
	userNameSize     = 32
)

var (
	// databaseType and userType match the types of databases and their users in each spelling that Pulumi takes, which
	// folds cases as regular expressions do.
	databaseType = regexp.MustCompile(`(?i)^gcp:sql(/[^:]*)?:database$`)
	userType     = regexp.MustCompile(`(?i)^gcp:sql(/[^:]*)?:user$`)

	// databaseName matches what a name may hold, with parts in it that are known only when the program runs.
	databaseName = regexp.MustCompile(`^[A-Za-z0-9_-]+(\$\{[^{}]+\}[A-Za-z0-9_-]*)*$`)

	// printable matches what a message may repeat: a policy cannot escape the rest.
	printable = regexp.MustCompile(`^[ -~]*$`)

	// reference matches a reference in a name. Its text is known only when the program
	// runs.
	reference = regexp.MustCompile(`\$\{[^{}]+\}`)
)

// misnamed finds what is wrong with the name of a database, or of its user, on an instance that the teams share: a team
// makes those that begin with its name and an underscore, which no team's name has in it, and takes over none. Of other
// resources it finds nothing.
func misnamed(name string, resource *yaml.Node, allowed *Allowed) *offence {
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
		return &offence{line: node.Line, kind: aboutTaking, message: fmt.Sprintf("resource %q reads or imports what exists already", name)}
	}
	given, line := literalName(resource)
	if given == "" {
		return &offence{line: line, kind: aboutNames, message: fmt.Sprintf("resource %q has no name as plain text", name)}
	}
	if !printable.MatchString(given) {
		return &offence{line: line, kind: aboutNames, message: fmt.Sprintf("resource %q has a name with other characters than printable ASCII", name)}
	}
	if wrong := allowed.wrongName(given, limit); wrong != "" {
		return &offence{line: line, kind: aboutNames, message: fmt.Sprintf("resource %q has the name %q, which %s", name, given, wrong)}
	}
	return nil
}

// literalName returns the name that a resource's properties give it, and its line: that of the resource, and no name, where
// there is not exactly one, or it is not plain text.
func literalName(resource *yaml.Node) (string, int) {
	properties := members(resource, "properties")
	if len(properties) != 1 {
		return "", resource.Line
	}
	// Among properties, unlike elsewhere, cases matter: without a name in this one the provider makes one up.
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

// wrongName says why the team may not give a name, in the words of the admission policy; empty where it may.
func (a *Allowed) wrongName(name string, limit int) string {
	first, _, _ := strings.Cut(name, "_")
	own := first == a.Team
	switch {
	case strings.Contains(first, "$"):
		return "begins with what is known only when it runs"
	case !databaseName.MatchString(name), own && len(reference.ReplaceAllString(name, "")) > limit:
		return "is too long or has other characters"
	case !own:
		return "only team " + first + " may use"
	}
	return ""
}
