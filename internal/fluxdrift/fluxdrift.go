// Package fluxdrift compares the Flux of a cluster with the files from which it was installed, and applies these files again.
package fluxdrift

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/flux2/v2/pkg/manifestgen/kustomization"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/normalize"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Flux is an installation of Flux.
type Flux struct {
	// Kube is a client of the cluster with the rights of its administrator.
	Kube client.Client
	// Folder is the folder of Flux's kustomization.yaml in its repository, and Files are the repository's files below it, by
	// their paths in the repository.
	Folder string
	Files  map[string]string
}

// definitionsLimit bounds the wait for the kinds of Flux.
const definitionsLimit = time.Minute

// compared are the kinds that Differences compares: the controllers and the root sync. The root sync itself corrects all other objects, as
// long as these are there.
var compared = []string{"Deployment", "GitRepository", "Kustomization"}

// Differences returns one clause for each controller and each part of the root sync that is missing or that somebody changed, such as
// "Deployment flux-system/source-controller is missing". It changes nothing: the API server applies each object in a dry run, as Flux's
// own correction of drift does.
func (f Flux) Differences(ctx context.Context) ([]string, error) {
	objects, err := f.describe()
	if err != nil {
		return nil, err
	}
	manager := NewManager(f.Kube)
	var found []string
	for _, object := range objects {
		name := fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
		// A dry run of a missing object needs its namespace, so it is no substitute for this read.
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(object.GroupVersionKind())
		if err := f.Kube.Get(ctx, client.ObjectKeyFromObject(object), live); apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err) {
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

// Apply applies the files. It adds no Secret: the files contain no credentials of the repository.
func (f Flux) Apply(ctx context.Context) error {
	objects, err := f.build(func(content string) string { return content })
	if err != nil {
		return err
	}
	opts := ssa.DefaultApplyOptions()
	opts.WaitTimeout = definitionsLimit
	if _, err := NewManager(f.Kube).ApplyAllStaged(ctx, objects, opts); err != nil {
		return fmt.Errorf("apply the files of Flux in %s: %w", f.Folder, err)
	}
	return nil
}

// NewManager returns a manager that applies objects as Flux's command line does. kustomize-controller takes over its fields.
func NewManager(kube client.Client) *ssa.ResourceManager {
	return ssa.NewResourceManager(kube, polling.NewStatusPoller(kube, kube.RESTMapper(), polling.Options{}), ssa.Owner{Field: "flux", Group: "fluxcd.io"})
}

// Build builds the objects of a folder's kustomization, with the manifests in more. root is the folder of the repository.
func Build(root, folder, more string) ([]*unstructured.Unstructured, error) {
	built, err := kustomization.BuildWithRoot(root, filepath.Join(root, filepath.FromSlash(folder)))
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", folder, err)
	}
	objects, err := ssautil.ReadObjects(strings.NewReader(string(built) + more))
	if err != nil {
		return nil, fmt.Errorf("read the objects of %s: %w", folder, err)
	}
	if err := normalize.UnstructuredList(objects); err != nil {
		return nil, fmt.Errorf("normalize the objects of %s: %w", folder, err)
	}
	return objects, nil
}

// describe builds the compared objects of the files. The definitions of Flux's kinds take most of the time of a build, so it omits them,
// unless a patch of the repository needs them.
func (f Flux) describe() ([]*unstructured.Unstructured, error) {
	objects, err := f.build(withoutDefinitions)
	if err != nil {
		objects, err = f.build(func(content string) string { return content })
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

// build builds the objects of the files, whose contents it changes first.
func (f Flux) build(change func(string) string) ([]*unstructured.Unstructured, error) {
	temp, err := os.MkdirTemp("", "strata-flux-drift-")
	if err != nil {
		return nil, fmt.Errorf("create a work folder: %w", err)
	}
	defer os.RemoveAll(temp)
	root, err := os.OpenRoot(temp)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for name, content := range f.Files {
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return nil, err
		}
		if err := root.WriteFile(name, []byte(change(content)), 0o600); err != nil {
			return nil, err
		}
	}
	return Build(temp, f.Folder, "")
}
