package cloud_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"google.golang.org/api/container/v1"
	"google.golang.org/api/sqladmin/v1beta4"
)

// FuzzChanges sends bodies to the calls that change a cluster, a node pool, an instance, a bucket or an object. No
// response may be an internal error of the emulator, and all calls must still work afterwards.
func FuzzChanges(f *testing.F) {
	const (
		cluster  = "/container/v1beta1/" + strata
		pool     = cluster + "/nodePools/default-pool"
		instance = "/sqladmin/sql/v1beta4/projects/strata-local/instances/strata"
		bucket   = "/storage/storage/v1/b/strata-fuzzed"
		object   = bucket + "/o/a"
	)
	calls := []string{
		"PUT " + cluster, "PUT " + pool, "POST " + cluster + ":setAddons", "POST " + cluster + ":setMaintenancePolicy", "POST " + cluster + ":setResourceLabels",
		"POST " + cluster + ":setNetworkPolicy", "POST " + cluster + ":setLocations", "POST " + pool + ":setManagement", "POST " + pool + ":setAutoscaling",
		"POST " + cluster + "/nodePools", "PATCH " + instance, "PUT " + instance, "POST " + instance + "/databases", "POST " + instance + "/users",
		"PUT " + instance + "/users?name=postgres", "PATCH " + bucket, "PUT " + bucket, "PUT " + bucket + "/iam", "PATCH " + object, "PUT " + object,
		"POST " + object + "/compose", "POST " + object + "/rewriteTo/b/strata-fuzzed/o/b", "POST /upload/storage/v1/b/strata-fuzzed/o?uploadType=resumable",
		"POST /upload/storage/v1/b/strata-fuzzed/o?uploadType=media&name=c",
	}
	for _, body := range []string{
		"{}", "null", "[]", `{"update":{"desiredControlPlaneEndpointsConfig":{"ipEndpointsConfig":null},"desiredMasterAuthorizedNetworksConfig":null}}`,
		`{"update":{"desiredAddonsConfig":null,"desiredClusterAutoscaling":null,"desiredLoggingConfig":{}}}`, `{"update":{"desiredLocations":null}}`,
		`{"update":{"desiredK8sBetaApis":{"enabledApis":[1]}}}`, `{"update":{"desiredNodePoolAutoscaling":null,"desiredIntraNodeVisibilityConfig":7}}`,
		`{"locations":null,"labels":null,"tags":{"tags":null},"nodeNetworkConfig":null}`, `{"management":null}`, `{"autoscaling":{"enabled":true}}`,
		`{"maintenancePolicy":{"window":{"recurringWindow":{}}}}`, `{"nodePool":{"name":"a","config":null,"locations":[""]}}`, `{"addonsConfig":{"dnsCacheConfig":null}}`,
		`{"settings":null}`, `{"settings":{"settingsVersion":"1","tier":"x","ipConfiguration":null}}`, `{"databaseVersion":null}`, `{"name":"a","host":"b"}`,
		`{"iamConfiguration":null,"versioning":null,"labels":{"a":null}}`, `{"iamConfiguration":{"uniformBucketLevelAccess":null}}`, `{"bindings":[null]}`,
		`{"metadata":{"a":null},"contentType":null}`, `{"sourceObjects":[null]}`, `{"sourceObjects":[{"name":"a"}],"destination":null}`, `{"name":7}`,
	} {
		for i := range calls {
			f.Add(uint(i), body)
		}
	}
	c := newEmulator(f, false)
	owner := c.owner()
	c.makeCluster(owner, &container.Cluster{InitialNodeCount: 1})
	op, err := owner.sql.Instances.Insert(projectID, &sqladmin.DatabaseInstance{
		Name: "strata", DatabaseVersion: "POSTGRES_15", Settings: &sqladmin.Settings{Tier: "db-f1-micro"},
	}).Do()
	c.waitSQL(owner, op, err)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "strata-fuzzed")
	write(f, client, "strata-fuzzed", "a", "x")
	_, key := c.account("admin-account", "roles/owner", "roles/storage.admin")
	token := c.token(key)
	send := func(t *testing.T, method, target, body string) int {
		t.Helper()
		request := httptest.NewRequest(method, target, strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+token)
		answer := httptest.NewRecorder()
		c.ServeHTTP(answer, request)
		if answer.Code >= 500 && answer.Code != http.StatusNotImplemented {
			t.Errorf("the response to %s %s %q is %d %s", method, target, body, answer.Code, answer.Body)
		}
		return answer.Code
	}
	f.Fuzz(func(t *testing.T, which uint, body string) {
		method, target, _ := strings.Cut(calls[which%uint(len(calls))], " ")
		send(t, method, target, body)
		for _, there := range []string{cluster, pool, instance, bucket, bucket + "/iam", object} {
			if code := send(t, "GET", there, ""); code != http.StatusOK {
				t.Errorf("after %s %s %q, the response to %s is %d", method, target, body, there, code)
			}
		}
	})
}
