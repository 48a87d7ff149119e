package cloud_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	gce "cloud.google.com/go/compute/metadata"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/idtoken"
	"google.golang.org/api/option"
	"google.golang.org/api/sqladmin/v1beta4"

	"github.com/strata-platform/strata/internal/local/cloud/metadata"
)

const (
	pool = projectID + ".svc.id.goog"
	// kubernetesWeb is the Kubernetes account of team web, as a member of policies.
	kubernetesWeb = "serviceAccount:" + pool + "[team-web/web]"
)

// newPool creates a cluster with workload identity.
func (c *emulator) newPool() {
	c.t.Helper()
	request := newCluster("strata", true)
	request.Cluster.WorkloadIdentityConfig = &container.WorkloadIdentityConfig{WorkloadPool: pool}
	owner := c.owner()
	op, err := owner.container.Projects.Locations.Clusters.Create(parent, request).Do()
	if err != nil {
		c.t.Fatal(err)
	}
	c.waitCluster(owner, op)
}

// impersonated creates a service account with roles that members may impersonate. It returns the e-mail address.
func (c *emulator) impersonated(id string, members []string, roles ...string) string {
	c.t.Helper()
	email, _ := c.account(id, roles...)
	c.bindWorkloads(email, members...)
	return email
}

// bindWorkloads replaces the members that may impersonate a service account.
func (c *emulator) bindWorkloads(email string, members ...string) {
	c.t.Helper()
	_, err := c.owner().iam.Projects.ServiceAccounts.SetIamPolicy("projects/-/serviceAccounts/"+email, &iam.SetIamPolicyRequest{
		Policy: &iam.Policy{Bindings: []*iam.Binding{{Role: "roles/iam.workloadIdentityUser", Members: members}}},
	}).Do()
	if err != nil {
		c.t.Fatal(err)
	}
}

// metadataServer is the metadata server of a pod.
type metadataServer struct {
	t      *testing.T
	host   string
	client *http.Client
	of     atomic.Pointer[metadata.Workload]
}

// metadataOf serves the metadata of a pod with an account.
func (c *emulator) metadataOf(t *testing.T, of metadata.Workload) *metadataServer {
	t.Helper()
	m := &metadataServer{t: t, client: http.DefaultClient}
	m.of.Store(&of)
	server := httptest.NewServer(metadata.New(metadata.Options{
		Cloud:    c.Workloads(projectID),
		Workload: func(context.Context) (metadata.Workload, bool, error) { return *m.of.Load(), true, nil },
	}))
	t.Cleanup(server.Close)
	m.host = strings.TrimPrefix(server.URL, "http://")
	return m
}

// get returns the status and the text of an entry.
func (m *metadataServer) get(path string) (int, string) {
	m.t.Helper()
	request, err := http.NewRequestWithContext(m.t.Context(), http.MethodGet, "http://"+m.host+"/computeMetadata/v1/"+path, nil)
	if err != nil {
		m.t.Fatal(err)
	}
	request.Header.Set("Metadata-Flavor", "Google")
	answer, err := m.client.Do(request)
	if err != nil {
		m.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

const podToken = "instance/service-accounts/default/token"

func TestGooglesClientsUseTheMetadataServer(t *testing.T) {
	c := newEmulator(t, false)
	c.newPool()
	email := c.impersonated("team-web", []string{kubernetesWeb}, "roles/browser")
	m := c.metadataOf(t, metadata.Workload{Namespace: "team-web", Account: "web", GoogleAccount: email})
	t.Setenv("GCE_METADATA_HOST", m.host)
	t.Setenv("HOME", t.TempDir()) // without credentials of a user
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	client := gce.NewClient(&http.Client{})
	project, err := c.owner().projects.Projects.Get(projectID).Do()
	if err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]struct {
		get  func(context.Context) (string, error)
		want string
	}{
		"the project": {client.ProjectIDWithContext, projectID},
		"the zone":    {client.ZoneWithContext, location},
		"the cluster": {func(ctx context.Context) (string, error) {
			return client.InstanceAttributeValueWithContext(ctx, "cluster-name")
		}, "strata"},
		"the e-mail address":   {func(ctx context.Context) (string, error) { return client.EmailWithContext(ctx, "default") }, email},
		"the project's number": {client.NumericProjectIDWithContext, strconv.FormatInt(project.ProjectNumber, 10)},
	} {
		if got, err := try.get(t.Context()); err != nil || got != try.want {
			t.Errorf("%s is %q, %v; want %q", name, got, err, try.want)
		}
	}
	login, err := google.FindDefaultCredentials(t.Context(), cloudPlatform)
	if err != nil {
		t.Fatal(err)
	}
	if login.ProjectID != projectID {
		t.Errorf("the credentials are of project %q", login.ProjectID)
	}
	projects, err := crm.NewService(t.Context(), option.WithEndpoint(c.url+"/cloudresourcemanager/"), option.WithTokenSource(login.TokenSource))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := projects.Projects.Get(projectID).Do(); err != nil {
		t.Errorf("a call with the account's role: %v", err)
	}
	_, err = projects.Projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{}).Do()
	if err != nil {
		t.Errorf("roles/browser may read the policy: %v", err)
	}
	_, err = projects.Projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: &crm.Policy{}}).Do()
	refused(t, err, 403)
}

func TestAnIDTokenOfThePodVerifies(t *testing.T) {
	c := newEmulator(t, false)
	c.newPool()
	email := c.impersonated("team-web", []string{kubernetesWeb})
	m := c.metadataOf(t, metadata.Workload{Namespace: "team-web", Account: "web", GoogleAccount: email})
	status, token := m.get("instance/service-accounts/default/identity?audience=https://shop.example.com")
	if status != http.StatusOK {
		t.Fatal(token)
	}
	c.restart(false) // the key stays
	validator, err := idtoken.NewValidator(t.Context(), option.WithHTTPClient(&http.Client{Transport: toEmulator{c.url}}))
	if err != nil {
		t.Fatal(err)
	}
	payload, err := validator.Validate(t.Context(), token, "https://shop.example.com")
	if err != nil || payload.Claims["email"] != email || payload.Issuer != "https://accounts.google.com" {
		t.Errorf("the token's payload is %+v, %v", payload, err)
	}
	if _, err := validator.Validate(t.Context(), token, "https://another.example.com"); err == nil {
		t.Error("the token is valid for another audience")
	}
	// An ID token is not an access token.
	projects, err := crm.NewService(t.Context(), option.WithEndpoint(c.url+"/cloudresourcemanager/"),
		option.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})))
	if err != nil {
		t.Fatal(err)
	}
	_, err = projects.Projects.Get(projectID).Do()
	refused(t, err, 401)
}

// toEmulator sends requests for Google's public keys to the emulator.
type toEmulator struct{ url string }

func (e toEmulator) RoundTrip(r *http.Request) (*http.Response, error) {
	to := r.Clone(r.Context())
	to.URL.Scheme, to.URL.Host, to.Host = "http", strings.TrimPrefix(e.url, "http://"), ""
	return http.DefaultTransport.RoundTrip(to)
}

func TestTheAuthProxyUsesThePodsAccount(t *testing.T) {
	c := newEmulator(t, true)
	c.newPool()
	c.newWebDatabase(&sqladmin.Settings{})
	email := c.impersonated("team-web", []string{kubernetesWeb}, "roles/cloudsql.client")
	m := c.metadataOf(t, metadata.Workload{Namespace: "team-web", Account: "web", GoogleAccount: email})
	if err := c.startProxy(t, []string{"GCE_METADATA_HOST=" + m.host}).open("web", "web", "web").PingContext(t.Context()); err != nil {
		t.Error(err)
	}
}
