package audit

import (
	"context"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/strata-platform/strata/internal/signing"
	"github.com/strata-platform/strata/teams"
)

// Target is a place where a platform runs, which tells the audit how to reach its parts.
type Target interface {
	// AuditSite returns the parts of the running platform.
	AuditSite(context.Context) (*Site, error)
}

// Site is a running platform: its parts, and how to get the credentials of its identities.
type Site struct {
	// Target is "local" or "gke".
	Target string
	// Config is the client configuration of the cluster's administrator. With Impersonate, the administrator impersonates the other
	// identities; otherwise it requests a token of each.
	Config      *rest.Config
	Impersonate bool
	// Upstream says that the operator is upstream's.
	Upstream bool
	// Tenants are the owners of namespaces: the teams, and the entries of the catalogue.
	Tenants []teams.Team
	// Google is the project, or nil if the audit cannot reach it. Git, Registry and Machine are the parts of a local platform; elsewhere
	// they are nil, and Unknown says of an area why nothing is attempted there.
	Google   *Google
	Git      *GitServer
	Registry *ImageRegistry
	Machine  *Machine
	Unknown  map[Area]string
	// Versions maps the parts of the platform to their versions.
	Versions map[string]string
	// Key returns the key that signs reports, and is nil if the platform has none.
	Key func() (*signing.Key, error)
}

// Google is a project of Google Cloud.
type Google struct {
	Project string
	// Cluster and Instance are the resource names of the cluster and of the shared database instance.
	Cluster, Instance string
	// Endpoint returns the base URL of an API: "cloudresourcemanager/v1/", "iam/v1/", "container/v1/", "sqladmin/v1beta4/", "storage/v1/".
	Endpoint func(api string) string
	// Engineer is the identity of the platform's engineer.
	Engineer string
	// Token returns an access token of a Google account: of the engineer, or of a team's account.
	Token func(ctx context.Context, account string) (string, error)
}

// SplitAPI returns the service of an API that [Google.Endpoint] names, such as "sqladmin", and the path of the API at the host of
// the service, such as "sql/v1beta4/".
func SplitAPI(api string) (service, path string) {
	service, path, _ = strings.Cut(api, "/")
	switch service {
	case "sqladmin":
		path = "sql/" + path
	case "storage":
		path = "storage/" + path
	}
	return service, path
}

// Account returns the e-mail address of a team's Google account.
func (g *Google) Account(team teams.Team) string {
	return team.GoogleAccountID() + "@" + g.Project + ".iam.gserviceaccount.com"
}

// GitServer is a Git server.
type GitServer struct {
	URL string
	// Repositories are the names of all repositories. Password returns the password of a login.
	Repositories []string
	Password     func(login string) string
	// Engineer is the login that may write every repository. Reader returns the login that reads a repository.
	Engineer string
	Reader   func(repository string) string
}

// ImageRegistry is a registry of images.
type ImageRegistry struct {
	URL      string
	Password func(login string) string
}

// Machine is the machine of a local platform, on which other users have accounts.
type Machine struct {
	// Folders maps what a folder or file contains to its path.
	Folders map[string]string
	// Sockets maps what a socket leads to, to its path. Ports maps servers to their addresses.
	Sockets, Ports map[string]string
	// Secure maps servers that serve holders of a client certificate to their addresses.
	Secure map[string]string
}
