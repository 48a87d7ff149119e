package policies_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/components/hop/stackdefaults"
)

// testUnfilled checks the refusals of a cluster whose Kubernetes fills in nothing.
func testUnfilled(t *testing.T, c *cluster, team client.Client) {
	text := stackdefaults.Unfilled("1.35.1", &hop.Workspace{Image: pinned})
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
	notSet := "spec.workspaceTemplate.spec.resources.limits.memory is not set. Stacks of team web have at least 2Gi, because a run that is killed leaves its lock behind; for others ask the platform team. " + text
	eventually(t, "a limit is required", func() error {
		return refusedBy(try(t, team, stack(good)), "strata-stacks", "strata-stacks", notSet)
	})
	limited := template("resources: {limits: {memory: 2Gi}}")
	if err := try(t, team, limited); err != nil {
		t.Errorf("with a limit: %v", err)
	}
	testUnfilledImage(t, c, team, change, text)
	change(`{"spec": {"context": {"secretsProvider": "` + stateKey + `"}}}`)
	eventually(t, "a key is required under upstream's operator", func() error {
		return refusedBy(try(t, team, limited), "strata-stacks", "strata-stacks", notTheKey+". "+text)
	})
	change(`{"spec": {"unfilled": null, "workspace": null, "context": {"secretsProvider": null}}}`)
	eventually(t, "no limit is required", func() error { return try(t, team, stack(good)) })
}

// testUnfilledImage tries to run a Stack without the platform's image under upstream's operator, which would take its own.
func testUnfilledImage(t *testing.T, c *cluster, team client.Client, change func(string), text string) {
	const limit = "resources: {limits: {memory: 2Gi}}"
	named := func(name, spec string) string { return strings.Replace(template(spec), "tried", name, 1) }
	older := parse(t, named("older", limit))
	if err := apply(t.Context(), team, older.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	change(`{"spec": {"workspace": {"image": "` + pinned + `"}}}`)
	notSet := strings.Replace(noDigest, "has no digest", "is not set", 1) + ". " + text
	eventually(t, "an image is required", func() error {
		return refusedBy(try(t, team, template(limit)), "strata-stacks", "strata-stacks", notSet)
	})
	for name, test := range map[string]attempt{
		"no template":                 {stack(good), notSet},
		"an empty template":           {stack(good + ", workspaceTemplate: {spec: {}}"), notSet},
		"an empty image":              {template("image: '', " + limit), notSet},
		"a space as the image":        {template("image: ' ', " + limit), noDigest},
		"an image by its tag":         {template("image: 'pulumi/pulumi:latest-nonroot', " + limit), noDigest},
		"the image without a digest":  {template("image: '" + strings.TrimSuffix(pinned, digest) + "', " + limit), noDigest},
		"a digest without an image":   {template("image: '" + digest + "', " + limit), noDigest},
		"a tag as the digest":         {template("image: 'pulumi/pulumi@latest', " + limit), noDigest},
		"the platform's image":        {template("image: '" + pinned + "', " + limit), ""},
		"an image of another digest":  {template("image: '" + strings.Replace(pinned, "0123", "4567", 1) + "', " + limit), ""},
		"another image by its digest": {template("image: 'ghcr.io/web/run" + digest + "', " + limit), ""},
	} {
		err := try(t, team, test.manifest)
		if test.refusal != "" {
			err = refusedBy(err, "strata-stacks", "strata-stacks", test.refusal)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A Stack from before the setting stays until its spec changes, and no Stack loses its image later.
	image := "image: '" + pinned + "', "
	for _, step := range []struct{ name, manifest, refusal string }{
		{"the same manifest", named("older", limit), ""},
		{"a change without an image", strings.Replace(named("older", limit), "stack: dev", "stack: dev, refresh: true", 1), notSet},
		{"a change with the image", named("older", image+limit), ""},
		{"the image is removed", named("older", limit), notSet},
		{"the image becomes empty", named("older", "image: '', "+limit), notSet},
	} {
		err := apply(t.Context(), team, parse(t, step.manifest))
		if step.refusal != "" {
			err = refusedBy(err, "strata-stacks", "strata-stacks-update", step.refusal)
		}
		if err != nil {
			t.Errorf("%s: %v", step.name, err)
		}
	}
	if err := c.Delete(t.Context(), older); err != nil {
		t.Error(err)
	}
	change(`{"spec": {"workspace": {"image": null}}}`)
	eventually(t, "no image is required", func() error { return try(t, team, template(limit)) })
}
