package breaking

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Kind is the difference between a definition of a kind of the operator and the kind in a cluster.
type Kind struct {
	// Name is the name of the CustomResourceDefinition, such as stacks.pulumi.com.
	Name string
	// Missing says that the cluster does not have the kind. Differs says that its schema is another one.
	Missing, Differs bool
	// Unserved are the versions of the definition that the cluster does not serve.
	Unserved []string
	// Dropped describes the versions of the cluster that the definition would drop, and that it serves or has stored.
	Dropped []string
	// Broken are the objects that the definition refuses, and those that would lose a field: the first ones, by namespace and name.
	// More is the number of the others. Only [RefuseKinds] looks for them.
	Broken []Order
	More   int
}

// Definitions reads the definitions in the files of a folder, sorted by name. Other manifests are left out.
func Definitions(from fs.FS, folder string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	var list []*apiextensionsv1.CustomResourceDefinition
	names, err := fs.Glob(from, folder+"/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return nil, err
		}
		found := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(content, found); err != nil {
			return nil, fmt.Errorf("read the kind in %s: %w", name, err)
		}
		if found.Kind == "CustomResourceDefinition" {
			list = append(list, found)
		}
	}
	slices.SortFunc(list, func(a, b *apiextensionsv1.CustomResourceDefinition) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Kinds compares definitions with the kinds of a cluster, without its objects, and returns the kinds that are not the same.
func Kinds(ctx context.Context, config *rest.Config, definitions []*apiextensionsv1.CustomResourceDefinition) ([]Kind, error) {
	return kinds(ctx, config, definitions, false)
}

// RefuseKinds returns an error if definitions would drop a version of a kind that a cluster serves or has stored, or a field that an
// object sets. It is for an upgrade, before it changes anything.
func RefuseKinds(ctx context.Context, config *rest.Config, definitions []*apiextensionsv1.CustomResourceDefinition) error {
	list, err := kinds(ctx, config, definitions, true)
	if err != nil {
		return err
	}
	var reasons []string
	for _, kind := range list {
		for _, dropped := range kind.Dropped {
			reasons = append(reasons, kind.Name+" "+dropped)
		}
		for _, object := range kind.Broken {
			reasons = append(reasons, object.String())
		}
		if kind.More > 0 {
			reasons = append(reasons, fmt.Sprintf("and %d more of %s", kind.More, kind.Name))
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return fmt.Errorf("nothing was changed: the new kinds of the operator lose what the cluster has: %s: change these objects first, or use a version of Strata between the two", strings.Join(reasons, " | "))
}

func kinds(ctx context.Context, config *rest.Config, definitions []*apiextensionsv1.CustomResourceDefinition, objects bool) ([]Kind, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster for the kinds of the operator: %w", err)
	}
	var list []Kind
	for _, definition := range definitions {
		old, err := definitionNamed(ctx, client, definition.Name)
		if err != nil {
			return nil, err
		}
		if old == nil {
			list = append(list, Kind{Name: definition.Name, Missing: true})
			continue
		}
		kind, comparisons, err := compareKinds(old, definition)
		if err != nil {
			return nil, fmt.Errorf("compare the kind %s with that of the cluster: %w", definition.Name, err)
		}
		if !kind.Differs && len(kind.Unserved)+len(kind.Dropped) == 0 {
			continue
		}
		if compared := comparisons[stored(old)]; objects && compared != nil && !compared.same {
			resource := schema.GroupVersionResource{Group: old.Spec.Group, Version: stored(old), Resource: old.Spec.Names.Plural}
			change := Change{}
			if err := eachObject(ctx, client, resource, func(o *unstructured.Unstructured) { change.add(o, compared.judge(ctx, o)) }); err != nil {
				return nil, err
			}
			kind.Broken, kind.More = change.Broken, change.More
		}
		list = append(list, kind)
	}
	return list, nil
}

// compareKinds compares a kind of the cluster with another definition. It also returns the comparisons of the versions of both.
func compareKinds(old, definition *apiextensionsv1.CustomResourceDefinition) (Kind, map[string]*comparison, error) {
	kind, comparisons := Kind{Name: old.Name}, map[string]*comparison{}
	for _, version := range old.Spec.Versions {
		after := versionOf(definition, version.Name)
		switch {
		case after == nil && slices.Contains(old.Status.StoredVersions, version.Name):
			kind.Dropped = append(kind.Dropped, "drops the version "+version.Name+", in which the cluster has stored objects")
		case version.Served && (after == nil || !after.Served):
			kind.Dropped = append(kind.Dropped, "no longer serves the version "+version.Name)
		}
		if after == nil {
			kind.Differs = true
			continue
		}
		before, then := schemaOf(old, version.Name), schemaOf(definition, version.Name)
		if before == nil || then == nil {
			kind.Differs = kind.Differs || before != then
			continue
		}
		compared, err := compareSchemas(before, then)
		if err != nil {
			return kind, nil, err
		}
		comparisons[version.Name] = compared
		kind.Differs = kind.Differs || !compared.same
	}
	for _, version := range definition.Spec.Versions {
		if before := versionOf(old, version.Name); version.Served && (before == nil || !before.Served) {
			kind.Unserved = append(kind.Unserved, version.Name)
		}
	}
	return kind, comparisons, nil
}

func versionOf(kind *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i, version := range kind.Spec.Versions {
		if version.Name == name {
			return &kind.Spec.Versions[i]
		}
	}
	return nil
}

// stored returns the version in which a cluster stores new objects of a kind.
func stored(kind *apiextensionsv1.CustomResourceDefinition) string {
	for _, version := range kind.Spec.Versions {
		if version.Storage {
			return version.Name
		}
	}
	return ""
}
