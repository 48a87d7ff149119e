package gcp_test

import (
	"slices"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

// follow updates an object with each of the changes in turn. After each update, an import of the object must have no
// changes, except in ownState, the properties that only the state contains.
func follow(t *testing.T, pl plugin, o object, base string, ownState, changes []string) object {
	t.Helper()
	for _, change := range changes {
		t.Run(change, func(t *testing.T) {
			pl.t = t
			inputs := fromJSON(t, base, change)
			if len(pl.diff(o, inputs)) == 0 {
				t.Fatal("the inputs cause no change")
			}
			for path, kind := range pl.diff(o, inputs) {
				if kind != p.Update && kind != p.Add && kind != p.Delete {
					t.Fatalf("the change of %s is %s, want a change in place", path, kind)
				}
			}
			o = pl.update(o, inputs)
			for path, kind := range pl.diff(pl.read(object{typ: o.typ, id: o.id}), inputs) {
				if !slices.Contains(ownState, path) {
					t.Errorf("after the update, an import differs in %s (%s)", path, kind)
				}
			}
			if changes := pl.diff(pl.read(o), inputs); len(changes) > 0 {
				t.Errorf("a refresh finds changes: %v", changes)
			}
		})
	}
	pl.t = t
	return o
}

func TestUpdatesOfACluster(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	const base = `{
		"name": "strata", "location": "europe-west1-b", "deletionProtection": false,
		"nodePools": [{"name": "a", "nodeCount": 1, "nodeConfig": {"machineType": "e2-small"}}]
	}`
	o := pl.create(clusterType, fromJSON(t, base))
	if n := o.state.Get("nodePools").AsArray().Len(); n != 1 {
		t.Fatalf("the cluster has %d node pools", n)
	}
	o = follow(t, pl, o, base, []string{"deletionProtection", "minMasterVersion"}, []string{
		`{"resourceLabels": {"a": "1", "b": "2"}}`,
		`{"resourceLabels": {"a": "2"}}`,
		`{"releaseChannel": {"channel": "RAPID"}}`,
		`{"enableShieldedNodes": false}`,
		`{"workloadIdentityConfig": {"workloadPool": "strata-local.svc.id.goog"}}`,
		`{"masterAuthorizedNetworksConfig": {"cidrBlocks": [{"cidrBlock": "10.0.0.0/8", "displayName": "all"}]}}`,
		`{"maintenancePolicy": {"dailyMaintenanceWindow": {"startTime": "03:00"}}}`,
		`{"maintenancePolicy": {"recurringWindow": {"startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-01T06:00:00Z", "recurrence": "FREQ=DAILY"}}}`,
		`{"addonsConfig": {"httpLoadBalancing": {"disabled": true}, "gcsFuseCsiDriverConfig": {"enabled": true}}}`,
		`{"verticalPodAutoscaling": {"enabled": true}}`,
		`{"binaryAuthorization": {"evaluationMode": "PROJECT_SINGLETON_POLICY_ENFORCE"}}`,
		`{"costManagementConfig": {"enabled": true}}`,
		`{"authenticatorGroupsConfig": {"securityGroup": "gke-security-groups@acme.example"}}`,
		`{"databaseEncryption": {"state": "ENCRYPTED", "keyName": "projects/p/locations/europe-west1/keyRings/r/cryptoKeys/k"}}`,
		`{"defaultSnatStatus": {"disabled": true}}`,
		`{"dnsConfig": {"clusterDns": "CLOUD_DNS", "clusterDnsScope": "CLUSTER_SCOPE", "clusterDnsDomain": "cluster.local"}}`,
		`{"enableFqdnNetworkPolicy": true}`,
		`{"enableIntranodeVisibility": true, "enableFqdnNetworkPolicy": true}`,
		`{"enableL4IlbSubsetting": true, "enableFqdnNetworkPolicy": true}`,
		`{"enableLegacyAbac": true, "enableL4IlbSubsetting": true, "enableFqdnNetworkPolicy": true}`,
		`{"gatewayApiConfig": {"channel": "CHANNEL_STANDARD"}, "enableL4IlbSubsetting": true, "enableFqdnNetworkPolicy": true}`,
	})
	kept := base[:len(base)-2] + `, "enableL4IlbSubsetting": true, "enableFqdnNetworkPolicy": true}`
	o = follow(t, pl, o, kept, []string{"deletionProtection", "minMasterVersion"}, []string{
		`{"identityServiceConfig": {"enabled": true}}`,
		`{"loggingConfig": {"enableComponents": ["SYSTEM_COMPONENTS"]}}`,
		`{"monitoringConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "APISERVER"], "managedPrometheus": {"enabled": true}}}`,
		`{"meshCertificates": {"enableCertificates": true}}`,
		`{"networkPolicy": {"enabled": true, "provider": "CALICO"}}`,
		`{"notificationConfig": {"pubsub": {"enabled": true, "topic": "projects/strata-local/topics/t"}}}`,
		`{"securityPostureConfig": {"mode": "BASIC", "vulnerabilityMode": "VULNERABILITY_BASIC"}}`,
		`{"serviceExternalIpsConfig": {"enabled": true}}`,
		`{"nodeLocations": ["europe-west1-c"]}`,
		`{"nodePools": [{"name": "a", "nodeCount": 3, "nodeConfig": {"machineType": "e2-medium"}}]}`,
	})
	pl.remove(o)
}

func TestUpdatesOfANodePool(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	pl.create(clusterType, fromJSON(t, `{"name": "strata", "location": "europe-west1-b", "initialNodeCount": 1, "removeDefaultNodePool": true, "releaseChannel": {"channel": "UNSPECIFIED"}}`))
	const base = `{"name": "main", "cluster": "strata", "location": "europe-west1-b", "nodeCount": 1, "nodeConfig": {"machineType": "e2-small"}}`
	o := pl.create(poolType, fromJSON(t, base))
	if urls := o.state.Get("instanceGroupUrls").AsArray(); urls.Len() != 1 || o.state.Get("managedInstanceGroupUrls").AsArray().Len() != 1 {
		t.Errorf("instance groups are %v", urls)
	}
	follow(t, pl, o, base, nil, []string{
		`{"nodeCount": 3}`,
		`{"nodeCount": 0}`,
		`{"autoscaling": {"minNodeCount": 1, "maxNodeCount": 4, "locationPolicy": "ANY"}}`,
		`{"management": {"autoRepair": true, "autoUpgrade": false}}`,
		`{"nodeLocations": ["europe-west1-b", "europe-west1-c"]}`,
		`{"upgradeSettings": {"maxSurge": 2, "maxUnavailable": 1, "strategy": "SURGE"}}`,
		`{"nodeConfig": {"machineType": "e2-medium", "diskSizeGb": 50, "diskType": "pd-ssd"}}`,
		`{"nodeConfig": {"machineType": "e2-medium", "imageType": "UBUNTU_CONTAINERD"}}`,
		`{"nodeConfig": {"machineType": "e2-medium", "labels": {"a": "1"}}}`,
		`{"nodeConfig": {"machineType": "e2-medium", "tags": ["web"]}}`,
		`{"nodeConfig": {"machineType": "e2-medium", "taints": [{"key": "a", "value": "b", "effect": "NO_EXECUTE"}]}}`,
		`{"nodeConfig": {"machineType": "e2-medium", "resourceLabels": {"a": "1"}}}`,
		`{"nodeConfig": {"machineType": "e2-medium", "workloadMetadataConfig": {"mode": "GKE_METADATA"}}}`,
		`{"nodeConfig": {"machineType": "e2-medium", "loggingVariant": "MAX_THROUGHPUT"}}`,
		`{"nodeConfig": {"machineType": "e2-medium", "kubeletConfig": {"cpuManagerPolicy": "static", "podPidsLimit": 2048}}}`,
		`{"nodeConfig": {"machineType": "e2-medium", "linuxNodeConfig": {"sysctls": {"net.core.somaxconn": "2048"}}}}`,
	})
}

func TestUpdatesOfAnInstance(t *testing.T) {
	newCloudWith(t, newDatabases(t))
	pl := newPlugin(t, property.Map{})
	const base = `{"name": "strata", "databaseVersion": "MYSQL_8_0", "settings": {"tier": "db-f1-micro"}, "deletionProtection": false}`
	o := pl.create(instanceType, fromJSON(t, base))
	follow(t, pl, o, base, []string{"deletionProtection"}, []string{
		`{"settings": {"tier": "db-n1-standard-1"}}`,
		`{"settings": {"tier": "db-n1-standard-1", "diskSize": 20, "diskAutoresize": false, "diskAutoresizeLimit": 100}}`,
		`{"settings": {"tier": "db-n1-standard-1", "availabilityType": "REGIONAL"}}`,
		`{"settings": {"tier": "db-n1-standard-1", "backupConfiguration": {"enabled": true, "binaryLogEnabled": true, "startTime": "03:00", "backupRetentionSettings": {"retainedBackups": 3}}}}`,
		`{"settings": {"tier": "db-n1-standard-1", "backupConfiguration": {"enabled": false}}}`,
		`{"settings": {"tier": "db-n1-standard-1", "databaseFlags": [{"name": "max_connections", "value": "100"}]}}`,
		`{"settings": {"tier": "db-n1-standard-1", "deletionProtectionEnabled": true}}`,
		`{"settings": {"tier": "db-n1-standard-1", "denyMaintenancePeriod": {"startDate": "2026-12-20", "endDate": "2027-01-05", "time": "00:00:00"}}}`,
		`{"settings": {"tier": "db-n1-standard-1", "edition": "ENTERPRISE_PLUS", "dataCacheConfig": {"dataCacheEnabled": true}}}`,
		`{"settings": {"tier": "db-n1-standard-1", "insightsConfig": {"queryInsightsEnabled": true, "queryStringLength": 512}}}`,
		`{"settings": {"tier": "db-n1-standard-1", "ipConfiguration": {"ipv4Enabled": true, "authorizedNetworks": [{"name": "all", "value": "0.0.0.0/0"}]}}}`,
		`{"settings": {"tier": "db-n1-standard-1", "locationPreference": {"zone": "europe-west1-c"}}}`,
		`{"settings": {"tier": "db-n1-standard-1", "maintenanceWindow": {"day": 7, "hour": 3, "updateTrack": "stable"}}}`,
		`{"settings": {"tier": "db-n1-standard-1", "passwordValidationPolicy": {"enablePasswordPolicy": true, "minLength": 12}}}`,
		`{"settings": {"tier": "db-n1-standard-1", "userLabels": {"a": "1"}}}`,
		`{"settings": {"tier": "db-n1-standard-1", "userLabels": {"a": "1"}, "activationPolicy": "NEVER"}}`,
		`{"settings": {"tier": "db-n1-standard-1", "userLabels": {"a": "1"}, "activationPolicy": "ALWAYS"}}`,
	})
}
