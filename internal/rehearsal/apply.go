package rehearsal

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

var kustomizations = schema.GroupVersionResource{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Resource: "kustomizations"}

// suspend suspends or resumes the syncs of the teams. Layer 2 does not set the field, so it keeps the value.
func (r *run) suspend(ctx context.Context, suspended bool) error {
	config, err := r.platform.Config(ctx, false)
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	list, err := r.platform.Tenants()
	if err != nil {
		return err
	}
	for _, team := range list {
		syncs := client.Resource(kustomizations).Namespace(team.Namespace())
		found, err := syncs.List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, sync := range found.Items {
			patch := fmt.Appendf(nil, `{"spec":{"suspend":%t}}`, suspended)
			if _, err := syncs.Patch(ctx, sync.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "strata-rehearsal"}); err != nil {
				return fmt.Errorf("suspend the sync %s/%s: %w", sync.GetNamespace(), sync.GetName(), err)
			}
		}
	}
	return nil
}
