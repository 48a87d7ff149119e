// Package kinds validates objects as an API server does before its admission policies, without an API server.
//
// The schemas of custom kinds come from their CustomResourceDefinitions. For Kubernetes' own kinds the package knows the
// fields and their types, but not the rules between them, which only the API server contains.
package kinds

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/api/meta"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// Kinds are the kinds of a cluster.
type Kinds struct {
	custom map[schema.GroupVersionKind]*custom
	native func() managedfields.TypeConverter
}

// custom is a version of a kind that a CustomResourceDefinition defines.
type custom struct {
	resource   schema.GroupVersionResource
	namespaced bool
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
	typed      managedfields.TypeConverter
}

// New returns Kubernetes' own kinds and the kinds of the definitions.
func New(definitions []*apiextensionsv1.CustomResourceDefinition) (*Kinds, error) {
	k := &Kinds{custom: map[schema.GroupVersionKind]*custom{}}
	// The schemas of Kubernetes are large.
	k.native = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme.Scheme) })
	for _, definition := range definitions {
		// The API server sets these when it stores the definition.
		definition = definition.DeepCopy()
		apiextensionsv1.SetDefaults_CustomResourceDefinition(definition)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
		for _, version := range definition.Spec.Versions {
			made, err := newCustom(definition, version)
			if err != nil {
				return nil, fmt.Errorf("read the CustomResourceDefinition %s: %w", definition.Name, err)
			}
			k.custom[schema.GroupVersionKind{Group: definition.Spec.Group, Version: version.Name, Kind: definition.Spec.Names.Kind}] = made
		}
	}
	return k, nil
}

func newCustom(definition *apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion) (*custom, error) {
	var internal apiextensions.CustomResourceValidation
	if err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, &internal, nil); err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	made := &custom{
		resource:   schema.GroupVersionResource{Group: definition.Spec.Group, Version: version.Name, Resource: definition.Spec.Names.Plural},
		namespaced: definition.Spec.Scope == apiextensionsv1.NamespaceScoped,
		structural: structural,
		rules:      cel.NewValidator(structural, true, celconfig.PerCallLimit),
	}
	if made.schema, _, err = validation.NewSchemaValidator(internal.OpenAPIV3Schema); err != nil {
		return nil, err
	}
	models, err := builder.BuildOpenAPIV3(definition, version.Name, builder.Options{})
	if err != nil {
		return nil, err
	}
	made.typed, err = managedfields.NewTypeConverter(models.Components.Schemas, false)
	return made, err
}

// Resource returns the resource of a kind and whether it is namespaced. known is false for kinds that no schema describes:
// the result is then a guess.
func (k *Kinds) Resource(kind schema.GroupVersionKind) (resource schema.GroupVersionResource, namespaced, known bool) {
	if found := k.custom[kind]; found != nil {
		return found.resource, found.namespaced, true
	}
	resource, _ = meta.UnsafeGuessKindToResource(kind)
	if !scheme.Scheme.Recognizes(kind) {
		return resource, true, false
	}
	version, name := kind.ToAPIVersionAndKind()
	namespaced, found := openapi.IsNamespaceScoped(kyaml.TypeMeta{APIVersion: version, Kind: name})
	return resource, namespaced || !found, true
}

// Refusal is an error of the API server about an object.
type Refusal struct {
	// Field is the path of the field, such as spec.stack or spec.containers[0].name; empty for the whole object.
	Field string
	// Reason and Message are those of the API server's answer.
	Reason metav1.StatusReason
	// Message is in the API server's words.
	Message string
}

// Admit returns the refusals of the API server when a client applies the object, up to the first step that refuses. It fills
// in the defaults of the object's kind. Between these steps the API server calls its mutating policies: fill does so.
func (k *Kinds) Admit(ctx context.Context, object *unstructured.Unstructured, fill func() error) ([]Refusal, error) {
	kind := object.GroupVersionKind()
	found := k.custom[kind]
	if refusals := k.typed(object, found); len(refusals) > 0 {
		return refusals, nil
	}
	if found != nil {
		defaulting.PruneNonNullableNullsWithoutDefaults(object.Object, found.structural)
		defaulting.Default(object.Object, found.structural)
	}
	if err := fill(); err != nil {
		return nil, err
	}
	if found != nil {
		// A policy can add fields, and fields that the kind does not have.
		defaulting.Default(object.Object, found.structural)
		pruning.Prune(object.Object, found.structural, true)
	}
	_, namespaced, _ := k.Resource(kind)
	return refused(object, found.validate(ctx, object, namespaced)), nil
}

// validate returns the errors of the values of an object. It works on a nil custom, for Kubernetes' own kinds.
func (c *custom) validate(ctx context.Context, object *unstructured.Unstructured, namespaced bool) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaAccessor(object, namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	if c == nil {
		return errs
	}
	errs = append(errs, validation.ValidateCustomResource(nil, object.UnstructuredContent(), c.schema)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, object.Object)...)
	// The API server evaluates the rules only on objects of the right form.
	if c.rules != nil && len(errs) == 0 {
		broken, _ := c.rules.Validate(ctx, nil, c.structural, object.Object, nil, celconfig.RuntimeCELCostBudget)
		errs = append(errs, broken...)
	}
	return errs
}
