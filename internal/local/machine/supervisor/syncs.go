package supervisor

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/strata-platform/strata/internal/lint/trial"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/gitserver/applied"
	"github.com/strata-platform/strata/teams"
)

// These are the resources of Flux that relate a repository to its builds. The supervisor reads them as unstructured
// objects, because the specs go to kustomize as they are.
var (
	gitRepositories = schema.GroupVersionResource{Group: "source.toolkit.fluxcd.io", Version: "v1", Resource: "gitrepositories"}
	kustomizations  = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
)

// findTimeout bounds how long a push waits for an API server that does not answer.
const findTimeout = 5 * time.Second

// address returns the URL of a repository in Flux's GitRepositories.
func (s *supervisor) address(repository string) string { return s.gitURL + "/" + repository + ".git" }

// syncs returns the Kustomizations that build a repository. If the cluster has none, or does not answer, it returns the
// Kustomization that layer 2 creates for a team by default.
func (s *supervisor) syncs(ctx context.Context, repository string) []gitserver.Sync {
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	found, err := s.findSyncs(ctx, repository)
	if err != nil {
		s.Log.Warn("cannot list the Kustomizations of a repository; checking the push as for a new team", "repository", repository, "error", err)
	}
	if len(found) == 0 {
		return []gitserver.Sync{{
			Branch: teams.DefaultBranch, Planned: err == nil,
			Spec: trial.Sync{"path": teams.DefaultPath, "targetNamespace": teams.Team{Name: repository}.Namespace()},
		}}
	}
	syncs := make([]gitserver.Sync, len(found))
	for i, each := range found {
		syncs[i] = each.Sync
	}
	return syncs
}

// findSyncs returns the Kustomizations in the cluster that build a repository.
func (s *supervisor) findSyncs(ctx context.Context, repository string) ([]foundSync, error) {
	config := s.cluster.Admin()
	if config == nil {
		return nil, nil
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	sources, err := client.Resource(gitRepositories).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil // Flux is not installed yet.
	}
	if err != nil {
		return nil, fmt.Errorf("list GitRepositories: %w", err)
	}
	followed := map[types.NamespacedName]gitserver.Sync{} // by the name of the source
	for _, source := range sources.Items {
		if url, _, _ := unstructured.NestedString(source.Object, "spec", "url"); url == s.address(repository) {
			ref, _, _ := unstructured.NestedStringMap(source.Object, "spec", "ref")
			follows := gitserver.Sync{Branch: applied.BranchOf(ref)}
			if follows.Branch == "" {
				follows.Versions = applied.VersionsOf(ref)
			}
			followed[types.NamespacedName{Namespace: source.GetNamespace(), Name: source.GetName()}] = follows
		}
	}
	syncs, err := client.Resource(kustomizations).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list Kustomizations: %w", err)
	}
	var found []foundSync
	for _, sync := range syncs.Items {
		source, _, _ := unstructured.NestedStringMap(sync.Object, "spec", "sourceRef")
		name := types.NamespacedName{Namespace: source["namespace"], Name: source["name"]}
		if name.Namespace == "" {
			name.Namespace = sync.GetNamespace()
		}
		spec, ok, _ := unstructured.NestedMap(sync.Object, "spec")
		follows, builds := followed[name]
		if ok && source["kind"] == "GitRepository" && builds {
			follows.Spec, follows.Namespace, follows.Name, follows.Source = spec, sync.GetNamespace(), sync.GetName(), name.Name
			if sync.GetNamespace() == (teams.Team{Name: repository}).Namespace() {
				follows.Account, _, _ = unstructured.NestedString(spec, "serviceAccountName")
			}
			found = append(found, foundSync{follows, name})
		}
	}
	return found, nil
}
