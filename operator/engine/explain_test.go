package engine_test

import (
	"strings"
	"testing"

	"github.com/strata-platform/strata/test/long"
)

func TestFaultsOfAProjectAreNamedAsTheyAreInItsSource(t *testing.T) {
	long.Test(t)
	f := newFixture(t)
	const head = "name: site\nruntime: yaml\n"
	project := func(content string) tree { return tree{"infra/Pulumi.yaml": head + content} }
	for name, tc := range map[string]struct {
		files tree
		want  string
	}{
		"a value that Pulumi's schema refuses": {
			project("config:\n  size:\n    type: wrong\n"),
			`infra/Pulumi.yaml line 5: config.size.type: value must be one of "string", "integer", "boolean", "array", "object"`,
		},
		"a section that it refuses": {project("options: x\n"), "infra/Pulumi.yaml line 3: options: expected object or null, but got string"},
		"no YAML":                   {project("  resources: 1\n"), "its infra/Pulumi.yaml is not valid: line 3: mapping values are not allowed in this context"},
		"a value of another type":   {tree{"infra/Pulumi.yaml": "name: [site]\nruntime: yaml\n"}, "its infra/Pulumi.yaml is not valid: name is of type array"},
		"settings that are no YAML": {tree{"infra/Pulumi.yaml": head, "infra/Pulumi.dev.yaml": "config: {a: b\n"}, "its infra/Pulumi.dev.yaml is not valid: line 1: did not find expected ',' or '}'"},
		"a fault of the program":    {project("outputs:\n  a: ${nothing}\n"), `infra/Pulumi.yaml line 4: outputs.a: resource or variable named "nothing" could not be found`},
		"one of a file of its own": {
			tree{"infra/Pulumi.yaml": head + "main: src\n", "infra/src/Main.yaml": "outputs:\n  a: {fn::join: 3}\n"},
			"infra/src/Main.yaml line 2: outputs.a.fn::join: the argument to fn::join must be a two-valued list",
		},
		"such a file that is no YAML": {
			tree{"infra/Pulumi.yaml": head + "main: src\n", "infra/src/Main.yaml": "resources:\n  a: [\n"},
			"infra/src/Main.yaml line 2: did not find expected node content",
		},
		"a file that is not there": {
			project("outputs: {a: {fn::fileAsset: nothing}}\n"),
			`cannot unmarshal output properties: failed to compute asset hash for "a": failed to open asset file 'infra/nothing': open infra/nothing: no such file or directory`,
		},
		"no program":        {tree{"infra/Pulumi.yml": head}, "it has no program in its folder infra: programs in YAML are in Main.json or Main.yaml or Pulumi.yaml"},
		"a missing setting": {project("config: {a: {type: string}}\n"), "Stack 'dev' is missing configuration value 'a': set it in the Stack's config, or give it a default in the project"},
	} {
		t.Run(name, func(t *testing.T) {
			failure := f.mustFail(t, f.fetched(tc.files, "infra"))
			if failure.Message != tc.want {
				t.Errorf("message %q, want %q", failure.Message, tc.want)
			}
			if strings.Contains(failure.Message, f.Folders.Parent) {
				t.Error("it names the run's folder, which is gone")
			}
		})
	}
}

func TestProjectInJSONHasItsSettingsInJSON(t *testing.T) {
	f := newFixture(t)
	result := f.mustRun(t, f.fetched(tree{
		"Pulumi.json":     `{"name": "site", "runtime": "yaml"}`,
		"Pulumi.dev.json": `{"config": {"site:a": "b"}}`,
		"Main.yaml":       "config: {a: {type: string}}\noutputs: {a: \"${a}\"}\n",
	}, ""))
	if got := string(result.Outputs["a"].Value); got != `"b"` {
		t.Errorf("output %s", got)
	}
}
