package plugins_test

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/iam/v1"

	"github.com/strata-platform/strata/internal/local/plugins/gcp"
	"github.com/strata-platform/strata/internal/local/plugins/random"
	"github.com/strata-platform/strata/test/long"
)

// need is a role that the program in testdata/every needs.
type need struct {
	role      string
	resources []string // the resources at which a run fails without the role
	names     string   // part of the error message
}

func needs(t *testing.T) []need {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", "every", "roles.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var all []need
	for line := range strings.Lines(string(content)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] != "#" {
			all = append(all, need{words[0], strings.Split(words[1], ","), words[2]})
		}
	}
	return all
}

// deployer is a service account of the cloud and its key.
type deployer struct {
	cloud  emulator // with the account's credentials
	owner  owner
	member string
}

func (c emulator) newDeployer(t *testing.T) deployer {
	t.Helper()
	o := c.asOwner(t)
	account, err := o.iam.Projects.ServiceAccounts.Create("projects/"+project, &iam.CreateServiceAccountRequest{AccountId: "deployer"}).Context(t.Context()).Do()
	if err != nil {
		t.Fatal(err)
	}
	key, err := o.iam.Projects.ServiceAccounts.Keys.Create(account.Name, &iam.CreateServiceAccountKeyRequest{}).Context(t.Context()).Do()
	if err != nil {
		t.Fatal(err)
	}
	content, err := base64.StdEncoding.DecodeString(key.PrivateKeyData)
	if err != nil {
		t.Fatal(err)
	}
	return deployer{emulator{url: c.url, owner: string(content), calls: c.calls}, o, "serviceAccount:" + account.Email}
}

// grant gives the account exactly these roles on the project.
func (d deployer) grant(t *testing.T, roles []string) {
	t.Helper()
	p, err := d.owner.projects.Projects.GetIamPolicy(project, &crm.GetIamPolicyRequest{
		Options: &crm.GetPolicyOptions{RequestedPolicyVersion: 3},
	}).Context(t.Context()).Do()
	if err != nil {
		t.Fatal(err)
	}
	p.Bindings = slices.DeleteFunc(p.Bindings, func(b *crm.Binding) bool { return slices.Equal(b.Members, []string{d.member}) })
	for _, role := range roles {
		p.Bindings = append(p.Bindings, &crm.Binding{Role: role, Members: []string{d.member}})
	}
	if _, err := d.owner.projects.Projects.SetIamPolicy(project, &crm.SetIamPolicyRequest{Policy: p}).Context(t.Context()).Do(); err != nil {
		t.Fatal(err)
	}
}

// TestEveryType runs a program with every type under the key of a service account that has exactly the required roles.
func TestEveryType(t *testing.T) {
	long.Test(t)
	c := newEmulator(t)
	d := c.newDeployer(t)
	d.owner.newKey(t)
	s := d.cloud.newStack(t)
	program, err := os.ReadFile(filepath.Join("testdata", "every", "Pulumi.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s.write(t, string(program))
	s.run(t, "stack", "init", "dev")
	var roles []string
	for _, n := range needs(t) {
		roles = append(roles, n.role)
	}

	var targets []string
	for _, n := range needs(t) {
		for _, r := range n.resources {
			targets = append(targets, "--target", "**::"+r)
		}
		d.grant(t, slices.DeleteFunc(slices.Clone(roles), func(r string) bool { return r == n.role }))
		out, err := s.try(t, append([]string{"up", "--yes", "--skip-preview"}, targets...)...)
		if err == nil || !strings.Contains(out, n.names) {
			t.Fatalf("without %s, up says: %v\n%s", n.role, err, out)
		}
	}

	d.grant(t, roles)
	s.run(t, "up", "--yes", "--skip-preview")
	outputs := s.outputs(t)
	t.Run("the program contains every type", func(t *testing.T) {
		var exported struct {
			Deployment struct{ Resources []struct{ Type string } }
		}
		if err := json.Unmarshal([]byte(s.run(t, "stack", "export")), &exported); err != nil {
			t.Fatal(err)
		}
		there := map[string]bool{}
		for _, r := range exported.Deployment.Resources {
			there[r.Type] = true
		}
		for token := range gcp.Package().Resources {
			if !there[token] {
				t.Errorf("the program does not contain %s", token)
			}
		}
		for token := range random.Package().Resources {
			if !there[token] {
				t.Errorf("the program does not contain %s", token)
			}
		}
	})
	t.Run("the objects work", func(t *testing.T) {
		if err := login(t, outputs["host"], "shop", outputs["password"]); err != nil {
			t.Error(err)
		}
		if login(t, outputs["host"], "shop", "wrong") == nil {
			t.Error("the server accepted a wrong password")
		}
	})
	t.Run("secrets stay secret", func(t *testing.T) {
		if out := s.run(t, "stack", "output"); strings.Contains(out, outputs["password"]) || strings.Contains(out, outputs["key"]) {
			t.Error("the output of pulumi contains a secret")
		}
		for _, secret := range []string{outputs["password"], outputs["key"]} {
			if file := s.find(t, secret); file != "" {
				t.Errorf("%s contains a secret in plain text", file)
			}
		}
	})
	t.Run("a second up and a refresh change nothing", func(t *testing.T) {
		s.run(t, "up", "--yes", "--skip-preview", "--expect-no-changes")
		s.run(t, "refresh", "--yes", "--skip-preview", "--expect-no-changes")
	})
	t.Run("a refresh finds changes by somebody else, and up reverts them", func(t *testing.T) {
		d.owner.meddle(t)
		out := s.run(t, "refresh", "--yes", "--skip-preview")
		for _, r := range []string{"account", "bucket", "cluster", "pool", "instance", "role", "minters"} {
			if !changed(out, r, "updated") {
				t.Errorf("refresh does not find the change of %s:\n%s", r, out)
			}
		}
		for _, r := range []string{"database", "user", "writer", "sealer", "service"} {
			if !changed(out, r, "deleted") {
				t.Errorf("refresh does not find the deletion of %s:\n%s", r, out)
			}
		}
		s.run(t, "up", "--yes", "--skip-preview")
		s.run(t, "up", "--yes", "--skip-preview", "--refresh", "--expect-no-changes")
		if err := login(t, outputs["host"], "shop", outputs["password"]); err != nil {
			t.Error(err)
		}
	})
	t.Run("a new title is an update in place, a new name a replacement", func(t *testing.T) {
		s.run(t, "config", "set", "title", "The web")
		s.write(t, strings.ReplaceAll(string(program), "name: shop, host", "name: store, host"))
		out := s.run(t, "up", "--yes", "--skip-preview")
		if !strings.Contains(out, "2 updated") || !strings.Contains(out, "1 replaced") {
			t.Errorf("the output of up is:\n%s", out)
		}
	})
	t.Run("pulumi imports the objects", func(t *testing.T) { s.importAll(t, outputs) })
	t.Run("destroy deletes all objects", func(t *testing.T) {
		s.run(t, "destroy", "--yes", "--skip-preview")
		if out := s.run(t, "stack", "export"); strings.Contains(out, "gcp:") {
			t.Errorf("the state still contains objects:\n%s", out)
		}
		d.owner.requireNothing(t)
	})
	t.Run("the plugin makes only calls of the official provider", func(t *testing.T) {
		content, err := os.ReadFile(filepath.Join("testdata", "every", "calls.txt"))
		if err != nil {
			t.Fatal(err)
		}
		official := strings.Split(string(content), "\n")
		noted := c.calls.sorted()
		for _, line := range noted {
			if !slices.Contains(official, line) {
				t.Errorf("the official provider does not call %s", line)
			}
		}
		if len(noted) < 40 {
			t.Errorf("recorded only %d kinds of calls: %q", len(noted), noted)
		}
	})
}

// changed reports whether the output of a run names an operation on a resource.
func changed(out, name, what string) bool {
	for line := range strings.Lines(out) {
		if words := strings.Fields(line); len(words) > 3 && slices.Contains(words, name) && slices.Contains(words, what) {
			return true
		}
	}
	return false
}

// importAll imports the program's resources into a second stack. The imported inputs must match the program.
func (s *stack) importAll(t *testing.T, outputs map[string]string) {
	t.Helper()
	type resource struct {
		Type string `json:"type"`
		Name string `json:"name"`
		ID   string `json:"id"`
	}
	account := "projects/" + project + "/serviceAccounts/team-web@" + project + ".iam.gserviceaccount.com"
	nodes := "projects/" + project + "/serviceAccounts/strata-nodes@" + project + ".iam.gserviceaccount.com"
	member := "serviceAccount:team-web@" + project + ".iam.gserviceaccount.com"
	resources := []resource{
		{"gcp:projects/service:Service", "service", project + "/pubsub.googleapis.com"},
		{"gcp:projects/iAMCustomRole:IAMCustomRole", "role", project + "/reader"},
		{"gcp:serviceaccount/account:Account", "account", account},
		{"gcp:serviceaccount/account:Account", "nodes", nodes},
		{"gcp:serviceaccount/iAMMember:IAMMember", "actAs", account + " roles/iam.serviceAccountUser user:engineer@example.com"},
		{"gcp:serviceaccount/iAMBinding:IAMBinding", "minters", nodes + " roles/iam.serviceAccountTokenCreator"},
		{"gcp:projects/iAMMember:IAMMember", "grant", project + " projects/" + project + "/roles/reader " + member + " shop"},
		{"gcp:storage/bucket:Bucket", "bucket", project + "/strata-local-state"},
		{"gcp:storage/bucketIAMMember:BucketIAMMember", "writer", "b/strata-local-state roles/storage.objectUser " + member},
		{"gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember", "sealer", stateKey + " roles/cloudkms.cryptoKeyEncrypterDecrypter " + member},
		{"gcp:container/cluster:Cluster", "cluster", "europe-west1-b/strata"},
		{"gcp:container/nodePool:NodePool", "pool", project + "/europe-west1-b/strata/main"},
		{"gcp:sql/databaseInstance:DatabaseInstance", "instance", "strata"},
		{"gcp:sql/database:Database", "database", "strata/shop"},
		{"gcp:sql/user:User", "user", project + "/strata/%/store"},
		{"random:index/randomPassword:RandomPassword", "password", outputs["password"]},
		{"random:index/randomInteger:RandomInteger", "number", "3,1,6"},
		{"random:index/randomUuid:RandomUuid", "uuid", "aabbccdd-eeff-0011-2233-445566778899"},
	}
	content, err := json.Marshal(map[string]any{"resources": resources})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "import.json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s.run(t, "stack", "init", "imported")
	defer s.run(t, "stack", "select", "dev")
	defer s.run(t, "stack", "rm", "imported", "--force", "--yes")
	s.run(t, "import", "--file", file, "--yes", "--skip-preview", "--protect=false", "--generate-code=false")
	s.run(t, "config", "set", "title", "The web")

	// The service does not store the properties of the provider. An import sets deletionProtection, and cannot read the
	// password.
	own := []string{"cluster", "instance", "user"}
	args := []string{"preview", "--expect-no-changes"}
	for _, r := range resources {
		if !strings.HasPrefix(r.Type, "random:") && !slices.Contains(own, r.Name) {
			args = append(args, "--target", "**::"+r.Name)
		}
	}
	s.run(t, args...)
	out := s.run(t, "preview", "--target", "**::cluster", "--target", "**::instance")
	if !changed(out, "instance", "update") || !changed(out, "cluster", "update") || !strings.Contains(out, "~ 2 to update") || strings.Contains(out, "replace") {
		t.Errorf("the preview after the import is:\n%s", out)
	}
}
