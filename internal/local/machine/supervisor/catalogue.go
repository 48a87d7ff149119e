package supervisor

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/egress"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime/processes"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/operator/controller"
	"github.com/strata-platform/strata/platform"
)

// fluxNamespace is the namespace of Flux's controllers. Each controller has a service account of its own name.
const fluxNamespace = "flux-system"

// OperatorImage is the image of the embedded operator. Its program is strata itself.
const OperatorImage = "ghcr.io/strata-platform/operator"

// processCatalogue returns the process catalogue: the images that run as processes on this machine.
func processCatalogue(h home.Home, tc *toolchain.Toolchain, googleURL, gitURL, registryURL, executable, version string) processes.Catalogue {
	// controller-runtime's leader election needs the in-cluster namespace file. A single process needs no election.
	alone := []string{"--enable-leader-election=false"}
	serving := []processes.Listen{{Flag: "--metrics-addr", Port: 8080}, {Flag: "--health-addr", Port: 9440}}
	sources := processes.Reach{Namespace: fluxNamespace, Service: "source-controller", Port: 80}
	events := processes.Reach{Namespace: fluxNamespace, Service: "notification-controller", Port: 80}
	outside := processes.Reach{Address: egress.Address, Serve: egress.Serve}
	flux := func(name string, reach []processes.Reach, listen ...processes.Listen) processes.Image {
		// The controllers are mostly idle. A lower GOGC makes them collect garbage sooner and use less memory, as in
		// the control plane.
		env := map[string]string{"GOGC": "25"}
		if slices.ContainsFunc(reach, func(r processes.Reach) bool { return r.Address == egress.Address }) {
			maps.Copy(env, egress.Variables())
		}
		return processes.Image{
			Repository: "ghcr.io/fluxcd/" + name,
			Tag:        tc.Version(name),
			May:        only(fluxNamespace, name),
			Program:    func(ctx context.Context) (string, error) { return tc.Path(ctx, name) },
			Listen:     append(listen, serving...),
			Override:   alone,
			Env:        env,
			Confined:   true,
			Reach:      reach,
		}
	}
	return processes.Catalogue{
		flux("source-controller", []processes.Reach{events, address(gitURL), address(registryURL), address(googleURL), outside}, processes.Listen{Flag: "--storage-addr", Port: 9090}),
		flux("kustomize-controller", []processes.Reach{sources, events}),
		flux("helm-controller", []processes.Reach{sources, events}),
		flux("notification-controller", []processes.Reach{outside}, processes.Listen{Flag: "--events-addr", Port: 9090}, processes.Listen{Flag: "--receiverAddr", Port: 9292}),
		{
			Repository: OperatorImage,
			Tag:        version,
			May:        only(platform.OperatorNamespace, platform.OperatorAccount),
			Program: func(ctx context.Context) (string, error) {
				return executable, pulumienv.Link(ctx, h, tc.Path, executable)
			},
			Entrypoint: []string{"operator"},
			Env:        operatorEnv(h, googleURL),
			Listen:     []processes.Listen{{Flag: "--health-addr", Port: 8081}},
			// The operator shares the machine's network. Its metrics would reveal the names of every team's Stacks to
			// every local process.
			Override: []string{"--metrics-addr="},
		},
	}
}

// address returns the target at which a confined program reaches a server of the home. url is the server's URL.
func address(url string) processes.Reach {
	return processes.Reach{Address: strings.TrimPrefix(url, "http://")}
}

// only returns a filter that accepts the pods of one service account.
func only(namespace, serviceAccount string) func(string, string) bool {
	return func(n, a string) bool { return n == namespace && a == serviceAccount }
}

// operatorEnv returns the environment of the operator and of every run. It directs requests to Google, for a gs://
// backend, to the emulated Google Cloud.
func operatorEnv(h home.Home, googleURL string) map[string]string {
	env := pulumienv.Variables(h, googleURL)
	maps.Copy(env, cloud.TunnelVariables(googleURL, h.Certificates()))
	env[controller.FileBackendRootVariable] = h.TenantStates()
	env[controller.RunRecordsVariable] = h.RunRecords()
	env[controller.RunEndpointsVariable] = strings.TrimPrefix(googleURL, "http://")
	if h.IsRehearsal() {
		env[controller.PlainPlansVariable] = "true"
	}
	return env
}
