package gke

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/fluxdrift"
	"github.com/strata-platform/strata/internal/layers"
	sdk "github.com/strata-platform/strata/sdks/flux"
)

// flux is the Flux that layer 2 has installed. The Flux provider reads no Deployment, in a preview not even the cluster (decision 46), so
// strata itself compares Flux with the files in the state.
type flux struct {
	platform *Platform
	runner   layers.Runner
	layer    layers.Layer
}

// resource returns Flux in the state of layer 2; nil if the layer has not installed it.
func (f flux) resource(ctx context.Context) (*apitype.ResourceV3, error) {
	state, err := f.runner.Deployment(ctx, f.layer)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(state.Resources, func(r apitype.ResourceV3) bool {
		return !r.Delete && (r.Type == sdk.BootstrapGitToken || r.Type == sdk.FormerBootstrapGitToken)
	})
	if at < 0 {
		return nil, nil
	}
	return &state.Resources[at], nil
}

// installed returns Flux as the state describes it; ok is false if layer 2 has not installed it, or if there is no cluster.
func (f flux) installed(ctx context.Context) (installed fluxdrift.Flux, ok bool, err error) {
	resource, err := f.resource(ctx)
	if err != nil || resource == nil {
		return installed, false, err
	}
	text := func(name string) string {
		value, _ := resource.Outputs[name].(string)
		return value
	}
	files, _ := resource.Outputs["repositoryFiles"].(map[string]any)
	installed.Folder, installed.Files = path.Join(text("path"), text("namespace")), map[string]string{}
	for name, content := range files {
		text, plain := content.(string)
		if !plain {
			return installed, false, nil // Encrypted in the state: part of the files must not be applied.
		}
		installed.Files[name] = text
	}
	config, err := f.platform.Config(ctx, false)
	if err != nil || config == nil || len(files) == 0 {
		return installed, false, err
	}
	if installed.Kube, err = client.New(config, client.Options{}); err != nil {
		return installed, false, fmt.Errorf("connect to cluster %s: %w", config.Host, err)
	}
	return installed, true, nil
}

// drift names the controllers and the parts of the root sync that are missing or were changed.
func (f flux) drift(ctx context.Context) ([]string, error) {
	installed, ok, err := f.installed(ctx)
	if err != nil || !ok {
		return nil, err
	}
	return installed.Differences(ctx)
}

// mend installs Flux again if drift names anything, and returns what drift has named. The root sync corrects the rest.
func (f flux) mend(ctx context.Context) ([]string, error) {
	installed, ok, err := f.installed(ctx)
	if err != nil || !ok {
		return nil, err
	}
	found, err := installed.Differences(ctx)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found, installed.Apply(ctx)
}

// beforeUp reads Flux from the cluster and its repository before an up, which otherwise compares the program with the state alone. If that
// fails, the up goes on: it reports the cause if it fails, too, or removes the cause.
func (f flux) beforeUp(ctx context.Context) error {
	if err := f.refuseForeign(ctx); err != nil {
		return err
	}
	if err := f.runner.RefreshTypes(ctx, f.layer, nil, sdk.BootstrapGitToken); err != nil {
		return ctx.Err()
	}
	return nil
}
