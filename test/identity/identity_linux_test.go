package identity_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/test/long"
)

// email returns the e-mail address of a Google account of the platform's project.
func email(id string) string { return id + "@" + home.Project + ".iam.gserviceaccount.com" }

const (
	// pool is the e-mail address of pods without a Google account.
	pool = home.Project + ".svc.id.goog"
	// refusedToken and refusedID are the metadata server's answers without a binding, and denied is the answer of Cloud SQL
	// for a missing permission.
	refusedToken = "Unable to generate access token; IAM returned 403 Forbidden: Permission 'iam.serviceAccounts.getAccessToken' denied"
	refusedID    = "Unable to generate identity token; IAM returned 403 Forbidden: Permission 'iam.serviceAccounts.getOpenIdToken' denied"
	denied       = "googleapi: Error 403: "
)

// TestAPodActsAsItsOwnGoogleAccountOnly runs Google's clients in pods. The programs of the layers have made the accounts of the
// teams, their annotations and their bindings. The administrator makes the other accounts, because teams may not.
func TestAPodActsAsItsOwnGoogleAccountOnly(t *testing.T) {
	long.Test(t)
	p := newPlatform(t)
	if _, err := p.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-webs"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.account(t, "team-web", "of-shop", email("team-shop"))
	p.account(t, "team-web", "of-platform", email("strata-nodes"))
	p.account(t, "team-web", "of-engineer", "engineer@strata.local")
	p.account(t, "team-web", "of-nobody", email("nobody"))
	p.account(t, "team-web", "twin", email("team-web"))
	p.account(t, "team-webs", "web", email("team-web"))

	refused := map[string]string{"read the instance": refusedToken, "delete the instance": refusedToken, "ID token": refusedID}
	for name, c := range map[string]struct {
		namespace, account, google string
		want                       map[string]string
	}{
		"a team's pod has the team's account": {"team-web", "web", email("team-web"), map[string]string{
			"read the instance": "", "delete the instance": denied, "ID token": "",
		}},
		"another team's pod has that team's": {"team-shop", "shop", email("team-shop"), map[string]string{
			"read the instance": "", "delete the instance": denied, "ID token": "",
		}},
		"a pod without an account has no rights": {"team-web", "default", pool, map[string]string{
			"read the instance": denied, "delete the instance": denied, "ID token": "not defined",
		}},
		"another team's account is refused":              {"team-web", "of-shop", email("team-shop"), refused},
		"the platform's account is refused":              {"team-web", "of-platform", email("strata-nodes"), refused},
		"the engineer is refused":                        {"team-web", "of-engineer", "engineer@strata.local", refused},
		"an unknown account is refused":                  {"team-web", "of-nobody", email("nobody"), refused},
		"the team's account is refused to other names":   {"team-web", "twin", email("team-web"), refused},
		"the team's account is refused in another space": {"team-webs", "web", email("team-web"), refused},
	} {
		t.Run(name, func(t *testing.T) {
			c.want["account"], c.want["project"], c.want["mounted token"] = c.google, home.Project, "none"
			c.want["without the header"], c.want["forwarded"] = "403 Forbidden Missing required header", "403 Forbidden Requests with the header X-Forwarded-For"
			found := p.run(t, c.namespace, c.account)
			for what, want := range c.want {
				if got, told := found[what]; !told || (got == "") != (want == "") || !strings.Contains(got, want) {
					t.Errorf("%s: got %q, want %q", what, got, want)
				}
			}
		})
	}
	t.Run("the team can neither make nor annotate accounts", func(t *testing.T) {
		accounts := p.web.CoreV1().ServiceAccounts("team-web")
		_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "mine"}}, metav1.CreateOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("the team creates an account: %v", err)
		}
		_, err = accounts.Patch(t.Context(), "web", types.MergePatchType, []byte(`{"metadata":{"annotations":{"iam.gke.io/gcp-service-account":"x"}}}`), metav1.PatchOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("the team annotates its account: %v", err)
		}
	})
}
