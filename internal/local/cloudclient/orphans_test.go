package cloudclient

import (
	"os"
	"path/filepath"
	"testing"

	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/operator/engine/settle"
)

func TestOrphansOfAKilledRunAreDeleted(t *testing.T) {
	cloud := cloudtest.Start(t)
	l := Client{URL: cloud.URL, Credentials: filepath.Join(t.TempDir(), "engineer.json")}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(os.WriteFile(l.Credentials, []byte(cloud.Owner), 0o600))
	options, err := l.options(t.Context(), "GOOGLE_IAM_CUSTOM_ENDPOINT")
	check(err)
	identities, err := iam.NewService(t.Context(), options...)
	check(err)
	project := "projects/" + cloudtest.Project
	account, err := identities.Projects.ServiceAccounts.Create(project, &iam.CreateServiceAccountRequest{AccountId: "team-web"}).Do()
	check(err)
	keys := identities.Projects.ServiceAccounts.Keys
	kept, err := keys.Create(account.Name, &iam.CreateServiceAccountKeyRequest{}).Do()
	check(err)
	_, err = keys.Create(account.Name, &iam.CreateServiceAccountKeyRequest{}).Do()
	check(err)

	options, err = l.options(t.Context(), "GOOGLE_CONTAINER_CUSTOM_ENDPOINT")
	check(err)
	service, err := container.NewService(t.Context(), options...)
	check(err)
	location := project + "/locations/europe-west1-b"
	_, err = service.Projects.Locations.Clusters.Create(location, &container.CreateClusterRequest{
		Cluster: &container.Cluster{Name: "strata", InitialNodeCount: 1},
	}).Do()
	check(err)

	creations := []settle.Creation{
		{URN: "key", Type: keyType, Inputs: map[string]any{"serviceAccountId": account.Name}},
		{URN: "cluster", Type: clusterType, Inputs: map[string]any{"removeDefaultNodePool": true}, ID: location + "/clusters/strata"},
		{URN: "gone", Type: clusterType, Inputs: map[string]any{"removeDefaultNodePool": true}, ID: location + "/clusters/never-made"},
	}
	check(l.DeleteOrphans(t.Context(), creations, func(id string) bool { return id == kept.Name }))

	left, err := keys.List(account.Name).KeyTypes("USER_MANAGED").Do()
	check(err)
	if len(left.Keys) != 1 || left.Keys[0].Name != kept.Name {
		t.Errorf("the keys are %v, want %s", left.Keys, kept.Name)
	}
	cluster, err := service.Projects.Locations.Clusters.Get(location + "/clusters/strata").Do()
	check(err)
	if len(cluster.NodePools) > 0 {
		t.Errorf("the cluster still has %v", cluster.NodePools)
	}
}
