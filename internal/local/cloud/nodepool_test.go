package cloud_test

import (
	"strings"
	"testing"

	"google.golang.org/api/compute/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/option"
)

func TestUpdatesOfANodePool(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.owner()
	c.makeCluster(owner, &container.Cluster{InitialNodeCount: 1})
	pools := owner.container.Projects.Locations.Clusters.NodePools
	const name = strata + "/nodePools/default-pool"
	update := &container.UpdateNodePoolRequest{
		MachineType: "e2-standard-8", DiskSizeGb: 200, Labels: &container.NodeLabels{Labels: map[string]string{"a": "b"}},
		Taints: &container.NodeTaints{Taints: []*container.NodeTaint{{Key: "k", Value: "v", Effect: "NO_SCHEDULE"}}},
		Tags:   &container.NetworkTags{Tags: []string{"web"}}, ResourceLabels: &container.ResourceLabels{Labels: map[string]string{"c": "d"}},
		WorkloadMetadataConfig: &container.WorkloadMetadataConfig{Mode: "GKE_METADATA"}, UpgradeSettings: &container.UpgradeSettings{MaxSurge: 3},
		Locations: []string{"europe-west1-b", "europe-west1-d"}, NodeVersion: "1.36", QueuedProvisioning: &container.QueuedProvisioning{Enabled: true},
	}
	if _, err := pools.Update(name, update).Do(); err != nil {
		t.Fatal(err)
	}
	if _, err := pools.SetAutoscaling(name, &container.SetNodePoolAutoscalingRequest{Autoscaling: &container.NodePoolAutoscaling{Enabled: true, MaxNodeCount: 5}}).Do(); err != nil {
		t.Fatal(err)
	}
	if _, err := owner.container.Projects.Zones.Clusters.NodePools.SetManagement(projectID, location, "strata", "default-pool",
		&container.SetNodePoolManagementRequest{Management: &container.NodeManagement{AutoUpgrade: true}}).Do(); err != nil {
		t.Fatal(err)
	}
	found, err := pools.Get(name).Do()
	if err != nil {
		t.Fatal(err)
	}
	config := found.Config
	if config.MachineType != "e2-standard-8" || config.DiskSizeGb != 200 || config.Labels["a"] != "b" || config.Taints[0].Key != "k" || config.Tags[0] != "web" ||
		config.ResourceLabels["c"] != "d" || config.WorkloadMetadataConfig.Mode != "GKE_METADATA" || config.DiskType != "pd-balanced" ||
		found.UpgradeSettings.MaxSurge != 3 || len(found.Locations) != 2 || len(found.InstanceGroupUrls) != 2 || !found.QueuedProvisioning.Enabled ||
		found.Version != "1.36.3-gke.100" || found.Autoscaling.MaxNodeCount != 5 || found.Management.AutoRepair {
		t.Errorf("pool is %+v with %+v", found, config)
	}
	for what, call := range map[string]func() error{
		"image is not emulated": func() error {
			_, err := pools.Update(name, &container.UpdateNodePoolRequest{Image: "x"}).Do()
			return err
		},
		"Auto_upgrade must be true": func() error {
			_, err := pools.SetManagement(name, &container.SetNodePoolManagementRequest{Management: &container.NodeManagement{AutoRepair: true}}).Do()
			return err
		},
		"must not be greater": func() error {
			_, err := pools.SetAutoscaling(name, &container.SetNodePoolAutoscalingRequest{Autoscaling: &container.NodePoolAutoscaling{Enabled: true, MinNodeCount: 9, MaxNodeCount: 2}}).Do()
			return err
		},
		"is negative": func() error {
			_, err := pools.SetSize(name, &container.SetNodePoolSizeRequest{NodeCount: -1}).Do()
			return err
		},
		"etag": func() error {
			_, err := pools.Update(name, &container.UpdateNodePoolRequest{Etag: "old", ImageType: "x"}).Do()
			return err
		},
	} {
		refused(t, call(), 400, what)
	}
}

// TestComputeEngineReturnsTheNodesOfAPool reads the number of nodes like the official provider.
func TestComputeEngineReturnsTheNodesOfAPool(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.owner()
	found := c.makeCluster(owner, &container.Cluster{InitialNodeCount: 1})
	if _, err := owner.container.Projects.Locations.Clusters.NodePools.SetSize(strata+"/nodePools/default-pool", &container.SetNodePoolSizeRequest{NodeCount: 4}).Do(); err != nil {
		t.Fatal(err)
	}
	group := found.InstanceGroupUrls[0][strings.LastIndex(found.InstanceGroupUrls[0], "/")+1:]
	as := func(file []byte) *compute.InstanceGroupManagersService {
		t.Helper()
		made, err := compute.NewService(t.Context(), option.WithTokenSource(c.login(file)), option.WithEndpoint(c.url+"/compute/v1/"))
		if err != nil {
			t.Fatal(err)
		}
		return made.InstanceGroupManagers
	}
	manager, err := as(c.engineer).Get(projectID, location, group).Do()
	if err != nil || manager.TargetSize != 4 || !strings.Contains(found.InstanceGroupUrls[0], "/zones/"+location+"/instanceGroupManagers/gke-strata-default-pool-") {
		t.Errorf("%s is %+v, %v", found.InstanceGroupUrls[0], manager, err)
	}
	_, err = as(c.engineer).Get(projectID, location, "none").Do()
	refused(t, err, 404, "was not found")
	_, admin := c.account("cluster-admin", "roles/container.admin")
	_, err = as(admin).Get(projectID, location, group).Do()
	refused(t, err, 403, "compute.instanceGroupManagers.get")
}
