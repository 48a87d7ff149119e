package wait

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/snapshot"
)

// earlyInterval is the minimum time between two requests for a Kustomization that was too early. Without a request, Flux tries
// again after five seconds, which is a large part of an up.
const earlyInterval = time.Second

// reapplier requests that Flux applies Kustomizations again: once those with missing objects, and repeatedly those that were
// applied before the cluster served their kinds.
type reapplier struct {
	now func() time.Time
	// requested are the times of the last requests.
	requested map[types.NamespacedName]time.Time
}

// request annotates the incomplete and the early Kustomizations of a report. The error joins the errors of failed requests;
// the next call repeats those requests.
func (a *reapplier) request(ctx context.Context, config *rest.Config, report status.Report) error {
	due := a.due(report)
	if len(due) == 0 {
		return nil
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("request that Flux applies Kustomizations again: %w", err)
	}
	return a.requestBy(ctx, client, due)
}

// due returns the Kustomizations to request now.
func (a *reapplier) due(report status.Report) []types.NamespacedName {
	var due []types.NamespacedName
	for _, name := range report.Incomplete {
		if _, before := a.requested[name]; !before {
			due = append(due, name)
		}
	}
	for _, name := range report.Early {
		if a.now().Sub(a.requested[name]) >= earlyInterval && !slices.Contains(due, name) {
			due = append(due, name)
		}
	}
	return due
}

// kustomizations is the resource of the kind Kustomization.
var kustomizations = snapshot.Kinds[slices.IndexFunc(snapshot.Kinds[:], func(k snapshot.Kind) bool { return k.Name == "Kustomization" })].Resource

func (a *reapplier) requestBy(ctx context.Context, client dynamic.Interface, due []types.NamespacedName) error {
	if a.requested == nil {
		a.requested = map[types.NamespacedName]time.Time{}
	}
	var errs []error
	for _, name := range due {
		// Encoding a map of strings does not fail.
		patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
			snapshot.AnnotationRequestedAt: a.now().Format(time.RFC3339Nano),
		}}})
		_, err := client.Resource(kustomizations).Namespace(name.Namespace).Patch(ctx, name.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "strata-up"})
		if err != nil {
			errs = append(errs, fmt.Errorf("request that Flux applies Kustomization %s again: %w", name, err))
			continue
		}
		a.requested[name] = a.now()
	}
	return errors.Join(errs...)
}
