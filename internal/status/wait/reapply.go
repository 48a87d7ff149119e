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

// reapplier requests that Flux applies missing objects again, once for each Kustomization. Its zero value is ready for use.
type reapplier struct{ requested []types.NamespacedName }

// request annotates the incomplete Kustomizations of a report. The error joins the errors of failed requests; the next
// call repeats those requests.
func (a *reapplier) request(ctx context.Context, config *rest.Config, report status.Report) error {
	if len(report.Incomplete) == 0 {
		return nil
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("request that Flux applies missing objects: %w", err)
	}
	return a.requestBy(ctx, client, report)
}

// kustomizations is the resource of the kind Kustomization.
var kustomizations = snapshot.Kinds[slices.IndexFunc(snapshot.Kinds[:], func(k snapshot.Kind) bool { return k.Name == "Kustomization" })].Resource

func (a *reapplier) requestBy(ctx context.Context, client dynamic.Interface, report status.Report) error {
	var errs []error
	for _, name := range report.Incomplete {
		if slices.Contains(a.requested, name) {
			continue
		}
		// Encoding a map of strings does not fail.
		patch, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
			snapshot.AnnotationRequestedAt: time.Now().Format(time.RFC3339Nano),
		}}})
		_, err := client.Resource(kustomizations).Namespace(name.Namespace).Patch(ctx, name.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "strata-up"})
		if err != nil {
			errs = append(errs, fmt.Errorf("request that Kustomization %s applies missing objects: %w", name, err))
			continue
		}
		a.requested = append(a.requested, name)
	}
	return errors.Join(errs...)
}
