package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

func openTestPlatform(t *testing.T) *Platform {
	t.Helper()
	p, err := Open(toolchaintest.Root(t), t.TempDir(), "dev")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLayerEnvironment(t *testing.T) {
	toolchaintest.Path(t, "flux-manifests")
	t.Setenv("GOOGLE_CREDENTIALS", "the engineer's own, from the shell")
	p := openTestPlatform(t)
	const google = "http://127.0.0.1:4711"

	first, err := p.layerEnvironment(t.Context(), lifecycle.BootstrapLayer, google)
	if err != nil {
		t.Fatal(err)
	}
	if first["GOOGLE_CREDENTIALS"] != p.Home.EngineerCredentials() || !strings.HasPrefix(first["GOOGLE_SQL_CUSTOM_ENDPOINT"], google) {
		t.Errorf("layer 1 does not act as the engineer at the emulated Google Cloud: %v", first)
	}
	second, err := p.layerEnvironment(t.Context(), lifecycle.PlatformLayer, google)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range second {
		if strings.HasPrefix(name, "GOOGLE_") && value != "" {
			t.Errorf("layer 2 has %s: it must have nothing of the cloud", name)
		}
	}
	// The variable must be set to "", because a run inherits the engineer's shell.
	if value, ok := second["GOOGLE_CREDENTIALS"]; !ok || value != "" {
		t.Errorf("layer 2 inherits GOOGLE_CREDENTIALS")
	}
	// The same holds for all other variables that layer 1 sets.
	for name := range first {
		if _, ok := second[name]; !ok && strings.HasPrefix(name, "GOOGLE_") {
			t.Errorf("layer 2 inherits %s", name)
		}
	}
	for layer, env := range map[string]map[string]string{lifecycle.BootstrapLayer: first, lifecycle.PlatformLayer: second} {
		if file := filepath.Join(p.Home.Layer(layer), "Pulumi.dev.yaml"); env["PULUMI_OPTION_CONFIG_FILE"] != file || env["PULUMI_STACK"] != "dev" {
			t.Errorf("layer %s runs stack %s as %s says", layer, env["PULUMI_STACK"], env["PULUMI_OPTION_CONFIG_FILE"])
		}
	}
	if first["PULUMI_BACKEND_URL"] != second["PULUMI_BACKEND_URL"] || first["PULUMI_CONFIG_PASSPHRASE"] != second["PULUMI_CONFIG_PASSPHRASE"] {
		t.Error("layers 1 and 2 do not share a backend: layer 2 could not read its context")
	}
	if _, err := p.layerEnvironment(t.Context(), "moon", google); err == nil || !strings.Contains(err.Error(), "the layers are bootstrap and platform") {
		t.Errorf("an unknown layer gives %v", err)
	}
}

func TestPrintedCallsNameAHomeThatIsNotTheClones(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "second")
	t.Setenv(home.Variable, dir)
	p, err := Open(toolchaintest.Root(t), dir, "dev")
	if err != nil {
		t.Fatal(err)
	}
	report, err := lifecycle.New(p).Status(t.Context())
	if cause, ok := report.RootCause(); err != nil || !ok || !strings.HasSuffix(cause.Message, "run `STRATA_HOME='"+dir+"' strata up`") {
		t.Errorf("the status says %q (%v)", cause.Message, err)
	}
	if next := p.Home.Call("down --purge --yes"); next != "STRATA_HOME='"+dir+"' strata down --purge --yes" {
		t.Errorf("what destroys the home is %q", next)
	}
}

func TestOpenCreatesNothing(t *testing.T) {
	dir := t.TempDir() + "/home"
	p, err := Open(toolchaintest.Root(t), dir, "dev")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lifecycle.New(p).Status(t.Context()); err != nil {
		t.Fatal(err)
	}
	if h, err := home.At(dir); err != nil || h.Exists() {
		t.Errorf("looking at a home made it (%v)", err)
	}
}

func TestThePlanOfDownSaysWhatStays(t *testing.T) {
	p := openTestPlatform(t)
	if _, err := home.Open(p.Home.Dir()); err != nil {
		t.Fatal(err)
	}
	for purge, want := range map[bool]string{false: p.Home.Dir() + " stays, with the repositories and the logs: --purge removes it, too.", true: ""} {
		if plan := lifecycle.New(p).Plan(t.Context(), purge); plan.Stays != want || plan.Unknown != "" {
			t.Errorf("with purge %v stays %q, want %q; unknown is %q", purge, plan.Stays, want, plan.Unknown)
		}
	}
}

func TestANewHomeIsNotMadeForAnUnknownOperator(t *testing.T) {
	for name, want := range map[string]string{
		"":         "",
		"embedded": "",
		"upstream": "",
		"moon":     `unknown operator "moon": the operators are embedded and upstream`,
	} {
		p, err := Open(toolchaintest.Root(t), filepath.Join(t.TempDir(), "home"), "dev")
		if err != nil {
			t.Fatal(err)
		}
		if err := p.UseOperator(name); (err != nil) != (want != "") || err != nil && err.Error() != want {
			t.Errorf("operator %q: error is %v, want %q", name, err, want)
		}
		if p.Home.Exists() {
			t.Errorf("operator %q: choosing it made a home", name)
		}
	}
}

// TestNobodyActsAsAnEntryOfTheCatalogue fails if a command writes a token of the account that runs the orders of all teams.
func TestNobodyActsAsAnEntryOfTheCatalogue(t *testing.T) {
	p := openTestPlatform(t)
	p.Repository.Root = t.TempDir()
	if err := os.WriteFile(p.teamsFile(), []byte("apiVersion: strata/v1\nkind: Teams\nteams:\n- name: web\ncatalogue:\n- name: database\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const want = "catalogue-database is an entry of the catalogue and no team"
	if path, err := p.TeamKubeconfig(t.Context(), "catalogue-database"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("kubeconfig %q, error %v, want %q", path, err, want)
	}
	list, err := p.Teams()
	if err != nil || len(list) != 1 || list[0].Name != "web" {
		t.Errorf("the teams are %v (error %v), want web alone", list, err)
	}
	all, err := p.Tenants()
	if err != nil || len(all) != 2 || all[1].Name != "catalogue-database" {
		t.Errorf("the tenants are %v (error %v), want web and catalogue-database", all, err)
	}
}
