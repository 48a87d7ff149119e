package gcp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/property"

	p "github.com/pulumi/pulumi-go-provider"

	"github.com/strata-platform/strata/internal/local/plugins/frame/codec"
	"github.com/strata-platform/strata/internal/local/plugins/gcp"
)

const (
	bucketType       = "gcp:storage/bucket:Bucket"
	keyMemberType    = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"
	bucketMemberType = "gcp:storage/bucketIAMMember:BucketIAMMember"
)

// fromJSON merges JSON objects into properties. A null removes a property of an earlier object.
func fromJSON(t *testing.T, texts ...string) property.Map {
	t.Helper()
	all := map[string]any{}
	for _, text := range texts {
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	m, err := codec.Encode(all)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// typical maps each type to typical inputs.
var typical = map[string]string{
	accountType:      `{"accountId": "team-web", "displayName": "Web"}`,
	keyType:          `{"serviceAccountId": "projects/p/serviceAccounts/web@p.iam.gserviceaccount.com"}`,
	bindingType:      `{"serviceAccountId": "projects/p/serviceAccounts/web@p.iam.gserviceaccount.com", "role": "roles/iam.serviceAccountUser", "members": ["user:a@example.com", "user:b@example.com"]}`,
	actAsType:        `{"serviceAccountId": "projects/p/serviceAccounts/web@p.iam.gserviceaccount.com", "role": "roles/iam.serviceAccountUser", "member": "user:a@example.com"}`,
	memberType:       `{"project": "strata-local", "role": "roles/viewer", "member": "user:a@example.com"}`,
	roleType:         `{"roleId": "tenant", "title": "Tenant", "permissions": ["cloudsql.users.list", "cloudsql.users.get"]}`,
	serviceType:      `{"service": "sqladmin.googleapis.com"}`,
	clusterType:      `{"name": "strata", "location": "europe-west1-b", "initialNodeCount": 1}`,
	poolType:         `{"name": "main", "cluster": "strata", "location": "europe-west1-b", "nodeCount": 1}`,
	instanceType:     `{"name": "strata", "databaseVersion": "MYSQL_8_0", "region": "europe-west1", "settings": {"tier": "db-f1-micro", "diskSize": 20}}`,
	databaseType:     `{"name": "shop", "instance": "strata"}`,
	userType:         `{"name": "shop", "instance": "strata", "host": "%", "password": "first"}`,
	bucketType:       `{"name": "strata-state", "location": "EU"}`,
	keyMemberType:    `{"cryptoKeyId": "projects/p/locations/global/keyRings/r/cryptoKeys/k", "role": "roles/cloudkms.cryptoKeyDecrypter", "member": "user:a@example.com"}`,
	bucketMemberType: `{"bucket": "strata-state", "role": "roles/storage.objectViewer", "member": "user:a@example.com"}`,
}

func TestEveryTypeHasTypicalInputs(t *testing.T) {
	covered := slices.Sorted(maps.Keys(gcp.Package().Resources))
	if known := slices.Sorted(maps.Keys(typical)); !slices.Equal(known, covered) {
		t.Errorf("the types with typical inputs are %q, and those of the plugin %q", known, covered)
	}
}

func TestDiff(t *testing.T) {
	const (
		nothing   = ""
		update    = "update"
		add       = "add"
		remove    = "delete"
		replace   = "update&replace"
		replaceBy = "add&replace"
	)
	pl := plugin{t, gcp.Package().Provider()}
	for _, tc := range []struct{ typ, before, change, path, want string }{
		{accountType, "", `{"displayName": "The web"}`, "displayName", update},
		{accountType, "", `{"displayName": null}`, "displayName", remove},
		{accountType, "", `{"description": "serves"}`, "description", add},
		{accountType, "", `{"disabled": true}`, "disabled", update},
		{accountType, "", `{"accountId": "team-api"}`, "accountId", replace},
		{accountType, `{"project": "strata-local"}`, `{"project": "strata-other"}`, "project", replace},
		{accountType, `{"project": "strata-local"}`, `{"project": null}`, "", nothing},

		{keyType, "", `{"serviceAccountId": "projects/p/serviceAccounts/api@p.iam.gserviceaccount.com"}`, "serviceAccountId", replace},
		{keyType, "", `{"keyAlgorithm": "KEY_ALG_RSA_1024"}`, "keyAlgorithm", replace},
		{keyType, "", `{"privateKeyType": "TYPE_PKCS12_FILE"}`, "privateKeyType", replace},
		{keyType, "", `{"publicKeyType": "TYPE_RAW_PUBLIC_KEY"}`, "publicKeyType", replace},
		{keyType, `{"keepers": {"month": "may"}}`, `{"keepers": {"month": "june"}}`, "keepers.month", replace},

		{bindingType, "", `{"members": ["user:b@example.com", "user:A@example.com"]}`, "", nothing},
		{bindingType, "", `{"members": ["user:a@example.com", "user:c@example.com"]}`, "members[1]", update},
		{bindingType, "", `{"role": "roles/viewer"}`, "role", replace},
		{actAsType, "", `{"member": "user:A@Example.com"}`, "", nothing},
		{actAsType, "", `{"member": "user:b@example.com"}`, "member", replace},
		{actAsType, "", `{"role": "roles/viewer"}`, "role", replace},
		{actAsType, "", `{"serviceAccountId": "projects/p/serviceAccounts/api@p.iam.gserviceaccount.com"}`, "serviceAccountId", replace},
		{memberType, "", `{"condition": {"title": "t", "expression": "true"}}`, "condition", replaceBy},
		{memberType, `{"condition": {"title": "t", "expression": "true"}}`, `{"condition": {"title": "t", "expression": "false"}}`, "condition.expression", replace},
		{memberType, `{"condition": {"title": "t", "expression": "true"}}`, `{"condition": null}`, "condition", "delete&replace"},
		{memberType, "", `{"project": "projects/strata-local"}`, "", nothing},
		{memberType, "", `{"project": "strata-other"}`, "project", replace},
		{bucketMemberType, "", `{"bucket": "b/strata-state"}`, "", nothing},
		{bucketMemberType, "", `{"bucket": "other-state"}`, "bucket", replace},

		{keyMemberType, "", `{"cryptoKeyId": "projects/p/locations/global/keyRings/r/cryptoKeys/l"}`, "cryptoKeyId", replace},

		{roleType, "", `{"permissions": ["cloudsql.users.get", "cloudsql.users.list"]}`, "", nothing},
		{roleType, "", `{"permissions": ["cloudsql.users.list"]}`, "permissions", update},
		{roleType, "", `{"title": "Other"}`, "title", update},
		{roleType, "", `{"stage": "BETA"}`, "stage", update},
		{roleType, "", `{"roleId": "other"}`, "roleId", replace},

		{serviceType, "", `{"service": "iam.googleapis.com"}`, "service", replace},
		{serviceType, "", `{"disableOnDestroy": false}`, "disableOnDestroy", update},
		{serviceType, "", `{"disableDependentServices": true}`, "disableDependentServices", add},

		{clusterType, "", `{"location": "europe-west1"}`, "location", replace},
		{clusterType, "", `{"initialNodeCount": 2}`, "initialNodeCount", replace},
		{clusterType, "", `{"network": "projects/p/global/networks/default"}`, "", nothing},
		{clusterType, "", `{"network": "own"}`, "network", replace},
		{clusterType, "", `{"description": "for tests"}`, "description", replaceBy},
		{clusterType, "", `{"enableAutopilot": true, "enableShieldedNodes": null}`, "enableAutopilot", replaceBy},
		{clusterType, "", `{"deletionProtection": false}`, "deletionProtection", update},
		{clusterType, "", `{"resourceLabels": {"a": "1"}}`, "resourceLabels", add},
		{clusterType, "", `{"minMasterVersion": "1.36"}`, "minMasterVersion", add},
		{clusterType, "", `{"releaseChannel": {"channel": "RAPID"}}`, "releaseChannel", add},
		{clusterType, `{"releaseChannel": {"channel": "RAPID"}}`, `{"releaseChannel": {"channel": "STABLE"}}`, "releaseChannel.channel", update},
		{clusterType, `{"releaseChannel": {"channel": "RAPID"}}`, `{"releaseChannel": null}`, "", nothing},
		{clusterType, `{"datapathProvider": "ADVANCED_DATAPATH"}`, `{"datapathProvider": "LEGACY_DATAPATH"}`, "datapathProvider", replace},
		{clusterType, `{"enableL4IlbSubsetting": true}`, `{"enableL4IlbSubsetting": false}`, "enableL4IlbSubsetting", replace},
		{clusterType, `{"enableL4IlbSubsetting": false}`, `{"enableL4IlbSubsetting": true}`, "enableL4IlbSubsetting", update},
		{clusterType, `{"masterAuth": {"clientCertificateConfig": {"issueClientCertificate": true}}}`, `{"masterAuth": {"clientCertificateConfig": {"issueClientCertificate": false}}}`, "masterAuth.clientCertificateConfig.issueClientCertificate", replace},
		{clusterType, `{"privateClusterConfig": {"enablePrivateNodes": true, "masterIpv4CidrBlock": "10.0.0.0/28"}}`, `{"privateClusterConfig": {"enablePrivateNodes": false, "masterIpv4CidrBlock": "10.0.0.0/28"}}`, "privateClusterConfig.enablePrivateNodes", replace},
		{clusterType, `{"nodePools": [{"name": "a", "nodeCount": 1}]}`, `{"nodePools": [{"name": "a", "nodeCount": 2}]}`, "nodePools[0].nodeCount", update},
		{clusterType, `{"nodePools": [{"name": "a", "nodeCount": 1}]}`, `{"nodePools": [{"name": "b", "nodeCount": 1}]}`, "nodePools[0].name", replace},
		{clusterType, `{"nodePools": [{"name": "a"}]}`, `{"nodePools": [{"name": "a"}, {"name": "b"}]}`, "nodePools", replace},
		{clusterType, `{"nodeLocations": ["europe-west1-c", "europe-west1-d"]}`, `{"nodeLocations": ["europe-west1-d", "europe-west1-c"]}`, "", nothing},

		{poolType, "", `{"nodeCount": 3}`, "nodeCount", update},
		{poolType, "", `{"initialNodeCount": 3, "nodeCount": null}`, "initialNodeCount", replaceBy},
		{poolType, "", `{"cluster": "other"}`, "cluster", replace},
		{poolType, "", `{"maxPodsPerNode": 32}`, "maxPodsPerNode", replaceBy},
		{poolType, "", `{"autoscaling": {"minNodeCount": 1, "maxNodeCount": 3}}`, "autoscaling", add},
		{poolType, `{"management": {"autoUpgrade": true}}`, `{"management": {"autoUpgrade": false}}`, "management.autoUpgrade", update},
		{poolType, `{"nodeConfig": {"machineType": "e2-small"}}`, `{"nodeConfig": {"machineType": "e2-medium"}}`, "nodeConfig.machineType", update},
		{poolType, `{"nodeConfig": {"machineType": "e2-small"}}`, `{"nodeConfig": {"machineType": "e2-small", "spot": true}}`, "nodeConfig.spot", replace},
		{poolType, `{"nodeConfig": {"imageType": "COS_CONTAINERD"}}`, `{"nodeConfig": {"imageType": "cos_containerd"}}`, "", nothing},
		{poolType, `{"nodeConfig": {"metadata": {"a": "1"}}}`, `{"nodeConfig": {"metadata": {"a": "2"}}}`, "nodeConfig.metadata.a", replace},
		{poolType, `{"nodeConfig": {"oauthScopes": ["a", "b"]}}`, `{"nodeConfig": {"oauthScopes": ["b", "a"]}}`, "", nothing},
		{poolType, `{"nodeConfig": {"oauthScopes": ["a", "b"]}}`, `{"nodeConfig": {"oauthScopes": ["a"]}}`, "nodeConfig.oauthScopes", replace},
		{poolType, `{"nodeConfig": {"taints": [{"key": "a", "value": "1", "effect": "NO_SCHEDULE"}]}}`, `{"nodeConfig": {"taints": [{"key": "a", "value": "2", "effect": "NO_SCHEDULE"}]}}`, "nodeConfig.taints[0].value", update},
		{poolType, `{"nodeConfig": {"guestAccelerators": [{"type": "t4", "count": 1}]}}`, `{"nodeConfig": {"guestAccelerators": [{"type": "t4", "count": 2}]}}`, "nodeConfig.guestAccelerators[0].count", replace},

		{instanceType, "", `{"databaseVersion": "MYSQL_8_4"}`, "databaseVersion", update},
		{instanceType, "", `{"region": "europe-west4"}`, "region", replace},
		{instanceType, "", `{"masterInstanceName": "other"}`, "masterInstanceName", replaceBy},
		{instanceType, "", `{"rootPassword": "secret"}`, "rootPassword", add},
		{instanceType, "", `{"settings": {"tier": "db-n1-standard-1", "diskSize": 20}}`, "settings.tier", update},
		{instanceType, "", `{"settings": {"tier": "db-f1-micro", "diskSize": 30}}`, "settings.diskSize", update},
		{instanceType, "", `{"settings": {"tier": "db-f1-micro", "diskSize": 10}}`, "settings.diskSize", replace},
		{instanceType, "", `{"settings": {"tier": "db-f1-micro", "diskSize": 20, "diskType": "pd-ssd"}}`, "", nothing},
		{instanceType, "", `{"settings": {"tier": "db-f1-micro", "diskSize": 20, "diskType": "PD_HDD"}}`, "settings.diskType", replace},
		{instanceType, "", `{"settings": {"tier": "db-f1-micro", "diskSize": 20, "collation": "x"}}`, "settings.collation", replaceBy},
		{instanceType, `{"settings": {"tier": "t", "ipConfiguration": {"privateNetwork": "projects/p/global/networks/n"}}}`, `{"settings": {"tier": "t", "ipConfiguration": {}}}`, "settings.ipConfiguration.privateNetwork", "delete&replace"},
		{instanceType, `{"settings": {"tier": "t", "databaseFlags": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]}}`, `{"settings": {"tier": "t", "databaseFlags": [{"name": "b", "value": "2"}, {"name": "a", "value": "1"}]}}`, "", nothing},
		{instanceType, `{"settings": {"tier": "t", "maintenanceWindow": {"day": 1, "hour": 2}}}`, `{"settings": {"tier": "t"}}`, "settings.maintenanceWindow", remove},
		{instanceType, `{"settings": {"tier": "t", "userLabels": {"a": "1"}}}`, `{"settings": {"tier": "t", "userLabels": {"a": "2"}}}`, "settings.userLabels.a", update},

		{databaseType, "", `{"charset": "utf8"}`, "charset", add},
		{databaseType, `{"charset": "utf8"}`, `{"charset": "UTF8"}`, "", nothing},
		{databaseType, "", `{"deletionPolicy": "ABANDON"}`, "deletionPolicy", update},
		{databaseType, "", `{"name": "store"}`, "name", replace},
		{databaseType, "", `{"instance": "other"}`, "instance", replace},

		{userType, "", `{"password": "second"}`, "password", update},
		{userType, "", `{"host": "127.0.0.1"}`, "host", replace},
		{userType, "", `{"name": "store"}`, "name", replace},
		{userType, "", `{"type": "BUILT_IN"}`, "", nothing},
		{userType, "", `{"type": "CLOUD_IAM_USER"}`, "type", replaceBy},

		{bucketType, "", `{"location": "eu"}`, "", nothing},
		{bucketType, "", `{"location": "US"}`, "location", replace},
		{bucketType, "", `{"storageClass": "NEARLINE"}`, "storageClass", update},
		{bucketType, "", `{"forceDestroy": true}`, "forceDestroy", update},
		{bucketType, "", `{"versioning": {"enabled": true}}`, "versioning", add},
		{bucketType, `{"versioning": {"enabled": true}}`, `{"versioning": null}`, "", nothing},
		{bucketType, "", `{"enableObjectRetention": true}`, "enableObjectRetention", replaceBy},
		{bucketType, `{"retentionPolicy": {"retentionPeriod": 9, "isLocked": true}}`, `{"retentionPolicy": {"retentionPeriod": 9, "isLocked": false}}`, "retentionPolicy.isLocked", replace},
		{bucketType, `{"lifecycleRules": [{"action": {"type": "Delete"}, "condition": {"age": 1}}]}`, `{"lifecycleRules": [{"action": {"type": "Delete"}, "condition": {"age": 2}}]}`, "lifecycleRules[0].condition.age", update},
	} {
		t.Run(fmt.Sprintf("%s %s to %s", lastName(tc.typ), tc.before, tc.change), func(t *testing.T) {
			pl.t = t
			before := fromJSON(t, typical[tc.typ], or(tc.before, "{}"))
			o := object{typ: tc.typ, id: "it", inputs: pl.checked(tc.typ, before, property.Map{})}
			o.state = o.inputs
			got := pl.diff(o, fromJSON(t, typical[tc.typ], or(tc.before, "{}"), tc.change))
			want := map[string]p.DiffKind{}
			if tc.want != nothing {
				want[tc.path] = p.DiffKind(tc.want)
			}
			if tc.typ == clusterType && strings.Contains(tc.change, "enableAutopilot") {
				delete(got, "enableShieldedNodes") // it conflicts with autopilot and loses its default
			}
			if !maps.Equal(got, want) {
				t.Errorf("diff is %v, want %v", got, want)
			}
		})
	}
}

func lastName(token string) string { return token[strings.LastIndex(token, ":")+1:] }

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct{ typ, change, want string }{
		{accountType, `{"accountId": "web"}`, "accountId: accountId must be 6 to 30 lower case letters"},
		{accountType, `{"accountId": null}`, `accountId: missing required property "accountId"`},
		{accountType, `{"accountID": "team-web"}`, `accountID: unknown property "accountID", did you mean "accountId"?`},
		{accountType, `{"description": "` + strings.Repeat("x", 257) + `"}`, "description: description must not be longer than 256 characters"},
		{keyType, `{"keyAlgorithm": "RSA"}`, "keyAlgorithm: keyAlgorithm must be one of KEY_ALG_UNSPECIFIED"},
		{keyType, `{"publicKeyData": "QQ==", "keyAlgorithm": "KEY_ALG_RSA_2048"}`, "publicKeyData: publicKeyData conflicts with keyAlgorithm"},
		{bindingType, `{"members": null}`, `members: missing required property "members"`},
		{bindingType, `{"members": ["a@example.com"]}`, "members[0]: members[0] must be TYPE:NAME"},
		{actAsType, `{"serviceAccountId": "web"}`, "serviceAccountId: serviceAccountId must be projects/PROJECT/serviceAccounts/EMAIL"},
		{memberType, `{"member": "deleted:user:a@example.com"}`, "member: member must not be a deleted principal"},
		{memberType, `{"condition": {"title": "t"}}`, `condition.expression: missing required property "condition.expression"`},
		{memberType, `{"project": null}`, `project: missing required property "project"`},
		{bucketMemberType, `{"bucket": null}`, `bucket: missing required property "bucket"`},
		{roleType, `{"roleId": "a-b"}`, "roleId: roleId must be 3 to 64 letters"},
		{roleType, `{"permissions": []}`, "permissions: permissions must name at least one permission"},
		{roleType, `{"stage": "NEW"}`, "stage: stage must be one of ALPHA"},
		{serviceType, `{"service": "sqladmin"}`, "service: service must be the name of an API"},
		{serviceType, `{"service": "bigquery-json.googleapis.com"}`, "service: service must not be bigquery-json"},
		{clusterType, `{"name": "Strata"}`, "name: name must be 1 to 40 lower case letters"},
		{clusterType, `{"initialNodeCount": "1"}`, `initialNodeCount: property "initialNodeCount" must be an integer, not a string`},
		{clusterType, `{"releaseChannel": {"channel": "FAST"}}`, "releaseChannel.channel: releaseChannel.channel must be one of UNSPECIFIED, RAPID, REGULAR, STABLE"},
		{clusterType, `{"releaseChannel": {}}`, `releaseChannel.channel: missing required property "releaseChannel.channel"`},
		{clusterType, `{"clusterIpv4Cidr": "10.0.0.0/14", "ipAllocationPolicy": {}}`, "clusterIpv4Cidr: clusterIpv4Cidr conflicts with ipAllocationPolicy"},
		{clusterType, `{"nodeVersion": "1.36", "removeDefaultNodePool": true}`, "nodeVersion: nodeVersion conflicts with removeDefaultNodePool"},
		{clusterType, `{"nodePools": [{"nodeConfig": {"taints": [{"key": "a", "value": "b", "effect": "NEVER"}]}}]}`, "nodePools[0].nodeConfig.taints[0].effect: nodePools[0].nodeConfig.taints[0].effect must be one of NO_SCHEDULE"},
		{poolType, `{"initialNodeCount": 1}`, "nodeCount: nodeCount conflicts with initialNodeCount"},
		{poolType, `{"autoscaling": {"minNodeCount": -1}}`, "autoscaling.minNodeCount: autoscaling.minNodeCount must be at least 0, not -1"},
		{poolType, `{"nodeConfig": {"diskSizeGb": 5}}`, "nodeConfig.diskSizeGb: nodeConfig.diskSizeGb must be at least 10, not 5"},
		{poolType, `{"nodeConfig": {"machinetype": "e2-small"}}`, `nodeConfig.machinetype: unknown property "nodeConfig.machinetype", did you mean "machineType"?`},
		{instanceType, `{"databaseVersion": null}`, `databaseVersion: missing required property "databaseVersion"`},
		{instanceType, `{"settings": {}}`, `settings.tier: missing required property "settings.tier"`},
		{instanceType, `{"settings": {"tier": "t", "availabilityType": "GLOBAL"}}`, "settings.availabilityType: settings.availabilityType must be one of REGIONAL, ZONAL"},
		{instanceType, `{"settings": {"tier": "t", "maintenanceWindow": {"day": 8}}}`, "settings.maintenanceWindow.day: settings.maintenanceWindow.day must be from 1 to 7, not 8"},
		{instanceType, `{"settings": {"tier": "t", "backupConfiguration": {"pointInTimeRecoveryEnabled": true}}}`, "settings.backupConfiguration.pointInTimeRecoveryEnabled: settings.backupConfiguration.pointInTimeRecoveryEnabled does not apply to MYSQL_8_0"},
		{instanceType, `{"clone": {"sourceInstanceName": "other"}}`, "clone: clone is not emulated"},
		{databaseType, `{"deletionPolicy": "KEEP"}`, "deletionPolicy: deletionPolicy must be one of DELETE, ABANDON"},
		{userType, `{"deletionPolicy": "KEEP"}`, "deletionPolicy: deletionPolicy must be one of ABANDON"},
		{userType, `{"instance": 1}`, `instance: property "instance" must be a string, not a number`},
		{bucketType, `{"name": "Strata"}`, "name: name must be 3 to 63 lower case letters"},
		{bucketType, `{"name": "my-g00gle-bucket"}`, "name: name must not begin with goog or contain google"},
		{bucketType, `{"name": "10.0.0.1"}`, "name: name must not be an IP address"},
		{bucketType, `{"location": null}`, `location: missing required property "location"`},
		{bucketType, `{"lifecycleRules": [{"action": {"type": "Delete"}}]}`, `lifecycleRules[0].condition: missing required property "lifecycleRules[0].condition"`},
	} {
		t.Run(lastName(tc.typ)+" "+tc.change, func(t *testing.T) {
			resp, err := gcp.Package().Provider().Check(t.Context(), p.CheckRequest{Urn: urn(tc.typ, "it"), Inputs: fromJSON(t, typical[tc.typ], tc.change)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range resp.Failures {
				got = append(got, f.Property+": "+f.Reason)
			}
			if len(got) != 1 || !strings.HasPrefix(got[0], tc.want) {
				t.Errorf("failures are %q, want %q", got, tc.want)
			}
		})
	}
}

// In a preview, any value may be unknown.
func TestCheckAcceptsUnknownValues(t *testing.T) {
	for typ, inputs := range typical {
		m := fromJSON(t, inputs)
		for k := range m.All {
			m = m.Set(k, property.New(property.Computed))
		}
		resp, err := gcp.Package().Provider().Check(t.Context(), p.CheckRequest{Urn: urn(typ, "it"), Inputs: m})
		if err != nil || len(resp.Failures) > 0 {
			t.Errorf("%s: %v, %v", typ, resp.Failures, err)
		}
	}
}
