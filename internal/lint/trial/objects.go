package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/fluxcd/pkg/kustomize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/lint"
)

// Object is an object of a build.
type Object struct {
	// JSON is the object as Flux applies it.
	JSON []byte
	// Origin is the file that the object comes from, as a path in the repository; empty for an object that a generator makes.
	Origin string
}

// Manifests are the objects of a build.
type Manifests struct {
	Built
	// Objects are the objects in the order of the build. Empty after a failure.
	Objects []Object
	// Read are the files that the build reads, as sorted paths in the repository. Empty after a failure.
	Read []string
}

// Manifests builds a commit for one sync as Build does, and also returns the objects. Of the sync's variables, it knows those in
// postBuild.substitute, and not those in Secrets and ConfigMaps.
func (t *Trial) Manifests(repository fs.FS, sync Sync) ([]lint.Problem, Manifests, error) {
	spec, err := json.Marshal(sync)
	if err != nil {
		return nil, Manifests{}, err
	}
	result, err := t.judge(repository, request{Limits: t.limits, Sync: spec, Objects: true}, "build")
	return result.Problems, Manifests{Built: result.Built, Objects: result.Objects, Read: result.Read}, err
}

// traced makes a build annotate each object with the file that the object comes from. folder contains the kustomization file
// of the build.
func traced(folder string) error {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		name = filepath.Join(folder, name)
		content, err := os.ReadFile(name)
		if err != nil {
			continue // A folder has one file with one of the names.
		}
		var fields map[string]any
		if err := yaml.Unmarshal(content, &fields); err != nil {
			return err
		}
		given, _ := fields["buildMetadata"].([]any)
		fields["buildMetadata"] = append(given, types.OriginAnnotations)
		if content, err = yaml.Marshal(fields); err != nil {
			return err
		}
		return os.WriteFile(name, content, 0o600)
	}
	return nil
}

// objects returns the objects of a traced build of a folder, and removes the annotations. It substitutes the variables that are
// in the sync itself, and none from objects of the cluster.
func objects(built resmap.ResMap, artifact, folder string, sync unstructured.Unstructured) ([]Object, error) {
	_, substitutes, _ := unstructured.NestedMap(sync.Object, "spec", "postBuild")
	var all []Object
	for _, each := range built.Resources() {
		object := Object{}
		if origin, err := each.GetOrigin(); err == nil && origin != nil && origin.Repo == "" && origin.Path != "" {
			if relative, err := filepath.Rel(artifact, filepath.Join(folder, origin.Path)); err == nil && filepath.IsLocal(relative) {
				object.Origin = filepath.ToSlash(relative)
			}
		}
		if err := each.SetOrigin(nil); err != nil {
			return nil, err
		}
		if substitutes {
			// A nil result means that the object opts out.
			if _, err := kustomize.SubstituteVariables(context.Background(), nil, sync, each, kustomize.SubstituteWithDryRun(true)); err != nil {
				return nil, fmt.Errorf("%s %s: %w", each.GetKind(), each.GetName(), err)
			}
		}
		var err error
		if object.JSON, err = each.MarshalJSON(); err != nil {
			return nil, err
		}
		all = append(all, object)
	}
	return all, nil
}

// within returns the files that the build has read, as sorted paths in the artifact.
func (r *remembering) within(artifact string) ([]string, error) {
	artifact, err := filepath.EvalSymlinks(artifact)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r.read)) {
		relative, err := filepath.Rel(artifact, name)
		if err != nil {
			return nil, err
		}
		if filepath.IsLocal(relative) {
			all = append(all, filepath.ToSlash(relative))
		}
	}
	return all, nil
}
