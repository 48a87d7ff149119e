package layers

import (
	"slices"
	"strings"
)

// refusals are substrings of the errors of providers with refused credentials: from a Git server (go-git,
// plumbing/transport), a Kubernetes API (HTTP 401, or an untrusted CA), and Google Cloud (OAuth 2.0, section 5.2).
var refusals = []string{
	"authentication required", "authorization failed", "Unauthorized", "the server has asked for the client to provide credentials",
	"x509: ", "tls: ", "invalid_grant", "invalid_client", "Error 401",
}

// refusedLogin reports whether an operation failed because of refused credentials. A refresh and a destroy use the
// credentials in the state, not those that have replaced them since (Pulumi, "pulumi refresh", --run-program).
func refusedLogin(err error) bool {
	text := err.Error()
	return slices.ContainsFunc(refusals, func(refusal string) bool { return strings.Contains(text, refusal) })
}
