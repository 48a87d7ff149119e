package lifecycle

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/internal/forward"
	"github.com/strata-platform/strata/internal/status/snapshot"
)

// Workloads are the teams' pods as their users see them.
type Workloads struct {
	// Pages are the pages that this machine serves. See [forward.Pages].
	Pages []forward.Result `json:"pages"`
	// Simulated are the pods that do not run, although the cluster shows them as running.
	Simulated []SimulatedPod `json:"simulated"`
}

// SimulatedPod is a pod that the local node shows as running, without running it.
type SimulatedPod struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Reason says why the node does not run the pod. It may contain text of a team.
	Reason string `json:"reason"`
}

// Workloads lists the pages of the teams, and their simulated pods.
func (p *Platform) Workloads(ctx context.Context) (Workloads, error) {
	w := Workloads{Pages: []forward.Result{}, Simulated: []SimulatedPod{}}
	config, namespaces, err := p.TeamNamespaces(ctx, "")
	if err != nil {
		return w, err
	}
	client, err := kubernetes.NewForConfig(Brief(config))
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
			return w, err
		}
		for _, pod := range pods.Items {
			if pod.Annotations[snapshot.AnnotationRuntime] == snapshot.RuntimeSimulated {
				w.Simulated = append(w.Simulated, SimulatedPod{namespace, pod.Name, pod.Annotations[snapshot.AnnotationRuntimeReason]})
			}
		}
	}
	slices.SortFunc(w.Simulated, func(a, b SimulatedPod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return w, nil
}
