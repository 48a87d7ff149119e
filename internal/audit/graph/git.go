package graph

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/audit"
)

// ofGit returns the edges of a login: to the accounts as which Flux applies the repositories that it writes.
func (g *Graph) ofGit(login string) []edge {
	var edges []edge
	for i := range g.facts.Syncs {
		sync := &g.facts.Syncs[i]
		repository, known := g.repositoryOf(sync)
		if !known || login != repository && login != g.git.Engineer {
			continue
		}
		account, _, _ := unstructured.NestedString(sync.Object, "spec", "serviceAccountName")
		if account == "" {
			account = "default" // Flux runs with --default-service-account.
		}
		edges = append(edges, edge{
			audit.ServiceAccount(sync.GetNamespace(), account),
			"writes repository " + repository + ", which Flux applies by Kustomization " + sync.GetNamespace() + "/" + sync.GetName(),
		})
	}
	return edges
}

// repositoryOf returns the repository of the Git server that a Kustomization applies.
func (g *Graph) repositoryOf(sync *unstructured.Unstructured) (string, bool) {
	if g.git == nil {
		return "", false
	}
	kind, _, _ := unstructured.NestedString(sync.Object, "spec", "sourceRef", "kind")
	name, _, _ := unstructured.NestedString(sync.Object, "spec", "sourceRef", "name")
	namespace, _, _ := unstructured.NestedString(sync.Object, "spec", "sourceRef", "namespace")
	if namespace == "" {
		namespace = sync.GetNamespace()
	}
	for i := range g.facts.Sources {
		source := &g.facts.Sources[i]
		if kind != source.GetKind() || source.GetName() != name || source.GetNamespace() != namespace {
			continue
		}
		url, _, _ := unstructured.NestedString(source.Object, "spec", "url")
		path, own := strings.CutPrefix(url, g.git.URL+"/")
		return strings.TrimSuffix(path, ".git"), own
	}
	return "", false
}
