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

// program holds objects in the order in which they can be created.
var program = []struct {
	typ, inputs string
	imports     []string // the official provider's import IDs
	untold      []string // the provider's own properties, which an import cannot find out
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

func TestImportsAndWhatIsGone(t *testing.T) {
	newCloudWith(t, newDatabases(t))
	pl := newPlugin(t, property.Map{})
	made := map[string]object{}
	var objects []object
	for _, part := range program {
		o := pl.create(part.typ, fromJSON(t, part.inputs))
		objects, made[part.typ] = append(objects, o), o
	}
	for i, part := range program {
		for _, id := range part.imports {
			t.Run(lastName(part.typ)+" "+id, func(t *testing.T) {
				pl.t = t
				imported := pl.read(object{typ: part.typ, id: id})
				changes := pl.diff(imported, fromJSON(t, part.inputs))
				maps.DeleteFunc(changes, func(path string, _ p.DiffKind) bool { return slices.Contains(part.untold, path) })
				if imported.id != objects[i].id || len(changes) > 0 {
					t.Errorf("imported as %q with changes %v, want %q", imported.id, changes, objects[i].id)
				}
			})
		}
	}
	for _, tc := range []struct{ typ, id, want string }{
		{keyType, made[keyType].id, "a key cannot be imported"},
		{accountType, "a/b/c", "has none of the known forms"},
		{serviceType, "pubsub.googleapis.com", "must be PROJECT/SERVICE"},
		{databaseType, "shop", "has none of the known forms"},
		{userType, "strata/shop", "has none of the known forms"},
		{poolType, "strata/main", "has none of the known forms"},
		{memberType, "strata-local roles/viewer", "must be 3 words"},
		{bindingType, nodesAccount, "must be 2 words"},
	} {
		_, err := pl.provider.Read(t.Context(), p.ReadRequest{ID: tc.id, Urn: urn(tc.typ, "it")})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("import of %s %q: %v, want %q", lastName(tc.typ), tc.id, err, tc.want)
		}
	}

	t.Run("what stood in something that is gone is gone", func(t *testing.T) {
		pl.t = t
		for _, typ := range []string{accountType, clusterType, instanceType, bucketType} {
			for _, o := range objects {
				if o.typ == typ {
					pl.remove(o)
				}
			}
		}
		for _, typ := range []string{keyType, actAsType, bindingType, poolType, databaseType, userType, bucketMemberType} {
			if pl.read(made[typ]).id != "" {
				t.Errorf("%s is still found", typ)
			}
			pl.remove(made[typ]) // succeeds for a removed object
		}
	})
	t.Run("and so is what was deleted", func(t *testing.T) {
		pl.t = t
		for _, typ := range []string{memberType, roleType, serviceType} {
			pl.remove(made[typ])
			if pl.read(made[typ]).id != "" {
				t.Errorf("%s is still found", typ)
			}
		}
	})
}
