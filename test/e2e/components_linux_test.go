package e2e

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"sigs.k8s.io/yaml"

	"github.com/strata-platform/strata/components/plugin"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/teams"
	"github.com/strata-platform/strata/test/docstest"
)

// pluginLayer returns the layer that docs/reference/components.md describes: the plugin strata where `pulumi plugin install` puts
// it. On PATH alone the plugin does not suffice: the operator runs `pulumi install`, which then asks GitHub for its newest version.
func pluginLayer(t *testing.T) v1.Layer {
	t.Helper()
	root, err := toolchain.FindRoot(".")
	if err != nil {
		t.Fatal(err)
	}
	executable := filepath.Join(t.TempDir(), "pulumi-resource-strata")
	command := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", executable, "./cmd/pulumi-resource-strata")
	command.Dir, command.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build the plugin: %v\n%s", err, out)
	}
	in, err := os.Open(executable)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "plugin.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	archive := tar.NewWriter(file)
	folder := "home/pulumi/.pulumi/plugins/resource-strata-v" + plugin.Version + "/"
	for _, header := range []tar.Header{
		{Typeflag: tar.TypeDir, Name: folder, Mode: 0o755, Uid: workspaceUser, Gid: workspaceUser},
		{Name: folder + "pulumi-resource-strata", Mode: 0o755, Size: info.Size()},
	} {
		if err := archive.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.Copy(archive, in); err != nil {
		t.Fatal(err)
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

// allowComponents lets the team web declare the component Database.
func allowComponents(t *testing.T, clone string) {
	t.Helper()
	list := map[string]any{"apiVersion": "strata/v1", "kind": "Teams", "teams": []any{
		map[string]any{"name": "web", "allow": append(teams.DefaultAllow(), "strata:index:Database")},
	}}
	content, err := yaml.Marshal(list)
	if err == nil {
		err = os.WriteFile(filepath.Join(clone, "teams.yaml"), content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// orderByComponent creates the Program and the short Stack of docs/reference/components.md, with componentsImage, and waits for
// the Stack and for the Secret of the component.
func orderByComponent(t *testing.T, kubeconfig string) {
	t.Helper()
	page := docstest.Read(t, "docs/reference/components.md")
	block := func(kind string) string {
		_, content, found := strings.Cut(page, "```yaml "+kind+"\n")
		content, _, _ = strings.Cut(content, "```\n")
		if !found {
			t.Fatalf("docs/reference/components.md has no block %s", kind)
		}
		return content
	}
	program, stack := block("program"), strings.Replace(block("image"), "registry.example.com/pulumi-strata:1", componentsImage, 1)
	if !strings.Contains(page, " resource strata "+plugin.Version+" ") || !strings.Contains(stack, componentsImage) {
		t.Errorf("docs/reference/components.md does not install version %s of the plugin, or its Stack names another image", plugin.Version)
	}
	client, err := clientOf(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	rest := client.Discovery().RESTClient()
	for resource, object := range map[string]string{"programs": program, "stacks": stack} {
		body, err := yaml.YAMLToJSON([]byte(object))
		if err != nil {
			t.Fatal(err)
		}
		if err := rest.Post().AbsPath(ofWeb+resource).Body(body).SetHeader("Content-Type", "application/json").Do(t.Context()).Error(); err != nil {
			t.Fatalf("create one of the %s: %v", resource, err)
		}
	}
	read := func(path string) (object map[string]any, err error) {
		raw, err := rest.Get().AbsPath(path).DoRaw(context.Background())
		if err == nil {
			err = json.Unmarshal(raw, &object)
		}
		return object, err
	}
	for deadline := time.Now().Add(5 * time.Minute); ; <-time.After(pollEvery) {
		stack, err := read(ofWeb + "stacks/orders")
		if err != nil {
			t.Fatal(err)
		}
		if conditionOf(stack, "Ready")["status"] == "True" {
			spec, _ := stack["spec"].(map[string]any)
			if spec["stack"] != "orders" || spec["serviceAccountName"] != "web" || spec["destroyOnFinalize"] != true {
				t.Errorf("the platform has not filled in the Stack: %v", spec)
			}
			break
		}
		if stalled := conditionOf(stack, "Stalled"); stalled["status"] == "True" {
			t.Fatalf("the Stack with a component fails: %v", stalled["message"])
		}
		if time.Now().After(deadline) {
			t.Fatalf("the Stack with a component is not ready after 5 minutes: %v", stack["status"])
		}
	}
	secret, err := read("/api/v1/namespaces/team-web/secrets/orders")
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	data, _ := secret["data"].(map[string]any)
	for key := range data {
		keys = append(keys, key)
	}
	for _, want := range []string{"database", "password", "username"} {
		if !slices.Contains(keys, want) {
			t.Errorf("the Secret of the component has the keys %s, without %s", fmt.Sprint(keys), want)
		}
	}
}
