package versions

import (
	"context"
	"fmt"
	"slices"

	inventory "github.com/fluxcd/cli-utils/pkg/object"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/platform"
)

// kindsSync is the name of the Kustomization with the kinds of the operator (sync/clusters).
const kindsSync = "operator-crds"

var (
	syncs       = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}
	definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// Unestablished names a kind of the operator that the API server does not serve yet, and says why. It is empty if the API server
// serves all kinds that Flux has applied. It works for upstream's operator, too, whose kinds this strata does not have.
func Unestablished(ctx context.Context, config *rest.Config) (string, error) {
	client, err := dynamic.NewForConfig(lifecycle.Brief(config))
	if err != nil {
		return "", fmt.Errorf("connect to the cluster for the kinds of the operator: %w", err)
	}
	sync, err := client.Resource(syncs).Namespace(platform.PlatformNamespace).Get(ctx, kindsSync, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "Kustomization " + platform.PlatformNamespace + "/" + kindsSync + " does not exist", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the kinds of the operator that Flux has applied: %w", err)
	}
	names := applied(sync)
	if len(names) == 0 {
		return "Kustomization " + platform.PlatformNamespace + "/" + kindsSync + " has applied no kinds", nil
	}
	for _, name := range names {
		found, err := client.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "CustomResourceDefinition " + name + " does not exist", nil
		}
		if err != nil {
			return "", fmt.Errorf("read the kind %s: %w", name, err)
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Object, definition); err != nil {
			return "", fmt.Errorf("read the kind %s: %w", name, err)
		}
		if why := unestablished(definition); why != "" {
			return "CustomResourceDefinition " + name + why, nil
		}
	}
	return "", nil
}

// applied returns the names of the CustomResourceDefinitions that a Kustomization has applied.
func applied(sync *unstructured.Unstructured) []string {
	entries, _, _ := unstructured.NestedSlice(sync.Object, "status", "inventory", "entries")
	var names []string
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		text, _ := fields["id"].(string)
		id, err := inventory.ParseObjMetadata(text)
		if err == nil && id.GroupKind == (schema.GroupKind{Group: definitions.Group, Kind: "CustomResourceDefinition"}) {
			names = append(names, id.Name)
		}
	}
	return names
}

// unestablished says why the API server does not serve a kind; empty if it does.
func unestablished(definition *apiextensionsv1.CustomResourceDefinition) string {
	for _, kind := range []apiextensionsv1.CustomResourceDefinitionConditionType{apiextensionsv1.NamesAccepted, apiextensionsv1.Established} {
		at := slices.IndexFunc(definition.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool { return c.Type == kind })
		if at < 0 {
			return " is not established yet"
		}
		if c := definition.Status.Conditions[at]; c.Status != apiextensionsv1.ConditionTrue {
			return fmt.Sprintf(" is not established: %s: %s", c.Reason, c.Message)
		}
	}
	return ""
}
