package cloud_test

import (
	"strings"
	"testing"

	"google.golang.org/api/container/v1"
	beta "google.golang.org/api/container/v1beta1"
	"google.golang.org/api/option"

	"github.com/strata-platform/strata/internal/local/cloud"
)

const strata = parent + "/clusters/strata"

// betaClient returns Google's client for v1beta1, which the official provider uses.
func (c *emulator) betaClient() *beta.Service {
	c.t.Helper()
	made, err := beta.NewService(c.t.Context(), option.WithTokenSource(c.login(c.engineer)),
		option.WithEndpoint(strings.TrimSuffix(cloud.Endpoints(c.url)["GOOGLE_CONTAINER_CUSTOM_ENDPOINT"], "v1/")))
	if err != nil {
		c.t.Fatal(err)
	}
	return made
}

// makeCluster creates the cluster "strata" and returns it.
func (c *emulator) makeCluster(owner *clients, wanted *container.Cluster) *container.Cluster {
	c.t.Helper()
	wanted.Name = "strata"
	op, err := owner.container.Projects.Locations.Clusters.Create(parent, &container.CreateClusterRequest{Cluster: wanted}).Do()
	if err != nil {
		c.t.Fatal(err)
	}
	c.waitCluster(owner, op)
	found, err := owner.container.Projects.Locations.Clusters.Get(strata).Do()
	if err != nil {
		c.t.Fatal(err)
	}
	return found
}

func TestUpdatesOfAClusterByTheBetaClient(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.owner()
	c.makeCluster(owner, &container.Cluster{InitialNodeCount: 1})
	clusters := c.betaClient().Projects.Locations.Clusters
	for name, test := range map[string]struct {
		update *beta.ClusterUpdate
		check  func(*beta.Cluster) bool
	}{
		"object": {&beta.ClusterUpdate{DesiredVerticalPodAutoscaling: &beta.VerticalPodAutoscaling{Enabled: true}},
			func(k *beta.Cluster) bool { return k.VerticalPodAutoscaling.Enabled }},
		"only in beta": {&beta.ClusterUpdate{DesiredClusterTelemetry: &beta.ClusterTelemetry{Type: "ENABLED"}},
			func(k *beta.Cluster) bool { return k.ClusterTelemetry.Type == "ENABLED" }},
		"deeper": {&beta.ClusterUpdate{DesiredDatapathProvider: "ADVANCED_DATAPATH"},
			func(k *beta.Cluster) bool {
				return k.NetworkConfig.DatapathProvider == "ADVANCED_DATAPATH" && k.NetworkConfig.Network == "projects/strata-local/global/networks/default"
			}},
		"switch": {&beta.ClusterUpdate{DesiredIntraNodeVisibilityConfig: &beta.IntraNodeVisibilityConfig{Enabled: true}},
			func(k *beta.Cluster) bool { return k.NetworkConfig.EnableIntraNodeVisibility }},
		"one addon": {&beta.ClusterUpdate{DesiredAddonsConfig: &beta.AddonsConfig{DnsCacheConfig: &beta.DnsCacheConfig{ForceSendFields: []string{"Enabled"}}}},
			func(k *beta.Cluster) bool {
				return !k.AddonsConfig.DnsCacheConfig.Enabled && k.AddonsConfig.GcePersistentDiskCsiDriverConfig.Enabled
			}},
		"turned off": {&beta.ClusterUpdate{DesiredShieldedNodes: &beta.ShieldedNodes{ForceSendFields: []string{"Enabled"}}},
			func(k *beta.Cluster) bool { return !k.ShieldedNodes.Enabled }},
		"identities": {&beta.ClusterUpdate{DesiredWorkloadIdentityConfig: &beta.WorkloadIdentityConfig{WorkloadPool: "strata-local.svc.id.goog"}},
			func(k *beta.Cluster) bool { return k.WorkloadIdentityConfig.WorkloadPool == "strata-local.svc.id.goog" }},
		"networks": {&beta.ClusterUpdate{DesiredMasterAuthorizedNetworksConfig: &beta.MasterAuthorizedNetworksConfig{Enabled: true}},
			func(k *beta.Cluster) bool {
				return k.ControlPlaneEndpointsConfig.IpEndpointsConfig.AuthorizedNetworksConfig.Enabled
			}},
		"endpoint": {&beta.ClusterUpdate{DesiredControlPlaneEndpointsConfig: &beta.ControlPlaneEndpointsConfig{
			IpEndpointsConfig: &beta.IPEndpointsConfig{GlobalAccess: true}}},
			func(k *beta.Cluster) bool {
				ip := k.ControlPlaneEndpointsConfig.IpEndpointsConfig
				return ip.GlobalAccess && ip.EnablePublicEndpoint && ip.PublicEndpoint == k.Endpoint
			}},
		"the existing version": {&beta.ClusterUpdate{DesiredMasterVersion: "1.36"},
			func(k *beta.Cluster) bool { return k.CurrentMasterVersion == "1.36.3-gke.100" }},
		"pool": {&beta.ClusterUpdate{DesiredNodePoolId: "default-pool", DesiredImageType: "UBUNTU_CONTAINERD"},
			func(k *beta.Cluster) bool { return k.NodePools[0].Config.ImageType == "UBUNTU_CONTAINERD" }},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := clusters.Update(strata, &beta.UpdateClusterRequest{Update: test.update}).Do(); err != nil {
				t.Fatal(err)
			}
			found, err := clusters.Get(strata).Do()
			if err != nil || found.Status != "RUNNING" || !test.check(found) {
				t.Errorf("cluster is %+v, %v", found, err)
			}
		})
	}
	empty := &beta.ClusterUpdate{DesiredWorkloadIdentityConfig: &beta.WorkloadIdentityConfig{ForceSendFields: []string{"WorkloadPool"}}}
	if _, err := clusters.Update(strata, &beta.UpdateClusterRequest{Update: empty}).Do(); err != nil {
		t.Fatal(err)
	}
	if found, err := clusters.Get(strata).Do(); err != nil || found.WorkloadIdentityConfig != nil {
		t.Errorf("after turning them off, identities are %+v, %v", found.WorkloadIdentityConfig, err)
	}
}

func logs(components ...string) *container.ClusterUpdate {
	return &container.ClusterUpdate{DesiredLoggingConfig: &container.LoggingConfig{
		ComponentConfig: &container.LoggingComponentConfig{EnableComponents: components},
	}}
}

func TestInvalidMaintenancePoliciesAreRejected(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.owner()
	c.makeCluster(owner, &container.Cluster{InitialNodeCount: 1})
	const three, seven, eight = "2026-01-01T03:00:00Z", "2026-01-01T07:00:00Z", "2026-01-01T08:00:00Z"
	window := func(start, end, recurrence string) *container.MaintenanceWindow {
		return &container.MaintenanceWindow{RecurringWindow: &container.RecurringTimeWindow{
			Window: &container.TimeWindow{StartTime: start, EndTime: end}, Recurrence: recurrence,
		}}
	}
	excluded := func(scope string, names ...string) *container.MaintenanceWindow {
		w := &container.MaintenanceWindow{MaintenanceExclusions: map[string]container.TimeWindow{}}
		for _, name := range names {
			w.MaintenanceExclusions[name] = container.TimeWindow{
				StartTime: three, EndTime: seven, MaintenanceExclusionOptions: &container.MaintenanceExclusionOptions{Scope: scope},
			}
		}
		return w
	}
	twice := window(three, seven, "FREQ=DAILY")
	twice.DailyMaintenanceWindow = &container.DailyMaintenanceWindow{StartTime: "03:00"}
	for name, test := range map[string]struct {
		window *container.MaintenanceWindow
		want   string
	}{
		"daily":                    {window(three, seven, "FREQ=DAILY"), ""},
		"three days":               {window(three, seven, "FREQ=WEEKLY;BYDAY=MO,WE,SA"), ""},
		"three exclusions":         {excluded("NO_UPGRADES", "a", "b", "c"), ""},
		"two short days":           {window(three, eight, "FREQ=WEEKLY;BYDAY=SA,SU"), "at least 48 hours"},
		"three hours":              {window("2026-01-01T04:00:00Z", seven, "FREQ=DAILY"), "at least 48 hours"},
		"end before start":         {window(seven, three, "FREQ=DAILY"), "must be before end time"},
		"no rule":                  {window(three, seven, "daily"), "recurrence"},
		"two windows":              {twice, "Only one of"},
		"unknown scope":            {excluded("NOTHING", "a"), "maintenance_exclusion_options.scope"},
		"four times no upgrades":   {excluded("NO_UPGRADES", "a", "b", "c", "d"), "3 of them with the scope NO_UPGRADES"},
		"four times without minor": {excluded("NO_MINOR_UPGRADES", "a", "b", "c", "d"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := owner.container.Projects.Locations.Clusters.SetMaintenancePolicy(strata, &container.SetMaintenancePolicyRequest{
				MaintenancePolicy: &container.MaintenancePolicy{Window: test.window},
			}).Do()
			if test.want != "" {
				refused(t, err, 400, test.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestInvalidUpdatesAreRejected(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.owner()
	c.makeCluster(owner, &container.Cluster{InitialNodeCount: 1})
	clusters := owner.container.Projects.Locations.Clusters
	for name, test := range map[string]struct {
		update *container.ClusterUpdate
		want   string
	}{
		"nothing":                 {&container.ClusterUpdate{}, "Must specify a field"},
		"not emulated":            {&container.ClusterUpdate{DesiredPrivilegedAdmissionConfig: &container.PrivilegedAdmissionConfig{}}, "desiredPrivilegedAdmissionConfig is not emulated"},
		"newer version":           {&container.ClusterUpdate{DesiredMasterVersion: "1.99"}, `No valid versions with the prefix "1.99"`},
		"invalid version":         {&container.ClusterUpdate{DesiredNodeVersion: "newest"}, `No valid versions with the prefix "newest"`},
		"pool of another project": {&container.ClusterUpdate{DesiredWorkloadIdentityConfig: &container.WorkloadIdentityConfig{WorkloadPool: "x.svc.id.goog"}}, "strata-local.svc.id.goog"},
		"zone of another region":  {&container.ClusterUpdate{DesiredLocations: []string{"us-east1-b"}}, "not a zone of europe-west1"},
		"channel":                 {&container.ClusterUpdate{DesiredReleaseChannel: &container.ReleaseChannel{Channel: "FAST"}}, "release_channel.channel"},
		"topic of another project": {&container.ClusterUpdate{DesiredNotificationConfig: &container.NotificationConfig{
			Pubsub: &container.PubSub{Enabled: true, Topic: "projects/other/topics/gke"},
		}}, "in the project of the cluster"},
		"unknown event": {&container.ClusterUpdate{DesiredNotificationConfig: &container.NotificationConfig{
			Pubsub: &container.PubSub{Enabled: true, Topic: "projects/strata-local/topics/gke", Filter: &container.Filter{EventType: []string{"BOOM"}}},
		}}, "event_type"},
		"unknown log":         {logs("SYSTEM_COMPONENTS", "AUDIT"), "enable_components"},
		"logs without system": {logs("APISERVER"), "must contain SYSTEM_COMPONENTS"},
		"short key":           {&container.ClusterUpdate{DesiredDatabaseEncryption: &container.DatabaseEncryption{State: "ENCRYPTED", KeyName: "key"}}, "must be of the form"},
		"key elsewhere": {&container.ClusterUpdate{DesiredDatabaseEncryption: &container.DatabaseEncryption{
			State: "ENCRYPTED", KeyName: "projects/p/locations/us-east1/keyRings/r/cryptoKeys/k",
		}}, "in the region of the cluster, europe-west1"},
		"any group": {&container.ClusterUpdate{DesiredAuthenticatorGroupsConfig: &container.AuthenticatorGroupsConfig{
			Enabled: true, SecurityGroup: "admins@acme.example",
		}}, "gke-security-groups@"},
		"address with host bits": {&container.ClusterUpdate{DesiredMasterAuthorizedNetworksConfig: &container.MasterAuthorizedNetworksConfig{
			Enabled: true, CidrBlocks: []*container.CidrBlock{{CidrBlock: "203.0.113.7/24"}},
		}}, "cidr_blocks"},
		"unknown evaluation": {&container.ClusterUpdate{DesiredBinaryAuthorization: &container.BinaryAuthorization{EvaluationMode: "MAYBE"}}, "evaluation_mode"},
		"outdated etag":      {&container.ClusterUpdate{Etag: "old", DesiredLoggingService: "none"}, "etag"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := clusters.Update(strata, &container.UpdateClusterRequest{Update: test.update}).Do()
			refused(t, err, 400, test.want)
		})
	}
	_, err := clusters.Update(strata, &container.UpdateClusterRequest{Update: &container.ClusterUpdate{DesiredNodePoolId: "none", DesiredImageType: "x"}}).Do()
	refused(t, err, 404, "nodePools/none")
}

func TestSettersOfACluster(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.owner()
	found := c.makeCluster(owner, &container.Cluster{InitialNodeCount: 1})
	clusters := owner.container.Projects.Locations.Clusters
	zonal := owner.container.Projects.Zones.Clusters
	do := func(_ *container.Operation, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
	}
	labels := map[string]string{"team": "web"}
	do(clusters.SetResourceLabels(strata, &container.SetLabelsRequest{LabelFingerprint: found.LabelFingerprint, ResourceLabels: labels}).Do())
	do(clusters.SetNetworkPolicy(strata, &container.SetNetworkPolicyRequest{NetworkPolicy: &container.NetworkPolicy{Enabled: true, Provider: "CALICO"}}).Do())
	do(clusters.SetLegacyAbac(strata, &container.SetLegacyAbacRequest{Enabled: true}).Do())
	do(clusters.SetAddons(strata, &container.SetAddonsConfigRequest{AddonsConfig: &container.AddonsConfig{
		HttpLoadBalancing: &container.HttpLoadBalancing{Disabled: true},
	}}).Do())
	do(zonal.Logging(projectID, location, "strata", &container.SetLoggingServiceRequest{LoggingService: "none"}).Do())
	do(clusters.SetMonitoring(strata, &container.SetMonitoringServiceRequest{MonitoringService: "none"}).Do())
	do(zonal.Locations(projectID, location, "strata", &container.SetLocationsRequest{Locations: []string{"europe-west1-b", "europe-west1-c"}}).Do())
	do(clusters.UpdateMaster(strata, &container.UpdateMasterRequest{MasterVersion: "latest"}).Do())
	window := &container.MaintenanceWindow{DailyMaintenanceWindow: &container.DailyMaintenanceWindow{StartTime: "03:00"}}
	do(clusters.SetMaintenancePolicy(strata, &container.SetMaintenancePolicyRequest{MaintenancePolicy: &container.MaintenancePolicy{Window: window}}).Do())

	found, err := zonal.Get(projectID, location, "strata").Do()
	if err != nil {
		t.Fatal(err)
	}
	if found.ResourceLabels["team"] != "web" || found.NetworkPolicy.Provider != "CALICO" || !found.LegacyAbac.Enabled || !found.AddonsConfig.HttpLoadBalancing.Disabled ||
		!found.AddonsConfig.DnsCacheConfig.Enabled || found.LoggingService != "none" || found.MonitoringService != "none" || len(found.Locations) != 2 ||
		found.MaintenancePolicy.Window.DailyMaintenanceWindow.StartTime != "03:00" {
		t.Errorf("cluster is %+v", found)
	}
	_, err = clusters.SetMaintenancePolicy(strata, &container.SetMaintenancePolicyRequest{MaintenancePolicy: &container.MaintenancePolicy{ResourceVersion: "old"}}).Do()
	refused(t, err, 400, "maintenance policy has changed")
	_, err = clusters.SetResourceLabels(strata, &container.SetLabelsRequest{LabelFingerprint: "old"}).Do()
	refused(t, err, 400, "fingerprint mismatch")
	_, err = clusters.SetLocations(strata, &container.SetLocationsRequest{Locations: []string{"us-east1-b"}}).Do()
	refused(t, err, 400, "not a zone")
	ops, err := owner.container.Projects.Locations.Operations.List(parent).Do()
	if err != nil || len(ops.Operations) < 10 {
		t.Fatalf("operations are %v, %v", ops, err)
	}
	_, err = owner.container.Projects.Locations.Operations.Cancel(parent+"/operations/"+ops.Operations[0].Name, &container.CancelOperationRequest{}).Do()
	refused(t, err, 400, "cannot be cancelled")
}
