// Package artifactguard creates the admission policies for artifacts before layer 3 exists.
package artifactguard

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/apiextensions"
	metav1 "github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/meta/v1"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/sync"
)

// Prefix begins the names of the policies and their bindings. Those of layer 3 begin with "strata-".
const Prefix = "strata-platform-"

// file is the file of layer 3 with the policies.
const file = "policies/artifacts.yaml"

// object is a policy or a binding.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec map[string]any `json:"spec"`
}

// New creates the policies for artifacts under names of their own, and returns them. If layer 3 comes from an artifact, they hold
// from the first artifact on, and no artifact can remove them. metadata returns the metadata of an object of a name.
func New(ctx *pulumi.Context, metadata func(name string) *metav1.ObjectMetaArgs, opts ...pulumi.ResourceOption) ([]pulumi.Resource, error) {
	content, err := sync.Files.ReadFile(file)
	if err != nil {
		return nil, err
	}
	rename := func(name string) string { return Prefix + strings.TrimPrefix(name, "strata-") }
	var made []pulumi.Resource
	for document := range bytes.SplitSeq(content, []byte("\n---\n")) {
		var each object
		if err := yaml.UnmarshalStrict(document, &each); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		name := rename(each.Metadata.Name)
		resource := name
		if of, isBinding := each.Spec["policyName"].(string); isBinding {
			each.Spec["policyName"] = rename(of)
			resource += "-binding"
		}
		policy, err := apiextensions.NewCustomResource(ctx, resource, &apiextensions.CustomResourceArgs{
			ApiVersion: pulumi.String(each.APIVersion), Kind: pulumi.String(each.Kind), Metadata: metadata(name),
			OtherFields: kubernetes.UntypedArgs{"spec": pulumi.Any(each.Spec)},
		}, opts...)
		if err != nil {
			return nil, err
		}
		made = append(made, policy)
	}
	return made, nil
}
