package loadbalancer

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// publish writes the address of a load balancer into the status of its Service, and the addresses with ports into the
// annotation. It removes both from a Service that has no load balancer any more.
func (c *controller) publish(ctx context.Context, s *corev1.Service) error {
	ingress, addresses := []corev1.LoadBalancerIngress{}, any(nil)
	switch b := c.balancers[nameOf(s)]; {
	case b != nil:
		mode := corev1.LoadBalancerIPModeProxy
		ingress = append(ingress, corev1.LoadBalancerIngress{IP: b.address.String(), IPMode: &mode})
		var all []string
		for _, l := range b.listeners {
			all = append(all, l.Addr().String())
		}
		addresses = strings.Join(all, ",")
	case balanced(s) || s.DeletionTimestamp != nil || !owned(s):
		// An address that is not available now may be again, and other controllers have Services of their own.
		return nil
	}
	have, annotated := s.Annotations[Annotation]
	same := annotated == (addresses != nil) && (!annotated || have == addresses)
	if same && len(ingress) == len(s.Status.LoadBalancer.Ingress) && (len(ingress) == 0 || reflect.DeepEqual(ingress, s.Status.LoadBalancer.Ingress)) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": s.UID, "annotations": map[string]any{Annotation: addresses}},
		"status":   map[string]any{"loadBalancer": map[string]any{"ingress": ingress}},
	})
	if err != nil {
		return err
	}
	_, err = c.Client.CoreV1().Services(s.Namespace).Patch(ctx, s.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil // The next change tells.
	}
	return err
}

// owned reports whether this package has written the status of a Service.
func owned(s *corev1.Service) bool {
	_, ok := s.Annotations[Annotation]
	return ok
}
