package platform

// Names that only tests use outside this package.
var (
	UpstreamClusterRoles   = upstreamClusterRoles
	UpstreamOperatorRole   = upstreamOperatorRole
	UpstreamNamespaceRoles = upstreamNamespaceRoles
	Policies               = policies
)
