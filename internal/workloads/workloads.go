// Package workloads lists the teams' pages, and the teams' pods that the local node only simulates.
package workloads

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/forward"
	"github.com/strata-platform/strata/internal/status/snapshot"
)

// List are the teams' pods as their users see them.
type List struct {
	// Pages are the pages that this machine serves. See [forward.Pages].
	Pages []forward.Result `json:"pages"`
	// Simulated are the pods that do not run, although the cluster shows them as running.
	Simulated []Pod `json:"simulated"`
}

// Pod is a pod that the local node shows as running, without running it.
type Pod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Reason says why the node does not run the pod. It may contain text of a team.
	Reason string `json:"reason"`
}

// Of lists the pages in some namespaces, and the simulated pods.
func Of(ctx context.Context, config *rest.Config, namespaces []string) (List, error) {
	w := List{Pages: []forward.Result{}, Simulated: []Pod{}}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return w, err
	}
	pages, err := forward.Pages(ctx, client, namespaces)
	if err != nil {
		return w, err
	}
	for _, page := range pages {
		w.Pages = append(w.Pages, page.Result(page.Address))
	}
	for _, namespace := range namespaces {
		pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return w, fmt.Errorf("list the pods of namespace %s: %w", namespace, err)
		}
		for _, pod := range pods.Items {
			if pod.Annotations[snapshot.AnnotationRuntime] == snapshot.RuntimeSimulated {
				w.Simulated = append(w.Simulated, Pod{namespace, pod.Name, pod.Annotations[snapshot.AnnotationRuntimeReason]})
			}
		}
	}
	slices.SortFunc(w.Simulated, func(a, b Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return w, nil
}
