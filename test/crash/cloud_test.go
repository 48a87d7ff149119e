package crash

import (
	"os"
	"strings"

	"golang.org/x/oauth2/google"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/sqladmin/v1beta4"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/machine/home"
)

// cloudResources returns the IDs that the gcp provider gives to the resources of the emulated Google Cloud.
func (p platform) cloudResources() []string {
	p.t.Helper()
	ctx, endpoints := p.t.Context(), cloud.Endpoints(p.status().GoogleURL)
	check := func(err error) {
		p.t.Helper()
		if err != nil {
			p.t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(p.home().EngineerCredentials())
	check(err)
	engineer, err := google.CredentialsFromJSONWithType(ctx, raw, google.AuthorizedUser, container.CloudPlatformScope)
	check(err)
	// Clients add the version of their API themselves, except the client of Cloud Storage.
	at := func(api, version string) []option.ClientOption {
		return []option.ClientOption{
			option.WithTokenSource(engineer.TokenSource),
			option.WithEndpoint(strings.TrimSuffix(endpoints["GOOGLE_"+api+"_CUSTOM_ENDPOINT"], version)),
		}
	}
	project := "projects/" + home.Project
	var found []string

	clusters, err := container.NewService(ctx, at("CONTAINER", "v1/")...)
	check(err)
	list, err := clusters.Projects.Locations.Clusters.List(project + "/locations/-").Do()
	check(err)
	for _, c := range list.Clusters {
		id := project + "/locations/" + c.Location + "/clusters/" + c.Name
		found = append(found, id)
		for _, pool := range c.NodePools {
			found = append(found, id+"/nodePools/"+pool.Name)
		}
	}
	identities, err := iam.NewService(ctx, at("IAM", "v1/")...)
	check(err)
	accounts, err := identities.Projects.ServiceAccounts.List(project).Do()
	check(err)
	for _, account := range accounts.Accounts {
		found = append(found, account.Name)
		keys, err := identities.Projects.ServiceAccounts.Keys.List(account.Name).KeyTypes("USER_MANAGED").Do()
		check(err)
		for _, key := range keys.Keys {
			found = append(found, key.Name)
		}
	}
	roles, err := identities.Projects.Roles.List(project).Do()
	check(err)
	for _, role := range roles.Roles {
		found = append(found, role.Name)
	}
	databases, err := sqladmin.NewService(ctx, at("SQL", "sql/v1beta4/")...)
	check(err)
	instances, err := databases.Instances.List(home.Project).Do()
	check(err)
	for _, instance := range instances.Items {
		found = append(found, instance.Name)
	}
	objects, err := storage.NewService(ctx, at("STORAGE", "")...)
	check(err)
	buckets, err := objects.Buckets.List(home.Project).Do()
	check(err)
	for _, bucket := range buckets.Items {
		found = append(found, bucket.Name)
	}
	return found
}
