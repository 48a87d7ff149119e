package hop

import (
	apiextensionsv1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions/v1"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/internal/component"
)

// The kind of a team's policy object.
const (
	// PolicyGroup, PolicyVersion and PolicyKind identify the kind. PolicyPlural is the name of its resource.
	PolicyGroup   = "strata.dev"
	PolicyVersion = "v1"
	PolicyKind    = "TenantPolicy"
	PolicyPlural  = "tenantpolicies"
	// PolicyName is the name of the only TenantPolicy in a team's namespace.
	PolicyName = "strata"
)

// NewPolicyKind creates the CustomResourceDefinition of TenantPolicy. A cluster needs it once, before hops whose
// HopArgs.Policy is not nil. Pass the provider for the cluster in opts.
func NewPolicyKind(ctx *pulumi.Context, name string, opts ...pulumi.ResourceOption) (*apiextensionsv1.CustomResourceDefinition, error) {
	return apiextensionsv1.NewCustomResourceDefinition(ctx, name, &apiextensionsv1.CustomResourceDefinitionArgs{
		Metadata: &metav1.ObjectMetaArgs{
			Name: pulumi.String(PolicyPlural + "." + PolicyGroup), Labels: component.Labels(),
			Annotations: pulumi.StringMap{"pulumi.com/deletionPropagationPolicy": pulumi.String("background")},
		},
		Spec: &apiextensionsv1.CustomResourceDefinitionSpecArgs{
			Group: pulumi.String(PolicyGroup),
			Scope: pulumi.String("Namespaced"),
			Names: &apiextensionsv1.CustomResourceDefinitionNamesArgs{
				Kind: pulumi.String(PolicyKind), ListKind: pulumi.String(PolicyKind + "List"),
				Plural: pulumi.String(PolicyPlural), Singular: pulumi.String("tenantpolicy"),
			},
			Versions: apiextensionsv1.CustomResourceDefinitionVersionArray{&apiextensionsv1.CustomResourceDefinitionVersionArgs{
				Name: pulumi.String(PolicyVersion), Served: pulumi.Bool(true), Storage: pulumi.Bool(true),
				Schema: &apiextensionsv1.CustomResourceValidationArgs{OpenAPIV3Schema: policySchema()},
			}},
		},
	}, opts...)
}

// policySchema returns the schema of TenantPolicy. It bounds the length of each list, so that the API server can compute
// the maximum cost of a CEL expression over it.
func policySchema() *apiextensionsv1.JSONSchemaPropsArgs {
	spec := object("Parameters of the admission policies for the team of this namespace.", apiextensionsv1.JSONSchemaPropsMap{
		"team":          text("The team's name."),
		"contact":       text("Contact for more permissions."),
		"types":         texts("Resource types that Programs may declare, as in teams.yaml, for messages."),
		"typeNames":     texts("The same types, in every spelling that a Program can use."),
		"typePrefixes":  texts("Prefixes of resource types that Programs may declare."),
		"accounts":      texts("Service accounts of the team that its syncs may use."),
		"stackAccounts": texts("Service accounts that Stacks may run as."),
		"sourceUrls":    texts("URLs of the repositories that sources and Stacks may use."),
		"verify":        text("Mode of spec.verify that the team's GitRepositories must have; missing if they need none."),
		"identity": object("Identity that the team's OCIRepositories must verify; missing if they verify keys.", apiextensionsv1.JSONSchemaPropsMap{
			"issuer":      text("Regular expression that matches the issuer of the identity."),
			"subject":     text("Regular expression that matches the subject of the identity."),
			"trustedRoot": text("Name of the Secret with the trusted root; missing for the public Sigstore."),
		}),
		"runTimeout": duration("Maximum duration of a run of a Stack; the operator's own limit if it is missing."),
		"approval":   choice("Changes of the team's Stacks that wait for an approval; data if it is missing.", "data", "always", "never"),
		"notify":     text("Name of the Kustomization in flux-system about which the operator sends the results of the team's Plans to Flux; missing for none."),
		"unfilled":   upTo(1024, "What the team has to write into its Stacks because this cluster does not fill it in; missing if it does."),
		"orders":     numbers("Number of orders of the catalogue that the team may have, by the name of the entry."),
		"anyNames":   boolean("Programs may give databases and users the names of other teams. Only the platform's own teams have this."),
		"workspace": object("Pod of a run under upstream's operator, for Stacks that leave it out; missing under the embedded operator.",
			apiextensionsv1.JSONSchemaPropsMap{
				"image":       text("Image with its digest; missing if the team may choose any."),
				"cpu":         text("Request of CPU."),
				"memory":      text("Request of memory."),
				"memoryLimit": text("Limit of memory, below which no Stack may go."),
			}),
		"context": object("The context of the team's Stacks.", apiextensionsv1.JSONSchemaPropsMap{
			"name":       text("Name of the Secret and of the ConfigMap that contain the context."),
			"backendUrl": text("URL of the only backend for the state of the team's Stacks."),
			"secretsProvider": text("URL of the only key that may encrypt the secrets in that state; missing if the passphrase " +
				"of the context does."),
			"googleAccount":  text("E-mail address of the Google account that the team's Stacks act as, without a key; missing for none."),
			"googleAudience": text("Audience for which Google exchanges tokens of the team's service accounts; missing with googleAccount."),
		}),
	})
	spec.Required = pulumi.ToStringArray([]string{
		"team", "contact", "types", "typeNames", "typePrefixes", "accounts", "stackAccounts", "sourceUrls", "context",
	})
	whole := object("The permissions of a team, as parameters of admission policies. Layer 2 creates the object, and no other layer changes it.",
		apiextensionsv1.JSONSchemaPropsMap{"spec": spec})
	whole.Required = pulumi.ToStringArray([]string{"spec"})
	return whole
}

func object(description string, fields apiextensionsv1.JSONSchemaPropsMap) *apiextensionsv1.JSONSchemaPropsArgs {
	return &apiextensionsv1.JSONSchemaPropsArgs{
		Type: pulumi.String("object"), Description: pulumi.String(description), Properties: fields,
	}
}

func text(description string) *apiextensionsv1.JSONSchemaPropsArgs { return upTo(512, description) }

func upTo(length int, description string) *apiextensionsv1.JSONSchemaPropsArgs {
	return &apiextensionsv1.JSONSchemaPropsArgs{
		Type: pulumi.String("string"), Description: pulumi.String(description), MaxLength: pulumi.Int(length),
	}
}

func choice(description string, values ...string) *apiextensionsv1.JSONSchemaPropsArgs {
	given, all := text(description), pulumi.Array{}
	for _, value := range values {
		all = append(all, pulumi.String(value))
	}
	given.Enum = all
	return given
}

func boolean(description string) *apiextensionsv1.JSONSchemaPropsArgs {
	return &apiextensionsv1.JSONSchemaPropsArgs{Type: pulumi.String("boolean"), Description: pulumi.String(description)}
}

func numbers(description string) *apiextensionsv1.JSONSchemaPropsArgs {
	return &apiextensionsv1.JSONSchemaPropsArgs{
		Type: pulumi.String("object"), Description: pulumi.String(description), MaxProperties: pulumi.Int(256),
		AdditionalProperties: &apiextensionsv1.JSONSchemaPropsArgs{Type: pulumi.String("integer")},
	}
}

func duration(description string) *apiextensionsv1.JSONSchemaPropsArgs {
	given := text(description)
	given.Pattern = pulumi.String(`^([0-9]+(\.[0-9]+)?(s|m|h))+$`)
	return given
}

func texts(description string) *apiextensionsv1.JSONSchemaPropsArgs {
	return &apiextensionsv1.JSONSchemaPropsArgs{
		Type: pulumi.String("array"), Description: pulumi.String(description), MaxItems: pulumi.Int(256),
		Items: &apiextensionsv1.JSONSchemaPropsArgs{Type: pulumi.String("string"), MaxLength: pulumi.Int(512)},
	}
}
