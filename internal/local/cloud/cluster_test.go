package cloud_test

import (
	"encoding/base64"
	"errors"
	"regexp"
	"strings"
	"testing"

	"google.golang.org/api/container/v1"
)

// waitCluster follows an operation until it is done.
func (c *emulator) waitCluster(clients *clients, op *container.Operation) *container.Operation {
	c.t.Helper()
	for op.Status != "DONE" {
		if op.Status != "PENDING" && op.Status != "RUNNING" {
			c.t.Fatalf("the operation is %s", op.Status)
		}
		var err error
		if op, err = clients.container.Projects.Locations.Operations.Get(parent + "/operations/" + op.Name).Do(); err != nil {
			c.t.Fatal(err)
		}
	}
	return op
}

func newCluster(name string, clientCertificate bool) *container.CreateClusterRequest {
	return &container.CreateClusterRequest{Cluster: &container.Cluster{
		Name:             name,
		InitialNodeCount: 1,
		MasterAuth: &container.MasterAuth{
			ClientCertificateConfig: &container.ClientCertificateConfig{IssueClientCertificate: clientCertificate},
		},
	}}
}

// zonal is the form of parent in Google's links and messages about zonal clusters.
const zonal = "projects/" + projectID + "/zones/" + location

func TestClusterLifecycle(t *testing.T) {
	c := newEmulator(t, false)
	runtime := &fakeClusters{block: make(chan struct{})}
	c.clusters = runtime
	c.restart(false)
	owner := c.owner()
	clusters := owner.container.Projects.Locations.Clusters
	op, err := clusters.Create(parent, newCluster("strata", true)).Do()
	if err != nil {
		t.Fatal(err)
	}
	if op.Status != "RUNNING" || op.OperationType != "CREATE_CLUSTER" {
		t.Errorf("operation %+v; want a running one", op)
	}
	// Google's links of operations name the project by its number, and call a zonal cluster's location a zone.
	if link := regexp.MustCompile(`/container/v1/projects/\d{12}/zones/` + location + `/operations/` + op.Name + `$`); !link.MatchString(op.SelfLink) {
		t.Errorf("operation has the link %s", op.SelfLink)
	}
	if link := regexp.MustCompile(`/container/v1/projects/\d{12}/zones/` + location + `/clusters/strata$`); !link.MatchString(op.TargetLink) {
		t.Errorf("operation has the target %s", op.TargetLink)
	}
	found, err := clusters.Get(parent + "/clusters/strata").Do()
	if err != nil || found.Status != "PROVISIONING" || !strings.HasSuffix(found.SelfLink, "/container/v1/"+zonal+"/clusters/strata") {
		t.Errorf("cluster is %v, %v; want PROVISIONING", found, err)
	}
	_, err = clusters.Get(parent + "/clusters/another").Do()
	refused(t, err, 404, "Not found: "+zonal+"/clusters/another.")
	_, err = clusters.Delete(parent + "/clusters/strata").Do()
	refused(t, err, 400, "incompatible operation "+op.Name)
	_, err = clusters.Create(parent, newCluster("strata", true)).Do()
	refused(t, err, 409, "Already exists: "+zonal+"/clusters/strata.")
	_, err = clusters.Create(parent, newCluster("second", true)).Do()
	refused(t, err, 403, "You cannot create more than 1 clusters", "forbidden")

	close(runtime.block)
	if op = c.waitCluster(owner, op); op.StatusMessage != "" {
		t.Fatalf("the operation failed: %s", op.StatusMessage)
	}
	if found, err = clusters.Get(parent + "/clusters/strata").Do(); err != nil {
		t.Fatal(err)
	}
	encoded := base64.StdEncoding.EncodeToString
	if found.Status != "RUNNING" || found.Endpoint != "127.0.0.1:6443" || found.MasterAuth.ClusterCaCertificate != encoded([]byte("ca")) ||
		found.MasterAuth.ClientCertificate != encoded([]byte("certificate")) || found.MasterAuth.ClientKey != encoded([]byte("key")) {
		t.Errorf("cluster is %+v with %+v", found, found.MasterAuth)
	}

	op, err = clusters.Delete(parent + "/clusters/strata").Do()
	if err != nil {
		t.Fatal(err)
	}
	c.waitCluster(owner, op)
	if runtime.deleted.Load() != 1 {
		t.Error("the control plane was not deleted")
	}
	_, err = clusters.Get(parent + "/clusters/strata").Do()
	refused(t, err, 404, "Not found: "+zonal+"/clusters/strata.")
}

func TestClusterWithoutClientCertificateReturnsOnlyTheAuthority(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.owner()
	op, err := owner.container.Projects.Locations.Clusters.Create(parent, newCluster("strata", false)).Do()
	if err != nil {
		t.Fatal(err)
	}
	c.waitCluster(owner, op)
	found, err := owner.container.Projects.Locations.Clusters.Get(parent + "/clusters/strata").Do()
	if err != nil {
		t.Fatal(err)
	}
	if found.MasterAuth.ClusterCaCertificate == "" || found.MasterAuth.ClientCertificate != "" || found.MasterAuth.ClientKey != "" {
		t.Errorf("master auth is %+v", found.MasterAuth)
	}
}

func TestClusterCreationResumesAfterARestart(t *testing.T) {
	c := newEmulator(t, false)
	c.clusters = &fakeClusters{block: make(chan struct{})} // the test never closes it
	c.restart(false)
	op, err := c.owner().container.Projects.Locations.Clusters.Create(parent, newCluster("strata", false)).Do()
	if err != nil {
		t.Fatal(err)
	}
	runtime := &fakeClusters{}
	c.clusters = runtime
	c.restart(false)
	owner := c.owner()
	if op = c.waitCluster(owner, op); op.StatusMessage != "" {
		t.Errorf("the operation failed: %s", op.StatusMessage)
	}
	found, err := owner.container.Projects.Locations.Clusters.Get(parent + "/clusters/strata").Do()
	if err != nil || found.Status != "RUNNING" || runtime.created.Load() == 0 {
		t.Errorf("cluster is %v, %v; want RUNNING", found, err)
	}
}

func TestFailedClusterHasAStatusMessage(t *testing.T) {
	c := newEmulator(t, false)
	c.clusters = &fakeClusters{fail: errors.New("etcd did not answer")}
	c.restart(false)
	owner := c.owner()
	op, err := owner.container.Projects.Locations.Clusters.Create(parent, newCluster("strata", false)).Do()
	if err != nil {
		t.Fatal(err)
	}
	if op = c.waitCluster(owner, op); op.StatusMessage != "etcd did not answer" {
		t.Errorf("status message %q", op.StatusMessage)
	}
	found, err := owner.container.Projects.Locations.Clusters.Get(parent + "/clusters/strata").Do()
	if err != nil || found.Status != "ERROR" {
		t.Errorf("cluster is %v, %v; want ERROR", found, err)
	}
}

func TestNodePools(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.owner()
	clusters := owner.container.Projects.Locations.Clusters
	op, err := clusters.Create(parent, newCluster("strata", false)).Do()
	if err != nil {
		t.Fatal(err)
	}
	c.waitCluster(owner, op)
	const cluster = parent + "/clusters/strata"
	if op, err = clusters.NodePools.Delete(cluster + "/nodePools/default-pool").Do(); err != nil || op.Status != "DONE" {
		t.Fatalf("delete the default pool: %v, %v", op, err)
	}
	request := &container.CreateNodePoolRequest{NodePool: &container.NodePool{
		Name: "main", InitialNodeCount: 2, Config: &container.NodeConfig{MachineType: "e2-standard-4"},
	}}
	if _, err := clusters.NodePools.Create(cluster, request).Do(); err != nil {
		t.Fatal(err)
	}
	_, err = clusters.NodePools.Create(cluster, request).Do()
	refused(t, err, 409, "Already exists: "+zonal+"/clusters/strata/nodePools/main.")
	if _, err := clusters.NodePools.SetSize(cluster+"/nodePools/main", &container.SetNodePoolSizeRequest{NodeCount: 3}).Do(); err != nil {
		t.Fatal(err)
	}
	pools, err := clusters.NodePools.List(cluster).Do()
	if err != nil || len(pools.NodePools) != 1 {
		t.Fatalf("pools %v, %v; want one", pools, err)
	}
	pool := pools.NodePools[0]
	if pool.Name != "main" || pool.Status != "RUNNING" || pool.InitialNodeCount != 3 || pool.Config.MachineType != "e2-standard-4" || pool.Config.DiskSizeGb != 100 {
		t.Errorf("pool is %+v with %+v", pool, pool.Config)
	}
	found, err := clusters.Get(cluster).Do()
	if err != nil || found.CurrentNodeCount != 3 {
		t.Errorf("cluster is %v, %v; want 3 nodes", found, err)
	}
}

func TestClusterUpdate(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.owner()
	clusters := owner.container.Projects.Locations.Clusters
	op, err := clusters.Create(parent, newCluster("strata", false)).Do()
	if err != nil {
		t.Fatal(err)
	}
	c.waitCluster(owner, op)
	const cluster = parent + "/clusters/strata"
	update := func(change *container.ClusterUpdate) error {
		_, err := clusters.Update(cluster, &container.UpdateClusterRequest{Update: change}).Do()
		return err
	}
	if err := update(&container.ClusterUpdate{DesiredReleaseChannel: &container.ReleaseChannel{Channel: "STABLE"}}); err != nil {
		t.Fatal(err)
	}
	refused(t, update(&container.ClusterUpdate{}), 400, "Must specify a field")
	refused(t, update(&container.ClusterUpdate{DesiredEmulatedVersion: "1.35"}), 400, "desiredEmulatedVersion is not emulated")
	found, err := clusters.Get(cluster).Do()
	if err != nil {
		t.Fatal(err)
	}
	if found.ReleaseChannel.Channel != "STABLE" || found.Name != "strata" || found.Status != "RUNNING" {
		t.Errorf("cluster after the update: %+v", found)
	}
	labels := &container.SetLabelsRequest{LabelFingerprint: found.LabelFingerprint, ResourceLabels: map[string]string{"team": "web"}}
	if _, err := clusters.SetResourceLabels(cluster, labels).Do(); err != nil {
		t.Fatal(err)
	}
	_, err = clusters.SetResourceLabels(cluster, labels).Do()
	refused(t, err, 400, "fingerprint mismatch")
}
