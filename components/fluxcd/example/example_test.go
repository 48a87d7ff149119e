package example_test

import (
	"github.com/strata-platform/strata/components/fluxcd/example"
	"github.com/strata-platform/strata/internal/pulumitest"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: example
clusters: [{name: example, cluster: {server: "https://127.0.0.1:6443", certificate-authority-data: Y2E=}}]
users: [{name: admin, user: {client-certificate-data: Y2VydA==, client-key-data: a2V5}}]
contexts: [{name: example, context: {cluster: example, user: admin}}]
`

// Flux on a cluster, and the repository of one team.
func Example() {
	pulumitest.Print(example.Program(example.Config{
		Kubeconfig: kubeconfig,
		Fleet:      example.Repository{URL: "https://git.example.com/fleet.git", Username: "flux", Password: "from a secret"},
		Team:       example.Repository{URL: "https://git.example.com/web.git", Username: "web", Password: "from a secret"},
	}))
	// Output:
	// token: [secret]
	// webhook: [secret]
}
