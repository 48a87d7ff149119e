package operator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/long"
)

// TestNoTeamReadsDataOfAnotherTeam tries every way in which a team's manifest could refer to another team's data.
func TestNoTeamReadsDataOfAnotherTeam(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	o := startOperator(t, c)
	victim := newTeam(t, c)
	victim.withSecrets(t)
	victim.create(t, &corev1.ConfigMap{ObjectMeta: victim.meta("plan"), Data: map[string]string{"plan": "canary-plan"}})
	victim.apply(t, &v1.Program{}, `
metadata: {name: vault}
program:
  configuration: {password: {type: String}}
  outputs: {plan: canary-plan, password: "${password}"}
`)
	victim.apply(t, &v1.Stack{}, secretStackOf("vault"))
	victim.await(t, "vault", "Ready", ready)
	state := filepath.Join(victim.state, ".pulumi", "stacks", "vault", "vault.json")
	if content, err := os.ReadFile(state); err != nil || !strings.Contains(string(content), "canary-plan") {
		t.Fatalf("the victim's state does not contain the canary: %v", err)
	}

	// A patch of an existing object outputs the whole object.
	read := func(kind, name string) string {
		return fmt.Sprintf(`{resources: {a: {type: "kubernetes:core/v1:%sPatch", properties: {metadata: {namespace: %s, name: %s}}}}, outputs: {a: "${a.data}"}}`, kind, victim.namespace, name)
	}
	secret := fmt.Sprintf("{type: Secret, secret: {namespace: %s, name: login, key: password}}", victim.namespace)
	const password = `{configuration: {password: {type: String}}, outputs: {a: "${password}"}}`
	for name, tc := range map[string]struct{ program, stack, want string }{
		"a Secret as a variable":      {stack: "envRefs: {A: " + secret + "}", want: "another namespace"},
		"a Secret as config":          {program: password, stack: "secretsRef: {password: " + secret + "}", want: "another namespace"},
		"a Secret to fetch with":      {stack: "programRef: null\nprojectRepo: https://git.example.com/a\nbranch: main\ngitAuth: {accessToken: " + secret + "}", want: "another namespace"},
		"a Secret by the provider":    {program: read("Secret", "login"), want: "forbidden"},
		"a ConfigMap by the provider": {program: read("ConfigMap", "plan"), want: "forbidden"},
		"a ConfigMap as config":       {program: password, stack: fmt.Sprintf("configRef: {password: {name: %s/plan, key: plan}}", victim.namespace), want: "plan"},
		"a Program":                   {stack: fmt.Sprintf("programRef: {name: %s/vault}", victim.namespace), want: "vault"},
		"a Flux source":               {stack: fmt.Sprintf("programRef: null\nfluxSource: {sourceRef: {apiVersion: source.toolkit.fluxcd.io/v1, kind: GitRepository, name: %s/vault}}", victim.namespace), want: "fluxSource"},
		"a prerequisite":              {stack: fmt.Sprintf("prerequisites: [{name: %s/vault}]", victim.namespace), want: "vault"},
		"the identity":                {stack: fmt.Sprintf("serviceAccountName: %s/web", victim.namespace), want: "web"},
		"the state as a file":         {program: fmt.Sprintf(`{outputs: {a: {"fn::readFile": %q}}}`, state), want: "no such file"},
		"the state by a link":         {program: fmt.Sprintf(`{outputs: {a: {"fn::readFile": ../../../../../../..%s}}}`, state), want: "a"},
		"the state as a backend":      {stack: "backend: file://" + victim.state, want: "file://STATE"},
		"the state below a backend":   {stack: "backend: file://STATE/../" + victim.namespace, want: "file://STATE"},
		"the outputs by reference":    {program: `{resources: {a: {type: "pulumi:pulumi:StackReference", properties: {name: organization/vault/vault}}}, outputs: {a: "${a.outputs}"}}`, want: "vault"},
		"the operator's variables":    {program: `{outputs: {a: {"fn::readFile": /proc/self/environ}}}`, want: "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			thief := newTeam(t, c)
			if tc.program == "" {
				tc.program = plainProgram
			}
			if err := thief.applyStrictly(t, v1.ProgramKind, "shop", "program", thief.spec(t, "", tc.program)); err != nil {
				t.Fatal(err)
			}
			if err := thief.applyStrictly(t, v1.StackKind, "thief", "spec", thief.spec(t, plainStack, tc.stack)); err != nil {
				t.Logf("the API server rejects the manifest: %v", err)
				return
			}
			got := thief.await(t, "thief", "tried", tried)
			message := condition(got, v1.ReadyCondition).Message
			if ready(got) || !strings.Contains(message, strings.ReplaceAll(tc.want, "STATE", thief.state)) {
				t.Errorf("Ready is %v: %s; want a message with %q", ready(got), message, tc.want)
			}
			thief.checkObjects(t, "canary-plan")
		})
	}
	checkText(t, "the operator's log", o.log.String(), "canary-plan")
}
