package plugins_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/oauth2/google"
	"google.golang.org/api/cloudkms/v1"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/serviceusage/v1"
	sqladmin "google.golang.org/api/sqladmin/v1beta4"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud"
	gke "github.com/strata-platform/strata/internal/local/cloud/container"
	"github.com/strata-platform/strata/internal/local/machine/dolt"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

const project = "strata-local"

// emulator is an emulated Google Cloud with real databases and a fake control plane.
type emulator struct {
	url   string
	owner string // credentials of the project's owner
	calls *calls
}

type pretendedCluster struct{}

func (pretendedCluster) Create(context.Context, string) (gke.Access, error) {
	return gke.Access{
		Endpoint: "127.0.0.1:6443", CA: []byte("ca"), ClientCertificate: []byte("certificate"), ClientKey: []byte("key"),
	}, nil
}
func (pretendedCluster) Delete(context.Context, string) error { return nil }

func newEmulator(t *testing.T) emulator {
	t.Helper()
	binary := toolchaintest.Path(t, "dolt")
	dir := t.TempDir()
	var handler http.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	server, err := cloud.New(cloud.Options{
		Dir:      filepath.Join(dir, "store"),
		BaseURL:  front.URL,
		Clusters: pretendedCluster{},
		Databases: dolt.New(dolt.Options{
			Binary: func(context.Context) (string, error) { return binary, nil },
			Dir:    filepath.Join(dir, "sql"),
			Logs:   filepath.Join(dir, "logs"),
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	noted := &calls{tokens: map[string]bool{}, lines: map[string]bool{}}
	handler = noted.around(server)
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	owner, err := server.EnsureProject(project, "engineer@example.com")
	if err != nil {
		t.Fatal(err)
	}
	return emulator{url: front.URL, owner: string(owner), calls: noted}
}

// owner holds clients of the cloud as the project's owner.
type owner struct {
	iam       *iam.Service
	projects  *crm.Service
	services  *serviceusage.Service
	container *container.Service
	sql       *sqladmin.Service
	storage   *storage.Service
	keys      *cloudkms.Service
}

func (c emulator) asOwner(t *testing.T) owner {
	t.Helper()
	ctx := t.Context()
	credentials, err := google.CredentialsFromJSONWithType(ctx, []byte(c.owner), google.AuthorizedUser, "https://www.googleapis.com/auth/cloud-platform")
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) []option.ClientOption {
		return []option.ClientOption{option.WithCredentials(credentials), option.WithEndpoint(c.url + path)}
	}
	var o owner
	errs := make([]error, 7)
	o.iam, errs[0] = iam.NewService(ctx, at("/iam/")...)
	o.projects, errs[1] = crm.NewService(ctx, at("/cloudresourcemanager/")...)
	o.services, errs[2] = serviceusage.NewService(ctx, at("/serviceusage/")...)
	o.container, errs[3] = container.NewService(ctx, at("/container/")...)
	o.sql, errs[4] = sqladmin.NewService(ctx, at("/sqladmin/")...)
	o.storage, errs[5] = storage.NewService(ctx, at("/storage/storage/v1/")...)
	o.keys, errs[6] = cloudkms.NewService(ctx, at("/cloudkms/")...)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return o
}

// stateKey is the key of the program in testdata/every, which the engineer creates before.
const stateKey = keyRing + "/cryptoKeys/web"

const keyRing = "projects/" + project + "/locations/europe-west1/keyRings/strata"

// newKey creates stateKey.
func (o owner) newKey(t *testing.T) {
	t.Helper()
	rings := o.keys.Projects.Locations.KeyRings
	if _, err := rings.Create("projects/"+project+"/locations/europe-west1", &cloudkms.KeyRing{}).KeyRingId("strata").Context(t.Context()).Do(); err != nil {
		t.Fatal(err)
	}
	if _, err := rings.CryptoKeys.Create(keyRing, &cloudkms.CryptoKey{Purpose: "ENCRYPT_DECRYPT"}).CryptoKeyId("web").Context(t.Context()).Do(); err != nil {
		t.Fatal(err)
	}
}

// stack is a Pulumi stack of a YAML program in a folder of its own.
type stack struct {
	dir, home, tools string
	env              []string
}

func (c emulator) newStack(t *testing.T) *stack {
	t.Helper()
	home, tools := t.TempDir(), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{
		"pulumi":                 toolchaintest.Path(t, "pulumi"),
		"pulumi-language-yaml":   toolchaintest.Path(t, "pulumi-language-yaml"),
		"pulumi-resource-gcp":    self,
		"pulumi-resource-random": self,
	} {
		if err := os.Symlink(target, filepath.Join(tools, name)); err != nil {
			t.Fatal(err)
		}
	}
	s := &stack{dir: t.TempDir(), home: home, tools: tools, env: []string{
		"PATH=" + tools + ":/usr/bin:/bin", "HOME=" + home, "PULUMI_HOME=" + filepath.Join(home, ".pulumi"),
		"PULUMI_BACKEND_URL=file://" + home, "PULUMI_CONFIG_PASSPHRASE=test",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true", "PULUMI_SKIP_UPDATE_CHECK=true",
		"GOOGLE_PROJECT=" + project, "GOOGLE_REGION=europe-west1", "GOOGLE_ZONE=europe-west1-b",
		"GOOGLE_CREDENTIALS=" + c.owner,
	}}
	for k, v := range cloud.Endpoints(c.url) {
		s.env = append(s.env, k+"="+v)
	}
	return s
}

// write replaces the program.
func (s *stack) write(t *testing.T, program string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, "Pulumi.yaml"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
}

// try runs pulumi and returns its output.
func (s *stack) try(t *testing.T, args ...string) (string, error) {
	t.Helper()
	args = append(args, "--non-interactive", "--color=never")
	command := exec.CommandContext(t.Context(), filepath.Join(s.tools, "pulumi"), args...)
	command.Dir, command.Env = s.dir, s.env
	out, err := command.CombinedOutput()
	return string(out), err
}

// run is try for a command that must succeed.
func (s *stack) run(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.try(t, args...)
	if err != nil {
		t.Fatalf("pulumi %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// find returns the file of the stack's backend that contains a text, or "".
func (s *stack) find(t *testing.T, text string) string {
	t.Helper()
	found := ""
	err := filepath.WalkDir(s.home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
