package supervisor

import (
	"context"
	"maps"

	"github.com/strata-platform/strata/internal/local/gcloud"
	"github.com/strata-platform/strata/internal/local/home"
	"github.com/strata-platform/strata/internal/local/node"
	"github.com/strata-platform/strata/internal/local/pulumienv"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/operator/controller"
	"github.com/strata-platform/strata/platform"
)

// fluxNamespace is where Flux's controllers live, each under an account of its own name.
const fluxNamespace = "flux-system"

// operatorImage is the image of the embedded operator; its program is strata itself.
const operatorImage = "ghcr.io/strata-platform/operator"

// catalogue is the process catalogue: the images that run as processes on this machine.
func catalogue(h home.Home, tc *toolchain.Toolchain, googleURL, executable, version string) node.Catalogue {
	// controller-runtime's leader election wants the in-cluster namespace file. One process is the leader anyway.
	alone := []string{"--enable-leader-election=false"}
	serving := []node.Listen{{Flag: "--metrics-addr", Port: 8080}, {Flag: "--health-addr", Port: 9440}}
	flux := func(name string, listen ...node.Listen) node.Image {
		return node.Image{
			Repository: "ghcr.io/fluxcd/" + name,
			Tag:        tc.Version(name),
			May:        only(fluxNamespace, name),
			Program:    func(ctx context.Context) (string, error) { return tc.Path(ctx, name) },
			Listen:     append(listen, serving...),
			Override:   alone,
			// The controllers wait most of the time: so they collect garbage sooner and hold less, as the control plane does.
			Env: map[string]string{"GOGC": "50"},
		}
	}
	return node.Catalogue{
		flux("source-controller", node.Listen{Flag: "--storage-addr", Port: 9090}),
		flux("kustomize-controller"),
		flux("helm-controller"),
		flux("notification-controller", node.Listen{Flag: "--events-addr", Port: 9090}, node.Listen{Flag: "--receiverAddr", Port: 9292}),
		{
			Repository: operatorImage,
			Tag:        version,
			May:        only(platform.OperatorNamespace, platform.OperatorAccount),
			Program: func(ctx context.Context) (string, error) {
				return executable, pulumienv.Link(ctx, h, tc.Path, executable)
			},
			Entrypoint: []string{"operator"},
			Env:        operatorEnv(h, googleURL),
			Listen:     []node.Listen{{Flag: "--metrics-addr", Port: 8080}, {Flag: "--health-addr", Port: 8081}},
		},
	}
}

// only allows the pods of one service account.
func only(namespace, serviceAccount string) func(string, string) bool {
	return func(n, a string) bool { return n == namespace && a == serviceAccount }
}

// operatorEnv is the environment of every run, and what the operator itself is told of the home. What they
// ask of Google, for a gs:// backend, goes to the emulated one.
func operatorEnv(h home.Home, googleURL string) map[string]string {
	env := pulumienv.Variables(h, googleURL)
	maps.Copy(env, gcloud.TunnelVariables(googleURL, h.Certificates()))
	env[controller.FileBackendRootVariable] = h.TenantStates()
	return env
}
