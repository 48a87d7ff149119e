package cloud_test

import (
	"testing"

	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
)

func TestNodesNeedActAsOnTheirAccount(t *testing.T) {
	c := newEmulator(t, false)
	nodes, _ := c.account("nodes-account")
	other, _ := c.account("other-account")
	email, key := c.account("caller", "roles/container.clusterAdmin")
	_, err := c.owner().iam.Projects.ServiceAccounts.SetIamPolicy("projects/-/serviceAccounts/"+nodes, &iam.SetIamPolicyRequest{Policy: &iam.Policy{
		Bindings: []*iam.Binding{{Role: "roles/iam.serviceAccountUser", Members: []string{"serviceAccount:" + email}}},
	}}).Do()
	if err != nil {
		t.Fatal(err)
	}
	caller := c.as(key)
	clusters := caller.container.Projects.Locations.Clusters
	create := func(account string) (*container.Operation, error) {
		return clusters.Create(parent, &container.CreateClusterRequest{Cluster: &container.Cluster{
			Name: "strata", InitialNodeCount: 1, NodeConfig: &container.NodeConfig{ServiceAccount: account},
		}}).Do()
	}
	const denied = "The user does not have access to service account"
	_, err = create("")
	refused(t, err, 400, denied+` "default". Ask a project owner to grant you the iam.serviceAccountUser role`)
	_, err = create(other)
	refused(t, err, 400, denied, other)
	_, err = create("none@" + projectID + ".iam.gserviceaccount.com")
	refused(t, err, 400, "does not exist")
	op, err := create(nodes)
	if err != nil {
		t.Fatal(err)
	}
	c.waitCluster(caller, op)
	pool := func(name, account string) error {
		_, err := clusters.NodePools.Create(parent+"/clusters/strata", &container.CreateNodePoolRequest{
			NodePool: &container.NodePool{Name: name, InitialNodeCount: 1, Config: &container.NodeConfig{ServiceAccount: account}},
		}).Do()
		return err
	}
	refused(t, pool("a", ""), 400, denied)
	if err := pool("b", nodes); err != nil {
		t.Error(err)
	}
	c.grant("serviceAccount:"+email, "roles/iam.serviceAccountUser")
	if err := pool("c", ""); err != nil {
		t.Errorf("create a cluster with the role on the project: %v", err)
	}
}

func TestQuotaProjectMustBeUsable(t *testing.T) {
	c := newEmulator(t, false)
	_, key := c.account("reader", "roles/browser")
	get := func(project string) error {
		client, err := crm.NewService(t.Context(), option.WithEndpoint(c.url+"/cloudresourcemanager/"), option.WithTokenSource(c.tokens(key)))
		if err != nil {
			t.Fatal(err)
		}
		call := client.Projects.Get(projectID)
		call.Header().Set("X-Goog-User-Project", project)
		_, err = call.Do()
		return err
	}
	refused(t, get(projectID), 403, "USER_PROJECT_DENIED", "serviceusage.services.use")
	refused(t, get("another-project"), 403, "USER_PROJECT_DENIED")
	c.grant("serviceAccount:reader@"+projectID+".iam.gserviceaccount.com", "roles/serviceusage.serviceUsageConsumer")
	if err := get(projectID); err != nil {
		t.Error(err)
	}
}
