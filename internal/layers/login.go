package layers

import (
	"slices"
	"strings"
)

// rejections are substrings of the errors of providers whose credentials a server rejects: from a Git server (go-git,
// plumbing/transport), a Kubernetes API (HTTP 401, an untrusted CA, or no answer, because the credentials contain the address), and
// Google Cloud (OAuth 2.0, section 5.2).
var rejections = []string{
	"authentication required", "authorization failed", "Unauthorized", "the server has asked for the client to provide credentials",
	"x509: ", "tls: ", "configured Kubernetes cluster is unreachable", "invalid_grant", "invalid_client", "Error 401",
}

// loginRejected reports whether an operation failed because of rejected credentials. A refresh and a destroy use the
// credentials in the state, even if the program has newer ones (Pulumi, "pulumi refresh", --run-program).
func loginRejected(err error) bool {
	text := err.Error()
	return slices.ContainsFunc(rejections, func(rejection string) bool { return strings.Contains(text, rejection) })
}
