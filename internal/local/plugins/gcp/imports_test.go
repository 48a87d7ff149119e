package gcp_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"
)

const (
	webAccount   = "projects/strata-local/serviceAccounts/team-web@strata-local.iam.gserviceaccount.com"
	nodesAccount = "projects/strata-local/serviceAccounts/strata-nodes@strata-local.iam.gserviceaccount.com"
)

// program lists objects in an order in which the plugin can create them.
var program = []struct {
	typ, inputs string
	imports     []string // the import IDs of the official provider
	ownState    []string // properties that only the state contains, so that an import cannot read them
}{
	{accountType, `{"accountId": "team-web", "displayName": "Web"}`, []string{
		webAccount, "strata-local/team-web@strata-local.iam.gserviceaccount.com", "team-web@strata-local.iam.gserviceaccount.com",
	}, nil},
	{accountType, `{"accountId": "strata-nodes"}`, []string{nodesAccount}, nil},
	{keyType, `{"serviceAccountId": "` + webAccount + `"}`, nil, nil},
	{actAsType, `{"serviceAccountId": "` + webAccount + `", "role": "roles/iam.serviceAccountUser", "member": "user:A@example.com"}`, []string{
		webAccount + " roles/iam.serviceAccountUser user:a@example.com",
	}, nil},
	{bindingType, `{"serviceAccountId": "` + nodesAccount + `", "role": "roles/iam.serviceAccountUser", "members": ["user:b@example.com", "user:a@example.com"],
		"condition": {"title": "by day and night", "expression": "true"}}`, []string{
		nodesAccount + " roles/iam.serviceAccountUser by day and night",
	}, nil},
	{roleType, `{"roleId": "tenant", "title": "Tenant", "permissions": ["cloudsql.users.list", "cloudsql.instances.get"]}`, []string{
		"projects/strata-local/roles/tenant", "strata-local/tenant", "tenant",
	}, nil},
	{memberType, `{"project": "strata-local", "role": "projects/strata-local/roles/tenant", "member": "user:a@example.com",
		"condition": {"title": "only shop", "description": "d", "expression": "resource.name.endsWith('shop')"}}`, []string{
		"strata-local projects/strata-local/roles/tenant user:a@example.com only shop",
	}, nil},
	{serviceType, `{"service": "pubsub.googleapis.com"}`, []string{"strata-local/pubsub.googleapis.com"}, nil},
	{bucketType, `{"name": "strata-state", "location": "EU", "uniformBucketLevelAccess": true}`, []string{"strata-state", "strata-local/strata-state"}, nil},
	{bucketMemberType, `{"bucket": "strata-state", "role": "roles/storage.objectViewer", "member": "user:a@example.com"}`, []string{
		"b/strata-state roles/storage.objectViewer user:a@example.com", "strata-state roles/storage.objectViewer user:a@example.com",
	}, nil},
	{keyMemberType, `{"cryptoKeyId": "` + stateKey + `", "role": "roles/cloudkms.cryptoKeyEncrypterDecrypter", "member": "user:a@example.com"}`, []string{
		stateKey + " roles/cloudkms.cryptoKeyEncrypterDecrypter user:a@example.com",
	}, nil},
	{clusterType, `{"name": "strata", "location": "europe-west1-b", "initialNodeCount": 1, "removeDefaultNodePool": true, "deletionProtection": false}`, []string{
		"projects/strata-local/locations/europe-west1-b/clusters/strata", "strata-local/europe-west1-b/strata", "europe-west1-b/strata",
	}, []string{"deletionProtection", "removeDefaultNodePool"}},
	{poolType, `{"name": "main", "cluster": "strata", "location": "europe-west1-b", "nodeCount": 2}`, []string{
		"projects/strata-local/locations/europe-west1-b/clusters/strata/nodePools/main", "strata-local/europe-west1-b/strata/main", "europe-west1-b/strata/main",
	}, nil},
	{instanceType, `{"name": "strata", "databaseVersion": "MYSQL_8_0", "settings": {"tier": "db-f1-micro"}, "rootPassword": "root-1", "deletionProtection": false}`, []string{
		"projects/strata-local/instances/strata", "strata-local/strata", "strata",
	}, []string{"deletionProtection", "rootPassword"}},
	{databaseType, `{"name": "shop", "instance": "strata"}`, []string{
		"projects/strata-local/instances/strata/databases/shop", "instances/strata/databases/shop", "strata-local/strata/shop", "strata/shop",
	}, nil},
	{userType, `{"name": "shop", "instance": "strata", "host": "%", "password": "first"}`, []string{
		"strata-local/strata/%/shop", "strata-local/strata/shop",
	}, []string{"password"}},
}

func TestImportsAndMissingObjects(t *testing.T) {
	newStateKey(t, newCloudWith(t, newDatabases(t)))
	pl := newPlugin(t, property.Map{})
	created := map[string]object{}
	var objects []object
	for _, part := range program {
		o := pl.create(part.typ, fromJSON(t, part.inputs))
		objects, created[part.typ] = append(objects, o), o
	}
	for i, part := range program {
		for _, id := range part.imports {
			t.Run(lastName(part.typ)+" "+id, func(t *testing.T) {
				pl.t = t
				imported := pl.read(object{typ: part.typ, id: id})
				changes := pl.diff(imported, fromJSON(t, part.inputs))
				maps.DeleteFunc(changes, func(path string, _ p.DiffKind) bool { return slices.Contains(part.ownState, path) })
				if imported.id != objects[i].id || len(changes) > 0 {
					t.Errorf("imported as %q with changes %v, want %q without changes", imported.id, changes, objects[i].id)
				}
			})
		}
	}
	for _, tc := range []struct{ typ, id, want string }{
		{keyType, created[keyType].id, "a key cannot be imported"},
		{accountType, "a/b/c", "does not match any known form"},
		{serviceType, "pubsub.googleapis.com", "must be PROJECT/SERVICE"},
		{databaseType, "shop", "does not match any known form"},
		{userType, "strata/shop", "does not match any known form"},
		{poolType, "strata/main", "does not match any known form"},
		{memberType, "strata-local roles/viewer", "must be 3 words"},
		{bindingType, nodesAccount, "must be 2 words"},
	} {
		_, err := pl.provider.Read(t.Context(), p.ReadRequest{ID: tc.id, Urn: urn(tc.typ, "it")})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("import of %s %q: %v, want %q", lastName(tc.typ), tc.id, err, tc.want)
		}
	}

	t.Run("an object is missing if its parent is deleted", func(t *testing.T) {
		pl.t = t
		for _, typ := range []string{accountType, clusterType, instanceType, bucketType} {
			for _, o := range objects {
				if o.typ == typ {
					pl.remove(o)
				}
			}
		}
		for _, typ := range []string{keyType, actAsType, bindingType, poolType, databaseType, userType, bucketMemberType} {
			if pl.read(created[typ]).id != "" {
				t.Errorf("the plugin still finds %s", typ)
			}
			pl.remove(created[typ]) // succeeds although the object is missing
		}
	})
	t.Run("a deleted object is missing", func(t *testing.T) {
		pl.t = t
		for _, typ := range []string{memberType, keyMemberType, roleType, serviceType} {
			pl.remove(created[typ])
			if pl.read(created[typ]).id != "" {
				t.Errorf("the plugin still finds %s", typ)
			}
		}
	})
}
