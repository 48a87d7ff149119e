// Package catalogue reads the entries of the catalogue: the kinds that a platform team offers and that teams can order.
//
// An entry is a folder below catalogue/ with entry.yaml, the schema of its kind, and program.yaml, the Program that runs
// for each order. Layer 2 creates the kind, and Flux applies the Program under the platform's account of the entry.
package catalogue

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const (
	// Group is the API group of every kind of the catalogue.
	Group = "catalogue.strata.dev"
	// Version is the version of that group.
	Version = "v1"

	// KindLabel is a label of the Stack and of the results of an order: the name of the order's entry.
	KindLabel = Group + "/kind"
	// NamespaceLabel is the label with the order's namespace.
	NamespaceLabel = Group + "/namespace"
	// OrderLabel is the label with the order's name.
	OrderLabel = Group + "/order"

	// APIVersion is the apiVersion of an entry.yaml.
	APIVersion = "strata/v1"
	// FileKind is the kind of an entry.yaml.
	FileKind = "CatalogueEntry"

	// Folder is the folder of the entries, relative to the root of the platform's repository.
	Folder = "catalogue"
	// EntryFile is the file with an entry's schema.
	EntryFile = "entry.yaml"
	// ProgramFile is the file with an entry's Program.
	ProgramFile = "program.yaml"

	// maxName is the longest name of an entry: the ID of its Google account, team-catalogue-NAME, has at most 30 characters.
	maxName = 15
)

// Files contains Strata's own entries.
//
//go:embed bucket database
var Files embed.FS

// Entry is a kind that teams can order.
type Entry struct {
	// Name is the name of the entry's folder, and the singular name of its kind.
	Name string `json:"-"`
	// APIVersion and Kind must be APIVersion and FileKind.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Names are the names of the kind.
	Names Names `json:"names"`
	// Description says in one or two sentences what an order creates. Required.
	Description string `json:"description"`
	// Results describes what a team gets.
	Results Results `json:"results"`
	// Spec is the schema of an order's spec, in the form of a CustomResourceDefinition.
	Spec apiextensionsv1.JSONSchemaProps `json:"spec"`
}

// Names are the names of an entry's kind.
type Names struct {
	// Kind is the kind, such as Database. In lower case it is the entry's name. Required.
	Kind string `json:"kind"`
	// Plural is the name of the resource in the API, such as databases. Required.
	Plural string `json:"plural"`
	// ShortNames are abbreviations for kubectl; may be empty.
	ShortNames []string `json:"shortNames,omitempty"`
}

// Results describes the Secret and the ConfigMap of an order: each key with its meaning.
type Results struct {
	Secret    map[string]string `json:"secret,omitempty"`
	ConfigMap map[string]string `json:"configMap,omitempty"`
}

// namePattern matches the names of entries. A name has no hyphen: the name of an order's results is the order's name, a
// hyphen and the entry's name.
var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// NameProblem returns what is wrong with the name of an entry, or an empty string.
func NameProblem(name string) string {
	switch {
	case len(name) > maxName:
		return fmt.Sprintf("has %d characters: at most %d fit into the ID of a Google account", len(name), maxName)
	case !namePattern.MatchString(name):
		return "must be lower-case letters and digits, and begin with a letter"
	}
	return ""
}

// Load reads and checks an entry from a folder of entries. The error lists every problem.
func Load(entries fs.FS, name string) (*Entry, error) {
	if problem := NameProblem(name); problem != "" {
		return nil, fmt.Errorf("catalogue entry %q: its name %s", name, problem)
	}
	content, err := fs.ReadFile(entries, name+"/"+EntryFile)
	if err != nil {
		return nil, fmt.Errorf("catalogue entry %s: %w: create %s/%s/%s, or remove the entry from teams.yaml", name, err, Folder, name, EntryFile)
	}
	entry, problems := decode(content)
	if len(problems) == 0 {
		entry.Name = name
		problems = entry.problems()
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("catalogue entry %s: %s: %s", name, EntryFile, strings.Join(problems, "; "))
	}
	return entry, nil
}

// List returns the names of the folders with an entry.yaml, sorted.
func List(entries fs.FS) ([]string, error) {
	found, err := fs.Glob(entries, "*/"+EntryFile)
	if err != nil {
		return nil, fmt.Errorf("list the entries of the catalogue: %w", err)
	}
	names := make([]string, 0, len(found))
	for _, path := range found {
		names = append(names, strings.TrimSuffix(path, "/"+EntryFile))
	}
	slices.Sort(names)
	return names, nil
}

func decode(content []byte) (*Entry, []string) {
	asJSON, err := yaml.YAMLToJSONStrict(content)
	if err == nil && bytes.Equal(bytes.TrimSpace(asJSON), []byte("null")) {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return nil, []string{oneLine(err)}
	}
	entry := &Entry{}
	strict, err := json.UnmarshalStrict(asJSON, entry)
	if err != nil {
		return nil, []string{oneLine(err)}
	}
	var problems []string
	for _, each := range strict {
		problems = append(problems, oneLine(each))
	}
	return entry, problems
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// kindPattern matches kinds, and pluralPattern names of resources.
var (
	kindPattern   = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	pluralPattern = regexp.MustCompile(`^[a-z][a-z0-9]*$`)
)

// problems returns every problem of the entry. A field without a description is one, because `kubectl explain` and `strata
// catalogue show` print it.
func (e *Entry) problems() []string {
	var problems []string
	refuse := func(is bool, format string, args ...any) {
		if is {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	refuse(e.APIVersion != APIVersion, "apiVersion is %q: this version of strata reads %q", e.APIVersion, APIVersion)
	refuse(e.Kind != FileKind, "kind is %q: it must be %q", e.Kind, FileKind)
	refuse(!kindPattern.MatchString(e.Names.Kind), "names.kind %q is not a kind, such as Database", e.Names.Kind)
	refuse(strings.ToLower(e.Names.Kind) != e.Name, "names.kind is %q: in lower case it must be the name of the folder, %s", e.Names.Kind, e.Name)
	refuse(!pluralPattern.MatchString(e.Names.Plural) || e.Names.Plural == e.Name, "names.plural %q is not the plural of %s", e.Names.Plural, e.Name)
	refuse(e.Description == "", "description is missing: it says what an order creates")
	refuse(e.Spec.Type != "object", "spec.type is %q: it must be object", e.Spec.Type)
	for _, name := range slices.Sorted(maps.Keys(e.Spec.Properties)) {
		field := e.Spec.Properties[name]
		by, reserved := reservedFields[name]
		refuse(reserved, "spec.properties.%s is reserved: %s", name, by)
		refuse(!fieldPattern.MatchString(name), "spec.properties.%s is not a name that a Program can use: letters and digits, the first in lower case", name)
		refuse(field.Type == "", "spec.properties.%s.type is missing", name)
		refuse(field.Description == "", "spec.properties.%s.description is missing: `kubectl explain` shows it", name)
	}
	return problems
}

// fieldPattern matches the fields of an order, which become keys of the Program's configuration.
var fieldPattern = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)

// reservedFields maps the names that an entry must not give to a field to the reason.
var reservedFields = map[string]string{
	"onDelete": "every order has this field",
	"name":     "the operator sets the Program's configuration of that name",
	"team":     "the operator sets the Program's configuration of that name",
	"order":    "the operator sets the Program's configuration of that name",
	"results":  "the operator sets the Program's configuration of that name",
	"instance": "the platform's context has a value of that name",
	"project":  "the platform's context has a value of that name",
	"region":   "the platform's context has a value of that name",
}

// Provided returns the names of the configuration that every Program of an entry gets in addition to the order's fields,
// sorted.
func Provided() []string {
	provided := slices.Collect(maps.Keys(reservedFields))
	provided = slices.DeleteFunc(provided, func(name string) bool { return name == "onDelete" })
	slices.Sort(provided)
	return provided
}
