package layers

import (
	"slices"
	"strings"
)

// refusals are parts of the errors of providers whose login is refused: by a Git server (go-git, plumbing/transport), a
// Kubernetes API (HTTP 401, or another CA than the kubeconfig trusts), and Google Cloud (OAuth 2.0, section 5.2).
var refusals = []string{
	"authentication required", "authorization failed", "Unauthorized", "the server has asked for the client to provide credentials",
	"x509: ", "tls: ", "invalid_grant", "invalid_client", "Error 401",
}

// refusedLogin tells whether an operation has failed since a login is refused. A refresh and a destroy log in by what the
// state holds, and not by what has taken its place since (Pulumi, "pulumi refresh", --run-program).
func refusedLogin(err error) bool {
	text := err.Error()
	return slices.ContainsFunc(refusals, func(refusal string) bool { return strings.Contains(text, refusal) })
}
