package identity_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/components/identity"
	"github.com/strata-platform/strata/internal/pulumitest"
)

const (
	accountType = "gcp:serviceaccount/account:Account"
	keyType     = "gcp:serviceaccount/key:Key"
	memberType  = "gcp:projects/iAMMember:IAMMember"
	bindingType = "gcp:serviceaccount/iAMMember:IAMMember"
)

func newEngine() *pulumitest.Engine {
	return &pulumitest.Engine{Outputs: map[string]func(pulumi.MockResourceArgs) resource.PropertyMap{
		accountType: func(args pulumi.MockResourceArgs) resource.PropertyMap {
			id := args.Inputs["accountId"].StringValue()
			email := id + "@acme.iam.gserviceaccount.com"
			return resource.PropertyMap{
				"email": resource.NewProperty(email),
				"name":  resource.NewProperty("projects/acme/serviceAccounts/" + email),
			}
		},
		keyType: func(pulumi.MockResourceArgs) resource.PropertyMap {
			return resource.PropertyMap{
				"privateKey": resource.NewProperty(base64.StdEncoding.EncodeToString([]byte(`{"type":"service_account"}`))),
			}
		},
	}}
}

func run(engine *pulumitest.Engine, args *identity.IdentityArgs) error {
	return engine.Run("proj", "dev", func(ctx *pulumi.Context) error {
		account, err := identity.NewIdentity(ctx, "team-web", args)
		if err != nil {
			return err
		}
		ctx.Export("email", account.Email)
		ctx.Export("credentials", account.Credentials)
		return nil
	})
}

func TestAnIdentityHasExactlyTheRolesAskedFor(t *testing.T) {
	engine := newEngine()
	err := run(engine, &identity.IdentityArgs{
		AccountID: pulumi.String("team-web"), Project: pulumi.String("acme"),
		Roles: []string{"roles/cloudsql.admin", "projects/acme/roles/uploader"},
	})
	if err != nil {
		t.Fatal(err)
	}
	component := engine.Get(t, identity.Type, "team-web")
	account := engine.Get(t, accountType, "team-web-account")
	members := engine.OfType(memberType)
	if len(members) != 2 || len(engine.OfType(keyType)) != 0 {
		t.Fatalf("registered %d bindings and %d keys, want 2 and 0", len(members), len(engine.OfType(keyType)))
	}
	for _, child := range append(members, account) {
		if child.Parent != component.URN {
			t.Errorf("parent of %s is %s, want %s", child.URN, child.Parent, component.URN)
		}
	}
	if want := "urn:pulumi:dev::proj::strata:index:Identity$gcp:projects/iAMMember:IAMMember::team-web-cloudsql-admin"; members[0].URN != want {
		t.Errorf("URN is %s, want %s", members[0].URN, want)
	}
	for _, member := range members {
		if !member.DependsOn(account) {
			t.Errorf("%s does not depend on its account", member.Name)
		}
		if got, _ := pulumitest.Plain(t, member.Inputs, "member"); got != "serviceAccount:team-web@acme.iam.gserviceaccount.com" {
			t.Errorf("member is %v", got)
		}
	}
	if output := engine.Output(t, "credentials"); output.Value != "" || !output.Secret {
		t.Errorf("credentials without a key are %+v, want an empty secret", output)
	}
	if output := engine.Output(t, "email"); output.Value != "team-web@acme.iam.gserviceaccount.com" || output.Secret {
		t.Errorf("email is %+v", output)
	}
}

func TestACustomRoleIsBoundUnderItsKey(t *testing.T) {
	engine := newEngine()
	err := run(engine, &identity.IdentityArgs{
		AccountID: pulumi.String("team-web"), Project: pulumi.String("acme"), Roles: []string{"roles/viewer"},
		CustomRoles: pulumi.StringMap{"tenant": pulumi.String("projects/acme/roles/strataTenant")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"team-web-tenant": "projects/acme/roles/strataTenant", "team-web-viewer": "roles/viewer"} {
		if got, _ := pulumitest.Plain(t, engine.Get(t, memberType, name).Inputs, "role"); got != want {
			t.Errorf("role of %s is %v, want %s", name, got, want)
		}
	}
}

func TestAPredefinedRoleIsNoCustomRole(t *testing.T) {
	for _, role := range []string{"roles/owner", "roles/viewer", "strataTenant", ""} {
		engine := newEngine()
		err := run(engine, &identity.IdentityArgs{
			AccountID: pulumi.String("team-web"), Project: pulumi.String("acme"), CustomRoles: pulumi.StringMap{"tenant": pulumi.String(role)},
		})
		if err == nil || !strings.Contains(err.Error(), "is not a custom role") {
			t.Errorf("error about %q is %v", role, err)
		}
		if bound := engine.OfType(memberType); len(bound) > 0 {
			t.Errorf("%q was bound", role)
		}
	}
}

func TestAKubernetesAccountActsAsTheIdentityWithoutAKey(t *testing.T) {
	engine := newEngine()
	err := run(engine, &identity.IdentityArgs{
		AccountID: pulumi.String("team-web"), Project: pulumi.String("acme"),
		KubernetesAccounts: []identity.KubernetesAccount{
			{WorkloadPool: pulumi.String("acme.svc.id.goog"), Namespace: "team-web", Name: "web"},
			{WorkloadPool: pulumi.String("acme.svc.id.goog"), Namespace: "team-web", Name: "jobs"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	binding, account := engine.Get(t, bindingType, "team-web-workload-team-web-web"), engine.Get(t, accountType, "team-web-account")
	for property, want := range map[string]string{
		"serviceAccountId": "projects/acme/serviceAccounts/team-web@acme.iam.gserviceaccount.com",
		"role":             "roles/iam.workloadIdentityUser",
		"member":           "serviceAccount:acme.svc.id.goog[team-web/web]",
	} {
		if got, _ := pulumitest.Plain(t, binding.Inputs, property); got != want {
			t.Errorf("%s is %v, want %s", property, got, want)
		}
	}
	if parent := engine.Get(t, identity.Type, "team-web").URN; binding.Parent != parent || !binding.DependsOn(account) {
		t.Errorf("the binding's parent is %s, want %s; it depends on %v", binding.Parent, parent, binding.Dependencies)
	}
	engine.Get(t, bindingType, "team-web-workload-team-web-jobs")
	if keys := engine.OfType(keyType); len(keys) != 0 {
		t.Errorf("%d keys were made, want none", len(keys))
	}
}

func TestAProtectedIdentityLetsItsKeyBeRotated(t *testing.T) {
	engine := newEngine()
	err := engine.Run("proj", "dev", func(ctx *pulumi.Context) error {
		_, err := identity.NewIdentity(ctx, "team-web", &identity.IdentityArgs{
			AccountID: pulumi.String("team-web"), Project: pulumi.String("acme"), Roles: []string{"roles/viewer"}, Key: true,
		}, pulumi.Protect(true))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for typeToken, want := range map[string]bool{accountType: true, memberType: true, keyType: false} {
		if got := engine.OfType(typeToken)[0].Protect; got != want {
			t.Errorf("%s is protected: %v, want %v", typeToken, got, want)
		}
	}
}

func TestAKeyIsCreatedOnRequestOnlyAndIsSecret(t *testing.T) {
	engine := newEngine()
	err := run(engine, &identity.IdentityArgs{
		AccountID: pulumi.String("team-web"), Project: pulumi.String("acme"), Key: true, KeyKeepers: pulumi.StringMap{"year": pulumi.String("2030")},
	})
	if err != nil {
		t.Fatal(err)
	}
	key := engine.Get(t, keyType, "team-web-key")
	if got, _ := pulumitest.Plain(t, key.Inputs, "keepers.year"); got != "2030" {
		t.Errorf("keeper is %v", got)
	}
	if len(key.SecretOutputs) == 0 || key.SecretOutputs[0] != "privateKey" {
		t.Errorf("secret outputs of the key are %v", key.SecretOutputs)
	}
	if output := engine.Output(t, "credentials"); output.Value != `{"type":"service_account"}` || !output.Secret {
		t.Errorf("credentials are %+v, want the key file as a secret", output)
	}
}

func TestAPreviewOfAnIdentityPasses(t *testing.T) {
	engine := newEngine()
	engine.Preview = true
	engine.Outputs = nil
	err := run(engine, &identity.IdentityArgs{
		AccountID: pulumi.String("team-web"), Project: pulumi.String("acme"), Roles: []string{"roles/cloudsql.admin"}, Key: true,
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRoles(t *testing.T) {
	for name, test := range map[string]struct {
		roles     []string
		overrides map[string]string
		want      string
	}{
		"a narrow role passes":                {roles: []string{"roles/cloudsql.client"}},
		"a node's role passes":                {roles: []string{"roles/container.defaultNodeServiceAccount"}},
		"the administrator of SQL passes":     {roles: []string{"roles/cloudsql.admin"}},
		"a role that reads policies passes":   {roles: []string{"roles/iam.securityReviewer"}},
		"a custom role passes":                {roles: []string{"projects/acme/roles/anything"}},
		"owner is refused":                    {roles: []string{"roles/owner"}, want: "roles/owner is refused"},
		"editor is refused":                   {roles: []string{"roles/editor"}, want: "roles/editor is refused"},
		"setting a project's IAM is refused":  {roles: []string{"roles/resourcemanager.projectIamAdmin"}, want: "IAM policy"},
		"setting IAM is refused":              {roles: []string{"roles/iam.securityAdmin"}, want: "IAM policy"},
		"making roles is refused":             {roles: []string{"roles/iam.roleAdmin"}, want: "IAM policy"},
		"making tokens is refused":            {roles: []string{"roles/iam.serviceAccountTokenCreator"}, want: "act as another account"},
		"making keys is refused":              {roles: []string{"roles/iam.serviceAccountKeyAdmin"}, want: "act as another account"},
		"acting as an account is refused":     {roles: []string{"roles/iam.serviceAccountUser"}, want: "act as another account"},
		"running builds is refused":           {roles: []string{"roles/cloudbuild.builds.editor"}, want: "runs builds as another account"},
		"the cluster's admin is refused":      {roles: []string{"roles/container.admin"}, want: "it holds container.clusterRoleBindings.create"},
		"an admin inside a name is refused":   {roles: []string{"roles/newer.thingAdmin.v2"}, want: "administrator roles"},
		"an object's admin is refused":        {roles: []string{"roles/storage.objectAdmin"}, want: "it holds storage.objects.setIamPolicy"},
		"an owner of data is refused":         {roles: []string{"roles/bigquery.dataOwner"}, want: "it holds bigquery."},
		"a newer owner is refused":            {roles: []string{"roles/newer.thingOwner"}, want: "administrator roles"},
		"a reader of Secrets is refused":      {roles: []string{"roles/container.editor"}, want: "reads every Secret"},
		"a service agent's role is refused":   {roles: []string{"roles/container.serviceAgent"}, want: "Google's own"},
		"a role without a prefix is refused":  {roles: []string{"cloudsql.admin"}, want: "not of the form"},
		"a role asked for twice is refused":   {roles: []string{"roles/viewer", "roles/viewer"}, want: "twice"},
		"an override in words passes":         {roles: []string{"roles/editor"}, overrides: map[string]string{"roles/editor": "migration of 2031 needs all services"}},
		"an override in a word is refused":    {roles: []string{"roles/editor"}, overrides: map[string]string{"roles/editor": "yes"}, want: "too short"},
		"an override of nothing is refused":   {roles: []string{"roles/viewer"}, overrides: map[string]string{"roles/viewer": "it is needed for reports"}, want: "overrides nothing"},
		"every refused role is named at once": {roles: []string{"roles/owner", "roles/iam.roleAdmin"}, want: "roles/iam.roleAdmin is refused"},
	} {
		t.Run(name, func(t *testing.T) {
			engine := newEngine()
			err := run(engine, &identity.IdentityArgs{
				AccountID: pulumi.String("team-web"), Project: pulumi.String("acme"), Roles: test.roles, Overrides: test.overrides,
			})
			switch {
			case test.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error does not say %q: %v", test.want, err)
			case test.want != "" && len(engine.OfType(accountType)) > 0:
				t.Error("an account was created in spite of the refusal")
			}
		})
	}
}

func TestBadArgsAreRefusedAllAtOnce(t *testing.T) {
	err := run(newEngine(), &identity.IdentityArgs{
		AccountID: pulumi.String("Web"), KeyKeepers: pulumi.StringMap{"a": pulumi.String("b")},
		Roles: []string{"roles/viewer"}, CustomRoles: pulumi.StringMap{"viewer": pulumi.String("projects/acme/roles/own")},
		KubernetesAccounts: []identity.KubernetesAccount{{Namespace: "team-web"}, {Namespace: "team-web"}},
	})
	for _, want := range []string{`account ID "Web"`, "project must", "KeyKeepers are given without Key", "key viewer", "a Kubernetes account needs", "is given twice"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error does not say %q: %v", want, err)
		}
	}
}
