package controller_test

import (
	"strings"
	"testing"

	v1 "github.com/strata-platform/strata/operator/api/v1"
	"github.com/strata-platform/strata/test/long"
)

// TestTheTenantPolicyDecidesTheSecretsProvider gives an existing Stack the platform's key, and tries another one.
func TestTheTenantPolicyDecidesTheSecretsProvider(t *testing.T) {
	long.Test(t)
	c := startCluster(t)
	startOperator(t, c)
	tm := newTeam(t, c)
	tm.policy(t, "{team: web, contact: platform@example.com, context: {name: context}}")
	spec := valuesEnv + "    VAULT_SERVER_URL: {type: Literal, literal: {value: " + vault(t) + "}}\n" +
		"    VAULT_SERVER_TOKEN: {type: Literal, literal: {value: x}}\n  destroyOnFinalize: true\n  secrets: {token: canary}\n"
	refused := func(manifest, with string) {
		t.Helper()
		tm.apply(t, &v1.Stack{}, manifest)
		want := "spec.secretsProvider is not the platform's. Stacks of team web encrypt their secrets with " + with + "; ask platform@example.com"
		tm.await(t, "values", "refused", func(s *v1.Stack) bool { return condition(s, v1.StalledCondition).Message == want })
	}
	tm.run(t, spec)
	refused(valuesHead+spec+"  secretsProvider: hashivault://own\n", "the passphrase of Secret context")
	if got := tm.provider(t); got != "passphrase" {
		t.Errorf("the state is encrypted by %s after another provider was refused", got)
	}
	tm.apply(t, &v1.Stack{}, valuesHead+spec)
	tm.await(t, "values", "Ready", ready)

	// The platform names a key. The Stack is the same, and moves.
	tm.policy(t, "{team: web, contact: platform@example.com, context: {name: context, secretsProvider: 'hashivault://key'}}")
	moved := func(s *v1.Stack) bool {
		return ready(s) && s.Status.ProjectInfo.SecretsProvider == "hashivault://key"
	}
	got := tm.await(t, "values", "encrypted with the key", moved)
	if kind := tm.provider(t); kind != "cloud" {
		t.Errorf("the state is encrypted by %s", kind)
	}
	outputs(t, got, map[string]string{"token": `"[secret]"`})
	refused(valuesHead+spec+"  secretsProvider: hashivault://own\n", "hashivault://key")
	refused(valuesHead+spec+"  secretsProvider: passphrase\n", "hashivault://key")

	// A later run reads what the key has encrypted, also if the Stack names the key itself.
	tm.apply(t, &v1.Stack{}, valuesHead+strings.Replace(spec, "canary", "canary-2", 1)+"  secretsProvider: hashivault://key\n")
	got = tm.await(t, "values", "Ready", func(s *v1.Stack) bool { return moved(s) && s.Status.ObservedGeneration == s.Generation })
	tm.remove(t, got)
	tm.await(t, "values", "gone", gone)
}
