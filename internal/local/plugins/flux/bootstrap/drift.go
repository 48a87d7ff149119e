package bootstrap

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/ssa"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/plugins/flux/cluster"
	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
)

// compared are the kinds that Drift compares: the controllers and the root sync. The root sync itself corrects all other
// objects, as long as these are there.
var compared = []string{"Deployment", "GitRepository", "Kustomization"}

// Drift compares the cluster with the files of Flux's repository, and returns one clause for each controller and each part of
// the root sync that is missing or that somebody changed. It changes nothing: the API server applies each object in a dry
// run, as Flux's own correction of drift does.
func Drift(ctx context.Context, o options.Options, files map[string]string) ([]string, error) {
	o = o.WithDefaults()
	kube, err := o.Kubernetes.NewClient()
	if err != nil {
		return nil, err
	}
	i := installation{o, kube}
	objects, err := i.describe(files)
	if err != nil {
		return nil, err
	}
	manager := i.manager()
	var found []string
	for _, object := range objects {
		name := fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
		// A dry run of a missing object needs its namespace, so it is no substitute for this read.
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(object.GroupVersionKind())
		if err := kube.Get(ctx, client.ObjectKeyFromObject(object), live); cluster.Gone(err) {
			found = append(found, name+" is missing")
			continue
		} else if err != nil {
			return found, fmt.Errorf("get %s: %w", name, err)
		}
		entry, _, _, err := manager.Diff(ctx, object, ssa.DefaultDiffOptions())
		if err != nil {
			return found, fmt.Errorf("compare %s: %w", name, err)
		}
		if entry.Action == ssa.ConfiguredAction {
			found = append(found, name+" was changed")
		}
	}
	return found, nil
}

// describe builds the compared objects of the files. The definitions of Flux's kinds take most of the time of a build, so it
// omits them, unless a patch of the repository needs them.
func (i installation) describe(files map[string]string) ([]*unstructured.Unstructured, error) {
	objects, err := i.buildFiles(files, withoutDefinitions)
	if err != nil {
		objects, err = i.buildFiles(files, func(content string) string { return content })
	}
	return slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return !slices.Contains(compared, o.GetKind()) }), err
}

// withoutDefinitions removes the CustomResourceDefinitions from a file of manifests.
func withoutDefinitions(content string) string {
	const separator = "\n---\n"
	documents := slices.DeleteFunc(strings.Split(content, separator), func(document string) bool {
		return strings.Contains("\n"+document, "\nkind: CustomResourceDefinition\n")
	})
	return strings.Join(documents, separator)
}

// buildFiles builds the objects of the files, whose contents it changes first.
func (i installation) buildFiles(files map[string]string, change func(string) string) ([]*unstructured.Unstructured, error) {
	root, err := os.MkdirTemp("", "strata-flux-drift-")
	if err != nil {
		return nil, fmt.Errorf("create a work folder: %w", err)
	}
	defer os.RemoveAll(root)
	for name, content := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(change(content)), 0o600); err != nil {
			return nil, err
		}
	}
	return i.build(root, "")
}
