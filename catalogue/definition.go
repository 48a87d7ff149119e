package catalogue

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxOrderName is the longest name of an order. The name of a MySQL user has at most 32 characters: the team's name, an
// underscore and the order's name. The operator checks the sum.
const MaxOrderName = 30

// Values of an order's field onDelete.
const (
	// Keep keeps the created resources when the order is deleted. A later order of the same team, kind and name gets them
	// back.
	Keep = "keep"
	// Delete deletes the created resources with the order.
	Delete = "delete"
)

// Definition returns the CustomResourceDefinition of the entry's kind. Every kind has the field spec.onDelete, a status
// with the conditions that Flux and kubectl wait for, and the rule for an order's name.
func (e *Entry) Definition() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: e.Names.Plural + "." + Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Kind: e.Names.Kind, ListKind: e.Names.Kind + "List", Plural: e.Names.Plural, Singular: e.Name,
				ShortNames: e.Names.ShortNames, Categories: []string{"catalogue"},
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: e.schema()},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{
					{Name: "Ready", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].status`},
					{Name: "Secret", Type: "string", JSONPath: ".status.secretName"},
					{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"},
					{Name: "Status", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].message`, Priority: 1},
				},
			}},
		},
	}
}

// schema returns the schema of the entry's orders: the entry's own spec, with the fields and the status that every order has.
func (e *Entry) schema() *apiextensionsv1.JSONSchemaProps {
	spec := *e.Spec.DeepCopy()
	spec.Description = "What to create."
	spec.Properties = maps.Clone(spec.Properties)
	if spec.Properties == nil {
		spec.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
	}
	spec.Properties["onDelete"] = apiextensionsv1.JSONSchemaProps{
		Type: "string", Default: raw(Keep), Enum: []apiextensionsv1.JSON{*raw(Keep), *raw(Delete)},
		Description: "What happens to the created resources when this order is deleted: keep keeps them, and a later order of the same name gets them back; delete deletes them.",
	}
	// A field with a default is never missing, and the default {} of the spec would not fit its own schema.
	spec.Required = slices.DeleteFunc(spec.Required, func(name string) bool { return spec.Properties[name].Default != nil })
	var required []string
	if len(spec.Required) == 0 && len(spec.XValidations) == 0 {
		spec.Default = raw(map[string]any{})
	} else {
		// An order without a spec may break a rule of the whole spec, too.
		required = []string{"spec"}
	}
	text := func(description string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", Description: description}
	}
	condition := apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"type", "status", "reason", "message", "lastTransitionTime"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"type": text("Ready, Reconciling or Stalled."), "status": text("True, False or Unknown."),
			"reason": text("One word for programs."), "message": text("One sentence for people."),
			"lastTransitionTime": {Type: "string", Format: "date-time", Description: "When the status changed."},
			"observedGeneration": {Type: "integer", Format: "int64", Description: "The generation of the order that the condition describes."},
		},
	}
	return &apiextensionsv1.JSONSchemaProps{
		Type: "object", Description: e.Description, Required: required,
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"spec": spec,
			"status": {
				Type: "object", Description: "State of the order, which the platform writes.",
				// Without it, Flux takes an order that nobody has looked at yet for a finished one (kstatus, "observedGeneration").
				Default: raw(map[string]any{"observedGeneration": -1}),
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"observedGeneration": {Type: "integer", Format: "int64", Description: "The generation of the order that the conditions describe."},
					"secretName":         text("Name of the Secret with the results, in the order's namespace."),
					"configMapName":      text("Name of the ConfigMap with the results that are not secret."),
					"conditions": {
						Type: "array", Description: "Ready is True if the results are there. Stalled is True if waiting does not help.",
						Items:     &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &condition},
						XListType: new("map"), XListMapKeys: []string{"type"},
					},
				},
			},
		},
		XValidations: apiextensionsv1.ValidationRules{{
			Rule:    fmt.Sprintf("self.metadata.name.matches('^[a-z]([a-z0-9]|-[a-z0-9])*$') && size(self.metadata.name) <= %d", MaxOrderName),
			Message: fmt.Sprintf("the name of an order is at most %d lower-case letters, digits and single hyphens, and begins with a letter", MaxOrderName),
		}},
	}
}

// raw returns a value as JSON. The values are constants, so an error is a mistake in this package.
func raw(value any) *apiextensionsv1.JSON {
	encoded, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return &apiextensionsv1.JSON{Raw: encoded}
}
