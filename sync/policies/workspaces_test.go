package policies_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
)

const (
	digest   = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	pinned   = "registry.example.com/workspace" + digest
	theirs   = "requests: {cpu: 100m, memory: 512Mi}, limits: {memory: 2Gi}"
	noDigest = "spec.workspaceTemplate.spec.image has no digest. Stacks of team web run in " + pinned + ", or in another image by its digest; for others ask the platform team"
	tooLow   = "spec.workspaceTemplate.spec.resources.limits.memory is below 2Gi. Stacks of team web have at least 2Gi, because a run that is killed leaves its lock behind; for others ask the platform team"
	asFilled = "image: '" + pinned + "', securityProfile: restricted, resources: {" + theirs + "}"
)

// workspaces maps the template that a team writes to the template that its Stack gets.
var workspaces = map[string]struct{ template, want string }{
	"no template":                   {"", asFilled},
	"a template that is null":       {"workspaceTemplate: null", asFilled},
	"an empty template":             {"workspaceTemplate: {spec: {}}", asFilled},
	"an empty image":                {"workspaceTemplate: {spec: {image: ''}}", asFilled},
	"variables of its own":          {"workspaceTemplate: {spec: {env: [{name: TZ, value: UTC}]}}", "env: [{name: TZ, value: UTC}], " + asFilled},
	"its own image, by its digest":  {"workspaceTemplate: {spec: {image: 'ghcr.io/web/run" + digest + "'}}", strings.Replace(asFilled, pinned, "ghcr.io/web/run"+digest, 1)},
	"a higher limit":                {"workspaceTemplate: {spec: {resources: {limits: {memory: 4Gi, cpu: 2}}}}", strings.Replace(asFilled, "limits: {memory: 2Gi}", "limits: {memory: 4Gi, cpu: 2}", 1)},
	"the same limit, in bytes":      {"workspaceTemplate: {spec: {resources: {limits: {memory: 2147483648}}}}", strings.Replace(asFilled, "memory: 2Gi", "memory: 2147483648", 1)},
	"its own requests":              {"workspaceTemplate: {spec: {resources: {requests: {memory: 1Gi}}}}", strings.Replace(asFilled, "memory: 512Mi", "memory: 1Gi", 1)},
	"a pod that it wants to keep":   {"workspaceReclaimPolicy: Retain", asFilled},
	"the profile that it gets also": {"workspaceTemplate: {spec: {securityProfile: restricted}}", asFilled},
}

// weaker are Stacks whose pod would be weaker than the platform's.
var weaker = map[string]attempt{
	"an image by its tag":         {stack("programRef: {name: x}, workspaceTemplate: {spec: {image: 'pulumi/pulumi:latest'}}"), noDigest},
	"a short digest":              {stack("programRef: {name: x}, workspaceTemplate: {spec: {image: 'pulumi/pulumi@sha256:00'}}"), noDigest},
	"two digests":                 {stack("programRef: {name: x}, workspaceTemplate: {spec: {image: 'a" + digest + digest + "'}}"), noDigest},
	"a lower limit":               {stack("programRef: {name: x}, workspaceTemplate: {spec: {resources: {limits: {memory: 512Mi}}}}"), tooLow},
	"no limit, which is 0":        {stack("programRef: {name: x}, workspaceTemplate: {spec: {resources: {limits: {memory: 0}}}}"), tooLow},
	"a limit below zero":          {stack("programRef: {name: x}, workspaceTemplate: {spec: {resources: {limits: {memory: '-4Gi'}}}}"), tooLow},
	"another profile":             {stack("programRef: {name: x}, workspaceTemplate: {spec: {securityProfile: baseline}}"), "spec.workspaceTemplate.spec.securityProfile" + ofTemplate},
	"a pod beside the platform's": {stack("programRef: {name: x}, workspaceTemplate: {spec: {podTemplate: {}}}"), "spec.workspaceTemplate.spec.podTemplate" + ofTemplate},
}

// testWorkspaces checks the pods of runs under upstream's operator. It needs the policy of testDefaults.
func testWorkspaces(t *testing.T, c *cluster, team client.Client) {
	args := &hop.HopArgs{
		Namespace: namespace, Account: "web", Context: handoff.Tenant{BackendURL: pulumi.String("")},
		Policy: &hop.Policy{Workspace: &hop.Workspace{Image: pinned}},
	}
	policy := parse(t, "{apiVersion: strata.dev/v1, kind: TenantPolicy, metadata: {name: strata}}")
	patch := func(content string) {
		t.Helper()
		if err := c.Patch(t.Context(), policy, client.RawPatch(types.MergePatchType, []byte(content))); err != nil {
			t.Fatal(err)
		}
	}
	workspace, err := json.Marshal(args.PolicySpec()["workspace"])
	if err != nil {
		t.Fatal(err)
	}
	want := func(template string) string {
		return "{" + strings.TrimSuffix(strings.TrimPrefix(filled, "{"), "}") + ", workspaceReclaimPolicy: Delete, workspaceTemplate: {spec: {" + template + "}}}"
	}
	imageless := strings.Replace(asFilled, "image: '"+pinned+"', ", "", 1)
	older := parse(t, strings.Replace(least, "tried", "imageless", 1))
	patch(`{"spec": {"workspace": ` + strings.Replace(string(workspace), `"`+pinned+`"`, "null", 1) + `}}`)
	eventually(t, "a Stack gets its pod without an image", func() error {
		object := parse(t, least)
		return errors.Join(team.Create(t.Context(), object, client.DryRunAll), hasSpec(object, want(imageless)))
	})
	if err := team.Create(t.Context(), older); err != nil {
		t.Fatal(err)
	}
	patch(`{"spec": {"workspace": ` + string(workspace) + `}}`)
	eventually(t, "a Stack gets its pod", func() error {
		object := parse(t, least)
		return errors.Join(team.Create(t.Context(), object, client.DryRunAll), hasSpec(object, want(asFilled)))
	})
	for name, test := range workspaces {
		object := parse(t, stack(strings.TrimSuffix("programRef: {name: x}, "+test.template, ", ")))
		if err := team.Create(t.Context(), object, client.DryRunAll); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := hasSpec(object, want(test.want)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, test := range weaker {
		if err := refusedBy(try(t, team, test.manifest), "strata-stacks", "strata-stacks", test.refusal); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A Stack from before the image stays as it is until its spec changes. Then it gets the image instead of a refusal.
	named := func(template string) string {
		return strings.Replace(want(template), "stack: tried", "stack: imageless", 1)
	}
	for _, step := range []struct{ change, want string }{
		{`{"metadata": {"annotations": {"strata.dev/approval": "always"}}}`, named(imageless)},
		{`{"spec": {"refresh": true}}`, strings.Replace(named(asFilled), "stack: imageless", "stack: imageless, refresh: true", 1)},
	} {
		object := older.DeepCopy()
		if err := team.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(step.change))); err != nil {
			t.Errorf("%s: %v", step.change, err)
		} else if err := hasSpec(object, step.want); err != nil {
			t.Errorf("%s: %v", step.change, err)
		}
	}
	if err := c.Delete(t.Context(), older); err != nil {
		t.Error(err)
	}
	patch(`{"spec": {"workspace": null}}`)
	eventually(t, "a Stack gets no pod", func() error {
		object := parse(t, least)
		err := team.Create(t.Context(), object, client.DryRunAll)
		if spec, _ := object.Object["spec"].(map[string]any); spec["workspaceTemplate"] != nil {
			err = errors.Join(err, errors.New("it has a workspaceTemplate"))
		}
		return err
	})
}
