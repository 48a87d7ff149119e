// Package sync_test checks the manifests of sync/ against the types of their kinds and the permissions of the accounts
// that apply them.
package sync_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	rbac "k8s.io/api/rbac/v1"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/platform"
	"github.com/strata-platform/strata/platform/operators"
	layer3 "github.com/strata-platform/strata/sync"
)

const root = ".."

func build(t *testing.T, folder string) resmap.ResMap {
	t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(root, folder))
	if err != nil {
		t.Fatalf("build %s: %v", folder, err)
	}
	return built
}

// syncs returns the Kustomizations in the entry point of a target.
func syncs(t *testing.T, target string) []kustomizev1.Kustomization {
	t.Helper()
	return decoded(t, target, build(t, "sync/clusters/"+target))
}

// decoded returns the Kustomizations among objects.
func decoded(t *testing.T, target string, built resmap.ResMap) []kustomizev1.Kustomization {
	t.Helper()
	var all []kustomizev1.Kustomization
	for _, object := range built.Resources() {
		if object.GetKind() != kustomizev1.KustomizationKind {
			continue
		}
		content, err := object.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		var sync kustomizev1.Kustomization
		if err := yaml.UnmarshalStrict(content, &sync); err != nil {
			t.Fatalf("%s of target %s: %v", object.CurId(), target, err)
		}
		all = append(all, sync)
	}
	return all
}

func TestEachSyncIsAppliedAsThePlatformAccountAndNothingElse(t *testing.T) {
	order := []string{"policies", "operator-crds", "operator"}
	for target, want := range map[string][]string{"local": order, "gke": order, "local-upstream": order, "gke-embedded": order} {
		t.Run(target, func(t *testing.T) {
			var names []string
			for _, sync := range syncs(t, target) {
				spec := sync.Spec
				names = append(names, sync.Name)
				if sync.APIVersion != kustomizev1.GroupVersion.String() || sync.Kind != kustomizev1.KustomizationKind {
					t.Errorf("%s is a %s of %s", sync.Name, sync.Kind, sync.APIVersion)
				}
				if sync.Namespace != platform.PlatformNamespace || spec.ServiceAccountName != platform.PlatformAccount {
					t.Errorf("%s is applied as %s in %s", sync.Name, spec.ServiceAccountName, sync.Namespace)
				}
				if !spec.Wait || spec.Timeout == nil || spec.RetryInterval == nil {
					t.Errorf("%s does not wait, retry or end", sync.Name)
				}
				if spec.PostBuild != nil {
					t.Errorf("%s substitutes variables, which breaks Programs", sync.Name)
				}
				if isUpstreams(sync) {
					continue
				}
				// On Google Cloud the kinds stay: with a kind, every Stack and its resources would go.
				if keeps := target == "gke-embedded" && sync.Name == "operator-crds"; spec.Prune == keeps {
					t.Errorf("%s prunes: %v", sync.Name, spec.Prune)
				}
				if spec.SourceRef.Kind != "GitRepository" || spec.SourceRef.Name != platform.PlatformAccount || spec.SourceRef.Namespace != "" {
					t.Errorf("%s takes %s", sync.Name, spec.SourceRef.String())
				}
				if _, err := os.Stat(filepath.Join(root, spec.Path)); err != nil {
					t.Errorf("%s applies a folder that is not there: %v", sync.Name, err)
				}
			}
			if !slices.Equal(names, want) {
				t.Errorf("syncs are %v, want %v", names, want)
			}
		})
	}
}

// TestTheComponentForArtifactsChangesTheKindOfThePlatformsSource adds the component to each entry point, as layer 2 does.
func TestTheComponentForArtifactsChangesTheKindOfThePlatformsSource(t *testing.T) {
	for _, target := range []string{"local", "gke", "local-upstream", "gke-embedded"} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, layer3.Files); err != nil {
			t.Fatal(err)
		}
		content := "resources: [../" + target + "]\ncomponents: [../artifact]\n"
		above := filepath.Join(dir, "clusters", "above")
		if err := errors.Join(os.Mkdir(above, 0o700), os.WriteFile(filepath.Join(above, "kustomization.yaml"), []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
		built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), above)
		if err != nil {
			t.Fatal(err)
		}
		changed := 0
		for _, sync := range decoded(t, target, built) {
			want := "GitRepository"
			if !isUpstreams(sync) {
				want = "OCIRepository"
				changed++
			}
			if sync.Spec.SourceRef.Kind != want {
				t.Errorf("target %s: %s takes %s, want the kind %s", target, sync.Name, sync.Spec.SourceRef.String(), want)
			}
		}
		if changed < 2 {
			t.Errorf("target %s: %d Kustomizations are changed", target, changed)
		}
	}
}

// TestEachSyncWaitsForTheOneBefore checks the order of the syncs: policies, operator-crds, operator. So the policies
// exist before any Program or Stack, and before the operator.
func TestEachSyncWaitsForTheOneBefore(t *testing.T) {
	for _, target := range []string{"local", "gke", "local-upstream", "gke-embedded"} {
		before := map[string]string{"operator-crds": "policies", "operator": "operator-crds"}
		for _, sync := range syncs(t, target) {
			var waits []string
			for _, each := range sync.Spec.DependsOn {
				waits = append(waits, each.Name)
			}
			if got := strings.Join(waits, ","); got != before[sync.Name] {
				t.Errorf("target %s: %s waits for %q, want %q", target, sync.Name, got, before[sync.Name])
			}
		}
	}
}

func TestThePlatformAccountMayApplyWhatIsSynced(t *testing.T) {
	for _, target := range []string{"local", "gke", "local-upstream", "gke-embedded"} {
		for _, sync := range syncs(t, target) {
			if isUpstreams(sync) {
				continue // Its objects come from upstream's repository; the roles name their kinds.
			}
			for _, object := range build(t, sync.Spec.Path).Resources() {
				id := object.CurId()
				rules := platform.ClusterRoles()[platform.RolePlatform]
				if namespace := object.GetNamespace(); namespace != "" {
					rules = platform.NamespaceRoles()[namespace]
					if target == "gke-embedded" && namespace == platform.OperatorNamespace {
						rules = append(rules, operators.PlatformRules()...)
					}
				}
				allowed := slices.ContainsFunc(rules, func(rule rbac.PolicyRule) bool {
					return slices.Contains(rule.APIGroups, id.Group) && slices.Contains(rule.Resources, plural(id.Kind)) &&
						slices.Contains(rule.Verbs, "create") &&
						(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, object.GetName()))
				})
				if !allowed {
					t.Errorf("target %s: the platform account may not apply %s", target, id)
				}
				if id.Kind != "ClusterRoleBinding" {
					continue
				}
				content, _ := object.AsYAML()
				if !bytes.Contains(content, []byte("name: "+platform.RoleOperator+"\n")) {
					t.Errorf("target %s: %s binds another role than %s", target, id, platform.RoleOperator)
				}
			}
		}
	}
}

// plural returns the resource of a kind, for the kinds in sync/.
func plural(kind string) string {
	plural := strings.ToLower(kind)
	if stem, found := strings.CutSuffix(plural, "y"); found {
		return stem + "ies"
	}
	return plural + "s"
}
