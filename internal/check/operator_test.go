package check_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"sigs.k8s.io/yaml"
)

// onlyThere are the refusals of the operator that no check without a cluster can know, and the reason.
var onlyThere = map[string]string{
	"no backend":                        "the platform fills in the backend",
	"backend of an unknown scheme":      "the policies of a team decide about backends",
	"backend by a relative path":        "the policies of a team decide about backends",
	"backend elsewhere":                 "the operator's flags decide",
	"Program that is not there":         "the cluster may have the Program",
	"Flux source that is not there":     "the cluster may have the source",
	"repository that does not answer":   "it needs the network",
	"stack that another update holds":   "it is in the state",
	"repository on the operator's disk": "the policies of a team decide about repositories",
}

// refusal is what the operator or the API server says about a case of test/operator/testdata/broken, which
// TestMessagesAboutBrokenManifests there compares with a real operator and a real API server.
type refusal struct {
	program, stack, status string
	// late says that the case needs a state, a lock or an earlier run.
	late bool
}

func refusals(t *testing.T) map[string]refusal {
	t.Helper()
	files, err := filepath.Glob("../../test/operator/testdata/broken/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no cases: %v", err)
	}
	all := map[string]refusal{}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range archive.Files {
			name, kind, _ := strings.Cut(part.Name, "/")
			each := all[name]
			switch kind {
			case "program":
				each.program = string(part.Data)
			case "stack":
				each.stack = string(part.Data)
			case "status":
				each.status = string(part.Data)
			default:
				each.late = true
			}
			all[name] = each
		}
	}
	return all
}

// manifest returns an object with the fields of texts as its spec. A later text wins, and null removes a field.
func manifest(t *testing.T, kind, name, field string, texts ...string) string {
	t.Helper()
	spec := map[string]any{}
	for _, text := range texts {
		fields := map[string]any{}
		if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
			t.Fatal(err)
		}
		maps.Copy(spec, fields)
	}
	maps.DeleteFunc(spec, func(_ string, value any) bool { return value == nil })
	content, err := yaml.Marshal(map[string]any{"apiVersion": "pulumi.com/v1", "kind": kind, "metadata": map[string]any{"name": name}, field: spec})
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// TestTheOperatorRefusesWhatTheCheckFinds gives each broken manifest of the operator's tests to the check, and compares both ways: what the
// operator refuses before a run, the check finds, in the same words; and the check finds nothing else. Types are left out, because the
// check has no schemas here: TestFaultsAreThoseOfTheEngine in the package program compares those. The policies' own table is in
// sync/policies, TestCheckSaysWhatTheAPIServerSays.
func TestTheOperatorRefusesWhatTheCheckFinds(t *testing.T) {
	all, files, list := refusals(t), map[string]string{}, "resources:\n"
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return all[name].late })
	for i, name := range names {
		each := all[name]
		if each.program == "" {
			each.program = "{outputs: {a: 1}}"
		}
		// All cases are in one repository, so each has names of its own.
		text := manifest(t, "Program", "shop", "program", each.program) + "---\n" +
			manifest(t, "Stack", "broken", "spec", "{stack: dev, programRef: {name: shop}, serviceAccountName: web}", each.stack)
		files[fmt.Sprintf("case%d.yaml", i)] = strings.NewReplacer("name: shop\n", fmt.Sprintf("name: shop%d\n", i), "name: broken\n", fmt.Sprintf("name: broken%d\n", i)).Replace(text)
		list += fmt.Sprintf("  - case%d.yaml\n", i)
	}
	files["kustomization.yaml"] = list
	result := run(t, repository(t, files))
	found := 0
	for i, name := range names {
		each := all[name]
		said := ""
		for _, f := range result.Findings {
			if f.File == fmt.Sprintf("case%d.yaml", i) {
				said += strings.NewReplacer(fmt.Sprintf("shop%d", i), "shop", fmt.Sprintf("broken%d", i), "broken").Replace(f.Message) + "\n"
			}
		}
		refused := strings.HasPrefix(each.status, "refused: ") || strings.HasPrefix(each.status, "Stack Stalled ")
		_, known := onlyThere[name]
		switch {
		case refused && !known && said == "":
			t.Errorf("%s: the check finds nothing, and the platform says\n%s", name, each.status)
		case (!refused || known) && said != "":
			t.Errorf("%s: the check finds %s, and the platform says\n%s", name, said, each.status)
		case refused && !known:
			found++
			if words := words(each.status); !strings.Contains(said, words) {
				t.Errorf("%s: the check finds %s\nand the platform says %s", name, said, words)
			}
		}
	}
	if found < 20 {
		t.Errorf("the check has found %d refusals, want at least 20", found)
	}
}

// words returns the part of a refusal that does not depend on where it is said.
func words(status string) string {
	line, _, _ := strings.Cut(status, "\n")
	for _, begin := range []string{"refused: ", "Stack Stalled SpecInvalid: ", "Stack Stalled SourceUnavailable: Program NAMESPACE/shop: "} {
		line = strings.TrimPrefix(line, begin)
	}
	if _, field, is := strings.Cut(line, "unknown field "); is {
		return strings.Trim(field, `"`)
	}
	// The operator's tests create objects, and Flux applies them; the API server reports a wrong type in different words.
	if _, field, is := strings.Cut(line, " is invalid: "); is && strings.Contains(line, "must be of type") {
		field, _, _ = strings.Cut(field, ":")
		return field
	}
	return line
}
