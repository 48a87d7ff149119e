package policies_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// testUnfilled checks the refusals of a cluster whose Kubernetes fills in nothing. Layer 2 writes the text.
func testUnfilled(t *testing.T, c *cluster, team client.Client) {
	const text = "Kubernetes 1.35.1 of this cluster fills in no fields of a Stack: write spec.stack"
	policy := parse(t, "{apiVersion: strata.dev/v1, kind: TenantPolicy, metadata: {name: strata}}")
	change := func(content string) {
		t.Helper()
		if err := c.Patch(t.Context(), policy, client.RawPatch(types.MergePatchType, []byte(content))); err != nil {
			t.Fatal(err)
		}
	}
	change(`{"spec": {"unfilled": "` + text + `"}}`)
	for name, test := range map[string]attempt{
		"no name":                 {stack("stack: '', programRef: {name: x}"), "spec.stack is not set" + ofName + ". " + text},
		"no account":              {stack("stack: dev, programRef: {name: x}"), "spec.serviceAccountName is not set" + asWeb + ". " + text},
		"no context":              {stack("stack: dev, serviceAccountName: web"), "spec.envRefs.PULUMI_BACKEND_URL is not key PULUMI_BACKEND_URL" + fromSecret + ". " + text},
		"another account":         {stack("stack: dev, serviceAccountName: infra, envRefs: {" + fromContext + "}"), "spec.serviceAccountName is infra" + asWeb},
		"another backend":         {stack("stack: dev, serviceAccountName: web, envRefs: {" + fromContext + ", PULUMI_BACKEND_URL: {type: Literal, literal: {value: a}}}"), "spec.envRefs.PULUMI_BACKEND_URL is not key PULUMI_BACKEND_URL" + fromSecret},
		"a Stack with the values": {stack(good), ""},
	} {
		eventually(t, name+" is judged", func() error {
			err := try(t, team, test.manifest)
			if test.refusal == "" {
				return err
			}
			return refusedBy(err, "strata-stacks", "strata-stacks", test.refusal)
		})
	}
	// The embedded operator uses the platform's key for a Stack that names none.
	change(`{"spec": {"context": {"secretsProvider": "` + stateKey + `"}}}`)
	eventually(t, "a passphrase is refused", func() error {
		return refusedBy(try(t, team, stack(good+", secretsProvider: passphrase")), "strata-stacks", "strata-stacks", notTheKey)
	})
	for _, provider := range []string{"", stateKey} {
		if err := try(t, team, stack(good+", secretsProvider: '"+provider+"'")); err != nil {
			t.Errorf("with the provider %q: %v", provider, err)
		}
	}
	change(`{"spec": {"context": {"secretsProvider": null}}}`)
	change(`{"spec": {"workspace": {"cpu": "100m", "memory": "512Mi", "memoryLimit": "2Gi"}}}`)
	const notSet = "spec.workspaceTemplate.spec.resources.limits.memory is not set. Stacks of team web have at least 2Gi, because a run that is killed leaves its lock behind; for others ask the platform team. " + text
	eventually(t, "a limit is required", func() error {
		return refusedBy(try(t, team, stack(good)), "strata-stacks", "strata-stacks", notSet)
	})
	limited := template("resources: {limits: {memory: 2Gi}}")
	if err := try(t, team, limited); err != nil {
		t.Errorf("with a limit: %v", err)
	}
	change(`{"spec": {"context": {"secretsProvider": "` + stateKey + `"}}}`)
	eventually(t, "a key is required under upstream's operator", func() error {
		return refusedBy(try(t, team, limited), "strata-stacks", "strata-stacks", notTheKey+". "+text)
	})
	change(`{"spec": {"unfilled": null, "workspace": null, "context": {"secretsProvider": null}}}`)
	eventually(t, "no limit is required", func() error { return try(t, team, stack(good)) })
}
