package breaking

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/strata-platform/strata/catalogue"
)

// comparison is a kind of the cluster beside its entry, or beside another definition of the kind.
type comparison struct {
	// same says that the two do not differ in what an order can say.
	same bool
	// breaking describes what an order could say before and cannot say now.
	breaking []string
	// gone is why no order fits any more, whatever it says; empty if the kind stays.
	gone string

	// old and new are the schemas of the two; validator and rules check by the new one.
	old, new  *structural.Structural
	validator validation.SchemaValidator
	rules     *cel.Validator
}

// compare compares a kind of the cluster with its entry; nil if there is no entry any more.
func compare(old *apiextensionsv1.CustomResourceDefinition, entry *catalogue.Entry) (*comparison, error) {
	names := old.Spec.Names
	switch {
	case entry == nil:
		return gone("teams.yaml no longer offers " + names.Singular + ", so the kind " + names.Kind + " would be deleted with its orders"), nil
	case entry.Names.Plural != names.Plural:
		return gone(fmt.Sprintf("names.plural changes from %s to %s, so the kind would be deleted with its orders, and made anew", names.Plural, entry.Names.Plural)), nil
	case entry.Names.Kind != names.Kind:
		return gone(fmt.Sprintf("names.kind changes from %s to %s, which Kubernetes refuses for a kind that exists", names.Kind, entry.Names.Kind)), nil
	}
	before, after := schemaOf(old, catalogue.Version), schemaOf(entry.Definition(), catalogue.Version)
	if before == nil {
		return nil, fmt.Errorf("the kind has no schema of version %s", catalogue.Version)
	}
	return compareSchemas(before, after)
}

// compareSchemas compares two schemas of a kind.
func compareSchemas(before, after *apiextensionsv1.JSONSchemaProps) (*comparison, error) {
	c := &comparison{same: equality.Semantic.DeepEqual(before, after), breaking: narrowed(before, after)}
	if c.same {
		return c, nil
	}
	var err error
	if c.old, _, err = internalOf(before); err != nil {
		return nil, err
	}
	var internal *apiextensions.JSONSchemaProps
	if c.new, internal, err = internalOf(after); err != nil {
		return nil, err
	}
	if c.validator, _, err = validation.NewSchemaValidator(internal); err != nil {
		return nil, err
	}
	c.rules = cel.NewValidator(c.new, true, celconfig.PerCallLimit)
	return c, nil
}

func gone(why string) *comparison { return &comparison{gone: why, breaking: []string{why}} }

// schemaOf returns the schema of a version of a kind without its status, which the platform writes; nil if there is none.
func schemaOf(kind *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.JSONSchemaProps {
	for _, version := range kind.Spec.Versions {
		if version.Name == name && version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
			schema := version.Schema.OpenAPIV3Schema.DeepCopy()
			delete(schema.Properties, "status")
			return schema
		}
	}
	return nil
}

// internalOf returns a schema in the forms that the libraries of the API server take.
func internalOf(schema *apiextensionsv1.JSONSchemaProps) (*structural.Structural, *apiextensions.JSONSchemaProps, error) {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(schema, internal, nil); err != nil {
		return nil, nil, err
	}
	converted, err := structural.NewStructural(internal)
	return converted, internal, err
}

// judge returns why the new schema does not fit an order, or nothing. It does what the API server does with a new object:
// it removes unknown fields, fills in defaults, and validates types, values and rules. A rule about changes sees an order
// that does not change.
func (c *comparison) judge(ctx context.Context, order *unstructured.Unstructured) []string {
	if c.gone != "" {
		return []string{c.gone}
	}
	if order.GetDeletionTimestamp() != nil {
		return nil
	}
	object := runtime.DeepCopyJSON(order.Object)
	delete(object, "status")
	var reasons []string
	for _, path := range pruning.PruneWithOptions(object, c.new, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}) {
		if c.set(order, path) {
			reasons = append(reasons, path+" is no longer a field")
		}
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, c.new)
	defaulting.Default(object, c.new)
	errs := validation.ValidateCustomResource(nil, object, c.validator)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.new, object)...)
	if len(errs) == 0 && c.rules != nil {
		// The rules take the types of the schema for granted. The second object must be another one.
		failed, _ := c.rules.Validate(ctx, nil, c.new, object, runtime.DeepCopyJSON(object), celconfig.RuntimeCELCostBudget)
		errs = append(errs, failed...)
	}
	for _, err := range errs {
		reasons = append(reasons, err.Error())
	}
	return reasons
}

// set reports whether an order itself sets the field at a path, such as spec.size. The API server stores the defaults of
// the old schema in every order, and a default is no reason to keep a field.
func (c *comparison) set(order *unstructured.Unstructured, path string) bool {
	keys := strings.Split(path, ".")
	schema := c.old
	for _, key := range keys {
		next, is := schema.Properties[key]
		if !is {
			return true
		}
		schema = &next
	}
	value, found, err := unstructured.NestedFieldNoCopy(order.Object, keys...)
	if err != nil || !found || !equality.Semantic.DeepEqual(value, schema.Default.Object) {
		return true
	}
	return owned(order, keys)
}

// owned reports whether a client has set the field, by the object's list of managed fields. An order that was applied
// without any field has no such list. A team that removes the list of its own order harms itself alone: only its next apply
// fails, for a field whose value was the default.
func owned(order *unstructured.Unstructured, keys []string) bool {
	managers, _, _ := unstructured.NestedSlice(order.Object, "metadata", "managedFields")
	var path []string
	for _, key := range keys {
		path = append(path, "f:"+key)
	}
	for _, manager := range managers {
		entry, _ := manager.(map[string]any)
		fields, _ := entry["fieldsV1"].(map[string]any)
		if _, found, _ := unstructured.NestedFieldNoCopy(fields, path...); found {
			return true
		}
	}
	return false
}
