package engine_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/operator/engine/project"
	"github.com/strata-platform/strata/test/long"
)

var allowed = &project.Allowed{
	Types: []string{"gcp:sql/user:User", "gcp:sql:User"}, Prefixes: []string{"random:", "kubernetes:core/"},
	Written: []string{"gcp:sql/user:User", "random:*"}, Team: "web", Contact: "platform@example.com",
}

const (
	typesRule     = "Programs of team web may declare gcp:sql/user:User, random:*; for others ask platform@example.com"
	stacksRule    = "Programs of team web may not read other stacks or declare providers; ask platform@example.com"
	providersRule = "Programs of team web run with the providers of the team; ask platform@example.com"
	packagesRule  = "Programs of team web may name versions of packages, but no addresses; ask platform@example.com"
	namesRule     = "Programs of team web must name their databases and users web, or web_ followed by letters, digits, _ and -, up to 64 characters for a database and 32 for a user; ask platform@example.com"
	takingRule    = "Programs of team web create their own databases and users, and may not take over existing ones; ask platform@example.com"
	projectHead   = "name: site\nruntime: yaml\n"
)

func TestProjectWithForbiddenDeclarationsIsRefusedBeforeItRuns(t *testing.T) {
	long.Test(t)
	f := newFixture(t)
	reference := "{type: pulumi:pulumi:StackReference, properties: {name: organization/x/y}}"
	cases := map[string]struct {
		files tree
		path  string
		want  string

		// unbounded is Pulumi's message without the check. unbounded shows that Pulumi reads the field that the check inspects.
		unbounded string
	}{
		"another type": {
			files: tree{"infra/Pulumi.yaml": projectHead + "resources:\n  vm:\n    type: gcp:compute/instance:Instance\n"}, path: "infra",
			want: `infra/Pulumi.yaml line 5: resource "vm" is of type gcp:compute/instance:Instance. ` + typesRule,
		},
		"the beginning of an allowed type": {
			files: tree{"Pulumi.yaml": projectHead + "resources: {a: {type: gcp:sql/userother:User}}\n"},
			want:  `Pulumi.yaml line 3: resource "a" is of type gcp:sql/userother:User. ` + typesRule,
		},
		"another stack": {
			files: tree{"Pulumi.yaml": projectHead + "resources: {other: " + reference + "}\n"},
			want:  `Pulumi.yaml line 3: resource "other" is of type pulumi:pulumi:StackReference. ` + stacksRule, unbounded: "unknown stack",
		},
		"a key in another case": {
			files: tree{"Pulumi.yaml": projectHead + "Resources: {other: " + strings.Replace(reference, "type", "TYPE", 1) + "}\n"},
			want:  `resource "other" is of type pulumi:pulumi:StackReference`, unbounded: "unknown stack",
		},
		"a program in a file of its own": {
			files: tree{"Pulumi.yaml": projectHead + "main: program\n", "program/Main.yaml": "resources: {other: " + reference + "}\n"},
			want:  `program/Main.yaml line 1: resource "other" is of type`, unbounded: "unknown stack",
		},
		"a program in JSON, which goes first": {
			files: tree{"Pulumi.yaml": projectHead, "Main.yaml": "{}", "Main.json": `{"resources": {"other": {"type": "pulumi:pulumi:StackReference", "properties": {"name": "organization/x/y"}}}}`},
			want:  `Main.json line 1: resource "other" is of type`, unbounded: "unknown stack",
		},
		"a program named by main": {
			files: tree{"Pulumi.yaml": projectHead + "main: program/any.txt\n", "program/any.txt": "", "program/Main.yaml": "resources: {other: " + reference + "}\n"},
			want:  `program/Main.yaml line 1: resource "other" is of type`, unbounded: "unknown stack",
		},
		"a resource of a component": {
			files: tree{"Pulumi.yaml": projectHead + "components: {c: {resources: {other: " + reference + "}}}\n"},
			want:  `Pulumi.yaml line 3: resource "other" is of type`,
		},
		"another stack by a function": {
			files: tree{"Pulumi.yaml": projectHead + "outputs:\n  a:\n    fn::stackReference: [organization/x/y, b]\n"},
			want:  "Pulumi.yaml line 5: fn::stackReference is called. " + stacksRule, unbounded: "unknown stack",
		},
		"a function of the engine": {
			files: tree{"Pulumi.yaml": projectHead + "variables: {a: {fn::invoke: {Function: pulumi:pulumi:getResource}}}\n"},
			want:  "Pulumi.yaml line 3: function pulumi:pulumi:getResource is called. " + stacksRule,
		},
		"the same in short": {
			files: tree{"Pulumi.yaml": projectHead + "outputs: {a: [{fn::pulumi:pulumi:getResource: {}}]}\n"},
			want:  "Pulumi.yaml line 3: function pulumi:pulumi:getresource is called. " + stacksRule,
		},
		"a provider for a resource": {
			files: tree{"Pulumi.yaml": projectHead + "resources: {a: {type: random:RandomPet, options: {provider: \"${b}\"}}}\n"},
			want:  `Pulumi.yaml line 3: resource "a" names a provider in its options. ` + providersRule,
		},
		"an address of plugins": {
			files: tree{"Pulumi.yaml": projectHead + "resources: {a: {type: random:RandomPet, options: {pluginDownloadURL: https://example.com}}}\n"},
			want:  "Pulumi.yaml line 3: pluginDownloadURL is set. " + packagesRule,
		},
		"an address of plugins for a call": {
			files: tree{"Pulumi.yaml": projectHead + "outputs: {a: {fn::invoke: {function: \"random:a:b\", options: {pluginDownloadUrl: https://example.com}}}}\n"},
			want:  "Pulumi.yaml line 3: pluginDownloadURL is set. " + packagesRule,
		},
		"plugins among its files": {
			files: tree{"Pulumi.yaml": projectHead + "plugins: {providers: [{name: random, path: bin}]}\n"},
			want:  "Pulumi.yaml line 3: plugins are among the project's files. " + packagesRule, unbounded: "bin",
		},
		"a package among its files": {
			files: tree{"Pulumi.yaml": projectHead + "packages:\n  random: part\n", "part/PulumiPlugin.yaml": "runtime: yaml\n"},
			want:  `Pulumi.yaml line 4: package "random" comes from part. ` + packagesRule,
		},
		"another team's user": {
			files: tree{"Pulumi.yaml": projectHead + "resources:\n  a:\n    type: gcp:sql:User\n    properties: {name: hr}\n"},
			want:  `Pulumi.yaml line 6: resource "a" has the name "hr", which only team hr may use. ` + namesRule,
		},
		"another team's user in a component": {
			files: tree{"Pulumi.yaml": projectHead + "components: {c: {resources: {a: {type: gcp:sql:User, Properties: {name: hr}}}}}\n"},
			want:  `Pulumi.yaml line 3: resource "a" has the name "hr", which only team hr may use. ` + namesRule,
		},
		"another team's user by import": {
			files: tree{"Pulumi.yaml": projectHead + "resources: {a: {type: gcp:sql:User, properties: {name: web}, options: {import: hr}}}\n"},
			want:  `Pulumi.yaml line 3: resource "a" reads or imports an existing resource. ` + takingRule,
		},
		"a package from elsewhere": {
			files: tree{"Pulumi.yaml": projectHead + "packages: {random: github.com/a/b@1.0.0}\n"},
			want:  `Pulumi.yaml line 3: package "random" comes from github.com/a/b@1.0.0. ` + packagesRule,
		},
		"a package that acts as another": {
			files: tree{
				"Pulumi.yaml":        projectHead,
				"sdks/random/p.yaml": "packageDeclarationVersion: 1\nname: terraform-provider\nparameterization: {name: random, version: 1.0.0, value: e30=}\n",
			},
			want: `sdks/random/p.yaml: package "terraform-provider" sets the address or the parameters of its plugin. ` + packagesRule,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			req := f.fetched(tc.files, tc.path)
			if tc.unbounded != "" {
				if failure := f.mustFail(t, req); !strings.Contains(failure.Message, tc.unbounded) {
					t.Errorf("Pulumi does not read it: %q does not hold %q", failure.Message, tc.unbounded)
				}
			}
			req.Allowed = allowed
			req.Begin = func(string) error { t.Error("the run has begun"); return nil }
			failure := f.mustFail(t, req)
			if failure.Reason != engine.NotAllowed || !strings.Contains(failure.Message, tc.want) {
				t.Errorf("%s: %q, want %s: %q", failure.Reason, failure.Message, engine.NotAllowed, tc.want)
			}
		})
	}
}

func TestProjectWithAllowedDeclarationsRuns(t *testing.T) {
	f := newFixture(t)
	req := f.fetched(tree{
		"Pulumi.yaml":  projectHead + "packages: {random: 4.16.7, kubernetes: kubernetes@4.18.2}\n",
		"Main.yaml":    "outputs: {a: 1, type: gcp:compute/instance:Instance}\n",
		"values.yaml":  "a: &a {b: c}\nd: *a\n",
		"broken.yaml":  "{",
		"sdks/r.yaml":  "packageDeclarationVersion: 1\nname: random\nversion: 4.16.7\n",
		"Other/M.json": "{",
	}, "")
	req.Allowed = allowed
	if result := f.mustRun(t, req); string(result.Outputs["a"].Value) != "1" {
		t.Errorf("outputs %v", result.Outputs)
	}
}

func (f fixture) mustFail(t *testing.T, req engine.Request) *engine.Error {
	t.Helper()
	_, err := f.run(t, req)
	var failure *engine.Error
	if !errors.As(err, &failure) {
		t.Fatalf("error %v, want one of the engine", err)
	}
	return failure
}
