package backend_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/operator/engine/backend"
)

const bucketType, bucketID = "gcp:storage/bucket:Bucket", "shop-bucket"

// deployment is a state that `pulumi stack import` accepts, with a resource.
const deployment = `{"version": 3, "deployment": {"manifest": {"time": "2026-11-23T00:00:00Z", "magic": "", "version": ""}, "resources": [
	{"urn": "urn:pulumi:dev::shop::pulumi:pulumi:Stack::shop-dev", "custom": false, "type": "pulumi:pulumi:Stack"},
	{"urn": "urn:pulumi:dev::shop::` + bucketType + `::b", "custom": true, "id": "` + bucketID + `", "type": "` + bucketType + `"}]}}`

// stored makes the pinned pulumi write the state of a stack to a file backend in dir, with a variable in its environment.
func stored(t *testing.T, dir, variable string) {
	t.Helper()
	project := t.TempDir()
	for name, content := range map[string]string{
		"Pulumi.yaml": "name: shop\nruntime: yaml\nresources: {}\n", "deployment.json": deployment,
	} {
		if err := os.WriteFile(filepath.Join(project, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"stack", "init", "dev"}, {"stack", "import", "--file", "deployment.json"}} {
		pulumi := exec.CommandContext(t.Context(), toolchaintest.Path(t, "pulumi"), append(args, "--non-interactive")...)
		pulumi.Dir = project
		pulumi.Env = append(os.Environ(),
			"PULUMI_BACKEND_URL=file://"+dir+"?metadata=skip", "PULUMI_CONFIG_PASSPHRASE=p", "PULUMI_HOME="+filepath.Join(project, "home"),
			"PULUMI_SKIP_UPDATE_CHECK=true", variable)
		if out, err := pulumi.CombinedOutput(); err != nil {
			t.Fatalf("pulumi %v: %v: %s", args, err, out)
		}
	}
}

func TestStatesThatPulumiWroteAreReadInEachCompression(t *testing.T) {
	for name, c := range map[string]struct{ variable, file string }{
		"plain":                    {"A=", "dev.json"},
		"gzip":                     {"PULUMI_DIY_BACKEND_GZIP=true", "dev.json.gz"},
		"gzip, by its older name":  {"PULUMI_SELF_MANAGED_STATE_GZIP=true", "dev.json.gz"},
		"zstd":                     {"PULUMI_DIY_BACKEND_ZSTD=true", "dev.json.zst"},
		"zstd, by its second name": {"PULUMI_SELF_MANAGED_STATE_ZSTD=true", "dev.json.zst"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir := filepath.Join(root, "team-web")
			stored(t, dir, c.variable)
			if _, err := os.Stat(filepath.Join(dir, ".pulumi", "stacks", "shop", c.file)); err != nil {
				t.Fatalf("pulumi wrote no %s: %v", c.file, err)
			}
			own := backend.State{Backend: backend.Backend{Folder: "."}, Parent: dir, Project: "shop", Stack: "organization/dev"}
			state, err := own.Read()
			if err != nil || !strings.Contains(string(state), bucketID) {
				t.Errorf("Read returns %q, %v", state, err)
			}
			if own.Missing() {
				t.Error("Missing says that there is no state")
			}
			var seen []string
			err = backend.EachState(t.Context(), dir, backend.MaxState, func(file string, state []byte, err error) bool {
				if err != nil || !strings.Contains(string(state), bucketID) {
					t.Errorf("EachState reads %q from %s, %v", state, file, err)
				}
				seen = append(seen, file)
				return true
			})
			if want := []string{".pulumi/stacks/shop/" + c.file}; err != nil || !slices.Equal(seen, want) {
				t.Errorf("EachState sees %v, %v, want %v", seen, err, want)
			}
			other := backend.State{Backend: backend.Backend{Folder: "."}, Root: root, Parent: filepath.Join(root, "team-api"), Project: "shop", Stack: "dev"}
			if holder := other.Holder(t.Context(), bucketType, bucketID); holder != "team-web" {
				t.Errorf("Holder returns %q", holder)
			}
		})
	}
}

func TestOfSeveralStatesTheNewestIsRead(t *testing.T) {
	dir := t.TempDir()
	stacks := filepath.Join(dir, ".pulumi", "stacks", "shop")
	s := backend.State{Backend: backend.Backend{Folder: "."}, Parent: dir, Project: "shop", Stack: "dev"}
	if state, err := s.Read(); state != nil || err != nil {
		t.Errorf("without a state, Read returns %q, %v", state, err)
	}
	now := time.Now()
	// Pulumi reads the content and not the name, so a plain content may have any of the names.
	for name, age := range map[string]time.Duration{"dev.json": time.Hour, "dev.json.gz": time.Minute, "dev.json.zst": time.Hour} {
		path := filepath.Join(stacks, name)
		if err := errors.Join(os.MkdirAll(stacks, 0o700), os.WriteFile(path, []byte(name), 0o600), os.Chtimes(path, now, now.Add(-age))); err != nil {
			t.Fatal(err)
		}
	}
	if state, err := s.Read(); string(state) != "dev.json.gz" || err != nil {
		t.Errorf("Read returns %q, %v, want the content of the newest file", state, err)
	}
	if _, err := (backend.State{Project: "shop", Stack: "dev"}).Read(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("for a backend that has no files, Read returns %v", err)
	}
}
