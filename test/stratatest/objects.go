package stratatest

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// passing are the resources whose objects the cluster creates and deletes by itself.
var passing = []string{"events", "leases"}

// Object is an object of a cluster.
type Object struct {
	Resource schema.GroupVersionResource
	metav1.PartialObjectMetadata
}

// String returns "RESOURCE.GROUP NAMESPACE/NAME".
func (o Object) String() string {
	return fmt.Sprintf("%s %s/%s", o.Resource.GroupResource(), o.Namespace, o.Name)
}

// Objects returns all objects of a cluster, without those of passing resources.
func Objects(ctx context.Context, kubeconfig string) ([]Object, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.WarningHandler = rest.NoWarnings{} // about deprecated resources
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	resources, err := listable(config)
	if err != nil {
		return nil, err
	}
	var found []Object
	for _, resource := range resources {
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource, err)
		}
		for _, object := range list.Items {
			found = append(found, Object{resource, object})
		}
	}
	return found, nil
}

// listable returns all resources that can be listed and watched, each once.
func listable(config *rest.Config) ([]schema.GroupVersionResource, error) {
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	lists, err := discoverer.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	var resources []schema.GroupVersionResource
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "watch") && !slices.Contains(passing, resource.Name) {
				resources = append(resources, group.WithResource(resource.Name))
			}
		}
	}
	return resources, nil
}
