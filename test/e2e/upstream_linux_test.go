package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/test/long"
	"github.com/strata-platform/strata/test/stratatest"
)

// upstreamVariable names a folder with the parts of upstream's operator, which no module provides: images.tar, an archive of
// `docker save` or `strata image bundle` with the operator's image, and crds, the folder deploy/crds of the same release.
const upstreamVariable = "STRATA_UPSTREAM_OPERATOR"

// ownKinds makes the platform repository itself the source of upstream's kinds, so that the test needs no network.
const ownKinds = `
patches:
  - patch: |
      apiVersion: source.toolkit.fluxcd.io/v1
      kind: GitRepository
      metadata: {name: pulumi-operator, namespace: platform}
      $patch: delete
  - patch: |
      apiVersion: kustomize.toolkit.fluxcd.io/v1
      kind: Kustomization
      metadata: {name: operator-crds, namespace: platform}
      spec: {path: ./sync/upstream-kinds, sourceRef: {name: platform}}
`

// TestAStackBecomesReadyUnderUpstreamsOperator runs the first Stack of a team, a short one: its database, its user, a
// password and a Secret. The state is in the team's bucket. A second Stack runs a Program with a component. down destroys
// both with the same operator.
func TestAStackBecomesReadyUnderUpstreamsOperator(t *testing.T) {
	long.Test(t)
	parts := os.Getenv(upstreamVariable)
	if parts == "" {
		t.Skipf("set %s to a folder with the image and the kinds of upstream's operator: CONTRIBUTING.md describes it", upstreamVariable)
	}
	p := stratatest.NewWithTools(t)
	clone := filepath.Join(p.Dir, "clone")
	if err := cloneTo(clone); err != nil {
		t.Fatal(err)
	}
	commitKinds(t, clone, filepath.Join(parts, "crds"))
	strata := func(args ...string) (string, error) {
		command := p.Command(t.Context(), args...)
		command.Dir = clone
		out, err := command.CombinedOutput()
		return string(out), err
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := strata(args...)
		if err != nil {
			t.Fatalf("strata %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	h, err := home.Open(p.Home)
	if err != nil {
		t.Fatal(err)
	}
	allowComponents(t, clone)
	run("image", "load", filepath.Join(parts, "images.tar"))
	run("image", "load", workspaceBundle(t))

	// up waits until the Stack is ready.
	run("up", "--operator", home.UpstreamOperator)
	status := strings.Join(strings.Fields(run("status")), " ")
	for _, want := range []string{
		"Deployment pulumi-kubernetes-operator/pulumi-operator 1 pod (sandboxed)",
		"Stack team-web/wordpress-infra database=web_wordpress, host=",
		"everything is ready",
	} {
		if !strings.Contains(status, want) {
			t.Errorf("the status does not contain %q:\n%s", want, status)
		}
	}
	// The pod of the run is deleted, because the platform fills in workspaceReclaimPolicy: Delete.
	if strings.Contains(status, "wordpress-infra-workspace") {
		t.Errorf("the pod of a finished run is still there:\n%s", status)
	}
	if _, err := os.Stat(h.TenantStates()); !os.IsNotExist(err) {
		t.Errorf("a state is in the home's folders, which pods cannot read (%v)", err)
	}
	// Each run starts a pod in a sandbox.
	t.Log(run("conformance", "--namespace", "team-web", "--shared", "--wait", "15m"))
	run("kubeconfig", "--team", "web")
	orderByComponent(t, filepath.Join(h.Kubernetes(), "teams", "web.kubeconfig"))
	if out, err := strata("up", "--operator", home.EmbeddedOperator); err == nil || !strings.Contains(out, "has the operator upstream, not embedded") {
		t.Errorf("another operator: %v, %s", err, out)
	}
	if out := run("down", "--purge", "--yes"); !strings.Contains(out, "2 destroyed") {
		t.Errorf("down destroyed no Stack:\n%s", out)
	}
	if left := p.Processes(); len(left) > 0 {
		t.Errorf("left running: %v", left)
	}
}

// commitKinds commits upstream's kinds to a clone of Strata. As JSON each file is smaller than the limit of the Git server.
func commitKinds(t *testing.T, clone, kinds string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(kinds, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s contains no kinds (%v)", kinds, err)
	}
	folder := filepath.Join(clone, "sync", "upstream-kinds")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil {
			content, err = yaml.YAMLToJSON(content)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.Base(file)), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	entry := filepath.Join(clone, "sync", "clusters", "local-upstream", "kustomization.yaml")
	before, err := os.ReadFile(entry)
	if err == nil {
		err = os.WriteFile(entry, append(before, ownKinds...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"add", "--all"}, {"commit", "--quiet", "--message=Add the kinds of upstream's operator"}} {
		command := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Ada", "-c", "user.email=ada@example.com"}, args...)...)
		command.Dir = clone
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args[0], err, out)
		}
	}
}
