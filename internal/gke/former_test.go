package gke

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/progress"
)

// made returns a repository whose two stacks hold the resources of each layer, and a cluster whose API answers with
// answers by path. Layer 2 holds the namespace of the team gone, which is not in teams.yaml. The bucket and the instance
// are not protected.
func made(t *testing.T, answers map[string]string) (p *Platform, cluster *httptest.Server) {
	t.Helper()
	p = repository(t)
	cluster = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, is := answers[r.URL.Path]
		if !is {
			w.WriteHeader(http.StatusNotFound)
			answer = `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		}
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(cluster.Close)
	kubeconfig := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Config", "current-context": "c", "clusters": [{"name": "c", "cluster": {"server": %q}}],
		"users": [{"name": "c"}], "contexts": [{"name": "c", "context": {"cluster": "c", "user": "c"}}]}`, cluster.URL)
	imported(t, p, "--cwd bootstrap", "strata-bootstrap", map[string]any{"kubeconfig": kubeconfig},
		resource("gcp:sql/databaseInstance:DatabaseInstance", map[string]any{"name": "acme"}))
	imported(t, p, "", "strata-platform", nil,
		resource(namespaceType, map[string]any{"metadata": map[string]any{"name": "team-gone", "labels": map[string]any{"strata.dev/team": "gone"}}}))
	return p, cluster
}

func resource(kind string, inputs map[string]any) map[string]any {
	return map[string]any{"type": kind, "custom": true, "id": "x", "inputs": inputs}
}

// imported creates a stack whose state holds these resources.
func imported(t *testing.T, p *Platform, flags, project string, outputs map[string]any, resources ...map[string]any) {
	t.Helper()
	stack := map[string]any{"type": "pulumi:pulumi:Stack", "custom": false, "outputs": outputs}
	all := append([]map[string]any{stack}, resources...)
	for _, each := range all {
		each["urn"] = "urn:pulumi:dev::" + project + "::" + each["type"].(string) + "::x"
	}
	state, err := json.Marshal(map[string]any{"version": 3, "deployment": map[string]any{"manifest": map[string]any{"time": "2026-01-01T00:00:00Z"}, "resources": all}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "state.json")
	write(t, file, string(state))
	shell(t, p, "pulumi stack init dev "+flags)
	shell(t, p, "pulumi stack import --stack dev --file "+file+" "+flags)
}

const (
	goneNamespace = `{"kind": "NamespaceList", "apiVersion": "v1", "items": [{"metadata": {"name": "team-gone", "labels": {"strata.dev/team": "gone"}}}]}`
	goneStacks    = `{"kind": "StackList", "apiVersion": "pulumi.com/v1", "items": [
		{"kind": "Stack", "apiVersion": "pulumi.com/v1", "metadata": {"name": "shop", "namespace": "team-gone"}, "spec": {"destroyOnFinalize": true}},
		{"kind": "Stack", "apiVersion": "pulumi.com/v1", "metadata": {"name": "kept", "namespace": "team-gone"}, "spec": {}}]}`
)

func TestATeamThatWasRemovedKeepsItsIdentityWhileItsStacksLive(t *testing.T) {
	p, cluster := made(t, map[string]string{"/api/v1/namespaces": goneNamespace, "/apis/pulumi.com/v1/stacks": goneStacks})
	var shown strings.Builder
	for name, do := range map[string]func() error{
		"the end of its namespace": func() error { return p.endFormer(t.Context(), detail(progress.New(&shown))) },
		"layer 1":                  func() error { return p.refuseFormer(t.Context(), BootstrapLayer) },
		"layer 2":                  func() error { _, err := p.LayerUp(t.Context(), PlatformLayer, nil); return err },
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), "nothing was changed: these Stacks live in namespaces of teams that are not in teams.yaml any more: team-gone/shop, team-gone/kept") {
			t.Errorf("%s: it says %v", name, err)
		}
	}
	plan := p.Plan(t.Context())
	var printed strings.Builder
	plan.Print(&printed)
	for _, want := range []string{"2 Stacks: team-gone/shop, team-gone/kept (what it made stays", "Cloud SQL instance acme with all its databases", " 1 resources\n4. layer 1: destroy bootstrap"} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("the plan of down does not say %q:\n%s", want, &printed)
		}
	}
	cluster.Close()
	if err := p.refuseFormer(t.Context(), BootstrapLayer); err == nil || !strings.Contains(err.Error(), "team-gone belongs to a team that is not in teams.yaml any more, and the cluster cannot be asked") {
		t.Errorf("where the cluster does not answer: it says %v", err)
	}
}

func TestTheIdentityOfARemovedTeamOutlivesItsNamespace(t *testing.T) {
	p, _ := made(t, map[string]string{"/api/v1/namespaces": goneNamespace})
	if err := p.refuseFormer(t.Context(), BootstrapLayer); err == nil || !strings.Contains(err.Error(), "run `strata layer up platform --target gke` first") {
		t.Errorf("layer 1: it says %v", err)
	}
	if err := p.refuseFormer(t.Context(), PlatformLayer); err != nil {
		t.Errorf("layer 2, which deletes the namespace, is refused: %v", err)
	}
}

// TestADeadClusterHoldsNothingUp covers a `down` that was interrupted in layer 1: layer 1 still outputs the kubeconfig of
// the deleted cluster.
func TestADeadClusterHoldsNothingUp(t *testing.T) {
	p, cluster := made(t, nil)
	cluster.Close()
	shell(t, p, "pulumi stack rm dev --yes --force")
	for name, do := range map[string]func() error{
		"destroy the Stacks":  func() error { _, err := p.destroyStacks(t.Context(), progress.New(&strings.Builder{})); return err },
		"destroy layer 2":     func() error { return p.noStacks(t.Context()) },
		"run layer 1":         func() error { return p.refuseFormer(t.Context(), BootstrapLayer) },
		"prepare for layer 2": func() error { _, err := p.restore(t.Context(), nil); return err },
		"say what would be done": func() error {
			if unknown := p.Plan(t.Context()).Unknown; unknown != "" {
				return errors.New(unknown)
			}
			return nil
		},
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnInterruptNamesTheCommandsOfItsTarget(t *testing.T) {
	p := Open(t.TempDir(), "prod")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Up(ctx, progress.New(&strings.Builder{}))
	if err == nil || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "`strata up --target gke --env prod`") {
		t.Errorf("it says %v", err)
	}
}
