package catalogue

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// program is the part of a Program that Lint checks.
type program struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Program struct {
		Configuration map[string]any `json:"configuration"`
		Resources     map[string]struct {
			Type       string         `json:"type"`
			Properties map[string]any `json:"properties"`
		} `json:"resources"`
		Outputs map[string]any `json:"outputs"`
	} `json:"program"`
}

// substitution is the annotation that keeps Flux from substituting ${...}, which belongs to Pulumi.
const substitution = "kustomize.toolkit.fluxcd.io/substitute"

// Lint returns the problems of an entry of a folder of entries: those of its schema, and places where its Program does
// not fit the schema.
func Lint(entries fs.FS, name string) []string {
	entry, err := Load(entries, name)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	refuse := func(is bool, format string, args ...any) {
		if is {
			problems = append(problems, fmt.Sprintf("catalogue entry %s: %s: ", name, ProgramFile)+fmt.Sprintf(format, args...))
		}
	}
	content, err := fs.ReadFile(entries, name+"/"+ProgramFile)
	var p program
	if err == nil {
		err = yaml.Unmarshal(content, &p)
	}
	if err != nil {
		refuse(true, "%s", oneLine(err))
		return problems
	}
	refuse(p.APIVersion != "pulumi.com/v1" || p.Kind != "Program", "it is a %s of %s, not a Program of pulumi.com/v1", p.Kind, p.APIVersion)
	refuse(p.Metadata.Name != name, "its name is %q: the Stacks of orders refer to %s", p.Metadata.Name, name)
	refuse(p.Metadata.Annotations[substitution] != "disabled", "the annotation %s: disabled is missing: Flux would substitute ${...}", substitution)
	known := append(slices.Collect(maps.Keys(entry.Spec.Properties)), Provided()...)
	for _, key := range slices.Sorted(maps.Keys(p.Program.Configuration)) {
		refuse(!slices.Contains(known, key), "no order sets its configuration %q: an order sets %s", key, strings.Join(sorted(known), ", "))
	}
	for _, key := range slices.Sorted(maps.Keys(entry.Results.ConfigMap)) {
		_, is := p.Program.Outputs[key]
		refuse(!is, "it has no output %q: add it, or remove it from results.configMap of %s", key, EntryFile)
	}
	secret := false
	for _, resource := range p.Program.Resources {
		metadata, _ := resource.Properties["metadata"].(map[string]any)
		secret = secret || resource.Type == "kubernetes:core/v1:Secret" && metadata["name"] == "${results}"
	}
	refuse(!secret && len(entry.Results.Secret) > 0, "it has no Secret with the name ${results}: add one, or remove results.secret from %s", EntryFile)
	return problems
}

func sorted(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return texts
}
