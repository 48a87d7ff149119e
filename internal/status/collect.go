package status

import (
	"context"

	"k8s.io/client-go/rest"
)

// Collect looks at everything that the layers are to bring about in the cluster of config, and reports it together with
// scope.Below. It changes nothing. It takes no more rights than to list.
func Collect(ctx context.Context, config *rest.Config, scope Scope) (Report, error) {
	w, err := look(ctx, config, scope)
	if err != nil {
		return Report{}, err
	}
	if w.get("Namespace", "", FluxNamespace) == nil && !w.served["Kustomization"] {
		return NewReport(append(scope.Below, Item{
			Layer: LayerPlatform, Kind: "Layer", Name: LayerPlatform, Reason: reasonNeverMade,
			Message: "layer 2 was never made in this cluster, nor what stands on it: " + platformTeam + ": run " + scope.command("up"),
		})), nil
	}
	w.judge()
	return w.report(), nil
}
