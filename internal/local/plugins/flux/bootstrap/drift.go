package bootstrap

import (
	"context"

	"github.com/strata-platform/strata/internal/fluxdrift"
	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
)

// Drift compares the cluster with the files of Flux's repository. It returns what [fluxdrift.Flux.Differences] returns.
func Drift(ctx context.Context, o options.Options, files map[string]string) ([]string, error) {
	o = o.WithDefaults()
	kube, err := o.Kubernetes.NewClient()
	if err != nil {
		return nil, err
	}
	return fluxdrift.Flux{Kube: kube, Folder: o.Folder(), Files: files}.Differences(ctx)
}
