package gke

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/lifecycle"
)

// rootSource is the source from which Flux installs itself. `flux bootstrap` and the Flux provider give it this name.
const rootSource = "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories/flux-system"

// refuseForeign returns an error if the cluster belongs to another platform: its Flux syncs from another repository than the one in the
// configuration of layer 2, and the stack of layer 2 has not installed it. Pulumi would take its objects over without a question, because
// a server-side apply creates and updates alike.
func (f flux) refuseForeign(ctx context.Context) error {
	resource, err := f.resource(ctx)
	if err != nil || resource != nil {
		return err
	}
	p := f.platform
	config, err := p.Config(ctx, false)
	if err != nil || config == nil {
		return err
	}
	installed, err := fluxSource(ctx, config)
	if err != nil || installed == "" {
		return err
	}
	settings, err := p.layer2(ctx)
	if err != nil || sameRepository(installed, settings.FleetURL) {
		return err // With the same repository, the state of layer 2 is lost, or its first run was interrupted.
	}
	return fmt.Errorf("cluster %s belongs to another platform: its Flux syncs from %s, fleetUrl is %s, and stack %s of layer %s has not "+
		"installed that Flux: nothing was changed: run `%s` for a cluster of your own, or select the stack that installed it",
		p.clusterName, installed, settings.FleetURL, p.Environment, f.layer.Name, p.pulumiLine(lifecycle.BootstrapLayer, "config set clusterName NAME"))
}

// fluxSource returns the URL of the repository from which the Flux of a cluster installs itself; empty without a Flux.
func fluxSource(ctx context.Context, config *rest.Config) (string, error) {
	client, err := discovery.NewDiscoveryClientForConfig(lifecycle.Brief(config))
	if err != nil {
		return "", err
	}
	raw, err := client.RESTClient().Get().AbsPath(rootSource).DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	var source struct {
		Spec struct {
			URL string `json:"url"`
		} `json:"spec"`
	}
	if err == nil {
		err = json.Unmarshal(raw, &source)
	}
	if err != nil {
		return "", fmt.Errorf("look for another platform's Flux in the cluster: %w", err)
	}
	return source.Spec.URL, nil
}

// sameRepository compares the URLs of two repositories as Git hosts do.
func sameRepository(a, b string) bool {
	plain := func(url string) string { return strings.TrimSuffix(strings.TrimRight(url, "/"), ".git") }
	return plain(a) == plain(b)
}
