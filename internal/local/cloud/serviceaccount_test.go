package cloud_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/iam/v1"
)

func TestRecreatedAccountDoesNotInheritRoles(t *testing.T) {
	c := newEmulator(t, false)
	email, _ := c.account("team-web", "roles/owner")
	if _, err := c.owner().iam.Projects.ServiceAccounts.Delete("projects/-/serviceAccounts/" + email).Do(); err != nil {
		t.Fatal(err)
	}
	policy, err := c.owner().projects.Projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{}).Do()
	if err != nil {
		t.Fatal(err)
	}
	retired := slices.ContainsFunc(policy.Bindings, func(b *crm.Binding) bool {
		return slices.ContainsFunc(b.Members, func(m string) bool { return strings.HasPrefix(m, "deleted:serviceAccount:"+email+"?uid=") })
	})
	if !retired {
		t.Errorf("the deleted account is not marked: %v", policy.Bindings)
	}
	_, key := c.account("team-web")
	_, err = c.as(key).projects.Projects.Get(projectID).Do()
	refused(t, err, 403, "resourcemanager.projects.get")
}

func TestServiceAccountLifecycle(t *testing.T) {
	c := newEmulator(t, false)
	accounts := c.owner().iam.Projects.ServiceAccounts
	name := "projects/" + projectID + "/serviceAccounts/team-web@" + projectID + ".iam.gserviceaccount.com"
	_, err := accounts.Get(name).Do()
	refused(t, err, 404, "Unknown service account")
	made, err := accounts.Create("projects/"+projectID, &iam.CreateServiceAccountRequest{
		AccountId: "team-web", ServiceAccount: &iam.ServiceAccount{DisplayName: "Web"},
	}).Do()
	if err != nil {
		t.Fatal(err)
	}
	if made.Name != name || made.DisplayName != "Web" || len(made.UniqueId) != 21 {
		t.Errorf("created %+v", made)
	}
	_, err = accounts.Create("projects/"+projectID, &iam.CreateServiceAccountRequest{AccountId: "team-web"}).Do()
	refused(t, err, 409, "already exists")
	patched, err := accounts.Patch(name, &iam.PatchServiceAccountRequest{
		ServiceAccount: &iam.ServiceAccount{DisplayName: "New", Description: "ignored"}, UpdateMask: "display_name",
	}).Do()
	if err != nil {
		t.Fatal(err)
	}
	if patched.Name != name || patched.DisplayName != "New" || patched.Email+patched.UniqueId+patched.Etag != "" {
		t.Errorf("the response is %+v; want the name and the fields in the mask", patched)
	}
	found, err := accounts.Get("projects/-/serviceAccounts/" + made.UniqueId).Do()
	if err != nil || found.DisplayName != "New" || found.Description != "" {
		t.Errorf("found %+v, %v", found, err)
	}
	_, err = accounts.Get("projects/another-project/serviceAccounts/" + made.Email).Do()
	if code(err) != 404 && code(err) != 403 {
		t.Errorf("found through another project: %v", err)
	}
}

func TestAccountHasAtMostTenKeys(t *testing.T) {
	c := newEmulator(t, false)
	email, _ := c.account("team-web") // has one key
	keys := c.owner().iam.Projects.ServiceAccounts.Keys
	for range 9 {
		made, err := keys.Create("projects/-/serviceAccounts/"+email, &iam.CreateServiceAccountKeyRequest{}).Do()
		if err != nil {
			t.Fatal(err)
		}
		found, err := keys.Get(made.Name).PublicKeyType("TYPE_X509_PEM_FILE").Do()
		if err != nil || found.PrivateKeyData != "" || found.PublicKeyData == "" {
			t.Errorf("read back %+v, %v; want only the public key", found, err)
		}
	}
	_, err := keys.Create("projects/-/serviceAccounts/"+email, &iam.CreateServiceAccountKeyRequest{}).Do()
	refused(t, err, 429, "Maximum number of keys")
	all, err := keys.List("projects/-/serviceAccounts/" + email).KeyTypes("USER_MANAGED").Do()
	if err != nil || len(all.Keys) != 10 {
		t.Errorf("list %v, %v; want 10 keys", all, err)
	}
}

func TestUndeletedAccountHasItsRolesAgain(t *testing.T) {
	c := newEmulator(t, false)
	admin, _ := c.account("admin-account")
	email, _ := c.account("team-web", "roles/browser")
	accounts := c.owner().iam.Projects.ServiceAccounts
	name := "projects/" + projectID + "/serviceAccounts/" + email
	own := &iam.Policy{Bindings: []*iam.Binding{{Role: "roles/iam.serviceAccountUser", Members: []string{"serviceAccount:" + admin}}}}
	if _, err := accounts.SetIamPolicy(name, &iam.SetIamPolicyRequest{Policy: own}).Do(); err != nil {
		t.Fatal(err)
	}
	made, err := accounts.Get(name).Do()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := accounts.Delete(name).Do(); err != nil {
		t.Fatal(err)
	}
	undelete := func(project string) error {
		_, err := accounts.Undelete("projects/"+project+"/serviceAccounts/"+made.UniqueId, &iam.UndeleteServiceAccountRequest{}).Do()
		return err
	}
	again, _ := c.account("team-web")
	refused(t, undelete("-"), 400, "another one has its address by now")
	if _, err := accounts.Delete("projects/-/serviceAccounts/" + again).Do(); err != nil {
		t.Fatal(err)
	}
	if err := undelete("-"); err != nil {
		t.Fatal(err)
	}
	refused(t, undelete(projectID), 404, "Unknown service account")
	found, err := accounts.Get(name).Do()
	if err != nil || found.UniqueId != made.UniqueId {
		t.Errorf("undeleted %+v, %v; want the account with the id %s", found, err, made.UniqueId)
	}
	policy, err := c.owner().projects.Projects.GetIamPolicy(projectID, &crm.GetIamPolicyRequest{}).Do()
	if err != nil || !holds(policy, "roles/browser", "serviceAccount:"+email) {
		t.Errorf("policy is %v, %v; want the role of the account back", policy, err)
	}
	restored, err := accounts.GetIamPolicy(name).Do()
	if err != nil || len(restored.Bindings) != 1 || restored.Bindings[0].Members[0] != "serviceAccount:"+admin {
		t.Errorf("the account's own policy is %+v, %v", restored, err)
	}
	keys, err := accounts.Keys.List(name).Do()
	if err != nil || len(keys.Keys) != 0 {
		t.Errorf("keys are %v, %v; want none, because the deletion is final for keys", keys, err)
	}
}

func TestAccountCannotBeUndeletedAfterThirtyDays(t *testing.T) {
	c := newEmulator(t, false)
	email, _ := c.account("team-web")
	name := "projects/-/serviceAccounts/" + email
	made, err := c.owner().iam.Projects.ServiceAccounts.Get(name).Do()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.owner().iam.Projects.ServiceAccounts.Delete(name).Do(); err != nil {
		t.Fatal(err)
	}
	c.SetClock(func() time.Time { return time.Now().Add(31 * 24 * time.Hour) })
	_, err = c.owner().iam.Projects.ServiceAccounts.Undelete("projects/-/serviceAccounts/"+made.UniqueId, &iam.UndeleteServiceAccountRequest{}).Do()
	refused(t, err, 404, "Unknown service account")
}

func TestAccountsAreListedInPages(t *testing.T) {
	c := newEmulator(t, false)
	accounts := c.owner().iam.Projects.ServiceAccounts
	for i := range 103 {
		if _, err := accounts.Create("projects/"+projectID, &iam.CreateServiceAccountRequest{AccountId: fmt.Sprintf("account-%03d", i)}).Do(); err != nil {
			t.Fatal(err)
		}
	}
	for size, want := range map[int64][]int{0: {20, 20, 20, 20, 20, 3}, 60: {60, 43}, 500: {100, 3}} {
		var pages []int
		seen := map[string]bool{}
		err := accounts.List("projects/"+projectID).PageSize(size).Pages(t.Context(), func(page *iam.ListServiceAccountsResponse) error {
			pages = append(pages, len(page.Accounts))
			for _, account := range page.Accounts {
				seen[account.Email] = true
			}
			return nil
		})
		if err != nil || !slices.Equal(pages, want) || len(seen) != 103 {
			t.Errorf("with the size %d the pages are %v of %d accounts, %v; want %v", size, pages, len(seen), err, want)
		}
	}
	_, err := accounts.List("projects/" + projectID).PageToken("%").Do()
	refused(t, err, 400, "page token")
	_, err = accounts.List("projects/" + projectID).PageSize(-1).Do()
	refused(t, err, 400, "page_size")

	part, err := accounts.List("projects/"+projectID).PageSize(1).Fields("accounts/email", "nextPageToken").Do()
	if err != nil || part.NextPageToken == "" || part.Accounts[0].Email == "" || part.Accounts[0].UniqueId != "" {
		t.Errorf("with selected fields the response is %+v, %v", part, err)
	}
	_, err = accounts.List("projects/" + projectID).Fields("accounts(email").Do()
	refused(t, err, 400, "Invalid field selection accounts(email")
}

func TestTextsOfAnAccount(t *testing.T) {
	c := newEmulator(t, false)
	email, _ := c.account("team-web")
	accounts := c.owner().iam.Projects.ServiceAccounts
	name := "projects/-/serviceAccounts/" + email
	patch := func(mask string, account *iam.ServiceAccount) error {
		_, err := accounts.Patch(name, &iam.PatchServiceAccountRequest{ServiceAccount: account, UpdateMask: mask}).Do()
		return err
	}
	refused(t, patch("displayName", &iam.ServiceAccount{DisplayName: strings.Repeat("x", 101)}), 400, "100 bytes")
	refused(t, patch("description", &iam.ServiceAccount{Description: strings.Repeat("x", 257)}), 400, "256 bytes")
	refused(t, patch("email", &iam.ServiceAccount{Email: "x@example.com"}), 400, "update_mask")
	refused(t, patch("", &iam.ServiceAccount{DisplayName: "x"}), 400, "update_mask")
	if err := patch("description,displayName", &iam.ServiceAccount{DisplayName: "Web", Description: "The web."}); err != nil {
		t.Error(err)
	}
	if _, err := accounts.Update(name, &iam.ServiceAccount{DisplayName: "New", Description: "not changed by an update"}).Do(); err != nil {
		t.Error(err)
	}
	found, err := accounts.Get(name).Do()
	if err != nil || found.DisplayName != "New" || found.Description != "The web." {
		t.Errorf("found %+v, %v", found, err)
	}
}

func TestKeyIsValidAgainWhenEnabled(t *testing.T) {
	c := newEmulator(t, false)
	email, file := c.account("team-web", "roles/browser")
	keys := c.owner().iam.Projects.ServiceAccounts.Keys
	all, err := keys.List("projects/-/serviceAccounts/" + email).Do()
	if err != nil || len(all.Keys) != 1 {
		t.Fatal(all, err)
	}
	token := c.token(file)
	if _, err := keys.Disable(all.Keys[0].Name, &iam.DisableServiceAccountKeyRequest{}).Do(); err != nil {
		t.Fatal(err)
	}
	if status, body := c.ask("GET", projectPath, token, ""); status != 401 {
		t.Errorf("the response to the token of a disabled key is %d %s", status, body)
	}
	if _, err := login(t, file); err == nil || !strings.Contains(err.Error(), "Invalid JWT Signature.") {
		t.Errorf("login with a disabled key: %v", err)
	}
	shown, err := keys.Get(all.Keys[0].Name).Do()
	if err != nil || !shown.Disabled {
		t.Errorf("key is %+v, %v; want it disabled", shown, err)
	}
	if _, err := keys.Enable(all.Keys[0].Name, &iam.EnableServiceAccountKeyRequest{}).Do(); err != nil {
		t.Fatal(err)
	}
	if status, body := c.ask("GET", projectPath, token, ""); status != 200 {
		t.Errorf("the response to the token of the enabled key is %d %s", status, body)
	}
}
