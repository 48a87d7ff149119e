package metadata_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/strata-platform/strata/internal/local/cloud/core/api"
	"github.com/strata-platform/strata/internal/local/cloud/metadata"
)

const email = "team-web@project-a.iam.gserviceaccount.com"

// fakeCloud creates tokens that name their account and scopes.
type fakeCloud struct {
	pool    string
	refusal error
}

func (f fakeCloud) Node(context.Context) (metadata.Node, error) {
	return metadata.Node{
		Project: "project-a", ProjectNumber: 123456, Pool: f.pool, Cluster: "strata", Location: "europe-west1", UID: "uid",
		Zone: "europe-west1-b", Hostname: "local.europe-west1-b.c.project-a.internal", ID: 1 << 62,
	}, nil
}

func (f fakeCloud) AccessToken(_ context.Context, of metadata.Workload, scopes []string) (metadata.Token, error) {
	return metadata.Token{
		Value:   of.Namespace + "/" + of.Account + " " + of.GoogleAccount + " " + strings.Join(scopes, " "),
		Expires: time.Now().Add(time.Hour),
	}, f.refusal
}

func (f fakeCloud) IDToken(_ context.Context, of metadata.Workload, audience string) (string, error) {
	return of.GoogleAccount + " for " + audience, f.refusal
}

// options returns the options of a pod with an account of Google or, if googleAccount is empty, without one.
func options(cloud fakeCloud, googleAccount string) metadata.Options {
	return metadata.Options{
		Cloud: cloud,
		Workload: func(context.Context) (metadata.Workload, bool, error) {
			return metadata.Workload{Namespace: "team-web", Account: "web", GoogleAccount: googleAccount}, true, nil
		},
	}
}

var withPool = fakeCloud{pool: "project-a.svc.id.goog"}

// request makes a request with the header of clients.
func request(o metadata.Options, method, path string, header http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	r.Header = http.Header{"Metadata-Flavor": {"Google"}}
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	metadata.New(o).ServeHTTP(w, r)
	return w
}

func body(answer *httptest.ResponseRecorder) string { return answer.Body.String() }

func TestEntriesAreThoseOfKubernetesEngine(t *testing.T) {
	const accounts = "instance/service-accounts/"
	for path, want := range map[string]string{
		"":                                      "instance/\nproject/\nuniverse/\n",
		"project/":                              "numeric-project-id\nproject-id\n",
		"project/project-id":                    "project-a",
		"project/project-id?alt=json":           `"project-a"`,
		"project/numeric-project-id":            "123456",
		"instance/":                             "attributes/\nhostname\nid\nservice-accounts/\nzone\n",
		"instance/?alt=json":                    `["attributes/","hostname","id","service-accounts/","zone"]`,
		"instance/id":                           "4611686018427387904",
		"instance/zone":                         "projects/123456/zones/europe-west1-b",
		"instance/hostname":                     "local.europe-west1-b.c.project-a.internal",
		"instance/attributes/":                  "cluster-location\ncluster-name\ncluster-uid\n",
		"instance/attributes/cluster-name":      "strata",
		"instance/attributes/cluster-location":  "europe-west1",
		"universe/universe-domain":              "googleapis.com",
		accounts:                                "default/\n" + email + "/\n",
		accounts + "default/":                   "aliases\nemail\nscopes\n",
		accounts + "default/email":              email,
		accounts + "default/aliases":            "default\n",
		accounts + "default/aliases?alt=json":   `["default"]`,
		accounts + email + "/email":             email,
		accounts + "default/identity?audience=": "The parameter audience is required.\n",
		accounts + "default/identity?audience=https://x&format=full": email + " for https://x",
		accounts + email + "/identity?audience=x":                    email + " for x",
		accounts + "default/?recursive=true&alt=text": "aliases default\nemail " + email +
			"\nscopes https://www.googleapis.com/auth/cloud-platform\nscopes https://www.googleapis.com/auth/userinfo.email\n",
		accounts + "default/?recursive=true": `{"aliases":["default"],"email":"` + email +
			`","scopes":["https://www.googleapis.com/auth/cloud-platform","https://www.googleapis.com/auth/userinfo.email"]}`,
		"project/?recursive=true": `{"numericProjectId":123456,"projectId":"project-a"}`,
	} {
		answer := request(options(withPool, email), "GET", "/computeMetadata/v1/"+path, nil)
		if got := body(answer); got != want || answer.Header().Get("Metadata-Flavor") != "Google" {
			t.Errorf("%s is %q; want %q", path, got, want)
		}
	}
}

func TestAnswersWithoutDataHaveTheirReason(t *testing.T) {
	for name, try := range map[string]struct {
		method, path string
		header       http.Header
		want         int
		words        string
	}{
		"the root answers without the header":  {"GET", "/", http.Header{"Metadata-Flavor": nil}, 200, "computeMetadata/"},
		"no header":                            {"GET", "/computeMetadata/v1/project/project-id", http.Header{"Metadata-Flavor": nil}, 403, "Metadata-Flavor: Google"},
		"another flavor":                       {"GET", "/computeMetadata/v1/project/project-id", http.Header{"Metadata-Flavor": {"Amazon"}}, 403, "Metadata-Flavor: Google"},
		"a proxy":                              {"GET", "/computeMetadata/v1/project/project-id", http.Header{"X-Forwarded-For": {"1.2.3.4"}}, 403, "X-Forwarded-For"},
		"a proxy that hides its client":        {"GET", "/computeMetadata/v1/project/project-id", http.Header{"X-Forwarded-For": {""}}, 403, "X-Forwarded-For"},
		"a write":                              {"POST", "/computeMetadata/v1/project/project-id", nil, 405, "GET"},
		"an unknown entry":                     {"GET", "/computeMetadata/v1/instance/disks/", nil, 404, "/computeMetadata/v1/instance/disks/"},
		"the kubelet's credentials":            {"GET", "/computeMetadata/v1/instance/attributes/kube-env", nil, 404, "kube-env"},
		"an entry below a value":               {"GET", "/computeMetadata/v1/instance/zone/name", nil, 404, "no entry"},
		"a value with a slash":                 {"GET", "/computeMetadata/v1/instance/zone/", nil, 404, "no entry"},
		"a double slash":                       {"GET", "/computeMetadata/v1/instance//zone", nil, 404, "no entry"},
		"a folder without its slash":           {"GET", "/computeMetadata/v1/instance?alt=json", nil, 301, "/computeMetadata/v1/instance/?alt=json"},
		"an older version":                     {"GET", "/computeMetadata/v1beta1/instance/zone", nil, 404, "no entry"},
		"the token of another account":         {"GET", "/computeMetadata/v1/instance/service-accounts/other@project-a.iam.gserviceaccount.com/token", nil, 404, "no entry"},
		"scopes without end":                   {"GET", "/computeMetadata/v1/instance/service-accounts/default/token?scopes=" + strings.Repeat("x", 5000), nil, 400, "scopes"},
		"an unknown form":                      {"GET", "/computeMetadata/v1/instance/zone?alt=xml", nil, 400, "alt"},
		"a wait for changes that never happen": {"GET", "/computeMetadata/v1/instance/?wait_for_change=true", nil, 400, "wait_for_change"},
	} {
		answer := request(options(withPool, email), try.method, try.path, try.header)
		if got := body(answer); answer.Code != try.want || !strings.Contains(got+answer.Header().Get("Location"), try.words) {
			t.Errorf("%s: %d %q; want %d and %q", name, answer.Code, got, try.want, try.words)
		}
		if answer.Header().Get("Metadata-Flavor") != "Google" {
			t.Errorf("%s: the answer has no header Metadata-Flavor", name)
		}
	}
}

func TestTokensHaveTheScopesOfTheRequest(t *testing.T) {
	for query, want := range map[string]string{
		"":             "https://www.googleapis.com/auth/cloud-platform https://www.googleapis.com/auth/userinfo.email",
		"?scopes=b,a":  "a b",
		"?scopes=a,,a": "a",
	} {
		answer := request(options(withPool, email), "GET", "/computeMetadata/v1/instance/service-accounts/default/token"+query, nil)
		var token struct {
			Value   string `json:"access_token"`
			Expires int    `json:"expires_in"`
			Kind    string `json:"token_type"`
		}
		if err := json.Unmarshal([]byte(body(answer)), &token); err != nil {
			t.Fatal(err)
		}
		if token.Value != "team-web/web "+email+" "+want || token.Kind != "Bearer" || token.Expires < 3500 || token.Expires > 3600 {
			t.Errorf("%q: the token is %+v", query, token)
		}
		if answer.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%q: caches may keep the token", query)
		}
	}
}

func TestAPodWithoutAGoogleAccountHasItsPool(t *testing.T) {
	const accounts = "/computeMetadata/v1/instance/service-accounts/"
	for path, want := range map[string]string{
		"":                            "default/\nproject-a.svc.id.goog/\n",
		"default/email":               "project-a.svc.id.goog",
		"default/identity?audience=x": "Your Kubernetes service account (team-web/web) has no Google service account",
		"default/token?scopes=a":      `"team-web/web  a"`,
	} {
		if got := body(request(options(withPool, ""), "GET", accounts+path, nil)); !strings.Contains(got, want) {
			t.Errorf("%s is %q; want %q", path, got, want)
		}
	}
}

func TestAClusterWithoutWorkloadIdentityHasNoAccounts(t *testing.T) {
	for path, want := range map[string]int{"": 200, "default/email": 404, "default/token": 404, "default/identity?audience=x": 404, "/token": 404, "//token": 404} {
		answer := request(options(fakeCloud{}, email), "GET", "/computeMetadata/v1/instance/service-accounts/"+path, nil)
		if got := body(answer); answer.Code != want || strings.Contains(got, "@") {
			t.Errorf("%q answers %d %q", path, answer.Code, got)
		}
	}
}

func TestErrorsTellThePodWhatToDo(t *testing.T) {
	const token = "/computeMetadata/v1/instance/service-accounts/default/token"
	denied := fakeCloud{pool: withPool.pool, refusal: api.PermissionDenied("Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).")}
	broken := fakeCloud{pool: withPool.pool, refusal: errors.New("disk full")}
	unknown := options(withPool, email)
	unknown.Workload = func(context.Context) (metadata.Workload, bool, error) {
		return metadata.Workload{}, true, errors.New("no such pod")
	}
	host := options(withPool, email)
	host.Workload = func(context.Context) (metadata.Workload, bool, error) { return metadata.Workload{}, false, nil }
	for name, try := range map[string]struct {
		options metadata.Options
		want    int
		words   string
	}{
		"a missing binding":         {options(denied, email), 403, "Unable to generate access token; IAM returned 403 Forbidden: Permission 'iam.serviceAccounts.getAccessToken' denied"},
		"a failure of the emulator": {options(broken, email), 500, "disk full"},
		"an unknown pod":            {unknown, 500, "no such pod"},
		"a process of the host":     {host, 403, "Only pods"},
	} {
		answer := request(try.options, "GET", token, nil)
		if got := body(answer); answer.Code != try.want || !strings.Contains(got, try.words) {
			t.Errorf("%s: %d %q; want %d and %q", name, answer.Code, got, try.want, try.words)
		}
	}
}
