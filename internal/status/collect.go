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
	w.judge()
	return w.report(), nil
}
