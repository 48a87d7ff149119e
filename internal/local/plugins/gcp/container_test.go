package gcp_test

import (
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

func TestClusterAndNodePool(t *testing.T) {
	newCloud(t)
	pl := newPlugin(t, property.Map{})
	inputs := props("name", "strata", "initialNodeCount", 1.0, "removeDefaultNodePool", true, "resourceLabels", props("a", "1"),
		"masterAuth", props("clientCertificateConfig", props("issueClientCertificate", true)),
		"networkingMode", "VPC_NATIVE", "datapathProvider", "ADVANCED_DATAPATH", "ipAllocationPolicy", props(),
		"enableShieldedNodes", true, "releaseChannel", props("channel", "REGULAR"),
		"workloadIdentityConfig", props("workloadPool", "strata-local.svc.id.goog"))
	cluster := pl.create(clusterType, inputs)
	if want := "projects/strata-local/locations/europe-west1-b/clusters/strata"; cluster.id != want {
		t.Errorf("ID is %q, want %q", cluster.id, want)
	}
	auth := cluster.state.Get("masterAuth").AsMap()
	if cluster.state.Get("endpoint").AsString() == "" || auth.Get("clusterCaCertificate").AsString() == "" {
		t.Errorf("the state contains no endpoint or no CA certificate: %v", cluster.state)
	}
	if !auth.Get("clientKey").Secret() || auth.Get("clusterCaCertificate").Secret() {
		t.Error("clientKey must be secret, and clusterCaCertificate must not be")
	}
	again := pl.read(cluster)
	if got := again.state.Get("datapathProvider"); !got.IsString() || got.AsString() != "ADVANCED_DATAPATH" {
		t.Errorf("datapath is %v", got)
	}
	if changes := pl.diff(again, inputs); len(changes) > 0 {
		t.Errorf("an unchanged cluster has changes: %v", changes)
	}
	for path, changed := range map[string]property.Map{
		"location":         inputs.Set("location", property.New("europe-west1")),
		"initialNodeCount": inputs.Set("initialNodeCount", property.New(2.0)),
	} {
		kinds := pl.diff(again, changed)
		if k := kinds[path]; k != p.UpdateReplace && k != p.AddReplace {
			t.Errorf("a new %s causes %v, want a replacement", path, kinds)
		}
	}
	cluster = pl.update(again, inputs.Set("resourceLabels", property.New(props("b", "2"))))
	if labels := pl.read(cluster).state.Get("resourceLabels").AsMap(); labels.Len() != 1 || labels.Get("b").AsString() != "2" {
		t.Errorf("labels are %v", labels)
	}

	pool := pl.create(poolType, props("cluster", cluster.id, "name", "main", "nodeCount", 2.0, "nodeConfig", props("machineType", "e2-small")))
	if !strings.HasSuffix(pool.id, "/clusters/strata/nodePools/main") {
		t.Errorf("pool's ID is %q", pool.id)
	}
	if changes := pl.diff(pl.read(pool), pool.inputs); len(changes) > 0 {
		t.Errorf("an unchanged pool has changes: %v", changes)
	}
	if kinds := pl.diff(pool, pool.inputs.Set("nodeConfig", property.New(props("machineType", "e2-small", "spot", true)))); kinds["nodeConfig.spot"] != p.UpdateReplace {
		t.Errorf("spot nodes cause %v, want a replacement", kinds)
	}
	pool = pl.update(pool, pool.inputs.Set("nodeCount", property.New(3.0)))
	pl.remove(pool)

	err := pl.provider.Delete(t.Context(), p.DeleteRequest{ID: cluster.id, Urn: urn(clusterType, "it"), Properties: cluster.state})
	if err == nil || !strings.Contains(err.Error(), "deletionProtection of the") {
		t.Errorf("delete a protected cluster: %v", err)
	}
	pl.remove(pl.update(cluster, cluster.inputs.Set("deletionProtection", property.New(false))))
	if pl.read(cluster).id != "" {
		t.Error("the cluster still exists")
	}
}
