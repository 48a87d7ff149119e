package plugin_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

func TestMain(m *testing.M) { cloudtest.Main(m) }

// project uses every form of properties: plain values, lists and maps of inputs, nested structs, and outputs of other
// components.
const project = `
name: example
runtime: yaml
resources:
  cluster:
    type: strata:index:GKE
    properties:
      name: shop
      project: strata-local
      location: europe-west1-b
      nodeCount: 1
      autoscaling: {min: 1, max: 3}
      authorizedNetworks: [203.0.113.0/24]
      deletionProtection: false
  instance:
    type: strata:CloudSQL
    properties:
      name: shared
      project: strata-local
      region: europe-west1
      backups: {startTime: "03:00", retained: 30}
      deletionProtection: false
      databases: [{name: audit, charset: utf8mb4}]
      users: [{name: auditor, password: {fn::secret: canary}}]
  account:
    type: strata:index:Identity
    properties:
      accountId: nightly-reports
      project: strata-local
      roles: [roles/cloudsql.client]
      kubernetesAccounts: [{workloadPool: "${cluster.workloadPool}", namespace: team-web, name: web}]
      key: true
      keyKeepers: {year: "2030"}
  bucket:
    type: strata:index:StateBucket
    properties: {name: acme-dev-strata-web, project: strata-local, location: europe-west1, member: "${account.member}", keptDays: 7}
outputs:
  endpoint: ${cluster.endpoint}
  connection: ${instance.connectionName}
  backend: ${bucket.url}
  credentials: ${account.credentials}
`

// cli runs pulumi in a folder with a project.
type cli struct {
	pulumi, dir string
	env         []string
}

func newCLI(t *testing.T) *cli {
	t.Helper()
	cloud := cloudtest.Start(t)
	r := cloud.Runner(t, cloud.Owner)
	bin, _, _ := strings.Cut(r.Env["PATH"], ":")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Pulumi finds the language host beside its own executable, too.
	for name, target := range map[string]string{"pulumi-language-yaml": toolchaintest.Path(t, "pulumi-language-yaml"), "pulumi-resource-strata": self} {
		if err := os.Symlink(target, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	c := &cli{pulumi: filepath.Join(bin, "pulumi"), dir: t.TempDir()}
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		c.env = append(c.env, name+"="+r.Env[name])
	}
	c.env = append(c.env, "USER=test")
	return c
}

func (c *cli) write(t *testing.T, project string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, "Pulumi.yaml"), []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (c *cli) run(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), c.pulumi, append(args, "--non-interactive", "--color=never")...)
	cmd.Dir, cmd.Env = c.dir, c.env
	output, err := cmd.CombinedOutput()
	return string(output), err
}

func (c *cli) succeed(t *testing.T, args ...string) string {
	t.Helper()
	output, err := c.run(t, args...)
	if err != nil {
		t.Fatalf("pulumi %q: %v\n%s", args, err, output)
	}
	return output
}

func TestAYAMLProgramCreatesEveryComponent(t *testing.T) {
	long.Test(t)
	c := newCLI(t)
	c.write(t, project)
	c.succeed(t, "stack", "init", "dev")
	c.succeed(t, "up", "--yes", "--skip-preview")
	c.succeed(t, "up", "--yes", "--expect-no-changes")
	var outputs map[string]string
	if err := json.Unmarshal([]byte(c.succeed(t, "stack", "output", "--json")), &outputs); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"connection": "strata-local:europe-west1:shared", "backend": "gs://acme-dev-strata-web", "credentials": "[secret]",
	} {
		if outputs[name] != want {
			t.Errorf("the output %s is %q, want %q", name, outputs[name], want)
		}
	}
	if outputs["endpoint"] == "" {
		t.Error("the cluster has no endpoint")
	}
	for _, word := range []string{"canary", "private_key"} {
		if strings.Contains(c.succeed(t, "stack", "export"), word) {
			t.Errorf("the state holds %s as plain text", word)
		}
	}
	c.succeed(t, "destroy", "--yes", "--skip-preview")
}

func TestMistakesInPropertiesNameTheComponent(t *testing.T) {
	long.Test(t)
	c := newCLI(t)
	c.write(t, project)
	c.succeed(t, "stack", "init", "dev")
	for name, tc := range map[string]struct{ properties, want string }{
		"an unknown property":  {"{accountId: reports, project: strata-local, acount: x}", "acount"},
		"a missing property":   {"{accountId: reports}", "project"},
		"a value of no use":    {"{accountId: R, project: strata-local}", `create identity account: account ID "R" must be 6 to 30`},
		"a forbidden role":     {"{accountId: reports, project: strata-local, roles: [roles/owner]}", "create identity account: role roles/owner"},
		"a value of that type": {"{accountId: reports, project: strata-local, roles: text}", "roles"},
	} {
		c.write(t, "name: example\nruntime: yaml\nresources: {account: {type: strata:index:Identity, properties: "+tc.properties+"}}\n")
		if output, err := c.run(t, "preview"); err == nil || !strings.Contains(output, tc.want) {
			t.Errorf("%s: %v, want %q in\n%s", name, err, tc.want, output)
		}
	}
	c.write(t, "name: example\nruntime: yaml\nresources: {hop: {type: strata:index:Hop, properties: {}}}\n")
	if output, err := c.run(t, "preview"); err == nil || !strings.Contains(output, "strata:index:Hop") {
		t.Errorf("a component that the plugin does not serve: %v\n%s", err, output)
	}
}
