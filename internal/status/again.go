package status

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
)

// Asker asks the Kustomizations whose applied objects are gone to apply again, each of them once. Its zero value is ready
// for use.
type Asker struct{ asked []key }

// Ask asks the Kustomizations that a report found. The error joins the errors of failed requests; the next call repeats
// those requests.
func (a *Asker) Ask(ctx context.Context, config *rest.Config, report Report) error {
	if len(report.robbed) == 0 {
		return nil
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("ask Flux to apply again: %w", err)
	}
	return a.ask(ctx, client, report)
}

func (a *Asker) ask(ctx context.Context, client dynamic.Interface, report Report) error {
	var errs []error
	for _, k := range report.robbed {
		if slices.Contains(a.asked, k) {
			continue
		}
		// Encoding a map of strings does not fail.
		patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
			requestedAt: time.Now().Format(time.RFC3339Nano),
		}}})
		i := slices.IndexFunc(kinds[:], func(of kind) bool { return of.name == k.kind })
		_, err := client.Resource(kinds[i].gvr).Namespace(k.namespace).Patch(ctx, k.name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "strata-up"})
		if err != nil {
			errs = append(errs, fmt.Errorf("ask Kustomization %s/%s to apply again: %w", k.namespace, k.name, err))
			continue
		}
		a.asked = append(a.asked, k)
	}
	return errors.Join(errs...)
}

// robbed returns the Kustomizations whose applied objects are gone, in the order of the report.
func (w *world) robbed(shown []*object) []key {
	var found []key
	for _, o := range shown {
		if o.Ready || o.Reason != reasonMissing {
			continue
		}
		if sync := w.applier(o); sync != nil && sync.Reason != reasonSuspended && !slices.Contains(found, sync.key()) {
			found = append(found, sync.key())
		}
	}
	return found
}
