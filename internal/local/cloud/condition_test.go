package cloud_test

import (
	"strings"
	"testing"
	"time"

	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/sqladmin/v1beta4"
)

// grantIf adds a member to a role of the project, under a condition.
func (c *emulator) grantIf(member, role, expression string) {
	c.t.Helper()
	if err := addBinding(c.owner().projects, &crm.Binding{Role: role, Members: []string{member}, Condition: &crm.Expr{Title: "test", Expression: expression}}); err != nil {
		c.t.Fatal(err)
	}
}

// addBinding adds a binding to the project's policy, in the policy version with conditions.
func addBinding(projects *crm.Service, binding *crm.Binding) error {
	policy, err := getPolicy(projects, 3)
	if err != nil {
		return err
	}
	policy.Version = 3
	policy.Bindings = append(policy.Bindings, binding)
	_, err = projects.Projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: policy}).Do()
	return err
}

func getPolicy(projects *crm.Service, version int64) (*crm.Policy, error) {
	return projects.Projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{
		Options: &crm.GetPolicyOptions{RequestedPolicyVersion: version},
	}).Do()
}

func TestConditionAppliesToEachCall(t *testing.T) {
	c := newEmulator(t, false)
	target, _ := c.account("target-account")
	const clusters = "projects/strata-local/locations/europe-west1-b/clusters/"
	instance := func(name string) func(*clients) error {
		return func(k *clients) error { _, err := k.sql.Instances.Get(projectID, name).Do(); return err }
	}
	cluster := func(name string) func(*clients) error {
		return func(k *clients) error {
			_, err := k.container.Projects.Locations.Clusters.Get(clusters + name).Do()
			return err
		}
	}
	insert := func(name string) func(*clients) error {
		return func(k *clients) error {
			_, err := k.sql.Instances.Insert(projectID, &sqladmin.DatabaseInstance{Name: name}).Do()
			return err
		}
	}
	instances := func(k *clients) error { _, err := k.sql.Instances.List(projectID).Do(); return err }
	project := func(k *clients) error { _, err := k.projects.Projects.Get(projectID).Do(); return err }
	for i, test := range []struct {
		role, expression string
		met, unmet       []func(*clients) error
	}{
		{
			"roles/cloudsql.admin", `resource.name == "projects/strata-local/instances/mine"`,
			[]func(*clients) error{instance("mine")}, []func(*clients) error{instance("mine-too"), instances, project},
		},
		{
			"roles/cloudsql.admin", `resource.name.startsWith("projects/strata-local/instances/dev-")`,
			[]func(*clients) error{instance("dev-1"), insert("dev-1")}, []func(*clients) error{instance("prod-1"), insert("prod-1")},
		},
		{
			"roles/cloudsql.admin", `resource.type == "sqladmin.googleapis.com/Instance" && !resource.name.endsWith("/prod")`,
			[]func(*clients) error{instance("dev")}, []func(*clients) error{instance("prod"), instances, project},
		},
		{
			"roles/container.viewer", `resource.service == "container.googleapis.com" && resource.name.startsWith("` + clusters + `a")`,
			[]func(*clients) error{cluster("a1")}, []func(*clients) error{cluster("b1"), project},
		},
		{
			"roles/browser", `resource.type == "cloudresourcemanager.googleapis.com/Project" && resource.name == "projects/strata-local"`,
			[]func(*clients) error{project}, nil,
		},
		{
			// Service accounts have no resource attributes.
			"roles/iam.serviceAccountViewer", `resource.name != "" || resource.type != "" || resource.service != ""`,
			nil, []func(*clients) error{func(k *clients) error {
				_, err := k.iam.Projects.ServiceAccounts.Get("projects/-/serviceAccounts/" + target).Do()
				return err
			}},
		},
		{
			"roles/cloudsql.viewer", `request.time < timestamp("2000-01-01T00:00:00Z")`, nil, []func(*clients) error{instances},
		},
		{
			"roles/cloudsql.viewer", `request.time > timestamp("2000-01-01T00:00:00Z")`, []func(*clients) error{instances}, nil,
		},
		{
			// A condition whose evaluation fails is false.
			"roles/cloudsql.viewer", `timestamp("no time") < request.time`, nil, []func(*clients) error{instances},
		},
	} {
		t.Run(test.expression, func(t *testing.T) {
			email, key := c.account("caller-" + string(rune('a'+i)))
			c.grantIf("serviceAccount:"+email, test.role, test.expression)
			caller := c.as(key)
			for at, call := range test.met {
				if err := call(caller); code(err) == 403 {
					t.Errorf("call %d is rejected: %v", at, err)
				}
			}
			for at, call := range test.unmet {
				if err := call(caller); code(err) != 403 {
					t.Errorf("call %d is not rejected: %v", at, err)
				}
			}
		})
	}
}

func TestConditionOnTimeEndsARole(t *testing.T) {
	c := newEmulator(t, false)
	email, key := c.account("contractor")
	until := time.Now().Add(30 * time.Minute)
	c.grantIf("serviceAccount:"+email, "roles/browser", `request.time < timestamp("`+until.UTC().Format(time.RFC3339)+`")`)
	contractor := c.as(key).projects.Projects
	if _, err := contractor.Get(projectID).Do(); err != nil {
		t.Fatal(err)
	}
	c.SetClock(func() time.Time { return until.Add(time.Second) })
	_, err := contractor.Get(projectID).Do()
	refused(t, err, 403, "resourcemanager.projects.get")
}

func TestConditionInThePolicyOfAServiceAccount(t *testing.T) {
	c := newEmulator(t, false)
	target, _ := c.account("target-account")
	email, key := c.account("caller")
	name := "projects/-/serviceAccounts/" + target
	accounts := c.owner().iam.Projects.ServiceAccounts
	_, err := accounts.SetIamPolicy(name, &iam.SetIamPolicyRequest{Policy: &iam.Policy{Version: 3, Bindings: []*iam.Binding{{
		Role: "roles/iam.serviceAccountViewer", Members: []string{"serviceAccount:" + email},
		Condition: &iam.Expr{Title: "forever", Expression: `request.time > timestamp("2020-01-01T00:00:00Z")`},
	}}}}).Do()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.as(key).iam.Projects.ServiceAccounts.Get(name).Do(); err != nil {
		t.Error(err)
	}
	shown, err := accounts.GetIamPolicy(name).OptionsRequestedPolicyVersion(3).Do()
	if err != nil || shown.Version != 3 || shown.Bindings[0].Condition == nil {
		t.Errorf("policy is %+v, %v; want the condition", shown, err)
	}
	shown, err = accounts.GetIamPolicy(name).Do()
	if err != nil || shown.Version != 1 || !strings.HasPrefix(shown.Bindings[0].Role, "roles/iam.serviceAccountViewer_withcond_") {
		t.Errorf("policy for old clients is %+v, %v; want the condition hidden", shown, err)
	}
}

func TestUnsupportedConditionsAreRejected(t *testing.T) {
	c := newEmulator(t, false)
	projects := c.owner().projects
	before, err := getPolicy(projects, 3)
	if err != nil {
		t.Fatal(err)
	}
	for expression, want := range map[string]string{
		``:                            "Condition expression compilation failed",
		`resource.name ==`:            "Condition expression compilation failed",
		`resource.name`:               "not bool",
		`resource.name == 7`:          "no matching overload",
		`resource.colour == "red"`:    "undeclared reference",
		`resource.matchTag("a", "b")`: "undeclared reference",
		`api.getAttribute("iam.googleapis.com/modifiedGrantsByRole", []).hasOnly([])`: "undeclared reference",
		`[1, 2].all(x, x > 0)`: "undeclared reference",
	} {
		t.Run(expression, func(t *testing.T) {
			refused(t, addBinding(projects, &crm.Binding{
				Role: "roles/cloudsql.viewer", Members: []string{"user:a@example.com"}, Condition: &crm.Expr{Title: "t", Expression: expression},
			}), 400, "Condition expression compilation failed", want, "badRequest")
		})
	}
	for name, test := range map[string]struct {
		binding *crm.Binding
		want    string
	}{
		"basic role": {&crm.Binding{Role: "roles/editor", Members: []string{"user:a@example.com"}}, "Conditions can't be set on primitive roles."},
		"everybody":  {&crm.Binding{Role: "roles/browser", Members: []string{"allUsers"}}, "allUsers"},
	} {
		t.Run(name, func(t *testing.T) {
			test.binding.Condition = &crm.Expr{Title: "t", Expression: "true"}
			refused(t, addBinding(projects, test.binding), 400, test.want)
		})
	}
	after, err := getPolicy(projects, 3)
	if err != nil || after.Etag != before.Etag {
		t.Errorf("a rejected condition changed the policy: %v, %v", after, err)
	}
}

func TestBindingsWithDifferentConditionsAreSeparate(t *testing.T) {
	c := newEmulator(t, false)
	projects := c.owner().projects
	add := func(member, title string) {
		t.Helper()
		binding := &crm.Binding{Role: "roles/browser", Members: []string{member}}
		if title != "" {
			binding.Condition = &crm.Expr{Title: title, Expression: "true"}
		}
		if err := addBinding(projects, binding); err != nil {
			t.Fatal(err)
		}
	}
	add("user:a@example.com", "")
	add("user:a@example.com", "one")
	add("user:a@example.com", "two")
	add("user:B@Example.com", "two")
	policy, err := getPolicy(projects, 3)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, b := range policy.Bindings {
		if b.Role != "roles/browser" {
			continue
		}
		title := ""
		if b.Condition != nil {
			title = b.Condition.Title
		}
		got[title] += strings.Join(b.Members, " ")
	}
	want := map[string]string{"": "user:a@example.com", "one": "user:a@example.com", "two": "user:a@example.com user:b@example.com"}
	if len(got) != len(want) || got[""] != want[""] || got["one"] != want["one"] || got["two"] != want["two"] {
		t.Errorf("bindings are %v; want %v", got, want)
	}
}

func TestClientWithoutSupportForConditionsKeepsThem(t *testing.T) {
	c := newEmulator(t, false)
	c.grantIf("user:a@example.com", "roles/browser", "true")
	projects := c.owner().projects
	_, err := getPolicy(projects, 2)
	refused(t, err, 400, "version 2")

	old, err := getPolicy(projects, 1)
	if err != nil {
		t.Fatal(err)
	}
	if old.Version != 1 {
		t.Errorf("policy has version %d; want 1", old.Version)
	}
	for _, b := range old.Bindings {
		if b.Condition != nil || b.Role == "roles/browser" {
			t.Errorf("a client of version 1 gets %+v", b)
		}
	}
	set := func(policy *crm.Policy) error {
		_, err := projects.Projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: policy}).Do()
		return err
	}
	refused(t, set(old), 400, "Specified policy version (1) cannot be less than the existing policy version (3).")
	withHash := *old
	withHash.Version = 3
	refused(t, set(&withHash), 400, "Policy cannot contain both conditions and condition hashes.")

	whole, err := getPolicy(projects, 3)
	if err != nil || whole.Version != 3 {
		t.Fatalf("policy is %+v, %v; want version 3", whole, err)
	}
	lower := *whole
	lower.Version, lower.Etag = 1, ""
	refused(t, set(&lower), 400, "cannot be less than 3 for a policy with conditions")

	// As documented, a policy of version 1 without an etag may replace a policy with conditions.
	for i := range lower.Bindings {
		b := *lower.Bindings[i]
		b.Condition = nil
		lower.Bindings[i] = &b
	}
	if err := set(&lower); err != nil {
		t.Fatal(err)
	}
	after, err := getPolicy(projects, 3)
	if err != nil || after.Version != 1 {
		t.Errorf("policy is %+v, %v; want version 1 without a condition", after, err)
	}
}
