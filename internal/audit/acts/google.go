package acts

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/strata-platform/strata/internal/audit"
	"github.com/strata-platform/strata/internal/audit/attempt"
)

// Resources of Google Cloud that the acts are about: the URL of each below the API's endpoint.
const (
	project  = "cloudresourcemanager/v1/|projects/{project}"
	account  = "iam/v1/|projects/{project}/serviceAccounts/{other}"
	clusters = "container/v1/|{location}/clusters"
	cluster  = "container/v1/|{cluster}"
	instance = "sqladmin/v1beta4/|{instance}"
	accounts = "iam/v1/|projects/{project}/serviceAccounts"
)

// googleAct is a call that reads, or a question about a permission: Google's APIs have no dry run.
type googleAct struct {
	what, resource string
	// permission is the permission to ask for. If it is empty, the act is a call: verb is the suffix of a POST, or empty for a GET.
	permission, verb string
	// others says that the resource is the account of each other team.
	others bool
	also   []audit.Class
}

const whyGoogle = "a Google identity has the roles of its layer only"

var teamClass = []audit.Class{audit.Team}

var googleActs = []googleAct{
	{what: "read the IAM policy of the project", resource: project, verb: ":getIamPolicy"},
	{what: "change the IAM policy of the project", resource: project, permission: "resourcemanager.projects.setIamPolicy"},
	{what: "list the service accounts", resource: accounts},
	{what: "create a service account", resource: project, permission: "iam.serviceAccounts.create"},
	{what: "create a custom role", resource: project, permission: "iam.roles.create"},
	{what: "change a custom role", resource: project, permission: "iam.roles.update"},
	{what: "act as every service account", resource: project, permission: "iam.serviceAccounts.actAs"},
	{what: "get tokens of every service account", resource: project, permission: "iam.serviceAccounts.getAccessToken"},
	{what: "create keys of every service account", resource: project, permission: "iam.serviceAccountKeys.create"},
	{what: "enable an API", resource: project, permission: "serviceusage.services.enable"},
	{what: "list the clusters", resource: clusters},
	{what: "read the cluster", resource: cluster},
	{what: "create a cluster", resource: project, permission: "container.clusters.create"},
	{what: "delete the cluster", resource: project, permission: "container.clusters.delete"},
	{what: "get the cluster's credentials", resource: project, permission: "container.clusters.getCredentials"},
	{what: "read the database instance", resource: instance, also: teamClass},
	{what: "create a database instance", resource: project, permission: "cloudsql.instances.create"},
	{what: "change the database instance", resource: project, permission: "cloudsql.instances.update"},
	{what: "delete the database instance", resource: project, permission: "cloudsql.instances.delete"},
	{what: "export the database instance", resource: project, permission: "cloudsql.instances.export"},
	{what: "create a bucket", resource: project, permission: "storage.buckets.create"},
	{what: "change the policy of every bucket", resource: project, permission: "storage.buckets.setIamPolicy"},
	{what: "read the objects of every bucket", resource: project, permission: "storage.objects.get"},
	{what: "decrypt with every key", resource: project, permission: "cloudkms.cryptoKeyVersions.useToDecrypt"},
	{what: "read the account of another team", resource: account, others: true},
	{what: "list the keys of another team", resource: account + "/keys", others: true},
	{what: "create a key of another team", resource: account, permission: "iam.serviceAccountKeys.create", others: true},
	{what: "get a token of another team in Google Cloud", resource: account, permission: "iam.serviceAccounts.getAccessToken", others: true},
	{what: "act as the account of another team", resource: account, permission: "iam.serviceAccounts.actAs", others: true},
	{what: "change who may act as another team", resource: account, permission: "iam.serviceAccounts.setIamPolicy", others: true},
}

func (a googleAct) of(identity audit.Identity) bool {
	return identity.Class == audit.Engineer || slices.Contains(a.also, identity.Class)
}

// try returns the function that attempts the act with a token. other is the account of the other team.
func (a googleAct) try(g *audit.Google, token, other string) func(context.Context) audit.Answer {
	api, path, _ := strings.Cut(a.resource, "|")
	location, _, _ := strings.Cut(g.Cluster, "/clusters/")
	address := g.Endpoint(api) + strings.NewReplacer("{project}", g.Project, "{other}", other, "{cluster}", g.Cluster,
		"{location}", location, "{instance}", g.Instance).Replace(path)
	switch {
	case a.permission != "":
		return func(ctx context.Context) audit.Answer { return attempt.Permission(ctx, token, address, a.permission) }
	case a.verb != "":
		return func(ctx context.Context) audit.Answer {
			return attempt.Google(ctx, token, http.MethodPost, address+a.verb, "{}")
		}
	}
	return func(ctx context.Context) audit.Answer {
		return attempt.Google(ctx, token, http.MethodGet, address, "")
	}
}

// google returns the attempts of an identity with its Google account.
func (b *builder) google(ctx context.Context, identity audit.Identity) {
	g := b.site.Google
	if g == nil {
		b.add(identity, audit.Attempt{
			Act: "google", What: "use Google Cloud", Area: audit.IAM, Why: whyGoogle, Do: b.unknown(audit.IAM),
		})
		return
	}
	token, why := "", error(nil)
	if identity.Class != audit.Anonymous {
		token, why = g.Token(ctx, identity.Google)
	}
	for _, a := range googleActs {
		targets := []string{""}
		if a.others {
			targets = nil
			for _, team := range b.site.Tenants {
				if team.Name != identity.Team {
					targets = append(targets, g.Account(team))
				}
			}
		}
		for _, other := range targets {
			do := a.try(g, token, other)
			if why != nil {
				do = func(context.Context) audit.Answer {
					return audit.Answer{Err: fmt.Errorf("no token of %s: %w", identity.Google, why)}
				}
			}
			b.add(identity, audit.Attempt{Act: ID(a.what), What: a.what, On: other, Area: audit.IAM, Expected: a.of(identity), Why: whyGoogle, Do: do})
		}
	}
}

func skipped(why string) func(context.Context) audit.Answer {
	return func(context.Context) audit.Answer { return audit.Answer{Skipped: why} }
}
