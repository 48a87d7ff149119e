package message

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// These match the messages of the language host for YAML about the properties of a resource, on one line. The first two
// messages name the type of the resource and the names of its properties, but not the resource.
var (
	// unassignable finds the path of the fault, if the message begins with one, the type, its properties and the reasons.
	unassignable    = regexp.MustCompile(`^(?:(\S+): )?([^ ]+:[^ ]+:[^ ]+) is not assignable from (\{.*?\}) Cannot assign '.*?' to '[^']*': (.*)$`)
	missingProperty = regexp.MustCompile(`Missing required property '([^']+)'`)
	wrongType       = regexp.MustCompile(`(?:^|\s)([\w-]+): Cannot assign (?:type )?'([^']*)' to (?:type )?'([^']*)'`)
	unknownProperty = regexp.MustCompile(`Property (\S+) does not exist on '([^']+)' Cannot assign '.*?' to '[^']*': Existing properties are: (.*?)(?: and \d+ others?)?(?: Error: .*)?$`)
	// laterErrors begins the further errors of the same run.
	laterErrors = regexp.MustCompile(` Error: .*$`)
)

// Properties rewrites a message about the properties of a resource in a Program: it names the resource, the wrong property
// and, if one is close, the right one. It returns other messages as they are.
func Properties(program []byte, text string) string {
	if match := unknownProperty.FindStringSubmatchIndex(text); match != nil {
		group := func(i int) string { return text[match[2*i]:match[2*i+1]] }
		known := strings.Split(group(3), ", ")
		return fmt.Sprintf("%s%s has no property %q (it has %s, among others)%s",
			text[:match[0]], group(2), group(1), group(3), DidYouMean(group(1), known))
	}
	match := unassignable.FindStringSubmatch(text)
	if match == nil {
		return text
	}
	kind, given, reasons := match[2], topLevel(match[3]), laterErrors.ReplaceAllString(match[4], "")
	var faults []string
	for _, missing := range missingProperty.FindAllStringSubmatch(reasons, -1) {
		faults = append(faults, fmt.Sprintf("the required property %q is missing%s", missing[1], insteadOf(missing[1], given)))
	}
	for _, wrong := range wrongType.FindAllStringSubmatch(reasons, -1) {
		faults = append(faults, fmt.Sprintf("%s is a %s and must be a %s", wrong[1], wrong[2], wrong[3]))
	}
	if len(faults) == 0 {
		faults = []string{reasons}
	}
	return Below(cmp.Or(match[1], resourceWith(program, kind, given)), kind+": "+strings.Join(faults, ", "))
}

// insteadOf returns the end of a message that names the given property that probably stands for a missing one.
func insteadOf(missing string, given []string) string {
	for _, each := range given {
		if DidYouMean(each, []string{missing}) != "" {
			return fmt.Sprintf(": did you mean it by %q?", ShortName(each))
		}
	}
	return ""
}

// topLevel returns the names in the description of an object's type, such as "{name: string, labels: {a: string}}", sorted.
func topLevel(kind string) []string {
	var names []string
	depth, start := 0, 0
	for i, c := range kind {
		switch c {
		case '{', '<', '(':
			depth++
		case '}', '>', ')':
			depth--
		}
		if depth == 1 && (c == '{' || c == ',') {
			start = i + 1
		}
		if depth == 1 && c == ':' && start > 0 {
			names = append(names, strings.TrimSpace(kind[start:i]))
			start = 0
		}
	}
	slices.Sort(names)
	return names
}

// resourceWith returns the path of the first resource in a program with a type and these properties, or "".
func resourceWith(program []byte, kind string, properties []string) string {
	var file struct {
		Resources yaml.Node `yaml:"resources"`
	}
	if yaml.Unmarshal(program, &file) != nil {
		return ""
	}
	for i := 0; i+1 < len(file.Resources.Content); i += 2 {
		var resource struct {
			Type       string               `yaml:"type"`
			Properties map[string]yaml.Node `yaml:"properties"`
		}
		if file.Resources.Content[i+1].Decode(&resource) != nil || withoutMiddle(resource.Type) != withoutMiddle(kind) {
			continue
		}
		var names []string
		for name := range resource.Properties {
			names = append(names, name)
		}
		if slices.Sort(names); slices.Equal(names, properties) {
			return "resources." + file.Resources.Content[i].Value + ".properties"
		}
	}
	return ""
}

// withoutMiddle shortens a type such as gcp:sql/database:Database to the form gcp:sql:Database, which YAML accepts, too.
func withoutMiddle(kind string) string {
	parts := strings.Split(kind, ":")
	if len(parts) != 3 {
		return kind
	}
	module, _, _ := strings.Cut(parts[1], "/")
	return parts[0] + ":" + module + ":" + parts[2]
}
