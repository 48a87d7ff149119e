package cloud_test

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/oauth2/google"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/serviceusage/v1"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud"
	gke "github.com/strata-platform/strata/internal/local/cloud/container"
	"github.com/strata-platform/strata/internal/local/cloud/sql/engine"
	"github.com/strata-platform/strata/internal/local/machine/dolt"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

const (
	projectID = "strata-local"
	engineer  = "engineer@strata.local"
	location  = "europe-west1-b"
	parent    = "projects/" + projectID + "/locations/" + location

	cloudPlatform = "https://www.googleapis.com/auth/cloud-platform"
)

// emulator is an emulated Google Cloud with one project, for one test.
type emulator struct {
	*cloud.Server
	t        testing.TB
	dir      string
	url      string
	handler  atomic.Pointer[cloud.Server]
	clusters gke.Runtime
	// databases runs instances instead of Dolt.
	databases engine.Runtime
	engineer  []byte // credentials of the project's owner
}

// newEmulator starts an emulator. If withDolt is true, it has a runtime of real databases.
func newEmulator(t testing.TB, withDolt bool) *emulator {
	t.Helper()
	c := &emulator{t: t, dir: t.TempDir(), clusters: &fakeClusters{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.handler.Load().ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	c.url = server.URL
	c.start(withDolt)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *emulator) start(withDolt bool) {
	c.t.Helper()
	options := cloud.Options{Dir: c.dir, BaseURL: c.url, Clusters: c.clusters, Databases: c.databases}
	if withDolt {
		binary := toolchaintest.Path(c.t, "dolt")
		options.Databases = dolt.New(dolt.Options{
			Binary: func(context.Context) (string, error) { return binary, nil },
			Dir:    filepath.Join(c.dir, "sql"),
			Logs:   filepath.Join(c.dir, "logs"),
		})
	}
	server, err := cloud.New(options)
	if err != nil {
		c.t.Fatal(err)
	}
	c.Server = server
	c.handler.Store(server)
	if c.engineer, err = server.EnsureProject(projectID, engineer); err != nil {
		c.t.Fatal(err)
	}
	if err := server.Start(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// SetClock changes the emulator's clock. The engineer logs in again, because the former login may have expired.
func (c *emulator) SetClock(now func() time.Time) {
	c.t.Helper()
	c.Server.SetClock(now)
	var err error
	if c.engineer, err = c.Login(projectID, engineer); err != nil {
		c.t.Fatal(err)
	}
}

// restart closes the emulator and opens it again, with the same store and address.
func (c *emulator) restart(withDolt bool) {
	c.t.Helper()
	if err := c.Close(); err != nil {
		c.t.Fatal(err)
	}
	c.start(withDolt)
}

// clients are Google's own clients, for one identity.
type clients struct {
	iam       *iam.Service
	projects  *crm.Service
	container *container.Service
	sql       *sqladmin.Service
	services  *serviceusage.Service
}

// as returns clients that authenticate with a credentials file, as the official provider does.
func (c *emulator) as(file []byte) *clients {
	c.t.Helper()
	kind := google.ServiceAccount
	if strings.Contains(string(file), `"authorized_user"`) {
		kind = google.AuthorizedUser
	}
	login, err := google.CredentialsFromJSONWithType(c.t.Context(), file, kind, cloudPlatform)
	if err != nil {
		c.t.Fatal(err)
	}
	options := func(variable, version string) []option.ClientOption {
		endpoint := strings.TrimSuffix(cloud.Endpoints(c.url)[variable], version)
		return []option.ClientOption{option.WithEndpoint(endpoint), option.WithTokenSource(login.TokenSource)}
	}
	ctx := c.t.Context()
	var made clients
	var errs [5]error
	made.iam, errs[0] = iam.NewService(ctx, options("GOOGLE_IAM_CUSTOM_ENDPOINT", "v1/")...)
	made.projects, errs[1] = crm.NewService(ctx, options("GOOGLE_RESOURCE_MANAGER_CUSTOM_ENDPOINT", "v1/")...)
	made.container, errs[2] = container.NewService(ctx, options("GOOGLE_CONTAINER_CUSTOM_ENDPOINT", "v1/")...)
	made.sql, errs[3] = sqladmin.NewService(ctx, options("GOOGLE_SQL_CUSTOM_ENDPOINT", "sql/v1beta4/")...)
	made.services, errs[4] = serviceusage.NewService(ctx, options("GOOGLE_SERVICE_USAGE_CUSTOM_ENDPOINT", "v1/")...)
	if err := errors.Join(errs[:]...); err != nil {
		c.t.Fatal(err)
	}
	return &made
}

// owner returns clients of the project's owner.
func (c *emulator) owner() *clients { return c.as(c.engineer) }

// account creates a service account with roles on the project. It returns the account's e-mail address and a key file.
func (c *emulator) account(id string, roles ...string) (email string, key []byte) {
	c.t.Helper()
	owner := c.owner()
	made, err := owner.iam.Projects.ServiceAccounts.Create("projects/"+projectID, &iam.CreateServiceAccountRequest{AccountId: id}).Do()
	if err != nil {
		c.t.Fatal(err)
	}
	for _, role := range roles {
		c.grant("serviceAccount:"+made.Email, role)
	}
	created, err := owner.iam.Projects.ServiceAccounts.Keys.Create(made.Name, &iam.CreateServiceAccountKeyRequest{}).Do()
	if err != nil {
		c.t.Fatal(err)
	}
	file, err := base64.StdEncoding.DecodeString(created.PrivateKeyData)
	if err != nil {
		c.t.Fatal(err)
	}
	return made.Email, file
}

func (c *emulator) grant(member, role string) {
	c.t.Helper()
	if err := addMember(c.owner().projects, member, role); err != nil {
		c.t.Fatal(err)
	}
}

// addMember adds a member to a role of the project, as the providers' IAMMember resource does.
func addMember(projects *crm.Service, member, role string) error {
	policy, err := projects.Projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{}).Do()
	if err != nil {
		return err
	}
	policy.Bindings = append(policy.Bindings, &crm.Binding{Role: role, Members: []string{member}})
	_, err = projects.Projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: policy}).Do()
	return err
}

// code returns the HTTP status of a call's error, or 200.
func code(err error) int {
	if err == nil {
		return http.StatusOK
	}
	if refused, ok := errors.AsType[*googleapi.Error](err); ok {
		return refused.Code
	}
	return 0
}

// refused checks that a call failed with an HTTP status and a message that contains words.
func refused(t testing.TB, err error, want int, words ...string) {
	t.Helper()
	if code(err) != want {
		t.Errorf("error is %v; want code %d", err, want)
		return
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("error %q does not contain %q", err, word)
		}
	}
}

// fakeClusters is a cluster runtime without clusters. If block is not nil, creations wait until it is closed.
type fakeClusters struct {
	block   chan struct{}
	fail    error
	created atomic.Int32
	deleted atomic.Int32
}

func (f *fakeClusters) Create(ctx context.Context, _ string) (gke.Access, error) {
	if f.block != nil {
		select {
		case <-f.block:
		case <-ctx.Done():
			return gke.Access{}, ctx.Err()
		}
	}
	f.created.Add(1)
	return gke.Access{Endpoint: "127.0.0.1:6443", PrivateEndpoint: "10.96.0.1", CA: []byte("ca"), ClientCertificate: []byte("certificate"), ClientKey: []byte("key")}, f.fail
}

func (f *fakeClusters) Delete(context.Context, string) error {
	f.deleted.Add(1)
	return f.fail
}
