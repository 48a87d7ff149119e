package settle

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestIDsFollowFromInputs(t *testing.T) {
	const (
		reference = "urn:pulumi:dev::shop::pulumi:providers:gcp::default::1"
		provider  = `{"urn": "urn:pulumi:dev::shop::pulumi:providers:gcp::default", "type": "pulumi:providers:gcp", "id": "1", "inputs": {"project": "of-provider"}}`
	)
	const without, with = "", provider
	cases := map[string]struct {
		provider string
		typ      string
		inputs   string
		want     string
	}{
		"an object of a namespace":           {without, "kubernetes:core/v1:ConfigMap", `{"metadata": {"name": "a", "namespace": "n"}}`, "n/a"},
		"an object of the cluster":           {without, "kubernetes:core/v1:Namespace", `{"metadata": {"name": "a"}}`, "a"},
		"an object with an empty namespace":  {without, "kubernetes:core/v1:Namespace", `{"metadata": {"name": "a", "namespace": ""}}`, "a"},
		"a release":                          {without, "kubernetes:helm.sh/v3:Release", `{"name": "a", "namespace": "n"}`, "n/a"},
		"an object whose name is secret":     {without, "kubernetes:core/v1:ConfigMap", `{"metadata": {"name": {"4dabf18193072939515e22adb298388d": "x"}}}`, ""},
		"an object whose metadata is secret": {without, "kubernetes:core/v1:ConfigMap", `{"metadata": {"4dabf18193072939515e22adb298388d": "x"}}`, ""},
		"an object whose metadata is text":   {without, "kubernetes:core/v1:ConfigMap", `{"metadata": "x"}`, ""},
		"an object without inputs":           {without, "kubernetes:core/v1:ConfigMap", `null`, ""},
		"a database of the run's project":    {without, "gcp:sql/database:Database", `{"instance": "i", "name": "d"}`, "projects/of-environment/instances/i/databases/d"},
		"a database of the provider's":       {with, "gcp:sql/database:Database", `{"instance": "i", "name": "d"}`, "projects/of-provider/instances/i/databases/d"},
		"a database of a project of its own": {with, "gcp:sql/database:Database", `{"instance": "i", "name": "d", "project": "p"}`, "projects/p/instances/i/databases/d"},
		"a database of a secret project":     {with, "gcp:sql/database:Database", `{"instance": "i", "name": "d", "project": {"4dabf18193072939515e22adb298388d": "x"}}`, ""},
		"a database of an instance's link":   {with, "gcp:sql/database:Database", `{"instance": "projects/p/instances/i", "name": "d", "project": "p"}`, "projects/p/instances/i/databases/d"},
		"a database of an unknown instance":  {with, "gcp:sql/database:Database", `{"name": "d"}`, ""},
		"a user of any host":                 {with, "gcp:sql/user:User", `{"instance": "i", "name": "u"}`, "u/%/i"},
		"a user of an empty host":            {with, "gcp:sql/user:User", `{"instance": "i", "name": "u", "host": ""}`, "u/%/i"},
		"a user of a host":                   {with, "gcp:sql/user:User", `{"instance": "i", "name": "u", "host": "h"}`, "u/h/i"},
		"a bucket":                           {with, "gcp:storage/bucket:Bucket", `{"name": "b"}`, "b"},
		"a member of a bucket":               {with, "gcp:storage/bucketIAMMember:BucketIAMMember", `{"bucket": "b", "role": "roles/r", "member": "user:a@example.com"}`, "b/b/roles/r/user:a@example.com"},
		"a member of a key":                  {with, "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember", `{"cryptoKeyId": "projects/p/locations/l/keyRings/r/cryptoKeys/k", "role": "roles/r", "member": "user:a@example.com"}`, "projects/p/locations/l/keyRings/r/cryptoKeys/k/roles/r/user:a@example.com"},
		"a binding of an account":            {with, "gcp:serviceaccount/iAMBinding:IAMBinding", `{"serviceAccountId": "projects/p/serviceAccounts/a@b", "role": "roles/r"}`, "projects/p/serviceAccounts/a@b/roles/r"},
		"an account":                         {with, "gcp:serviceaccount/account:Account", `{"accountId": "a"}`, "projects/of-provider/serviceAccounts/a@of-provider.iam.gserviceaccount.com"},
		"a cluster":                          {with, "gcp:container/cluster:Cluster", `{"project": "p", "location": "l", "name": "c"}`, "projects/p/locations/l/clusters/c"},
		"a cluster of the provider's region": {with, "gcp:container/cluster:Cluster", `{"name": "c"}`, ""},
		"a pool of a cluster's link":         {with, "gcp:container/nodePool:NodePool", `{"project": "p", "location": "l", "cluster": "projects/p/locations/l/clusters/c", "name": "n"}`, "projects/p/locations/l/clusters/c/nodePools/n"},
		"a member of a project":              {with, "gcp:projects/iAMMember:IAMMember", `{"project": "p", "role": "projects/p/roles/r", "member": "user:a@example.com"}`, "p/projects/p/roles/r/user:a@example.com"},
		"a key of an account":                {with, "gcp:serviceaccount/key:Key", `{"serviceAccountId": "a"}`, ""},
		"a random value":                     {with, "random:index/randomPassword:RandomPassword", `{"length": 16}`, ""},
		"a resource without a known ID form": {with, "aws:s3/bucket:Bucket", `{"bucket": "b"}`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			state, err := parse(fmt.Appendf(nil, `{"deployment": {"resources": [%s]}}`, c.provider), "of-environment")
			if err != nil {
				t.Fatal(err)
			}
			r := resource{"inputs": json.RawMessage(c.inputs)}
			r.set("type", c.typ)
			r.set("provider", reference)
			if got := state.idOf(r); got != c.want {
				t.Errorf("ID %q, want %q", got, c.want)
			}
		})
	}
}

func TestTheProjectOfTheEnvironmentIsTheFirstThatIsSet(t *testing.T) {
	env := map[string]string{"CLOUDSDK_CORE_PROJECT": "c", "GCLOUD_PROJECT": "g"}
	if got := Project(func(name string) string { return env[name] }); got != "g" {
		t.Errorf("project %q", got)
	}
}
