package cloud_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/container/v1"
)

// TestNewClusterIsComplete checks the parts of a cluster that the official provider dereferences without a nil check.
func TestNewClusterIsComplete(t *testing.T) {
	c := newEmulator(t, false)
	found := c.makeCluster(c.owner(), &container.Cluster{InitialNodeCount: 2, Locations: []string{"europe-west1-b", "europe-west1-c"}})
	for name, there := range map[string]bool{
		"legacyAbac":                  found.LegacyAbac != nil,
		"masterAuth":                  found.MasterAuth != nil,
		"networkConfig":               found.NetworkConfig != nil && found.NetworkConfig.Subnetwork == "projects/strata-local/regions/europe-west1/subnetworks/default",
		"ipAllocationPolicy":          found.IpAllocationPolicy != nil && found.IpAllocationPolicy.UseIpAliases && found.IpAllocationPolicy.ServicesIpv4CidrBlock == found.ServicesIpv4Cidr,
		"controlPlaneEndpointsConfig": found.ControlPlaneEndpointsConfig != nil && found.ControlPlaneEndpointsConfig.IpEndpointsConfig.PublicEndpoint == found.Endpoint,
		"private endpoint": found.PrivateClusterConfig != nil && !found.PrivateClusterConfig.EnablePrivateNodes && found.PrivateClusterConfig.PrivateEndpoint == "10.96.0.1" &&
			found.PrivateClusterConfig.PublicEndpoint == found.Endpoint && found.ControlPlaneEndpointsConfig.IpEndpointsConfig.PrivateEndpoint == "10.96.0.1",
		"loggingConfig":      found.LoggingConfig != nil && len(found.LoggingConfig.ComponentConfig.EnableComponents) == 2,
		"notificationConfig": found.NotificationConfig != nil && found.NotificationConfig.Pubsub != nil,
		"releaseChannel":     found.ReleaseChannel != nil && found.ReleaseChannel.Channel == "REGULAR",
		"nodes in each zone": found.CurrentNodeCount == 4 && len(found.InstanceGroupUrls) == 2,
		"pool":               found.NodePools[0].Management.AutoUpgrade && found.NodePools[0].UpgradeSettings.MaxSurge == 1,
	} {
		if !there {
			t.Errorf("the check of %s fails", name)
		}
	}
}

func TestARegionalClusterHasThreeZones(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.owner()
	const region = "projects/" + projectID + "/locations/europe-west3"
	op, err := owner.container.Projects.Locations.Clusters.Create(region, newCluster("strata", false)).Do()
	if err != nil {
		t.Fatal(err)
	}
	found, err := owner.container.Projects.Locations.Clusters.Get(region + "/clusters/strata").Do()
	if err != nil || !slices.Equal(found.Locations, []string{"europe-west3-a", "europe-west3-b", "europe-west3-c"}) || found.Zone != "europe-west3" {
		t.Errorf("cluster is %+v, %v", found, err)
	}
	if !strings.HasSuffix(found.SelfLink, "/container/v1/"+region+"/clusters/strata") {
		t.Errorf("cluster has the link %s", found.SelfLink)
	}
	if _, err := owner.container.Projects.Locations.Operations.Get(region + "/operations/" + op.Name).Do(); err != nil {
		t.Error(err)
	}
}

func TestInvalidClustersAreRejected(t *testing.T) {
	c := newEmulator(t, false)
	clusters := c.owner().container.Projects.Locations.Clusters
	pool := []*container.NodePool{{Name: "main", InitialNodeCount: 1}}
	for name, test := range map[string]struct {
		parent  string
		cluster *container.Cluster
		want    string
	}{
		"no nodes":               {parent, &container.Cluster{Name: "x"}, "initial_node_count must be greater than zero"},
		"no name":                {parent, &container.Cluster{InitialNodeCount: 1}, "cluster.name"},
		"unknown location":       {"projects/strata-local/locations/moon", &container.Cluster{Name: "x", InitialNodeCount: 1}, `Location "moon" does not exist`},
		"nodes twice":            {parent, &container.Cluster{Name: "x", InitialNodeCount: 1, NodePools: pool}, "Only one of"},
		"password":               {parent, &container.Cluster{Name: "x", NodePools: pool, MasterAuth: &container.MasterAuth{Username: "admin"}}, "Basic authentication was removed"},
		"newer version":          {parent, &container.Cluster{Name: "x", NodePools: pool, InitialClusterVersion: "1.40"}, "No valid versions"},
		"zone of another region": {parent, &container.Cluster{Name: "x", NodePools: pool, Locations: []string{"us-east1-b"}}, "not a zone of europe-west1"},
		"identities":             {parent, &container.Cluster{Name: "x", NodePools: pool, WorkloadIdentityConfig: &container.WorkloadIdentityConfig{WorkloadPool: "x"}}, "Workload pool"},
		"no auto upgrade":        {parent, &container.Cluster{Name: "x", NodePools: []*container.NodePool{{Name: "main", Management: &container.NodeManagement{}}}}, "Auto_upgrade must be true when release_channel REGULAR is set."},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := clusters.Create(test.parent, &container.CreateClusterRequest{Cluster: test.cluster}).Do()
			refused(t, err, 400, test.want)
		})
	}
}
