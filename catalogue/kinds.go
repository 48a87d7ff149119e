package catalogue

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
)

// Kinds returns the kinds that teams can order in a cluster, as its API server lists them; none if the cluster has no
// catalogue.
func Kinds(ctx context.Context, cluster discovery.DiscoveryInterface) ([]metav1.APIResource, error) {
	list, err := resources(cluster)
	if apierrors.IsNotFound(err) && apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		// An API server that is still starting answers this for every kind, too. Once it is ready, the answer is true.
		if _, err := cluster.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
			return nil, fmt.Errorf("list the kinds of %s: the API server is not ready: %w", Group, err)
		}
		list, err = resources(cluster)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the kinds of %s: %w", Group, err)
	}
	var kinds []metav1.APIResource
	for _, resource := range list.APIResources {
		// Subresources have names such as databases/status.
		if resource.Namespaced && !strings.Contains(resource.Name, "/") {
			kinds = append(kinds, resource)
		}
	}
	return kinds, nil
}

func resources(cluster discovery.DiscoveryInterface) (*metav1.APIResourceList, error) {
	return cluster.ServerResourcesForGroupVersion(Group + "/" + Version)
}
