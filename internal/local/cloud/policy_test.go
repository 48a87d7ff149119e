package cloud_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	crmv3 "google.golang.org/api/cloudresourcemanager/v3"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
)

// compact returns JSON without white space.
func compact(t testing.TB, body string) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(body)); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return out.String()
}

func TestOutdatedEtagIsRejected(t *testing.T) {
	c := newEmulator(t, false)
	projects := c.owner().projects.Projects
	stale, err := projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{}).Do()
	if err != nil {
		t.Fatal(err)
	}
	c.grant("user:somebody@example.com", "roles/viewer")
	_, err = projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: stale}).Do()
	refused(t, err, 409, "There were concurrent policy changes.", "aborted")
	now, err := projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{}).Do()
	if err != nil {
		t.Fatal(err)
	}
	if !holds(now, "roles/viewer", "user:somebody@example.com") {
		t.Errorf("the rejected policy was stored: %v", now.Bindings)
	}
}

func holds(policy *crm.Policy, role, member string) bool {
	return slices.ContainsFunc(policy.Bindings, func(b *crm.Binding) bool { return b.Role == role && slices.Contains(b.Members, member) })
}

func TestConcurrentWritersLoseNoBinding(t *testing.T) {
	const writers = 50
	c := newEmulator(t, false)
	target, _ := c.account("target-account")
	owner := c.owner()
	newer, err := crmv3.NewService(t.Context(), option.WithEndpoint(c.url+"/cloudresourcemanager/"), option.WithTokenSource(c.ownerTokens()))
	if err != nil {
		t.Fatal(err)
	}
	accounts, account := owner.iam.Projects.ServiceAccounts, "projects/-/serviceAccounts/"+target
	// Each of them reads the policy, adds a binding and writes the policy back, as the providers' IAMMember resources
	// do.
	for name, add := range map[string]func(role, member string) error{
		"project": func(role, member string) error { return addMember(owner.projects, member, role) },
		"project by the newer API": func(role, member string) error {
			policy, err := newer.Projects.GetIamPolicy("projects/"+projectID, &crmv3.GetIamPolicyRequest{}).Do()
			if err != nil {
				return err
			}
			policy.Bindings = append(policy.Bindings, &crmv3.Binding{Role: role, Members: []string{member}})
			_, err = newer.Projects.SetIamPolicy("projects/"+projectID, &crmv3.SetIamPolicyRequest{Policy: policy}).Do()
			return err
		},
		"service account": func(role, member string) error {
			policy, err := accounts.GetIamPolicy(account).Do()
			if err != nil {
				return err
			}
			policy.Bindings = append(policy.Bindings, &iam.Binding{Role: role, Members: []string{member}})
			_, err = accounts.SetIamPolicy(account, &iam.SetIamPolicyRequest{Policy: policy}).Do()
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			role := "roles/" + strings.ReplaceAll(name, " ", "_") + ".user"
			var group errgroup.Group
			for i := range writers {
				group.Go(func() error {
					for {
						if err := add(role, fmt.Sprintf("user:writer-%d@example.com", i)); code(err) != 409 {
							return err
						}
					}
				})
			}
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
			policy, err := getPolicy(owner.projects, 3)
			if err != nil {
				t.Fatal(err)
			}
			if !holds(policy, "roles/owner", "user:"+engineer) {
				t.Error("the owner is missing")
			}
			if name == "service account" {
				found, err := accounts.GetIamPolicy(account).Do()
				if err != nil || len(found.Bindings) != 1 {
					t.Fatalf("policy is %v, %v", found, err)
				}
				policy.Bindings = []*crm.Binding{{Role: role, Members: found.Bindings[0].Members}}
			}
			for i := range writers {
				if member := fmt.Sprintf("user:writer-%d@example.com", i); !holds(policy, role, member) {
					t.Errorf("%s is missing", member)
				}
			}
		})
	}
}

func TestUpdateMaskOfAPolicy(t *testing.T) {
	c := newEmulator(t, false)
	projects := c.owner().projects.Projects
	set := func(mask string, policy *crm.Policy) *crm.Policy {
		t.Helper()
		stored, err := projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: policy, UpdateMask: mask}).Do()
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	owners := &crm.Binding{Role: "roles/owner", Members: []string{"user:" + engineer}}
	audited := []*crm.AuditConfig{{Service: "allServices", AuditLogConfigs: []*crm.AuditLogConfig{{LogType: "DATA_READ"}}}}
	if got := set("", &crm.Policy{Bindings: []*crm.Binding{owners}, AuditConfigs: audited}); len(got.AuditConfigs) != 0 {
		t.Errorf("without a mask audit configs were stored: %v", got.AuditConfigs)
	}
	if got := set("auditConfigs", &crm.Policy{AuditConfigs: audited}); len(got.AuditConfigs) != 1 || !holds(got, "roles/owner", "user:"+engineer) {
		t.Errorf("with a mask of the audit configs the policy became %+v", got)
	}
	viewers := &crm.Binding{Role: "roles/viewer", Members: []string{"user:B@Example.com", "user:a@example.com", "user:b@example.com"}}
	got := set("", &crm.Policy{Bindings: []*crm.Binding{owners, viewers, {Role: "roles/viewer", Members: []string{"user:c@example.com"}}, {Role: "roles/editor"}}})
	if len(got.AuditConfigs) != 1 {
		t.Error("without a mask the audit configs are missing")
	}
	if len(got.Bindings) != 2 || !slices.Equal(got.Bindings[1].Members, []string{"user:a@example.com", "user:b@example.com", "user:c@example.com"}) {
		t.Errorf("bindings are %+v; want one for each role", got.Bindings)
	}
	_, err := projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: got, UpdateMask: "colour"}).Do()
	refused(t, err, 400, "colour")
}

func TestGooglesOwnAccountsAreMembers(t *testing.T) {
	c := newEmulator(t, false)
	for _, member := range []string{
		"serviceAccount:service-123@container-engine-robot.iam.gserviceaccount.com", "serviceAccount:service-123@gcp-sa-pubsub.iam.gserviceaccount.com",
		"serviceAccount:p123-abc@gcp-sa-cloud-sql.iam.gserviceaccount.com", "serviceAccount:123-compute@developer.gserviceaccount.com",
		"serviceAccount:123@cloudservices.gserviceaccount.com", "group:admins@example.com",
		"principal://iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/subject/s",
	} {
		if err := addMember(c.owner().projects, member, "roles/browser"); err != nil {
			t.Errorf("%s: %v", member, err)
		}
	}
}

func TestMembersOfADomainAndOfAPool(t *testing.T) {
	c := newEmulator(t, false)
	domain := engineer[strings.Index(engineer, "@")+1:]
	other, err := c.EnsureProject("another-project", "somebody@example.com")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.owner().projects.Projects.Get("another-project").Do()
	refused(t, err, 403)
	projects := c.as(other).projects
	add := func(member string) error {
		policy, err := projects.Projects.GetIamPolicy("another-project", &crm.GetIamPolicyRequest{}).Do()
		if err != nil {
			return err
		}
		policy.Bindings = append(policy.Bindings, &crm.Binding{Role: "roles/browser", Members: []string{member}})
		_, err = projects.Projects.SetIamPolicy("another-project", &crm.SetIamPolicyRequest{Policy: policy}).Do()
		return err
	}
	if err := add("domain:" + domain); err != nil {
		t.Fatal(err)
	}
	if _, err := c.owner().projects.Projects.Get("another-project").Do(); err != nil {
		t.Errorf("a user of the domain: %v", err)
	}

	const member = "serviceAccount:" + projectID + ".svc.id.goog[team/default]"
	refused(t, add(member), 400, "Identity Pool does not exist")
	owner := c.owner()
	op, err := owner.container.Projects.Locations.Clusters.Create(parent, &container.CreateClusterRequest{Cluster: &container.Cluster{
		Name: "strata", InitialNodeCount: 1, WorkloadIdentityConfig: &container.WorkloadIdentityConfig{WorkloadPool: projectID + ".svc.id.goog"},
	}}).Do()
	if err != nil {
		t.Fatal(err)
	}
	c.waitCluster(owner, op)
	if err := add(member); err != nil {
		t.Errorf("a member of the pool of a cluster: %v", err)
	}
}

func TestInvalidPoliciesAreRejected(t *testing.T) {
	c := newEmulator(t, false)
	projects := c.owner().projects.Projects
	for name, test := range map[string]struct {
		binding *crm.Binding
		want    string
	}{
		"role without a prefix":    {&crm.Binding{Role: "viewer", Members: []string{"user:a@example.com"}}, "Role viewer is not supported"},
		"missing custom role":      {&crm.Binding{Role: "projects/strata-local/roles/none", Members: []string{"user:a@example.com"}}, "does not exist in the resource's hierarchy"},
		"member without a kind":    {&crm.Binding{Role: "roles/viewer", Members: []string{"a@example.com"}}, "Invalid member"},
		"missing account":          {&crm.Binding{Role: "roles/viewer", Members: []string{"serviceAccount:none@strata-local.iam.gserviceaccount.com"}}, "Service account none@strata-local.iam.gserviceaccount.com does not exist."},
		"account of no project":    {&crm.Binding{Role: "roles/viewer", Members: []string{"serviceAccount:team@strata-locl.iam.gserviceaccount.com"}}, "Service account team@strata-locl.iam.gserviceaccount.com does not exist."},
		"pool of no project":       {&crm.Binding{Role: "roles/viewer", Members: []string{"serviceAccount:strata-locl.svc.id.goog[team/default]"}}, "Identity Pool does not exist"},
		"unknown predefined role":  {&crm.Binding{Role: "roles/cloudsql.amdin", Members: []string{"user:a@example.com"}}, "Role roles/cloudsql.amdin is not supported"},
		"everybody":                {&crm.Binding{Role: "roles/viewer", Members: []string{"allUsers"}}, "Members of type allUsers are not supported"},
		"missing pool":             {&crm.Binding{Role: "roles/viewer", Members: []string{"serviceAccount:strata-local.svc.id.goog[team/default]"}}, "Identity Pool does not exist (strata-local.svc.id.goog)"},
		"owner without invitation": {&crm.Binding{Role: "roles/owner", Members: []string{"user:a@example.com"}}, "SOLO_MUST_INVITE_OWNERS"},
		"no owner":                 {&crm.Binding{Role: "roles/viewer", Members: []string{"user:a@example.com"}}, "SOLO_REQUIRE_TOS_ACCEPTOR"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: &crm.Policy{Bindings: []*crm.Binding{test.binding}}}).Do()
			refused(t, err, 400, test.want)
		})
	}
	if _, err := projects.Get(projectID).Do(); err != nil {
		t.Errorf("a rejected policy removed the owner's role: %v", err)
	}
}
