package platform_test

import (
	"encoding/base64"
	"os"
	"slices"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/strata-platform/strata/components/hop"
	"github.com/strata-platform/strata/handoff"
	"github.com/strata-platform/strata/internal/pulumitest"
	"github.com/strata-platform/strata/platform"
)

const (
	policyType      = "kubernetes:strata.dev/v1:TenantPolicy"
	quotaType       = "kubernetes:core/v1:ResourceQuota"
	roleBindingType = "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding"
	networkType     = "kubernetes:networking.k8s.io/v1:NetworkPolicy"
	receiverType    = "kubernetes:notification.toolkit.fluxcd.io/v1:Receiver"
)

// withTeams returns an engine for another list of teams.
func withTeams(t *testing.T, list string, edit func(*platform.Config)) *pulumitest.Engine {
	t.Helper()
	return below(t, func(c *platform.Config) {
		if err := os.WriteFile(c.TeamsFile, []byte("apiVersion: strata/v1\nkind: Teams\nteams:\n"+list), 0o600); err != nil {
			t.Fatal(err)
		}
		if edit != nil {
			edit(c)
		}
	})
}

func TestFieldsOfTeamsYamlReachTheHop(t *testing.T) {
	engine := withTeams(t, `
- name: web
  allow: [gcp:sql/*]
  quota: {pods: "7"}
  runTimeout: 20m
  approval: {when: never, by: [alice@example.com, team]}
  sources: [https://git.example.com/shared.git]
  may: [workloads]
  accounts: [{name: infra, may: [sources, stacks], path: ./infra}]
- name: api
`, func(c *platform.Config) { c.Contact, c.Target = "#platform", "local" })
	handed := handedOn("web", "api")
	web := handed["outputs"].ObjectValue()[handoff.OutputTenants].SecretValue().Element.ObjectValue()["web"].ObjectValue()
	web["secretsProvider"] = resource.NewProperty("gcpkms://web")
	engine.Read["pulumi:pulumi:StackReference"] = handed
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	expect(t, engine.Get(t, policyType, "team-web-policy"), map[string]any{
		"spec.types": []any{"gcp:sql/*"}, "spec.stackAccounts": []any{"infra"}, "spec.contact": "#platform",
		"spec.sourceUrls":         []any{"https://git.example.com/teams/web.git", "https://git.example.com/shared.git"},
		"spec.context.backendUrl": "gs://acme-web", "spec.runTimeout": "20m0s", "spec.approval": "never",
		"spec.context.secretsProvider": "gcpkms://web",
	})
	expect(t, engine.Get(t, policyType, "team-api-policy"), map[string]any{
		"spec.context": map[string]any{
			"name": "strata-context", "backendUrl": "gs://acme-api", "googleAccount": "team-api@acme", "googleAudience": audience,
		},
		"spec.stackAccounts": []any{"api"}, "spec.runTimeout": "15m0s", "spec.sourceUrls": []any{"https://git.example.com/teams/api.git"},
		"spec.types": []any{"gcp:sql/database:Database", "gcp:sql/user:User", "random:*", "kubernetes:core/v1:ConfigMap", "kubernetes:core/v1:Secret"},
	})
	expect(t, engine.Get(t, roleBindingType, "team-web-approvers"), map[string]any{
		"roleRef.name": "strata:approver", "subjects[0].name": "alice@example.com", "subjects[1].name": "web", "subjects[2].name": "infra",
	})
	expect(t, engine.Get(t, quotaType, "team-web-quota"), map[string]any{"spec.hard.pods": "7"})
	for binding, role := range map[string]string{
		"team-web-team": "strata:team-workloads", "team-web-account-infra": "strata:team-stacks",
		"team-web-account-infra-team-sources": "strata:team-sources", "team-api-team": "strata:team",
	} {
		expect(t, engine.Get(t, roleBindingType, binding), map[string]any{"roleRef.name": role})
	}
	expect(t, engine.Get(t, kustomizationType, "team-web-sync-infra-kustomization"), map[string]any{
		"spec.path": "./infra", "spec.serviceAccountName": "infra",
	})
	kind := engine.Get(t, "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition", "tenant-policies")
	for _, each := range engine.OfType(hop.Type) {
		if !each.DependsOn(kind) {
			t.Errorf("%s does not wait for the kind of its policy", each.URN)
		}
	}
}

// TestTheSourceOfTeamsYamlReachesFlux declares each kind of a team's source.
func TestTheSourceOfTeamsYamlReachesFlux(t *testing.T) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ2Z5AFsJ0SgCJFmDfDbXmGvLyz4VHvwZr7N1S1Wf6bX"
	engine := withTeams(t, `
- name: web
  versions: 1.x
  verify: Tag
  publishers: [`+key+`]
- name: api
  recurseSubmodules: true
`, nil)
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	web := engine.Get(t, sourceType, "team-web-source-repository")
	expect(t, web, map[string]any{
		"spec.ref": map[string]any{"semver": "1.x"}, "spec.verify.mode": "Tag", "spec.verify.secretRef.name": hop.PublisherSecret,
	})
	expect(t, engine.Get(t, policyType, "team-web-policy"), map[string]any{"spec.verify": "Tag"})
	expect(t, engine.Get(t, "kubernetes:core/v1:Secret", "team-web-publisher"), map[string]any{
		"data": map[string]any{"publisher-0.sshpub": base64.StdEncoding.EncodeToString([]byte(key))},
	})
	expect(t, engine.Get(t, sourceType, "team-api-source-repository"), map[string]any{
		"spec.ref": map[string]any{"branch": "main"}, "spec.recurseSubmodules": true,
	})
}

func TestEachTeamActsByWorkloadIdentityWithOrWithoutAKey(t *testing.T) {
	engine := below(t, nil)
	tenants := map[string]any{
		"web": map[string]any{"account": "team-web@acme", "backend": "gs://acme-web", "credentials": "", "passphrase": "canary"},
		"api": map[string]any{"account": "team-api@acme", "backend": "gs://acme-api", "credentials": "canary-key", "passphrase": "canary"},
	}
	handed := handedOn("web", "api")
	handed["outputs"].ObjectValue()[handoff.OutputTenants] = resource.MakeSecret(resource.NewPropertyValue(tenants))
	engine.Read["pulumi:pulumi:StackReference"] = handed
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	for account, want := range map[string]any{"team-web-account": "team-web@acme", "team-api-account": "team-api@acme"} {
		made := engine.Get(t, "kubernetes:core/v1:ServiceAccount", account)
		meta, _ := pulumitest.Plain(t, made.Inputs, "metadata")
		annotations, _ := meta.(map[string]any)["annotations"].(map[string]any)
		if got := annotations["iam.gke.io/gcp-service-account"]; got != want {
			t.Errorf("%s acts as %v, want %v", account, got, want)
		}
	}
	for policy, want := range map[string]any{"team-web-policy": "team-web@acme", "team-api-policy": "team-api@acme"} {
		expect(t, engine.Get(t, policyType, policy), map[string]any{"spec.context.googleAccount": want, "spec.context.googleAudience": audience})
	}
}

func TestTheOperatorSelectsItsRights(t *testing.T) {
	for image, upstream := range map[string]bool{"": true, operatorImage: false} {
		t.Run("gke "+image, func(t *testing.T) {
			engine := below(t, func(c *platform.Config) { c.OperatorImage = image })
			if err := run(engine); err != nil {
				t.Fatal(err)
			}
			want := platform.ClusterRoles()
			if upstream {
				want = platform.UpstreamClusterRoles()
			}
			for _, role := range engine.OfType(clusterRoleType) {
				name, _ := pulumitest.Plain(t, role.Inputs, "metadata.name")
				rules, _ := pulumitest.Plain(t, role.Inputs, "rules")
				if got := len(rules.([]any)); got != len(want[name.(string)]) {
					t.Errorf("%s has %d rules, want %d", name, got, len(want[name.(string)]))
				}
			}
			for part, type_ := range map[string]string{"team-web-plan": roleBindingType, "team-web-plan-account": "kubernetes:core/v1:ServiceAccount"} {
				made := slices.ContainsFunc(engine.OfType(type_), func(r pulumitest.Resource) bool { return r.Name == part })
				if made == upstream {
					t.Errorf("%s is made: %v, want %v: only the embedded operator plans", part, made, !upstream)
				}
			}
			for part, type_ := range map[string]string{"team-web-workspaces": networkType, "team-web-reviewers": clusterRoleBindingType} {
				made := slices.ContainsFunc(engine.OfType(type_), func(r pulumitest.Resource) bool { return r.Name == part })
				if made != upstream {
					t.Errorf("%s is made: %v, want %v", part, made, upstream)
				}
			}
		})
	}
}

func TestFluxIsNotifiedOfAPush(t *testing.T) {
	for name, test := range map[string]struct {
		components []string
		want       []string
	}{
		"with it":    {[]string{"source-controller", "kustomize-controller", "notification-controller"}, []string{"platform-receiver-receiver", "team-api-receiver-receiver", "team-web-receiver-receiver"}},
		"without it": {[]string{"source-controller", "kustomize-controller"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			engine := below(t, func(c *platform.Config) { c.FluxComponents = test.components })
			if err := run(engine); err != nil {
				t.Fatal(err)
			}
			var made []string
			for _, receiver := range engine.OfType(receiverType) {
				made = append(made, receiver.Name)
			}
			if !slices.Equal(made, test.want) {
				t.Errorf("Receivers are %q, want %q", made, test.want)
			}
		})
	}
}

func TestObjectsOfOtherOwnersArePatched(t *testing.T) {
	engine := below(t, nil)
	if err := run(engine); err != nil {
		t.Fatal(err)
	}
	flux := engine.OfType(fluxType)[0]
	patch := engine.Get(t, "kubernetes:core/v1:NamespacePatch", "flux-pod-security")
	expect(t, patch, map[string]any{
		"metadata.name": "flux-system", `metadata.labels["pod-security.kubernetes.io/enforce"]`: "restricted",
	})
	if !patch.DependsOn(flux) {
		t.Error("the patch does not wait for the namespace")
	}
	for _, account := range engine.OfType("kubernetes:core/v1:ServiceAccount") {
		if name, _ := pulumitest.Plain(t, account.Inputs, "metadata.name"); name == "default" {
			t.Errorf("%s takes over an account that Kubernetes keeps", account.URN)
		}
	}
}

func TestThereAreFewResourcesPerTeam(t *testing.T) {
	count := func(list string) int {
		engine := withTeams(t, list, func(c *platform.Config) { c.Target = "local"; c.TeamCredentials = nil })
		if err := run(engine); err != nil {
			t.Fatal(err)
		}
		return len(engine.All())
	}
	// Each resource costs a round trip or two in every run of the layer.
	if one, two := count("- name: web\n"), count("- name: web\n- name: api\n"); two-one > 22 {
		t.Errorf("a team is %d resources, want 22 at most", two-one)
	}
}
