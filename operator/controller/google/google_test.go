package google_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/strata-platform/strata/operator/controller/google"
)

const (
	tokenCanary = "canary-token"

	account  = "strata-plan@acme-dev.iam.gserviceaccount.com"
	audience = "identitynamespace:acme-dev.svc.id.goog:https://container.googleapis.com/v1/projects/acme-dev/locations/europe-west1/clusters/strata"
)

// api stands for Google: its token endpoint and its Cloud SQL Admin API.
type api struct {
	*httptest.Server
	answer http.HandlerFunc

	mu   sync.Mutex
	seen []string
}

func newAPI(t *testing.T) *api {
	t.Helper()
	a := &api{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.Host + r.URL.Path {
		case "sts.googleapis.com/v1/token":
			form, err := url.ParseQuery(string(body))
			if err != nil || form.Get("audience") != audience || form.Get("subject_token") == "" {
				t.Errorf("the exchange is %s: %v", body, err)
			}
			_, _ = io.WriteString(w, `{"access_token": "canary-federated", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "token_type": "Bearer", "expires_in": 3600}`)
			return
		case "iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/" + account + ":generateAccessToken":
			if got := r.Header.Get("Authorization"); got != "Bearer canary-federated" || strings.Contains(string(body), "cloud-platform") {
				t.Errorf("the impersonation is by %q: %s", got, body)
			}
			_, _ = fmt.Fprintf(w, `{"accessToken": %q, "expireTime": %q}`, tokenCanary, time.Now().Add(time.Hour).Format(time.RFC3339))
			return
		}
		a.mu.Lock()
		a.seen = append(a.seen, fmt.Sprintf("%s %s %s %s%s", r.Method, r.RequestURI, r.Header.Get("Authorization"), r.Header.Get("X-Data")+r.Header.Get("X-HTTP-Method-Override"), body))
		a.mu.Unlock()
		if a.answer != nil {
			a.answer(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"name": "strata"}`)
	}))
	t.Cleanup(a.Close)
	return a
}

// RoundTrip implements http.RoundTripper: it sends every request to this API, whatever its host.
func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	to := r.Clone(r.Context())
	to.Host, to.URL.Scheme, to.URL.Host = r.URL.Host, "http", strings.TrimPrefix(a.URL, "http://")
	return http.DefaultTransport.RoundTrip(to)
}

// open returns the access of a preview with an identity for this API.
func (a *api) open(t *testing.T, objects ...client.Object) (*google.Access, error) {
	t.Helper()
	if objects == nil {
		objects = []client.Object{secret(map[string][]byte{
			"GOOGLE_ACCOUNT": []byte(account), "GOOGLE_AUDIENCE": []byte(audience), "GOOGLE_PROJECT": []byte("acme-dev"),
		})}
	}
	operator := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: "pulumi-operator"}}
	return google.Identity{
		Client:    fake.NewClientBuilder().WithObjects(append(slices.Clone(objects), operator)...).Build(),
		Namespace: "operator", Account: "pulumi-operator", Endpoint: a.URL + "/sql/v1beta4/", Transport: a,
	}.Open(t.Context())
}

func secret(data map[string][]byte) client.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "operator", Name: "strata-plan"}, Data: data}
}

// ask sends the text of a request as a preview does, and returns the answer.
func ask(t *testing.T, access *google.Access, request string) (code int, body string) {
	t.Helper()
	mine, theirs := net.Pipe()
	defer mine.Close()
	go func() {
		defer theirs.Close()
		access.Endpoints()[0].Serve(t.Context(), theirs)
	}()
	go func() { _, _ = io.WriteString(mine, request) }() // An answer may come before the end of the request.
	answer, err := http.ReadResponse(bufio.NewReader(mine), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(content)
}

const instance = "/sql/v1beta4/projects/acme-dev/instances/strata"

func get(path string) string { return "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n" }

func TestAPreviewLooksUpInstancesAndNothingElse(t *testing.T) {
	cloud := newAPI(t)
	access, err := cloud.open(t)
	if err != nil {
		t.Fatal(err)
	}
	code, body := ask(t, access, "GET "+instance+"?alt=json&data=stolen HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer mine\r\nX-HTTP-Method-Override: DELETE\r\nX-Data: stolen\r\nContent-Length: 6\r\n\r\nstolen")
	if code != 200 || body != `{"name": "strata"}` {
		t.Errorf("the instance is %d %q", code, body)
	}
	if got, want := strings.Join(cloud.seen, "\n"), "GET "+instance+" Bearer "+tokenCanary+" "; got != want {
		t.Errorf("Google got %q, want %q", got, want)
	}
	for name, request := range map[string]string{
		"a write":                         strings.Replace(get(instance), "GET", "PATCH", 1),
		"the users":                       get(instance + "/users"),
		"the databases":                   get(instance + "/databases"),
		"all instances":                   get(strings.TrimSuffix(instance, "/strata")),
		"an instance without a name":      get(strings.TrimSuffix(instance, "strata")),
		"another project":                 get("/sql/v1beta4/projects/evil/instances/strata"),
		"another project, by dots":        get("/sql/v1beta4/projects/acme-dev/instances/../../evil/instances/x"),
		"another path, by encoded dots":   get("/sql/v1beta4/projects/acme-dev/instances/%2e%2e%2f%2e%2e%2fevil"),
		"an encoded slash":                get("/sql/v1beta4/projects/acme-dev/instances/strata%2fusers"),
		"an encoded question mark":        get("/sql/v1beta4/projects/acme-dev/instances/strata%3fx"),
		"an encoded line break":           get("/sql/v1beta4/projects/acme-dev/instances/strata%0d%0aX-Data:%20x"),
		"text in capitals":                get("/sql/v1beta4/projects/acme-dev/instances/STOLEN"),
		"a long name":                     get(instance + strings.Repeat("x", 100)),
		"another host":                    "GET http://storage.googleapis.com/b HTTP/1.1\r\nHost: storage.googleapis.com\r\n\r\n",
		"a tunnel":                        "CONNECT storage.googleapis.com:443 HTTP/1.1\r\nHost: storage.googleapis.com:443\r\n\r\n",
		"a token":                         get("/token"),
		"the metadata of a machine":       get("/computeMetadata/v1/instance/service-accounts/default/token"),
		"a token for a team":              strings.Replace(get("/v1/projects/-/serviceAccounts/team-web@acme-dev.iam.gserviceaccount.com:generateAccessToken"), "GET", "POST", 1),
		"more than a header":              "GET " + instance + " HTTP/1.1\r\nX-Data: " + strings.Repeat("x", 20<<10) + "\r\n\r\n",
		"something that is not a request": "hello\r\n\r\n",
	} {
		cloud.seen = nil
		code, body := ask(t, access, request)
		if code == 200 || len(cloud.seen) > 0 {
			t.Errorf("%s: %d %q, and Google got %q", name, code, body, cloud.seen)
		}
		if code != 0 && !strings.Contains(body, "a plan can look up Cloud SQL instances of project acme-dev") {
			t.Errorf("%s: the answer is %q", name, body)
		}
		if strings.Contains(body, "canary") {
			t.Errorf("%s: the answer has the token: %q", name, body)
		}
	}
}

func TestAPreviewLooksUpAtMostAHundredInstances(t *testing.T) {
	cloud := newAPI(t)
	access, err := cloud.open(t)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 110 {
		if code, _ := ask(t, access, get(instance)); code != 200 && i < 100 || code != 429 && i >= 100 {
			t.Fatalf("look-up %d has code %d", i, code)
		}
	}
	if len(cloud.seen) != 100 {
		t.Errorf("Google got %d requests", len(cloud.seen))
	}
}

func TestAnErrorOfGoogleIsThePreviews(t *testing.T) {
	cloud := newAPI(t)
	access, err := cloud.open(t)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		code   int
		want   string
	}{
		"missing":   {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such instance", http.StatusNotFound) }, 404, "no such instance"},
		"too large": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 2<<20)) }, 502, "more than"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusFound)
		}, 302, ""},
	} {
		cloud.answer = c.answer
		if code, body := ask(t, access, get(instance)); code != c.code || !strings.Contains(body, c.want) || strings.Contains(body, "canary") {
			t.Errorf("%s: %d %q", name, code, body)
		}
	}
}

func TestARunGetsNoCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		objects  []client.Object
		fails    bool
		project  string
		endpoint bool
		advice   string
	}{
		"with an identity":    {nil, false, "acme-dev", true, "and nothing else in Google Cloud"},
		"without an identity": {[]client.Object{}, false, "", false, "a plan has no Google identity"},
		"with a key of an earlier version": {
			[]client.Object{secret(map[string][]byte{"GOOGLE_CREDENTIALS": []byte("canary"), "GOOGLE_PROJECT": []byte("acme-dev")})}, true, "", false, "no Google identity",
		},
		"with another provider": {[]client.Object{secret(map[string][]byte{
			"GOOGLE_ACCOUNT": []byte(account), "GOOGLE_AUDIENCE": []byte("https://canary.example.com"), "GOOGLE_PROJECT": []byte("acme-dev"),
		})}, true, "", false, "no Google identity"},
	} {
		access, err := newAPI(t).open(t, c.objects...)
		if (err != nil) != c.fails || err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
		env := map[string]string{"GOOGLE_CREDENTIALS": "canary", "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT": "canary", "GOOGLE_OAUTH_ACCESS_TOKEN": "canary", "REGION": "x"}
		access.Limit(env)
		for key, value := range env {
			if strings.Contains(value, "canary") || strings.Contains(value, "PRIVATE KEY") {
				t.Errorf("%s: the variable %s is %s", name, key, value)
			}
		}
		if env["GOOGLE_PROJECT"] != c.project || (env[google.EndpointVariable] != "") != c.endpoint || (len(access.Endpoints()) == 1) != c.endpoint || env["REGION"] != "x" {
			t.Errorf("%s: the variables are %v", name, env)
		}
		if got := access.Explain("googleapi: Error 403"); !strings.Contains(got, c.advice) {
			t.Errorf("%s: the message is %q", name, got)
		}
		if got := access.Explain("a type error"); got != "a type error" {
			t.Errorf("%s: the message is %q", name, got)
		}
	}
}
