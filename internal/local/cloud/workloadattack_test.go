package cloud_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"

	"github.com/strata-platform/strata/internal/local/cloud/metadata"
)

// token returns an access token of the pod's account.
func (m *metadataServer) token() string {
	m.t.Helper()
	status, text := m.get(podToken)
	var answer struct {
		Value string `json:"access_token"`
	}
	if err := json.Unmarshal([]byte(text), &answer); status != http.StatusOK || err != nil {
		m.t.Fatalf("%d %s", status, text)
	}
	return answer.Value
}

// reads reports whether a token may read the project, with the error.
func (c *emulator) reads(token string) error {
	c.t.Helper()
	projects, err := crm.NewService(c.t.Context(), option.WithEndpoint(c.url+"/cloudresourcemanager/"),
		option.WithTokenSource(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: token})))
	if err != nil {
		c.t.Fatal(err)
	}
	_, err = projects.Projects.Get(projectID).Do()
	return err
}

func TestAPodGetsNoAccountThatIsNotBoundToIt(t *testing.T) {
	c := newEmulator(t, false)
	c.newPool()
	web := c.impersonated("team-web", []string{kubernetesWeb}, "roles/browser")
	shop := c.impersonated("team-shop", []string{"serviceAccount:" + pool + "[team-shop/shop]"}, "roles/owner")
	platform := c.impersonated("platform", nil, "roles/owner")
	m := c.metadataOf(t, metadata.Workload{Namespace: "team-web", Account: "web", GoogleAccount: web})
	if err := c.reads(m.token()); err != nil {
		t.Fatalf("the pod's own account: %v", err)
	}
	for name, of := range map[string]metadata.Workload{
		"the account of another team":                          {Namespace: "team-web", Account: "web", GoogleAccount: shop},
		"the platform's account":                               {Namespace: "team-web", Account: "web", GoogleAccount: platform},
		"an account that does not exist":                       {Namespace: "team-web", Account: "web", GoogleAccount: "nobody@" + projectID + ".iam.gserviceaccount.com"},
		"a user":                                               {Namespace: "team-web", Account: "web", GoogleAccount: engineer},
		"an account in capitals":                               {Namespace: "team-web", Account: "web", GoogleAccount: strings.ToUpper(web)},
		"the team's account for another Kubernetes account":    {Namespace: "team-web", Account: "default", GoogleAccount: web},
		"the team's account for the name in another namespace": {Namespace: "team-shop", Account: "web", GoogleAccount: web},
		"a namespace whose name ends the member":               {Namespace: "team-web/web]", Account: "x", GoogleAccount: web},
		"an account with a slash":                              {Namespace: "team-web/web", Account: "", GoogleAccount: web},
	} {
		m.of.Store(&of)
		for _, path := range []string{podToken, "instance/service-accounts/default/identity?audience=x"} {
			if status, text := m.get(path); status != http.StatusForbidden && status != http.StatusNotFound {
				t.Errorf("%s: %d %s", name, status, text)
			}
		}
	}
	// Google Cloud's allAuthenticatedUsers does not include Kubernetes accounts.
	c.bindWorkloads(platform, "allAuthenticatedUsers")
	m.of.Store(&metadata.Workload{Namespace: "team-web", Account: "web", GoogleAccount: platform})
	if status, text := m.get(podToken); status != http.StatusForbidden {
		t.Errorf("an account for allAuthenticatedUsers: %d %s", status, text)
	}
	m.of.Store(&metadata.Workload{Namespace: "team-web", Account: "web", GoogleAccount: shop})
	if _, text := m.get(podToken); !strings.Contains(text, "IAM returned 403 Forbidden: Permission 'iam.serviceAccounts.getAccessToken' denied") {
		t.Errorf("the error is %q", text)
	}
}

func TestARemovedBindingCountsAtTheNextToken(t *testing.T) {
	c := newEmulator(t, false)
	c.newPool()
	email := c.impersonated("team-web", []string{kubernetesWeb}, "roles/browser")
	m := c.metadataOf(t, metadata.Workload{Namespace: "team-web", Account: "web", GoogleAccount: email})
	before := m.token()
	if m.token() != before {
		t.Error("the next token within the hour is another one")
	}
	c.bindWorkloads(email)
	if status, text := m.get(podToken); status != http.StatusForbidden {
		t.Errorf("after the binding is gone: %d %s", status, text)
	}
	// As on Google Cloud, a token that the pod has stays valid for its hour.
	if err := c.reads(before); err != nil {
		t.Errorf("the token from before: %v", err)
	}
	c.bindWorkloads(email, kubernetesWeb)
	later := time.Now().Add(56 * time.Minute)
	c.SetClock(func() time.Time { return later })
	if m.token() == before {
		t.Error("five minutes before its end, the pod still gets the old token")
	}
	end := time.Now().Add(61 * time.Minute)
	c.SetClock(func() time.Time { return end })
	refused(t, c.reads(before), 401)
}

func TestTheTokensOfADisabledAccountAreInvalidAtOnce(t *testing.T) {
	c := newEmulator(t, false)
	c.newPool()
	email := c.impersonated("team-web", []string{kubernetesWeb}, "roles/browser")
	m := c.metadataOf(t, metadata.Workload{Namespace: "team-web", Account: "web", GoogleAccount: email})
	token, accounts := m.token(), c.owner().iam.Projects.ServiceAccounts
	name := "projects/-/serviceAccounts/" + email
	if _, err := accounts.Disable(name, &iam.DisableServiceAccountRequest{}).Do(); err != nil {
		t.Fatal(err)
	}
	refused(t, c.reads(token), 401)
	if status, text := m.get(podToken); status != http.StatusForbidden {
		t.Errorf("a token of the disabled account: %d %s", status, text)
	}
	if _, err := accounts.Delete(name).Do(); err != nil {
		t.Fatal(err)
	}
	again := c.impersonated("team-web", []string{kubernetesWeb}, "roles/browser")
	if refused(t, c.reads(token), 401); again != email {
		t.Fatalf("the new account is %s", again)
	}
	if next := m.token(); next == token || c.reads(next) != nil {
		t.Errorf("the token of the new account is invalid, or that of the deleted one")
	}
}

// TestAPodWithoutAGoogleAccountIsAMemberOfThePool checks each form of member against the token of a pod.
func TestAPodWithoutAGoogleAccountIsAMemberOfThePool(t *testing.T) {
	c := newEmulator(t, false)
	c.newPool()
	owner := c.owner()
	project, err := owner.projects.Projects.Get(projectID).Do()
	if err != nil {
		t.Fatal(err)
	}
	principal := func(kind string, number int64, rest string) string {
		return fmt.Sprintf("%s://iam.googleapis.com/projects/%d/locations/global/workloadIdentityPools/%s/%s", kind, number, pool, rest)
	}
	token := c.metadataOf(t, metadata.Workload{Namespace: "team-web", Account: "web"}).token()
	number := project.ProjectNumber
	for member, want := range map[string]int{
		kubernetesWeb: 200,
		principal("principal", number, "subject/ns/team-web/sa/web"):    200,
		principal("principalSet", number, "namespace/team-web"):         200,
		"serviceAccount:" + pool + "[team-web/other]":                   403,
		"serviceAccount:" + pool + "[team-shop/web]":                    403,
		principal("principal", number, "subject/ns/team-shop/sa/web"):   403,
		principal("principal", number+1, "subject/ns/team-web/sa/web"):  403,
		principal("principalSet", number, "namespace/team"):             403,
		principal("principalSet", number, "subject/ns/team-web/sa/web"): 403,
		principal("principal", number, "namespace/team-web"):            403,
		"domain:" + pool: 403,
	} {
		_, err := owner.projects.Projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: &crm.Policy{Bindings: []*crm.Binding{
			{Role: "roles/owner", Members: []string{"user:" + engineer}}, {Role: "roles/browser", Members: []string{member}},
		}}}).Do()
		if err != nil {
			t.Fatalf("bind %s: %v", member, err)
		}
		if got := code(c.reads(token)); got != want {
			t.Errorf("bound to %s, the pod's token gets %d; want %d", member, got, want)
		}
	}
}

func TestAClusterWithoutWorkloadIdentityHasNoTokens(t *testing.T) {
	c := newEmulator(t, false)
	m := c.metadataOf(t, metadata.Workload{Namespace: "team-web", Account: "web"})
	if status, text := m.get(podToken); status != http.StatusNotFound || !strings.Contains(text, "no cluster") {
		t.Errorf("without a cluster: %d %s", status, text)
	}
	c.newPool()
	token := m.token()
	owner := c.owner()
	op, err := owner.container.Projects.Locations.Clusters.Update(parent+"/clusters/strata", &container.UpdateClusterRequest{Update: &container.ClusterUpdate{
		DesiredWorkloadIdentityConfig: &container.WorkloadIdentityConfig{ForceSendFields: []string{"WorkloadPool"}},
	}}).Do()
	if err != nil {
		t.Fatal(err)
	}
	c.waitCluster(owner, op)
	if status, text := m.get(podToken); status != http.StatusNotFound || token == "" {
		t.Errorf("without workload identity: %d %s", status, text)
	}
}
