package cloud_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/google/externalaccount"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	"google.golang.org/api/container/v1"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/sts/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	gke "github.com/strata-platform/strata/internal/local/cloud/container"
	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// audience is the audience of an exchange for the cluster of newPool.
const audience = "identitynamespace:" + pool + ":https://container.googleapis.com/v1/" + parent + "/clusters/strata"

// federated is an emulator whose cluster has a real API server.
type federated struct {
	*emulator
	kubernetes kubernetes.Interface
	// signingKey is the file with the key of the API server that signs tokens of service accounts.
	signingKey string
}

// planes runs a cluster on a control plane that exists already.
type planes struct{ access gke.Access }

func (p planes) Create(context.Context, string) (gke.Access, error) { return p.access, nil }

func (planes) Delete(context.Context, string) error { return nil }

// newFederated starts an emulator with the cluster strata, the Kubernetes accounts web and api, each in the namespace of its
// team, and the Google account of team web.
func newFederated(t testing.TB) (f *federated, email string) {
	t.Helper()
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plane, err := controlplane.Start(t.Context(), h, func(_ context.Context, name string) (string, error) {
		return toolchaintest.Path(t, name), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	access := gke.Access{Endpoint: strings.TrimPrefix(plane.Server(), "https://")}
	if access.CA, access.ClientCertificate, access.ClientKey, err = plane.Credentials(); err != nil {
		t.Fatal(err)
	}
	f = &federated{emulator: newEmulator(t, false)}
	if f.kubernetes, err = kubernetes.NewForConfig(plane.AdminConfig()); err != nil {
		t.Fatal(err)
	}
	keys, err := filepath.Glob(filepath.Join(h.Dir(), "*", "pki", "service-account.key"))
	if err != nil || len(keys) != 1 {
		t.Fatalf("the API server's key is one of %q: %v", keys, err)
	}
	f.signingKey = keys[0]
	f.clusters = planes{access}
	f.restart(false)
	f.newPool()
	for _, name := range []string{"web", "api"} {
		f.create(name)
	}
	return f, f.impersonated("team-web", []string{kubernetesWeb}, "roles/browser")
}

// create creates the namespace and the Kubernetes account of a team.
func (f *federated) create(team string) {
	f.t.Helper()
	ctx := f.t.Context()
	_, err := f.kubernetes.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-" + team}}, metav1.CreateOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	_, err = f.kubernetes.CoreV1().ServiceAccounts("team-"+team).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: team}}, metav1.CreateOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
}

// token returns a token of a team's Kubernetes account for an audience, which the API server signs.
func (f *federated) token(team, audience string) string {
	f.t.Helper()
	hour := int64(3600)
	made, err := f.kubernetes.CoreV1().ServiceAccounts("team-"+team).CreateToken(f.t.Context(), team, &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{Audiences: []string{audience}, ExpirationSeconds: &hour},
	}, metav1.CreateOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	return made.Status.Token
}

// configuration returns an external_account configuration that reads its subject token from a file.
func (f *federated) configuration(email, file string) []byte {
	f.t.Helper()
	content, err := json.Marshal(map[string]any{
		"type": "external_account", "audience": audience, "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
		"token_url":                         f.url + "/sts/v1/token",
		"service_account_impersonation_url": f.url + "/iamcredentials/v1/projects/-/serviceAccounts/" + email + ":generateAccessToken",
		"credential_source":                 map[string]string{"file": file},
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return content
}

// projectsAs returns a client of Resource Manager with an identity.
func (f *federated) projectsAs(source oauth2.TokenSource) *crm.Service {
	f.t.Helper()
	made, err := crm.NewService(f.t.Context(), option.WithEndpoint(f.url+"/cloudresourcemanager/"), option.WithTokenSource(source))
	if err != nil {
		f.t.Fatal(err)
	}
	return made
}

// exchange sends a token to the Security Token Service. It returns the federated token, or the error.
func (f *federated) exchange(token, audience string) (string, error) {
	made, err := externalaccount.NewTokenSource(f.t.Context(), externalaccount.Config{
		Audience: audience, SubjectTokenType: "urn:ietf:params:oauth:token-type:jwt", TokenURL: f.url + "/sts/v1/token",
		Scopes: []string{cloudPlatform}, SubjectTokenSupplier: subject(token),
	})
	if err != nil {
		f.t.Fatal(err)
	}
	answer, err := made.Token()
	if err != nil {
		return "", err
	}
	return answer.AccessToken, nil
}

// subject is a subject token for the client of the exchange.
type subject string

func (s subject) SubjectToken(context.Context, externalaccount.SupplierOptions) (string, error) {
	return string(s), nil
}

// impersonate asks for an access token of a service account. It returns the status and the body of the answer.
func (f *federated) impersonate(token, email, body string) (int, string) {
	f.t.Helper()
	return f.post(token, "/iamcredentials/v1/projects/-/serviceAccounts/"+email+":generateAccessToken", body)
}

func (f *federated) post(token, path, body string) (int, string) {
	f.t.Helper()
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.url+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return answer.StatusCode, string(content)
}

const wanted = `{"scope": ["` + cloudPlatform + `"], "lifetime": "3600s"}`

func TestGooglesClientExchangesATokenOfTheCluster(t *testing.T) {
	f, email := newFederated(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(f.token("web", pool)), 0o600); err != nil {
		t.Fatal(err)
	}
	login, err := google.CredentialsFromJSONWithType(t.Context(), f.configuration(email, file), google.ExternalAccount, cloudPlatform)
	if err != nil {
		t.Fatal(err)
	}
	projects := f.projectsAs(login.TokenSource)
	if _, err := projects.Projects.Get(projectID).Do(); err != nil {
		t.Fatalf("a call as the Google account: %v", err)
	}
	_, err = projects.Projects.SetIamPolicy(projectID, &crm.SetIamPolicyRequest{Policy: &crm.Policy{}}).Do()
	refused(t, err, 403)
	made, err := login.TokenSource.Token()
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(made.Expiry); left > time.Hour || left < 50*time.Minute {
		t.Errorf("the token is valid for %s", left)
	}
	// The client of the API sends JSON.
	service, err := sts.NewService(t.Context(), option.WithEndpoint(f.url+"/sts/"), option.WithoutAuthentication())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := service.V1.Token(&sts.GoogleIdentityStsV1ExchangeTokenRequest{
		GrantType: "urn:ietf:params:oauth:grant-type:token-exchange", Audience: audience, Scope: cloudPlatform,
		RequestedTokenType: "urn:ietf:params:oauth:token-type:access_token",
		SubjectToken:       f.token("web", pool), SubjectTokenType: "urn:ietf:params:oauth:token-type:jwt",
	}).Do()
	if err != nil {
		t.Fatal(err)
	}
	// A federated token is the identity of the Kubernetes account itself, in policies and in calls.
	_, err = f.projectsAs(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: answer.AccessToken})).Projects.Get(projectID).Do()
	refused(t, err, 403)
	f.grant(kubernetesWeb, "roles/browser")
	if _, err := f.projectsAs(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: answer.AccessToken})).Projects.Get(projectID).Do(); err != nil {
		t.Errorf("a call as the Kubernetes account: %v", err)
	}
	status, body := f.post(answer.AccessToken, "/iamcredentials/v1/projects/-/serviceAccounts/"+email+":generateIdToken", `{"audience": "https://shop.example.com"}`)
	if status != http.StatusOK || !strings.Contains(body, `"token"`) {
		t.Errorf("no ID token: %d %s", status, body)
	}
}

// forge returns a token with the claims of a genuine one after change. Nil signs with the API server's own key, as a token that
// it could have issued at another time.
func (f *federated) forge(genuine string, change func(header, claims map[string]any), sign func(signed string) []byte) string {
	f.t.Helper()
	parts := strings.Split(genuine, ".")
	decode := func(part string) (into map[string]any) {
		raw, err := base64.RawURLEncoding.DecodeString(part)
		if err == nil {
			err = json.Unmarshal(raw, &into)
		}
		if err != nil {
			f.t.Fatal(err)
		}
		return into
	}
	header, claims := decode(parts[0]), decode(parts[1])
	change(header, claims)
	encode := func(value map[string]any) string {
		raw, err := json.Marshal(value)
		if err != nil {
			f.t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	signed := encode(header) + "." + encode(claims)
	if sign == nil {
		sign = f.signer(f.apiServerKey())
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(sign(signed))
}

func (f *federated) apiServerKey() *ecdsa.PrivateKey {
	f.t.Helper()
	content, err := os.ReadFile(f.signingKey)
	if err != nil {
		f.t.Fatal(err)
	}
	block, _ := pem.Decode(content)
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		parsed, err = x509.ParseECPrivateKey(block.Bytes)
	}
	key, ok := parsed.(*ecdsa.PrivateKey)
	if err != nil || !ok {
		f.t.Fatalf("the key of the API server is %T: %v", parsed, err)
	}
	return key
}

// signer signs as ES256 says.
func (f *federated) signer(key *ecdsa.PrivateKey) func(string) []byte {
	return func(signed string) []byte {
		digest := sha256.Sum256([]byte(signed))
		r, s, err := ecdsa.Sign(rand.Reader, key, digest[:])
		if err != nil {
			f.t.Fatal(err)
		}
		signature := make([]byte, 64)
		r.FillBytes(signature[:32])
		s.FillBytes(signature[32:])
		return signature
	}
}

func TestForgedAndForeignTokensAreNotExchanged(t *testing.T) {
	f, _ := newFederated(t)
	other, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	genuine := f.token("web", pool)
	if _, err := f.exchange(genuine, audience); err != nil {
		t.Fatal(err)
	}
	if _, err := f.exchange(f.forge(genuine, func(_, _ map[string]any) {}, nil), audience); err != nil {
		t.Fatalf("a token that the test signs like the API server: %v", err)
	}
	public, err := x509.MarshalPKIXPublicKey(f.apiServerKey().Public())
	if err != nil {
		t.Fatal(err)
	}
	shared := func(secret []byte) func(string) []byte {
		return func(signed string) []byte {
			mac := hmac.New(sha256.New, secret)
			mac.Write([]byte(signed))
			return mac.Sum(nil)
		}
	}
	unchanged := func(_, _ map[string]any) {}
	header := func(name string, value any) func(header, claims map[string]any) {
		return func(header, _ map[string]any) { header[name] = value }
	}
	claim := func(name string, value any) func(header, claims map[string]any) {
		return func(_, claims map[string]any) { claims[name] = value }
	}
	now := time.Now()
	embedded, err := json.Marshal(jose.JSONWebKey{Key: other.Public(), KeyID: "own"})
	if err != nil {
		t.Fatal(err)
	}
	var own any
	if err := json.Unmarshal(embedded, &own); err != nil {
		t.Fatal(err)
	}
	hour := now.Add(time.Hour).Unix()
	for name, try := range map[string]struct {
		token, audience string
		words           string
	}{
		"another key":                        {f.forge(genuine, unchanged, f.signer(other)), audience, "signature"},
		"another key of its own name":        {f.forge(genuine, header("kid", "own"), f.signer(other)), audience, "signature"},
		"a key in the header":                {f.forge(genuine, func(h, _ map[string]any) { h["jwk"], h["kid"] = own, "own" }, f.signer(other)), audience, "signature"},
		"the address of a key in the header": {f.forge(genuine, header("jku", "http://127.0.0.1:1/jwks"), f.signer(other)), audience, "signature"},
		"no algorithm":                       {f.forge(genuine, header("alg", "none"), func(string) []byte { return nil }), audience, "RS256 or ES256"},
		"the public key as a secret":         {f.forge(genuine, header("alg", "HS256"), shared(public)), audience, "RS256 or ES256"},
		"the public key in PEM as a secret": {
			f.forge(genuine, header("alg", "HS256"), shared(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))), audience, "RS256 or ES256",
		},
		"another algorithm of the key":   {f.forge(genuine, header("alg", "RS256"), nil), audience, "signature"},
		"no signature":                   {strings.Join(strings.Split(genuine, ".")[:2], ".") + ".", audience, "signature"},
		"claims of another team":         {f.forge(genuine, claim("sub", "system:serviceaccount:team-api:api"), f.signer(other)), audience, "signature"},
		"another issuer":                 {f.forge(genuine, claim("iss", "https://issuer.example.com"), nil), audience, "does not match the expected ones"},
		"no issuer":                      {f.forge(genuine, func(_, c map[string]any) { delete(c, "iss") }, nil), audience, "does not match the expected ones"},
		"the audience of the API server": {f.token("web", "https://kubernetes.default.svc.cluster.local"), audience, "does not match the expected audience " + pool},
		"the pool of another project":    {f.token("web", "another-project.svc.id.goog"), audience, "does not match the expected audience " + pool},
		"no audience":                    {f.forge(genuine, func(_, c map[string]any) { delete(c, "aud") }, nil), audience, "does not match the expected audience"},
		"an expired token":               {f.forge(genuine, claim("exp", now.Add(-time.Second).Unix()), nil), audience, "has expired"},
		"no expiry":                      {f.forge(genuine, func(_, c map[string]any) { delete(c, "exp") }, nil), audience, "no expiry"},
		"no time of issue":               {f.forge(genuine, func(_, c map[string]any) { delete(c, "iat") }, nil), audience, "no time of issue"},
		"a clock that is ahead":          {f.forge(genuine, claim("iat", now.Add(6*time.Minute).Unix()), nil), audience, "check the clock of its issuer"},
		"a token that is not valid yet":  {f.forge(genuine, claim("nbf", now.Add(6*time.Minute).Unix()), nil), audience, "not valid yet"},
		"a token for years":              {f.forge(genuine, claim("exp", now.Add(365*24*time.Hour).Unix()), nil), audience, "longer than 24 hours"},
		"a subject without a namespace":  {f.forge(genuine, claim("sub", "system:serviceaccount::web"), nil), audience, "subject"},
		"an account without a namespace": {f.forge(genuine, func(_, c map[string]any) {
			c["sub"], c["kubernetes.io"] = "system:serviceaccount::web", map[string]any{"serviceaccount": map[string]any{"name": "web"}}
		}, nil), audience, "not a service account of a namespace"},
		"a user of the API server":           {f.forge(genuine, claim("sub", "system:node:local"), nil), audience, "subject"},
		"a subject other than in the claims": {f.forge(genuine, claim("sub", "system:serviceaccount:team-api:api"), nil), audience, "subject"},
		"a name that ends a member": {f.forge(genuine, func(_, c map[string]any) {
			c["sub"] = "system:serviceaccount:team-api/api] x[:web"
			c["kubernetes.io"] = map[string]any{"namespace": "team-api/api] x[", "serviceaccount": map[string]any{"name": "web"}}
		}, nil), audience, "not a service account of a namespace"},
		"no token":                  {"x", audience, "JSON Web Token"},
		"a token without end":       {strings.Repeat("x", 5<<20), audience, "exceeds the limit"},
		"another cluster":           {genuine, strings.Replace(audience, "/clusters/strata", "/clusters/other", 1), "invalid_target"},
		"another location":          {genuine, strings.Replace(audience, location, "europe-west1-c", 1), "invalid_target"},
		"a pool of another project": {genuine, strings.Replace(audience, pool, "another-project.svc.id.goog", 1), "invalid_target"},
		"the audience of a pool of one's own": {
			genuine, "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q", "invalid_request",
		},
		"the pool alone": {genuine, pool, "invalid_request"},
	} {
		if token, err := f.exchange(try.token, try.audience); err == nil || !strings.Contains(err.Error(), try.words) {
			t.Errorf("%s: %q, %v; want an error with %q", name, token, err, try.words)
		}
	}
	// A small skew, as between two machines, is no reason.
	if _, err := f.exchange(f.forge(genuine, func(_, c map[string]any) {
		c["iat"], c["nbf"], c["exp"] = now.Add(time.Minute).Unix(), now.Add(time.Minute).Unix(), hour
	}, nil), audience); err != nil {
		t.Errorf("a clock that is a minute ahead: %v", err)
	}
}

func TestTheExchangeAnswersErrorsInTheFormOfOAuth(t *testing.T) {
	f := &federated{emulator: newEmulator(t, false)}
	f.newPool()
	full := url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "audience": {audience}, "scope": {cloudPlatform},
		"requested_token_type": {"urn:ietf:params:oauth:token-type:access_token"},
		"subject_token_type":   {"urn:ietf:params:oauth:token-type:jwt"}, "subject_token": {"x"},
	}
	for name, try := range map[string]struct{ field, value, want string }{
		"another grant":              {"grant_type", "refresh_token", "unsupported_grant_type"},
		"another requested type":     {"requested_token_type", "urn:ietf:params:oauth:token-type:jwt", "invalid_request"},
		"another subject token type": {"subject_token_type", "urn:ietf:params:oauth:token-type:saml2", "invalid_request"},
		"no subject token":           {"subject_token", "", "invalid_request"},
		"no scope":                   {"scope", " ", "invalid_scope"},
	} {
		form := maps.Clone(full)
		form.Set(try.field, try.value)
		answer, err := http.PostForm(f.url+"/sts/v1/token", form)
		if err != nil {
			t.Fatal(err)
		}
		var told struct {
			Reason      string `json:"error"`
			Description string `json:"error_description"`
		}
		err = json.NewDecoder(answer.Body).Decode(&told)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusBadRequest || told.Reason != try.want || told.Description == "" {
			t.Errorf("%s: %d %+v, %v; want %s", name, answer.StatusCode, told, err, try.want)
		}
	}
}

func TestAFederatedTokenBecomesOnlyTheAccountThatLetsIt(t *testing.T) {
	f, email := newFederated(t)
	own, err := f.exchange(f.token("web", pool), audience)
	if err != nil {
		t.Fatal(err)
	}
	other, err := f.exchange(f.token("api", pool), audience)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := f.impersonate(own, email, wanted); status != http.StatusOK {
		t.Fatal(body)
	}
	for name, try := range map[string]struct {
		token, email, body string
		want               int
		words              string
	}{
		"another team":        {other, email, wanted, 403, "iam.serviceAccounts.getAccessToken"},
		"no login":            {"none", email, wanted, 401, "credentials"},
		"no such account":     {own, "none@" + projectID + ".iam.gserviceaccount.com", wanted, 403, "iam.serviceAccounts.getAccessToken"},
		"no account at all":   {own, "none", wanted, 403, "iam.serviceAccounts.getAccessToken"},
		"two hours":           {own, email, `{"scope": ["` + cloudPlatform + `"], "lifetime": "7200s"}`, 400, "at most 3600 seconds"},
		"an hour and a bit":   {own, email, `{"scope": ["` + cloudPlatform + `"], "lifetime": "3600.000000001s"}`, 400, "at most 3600 seconds"},
		"a negative lifetime": {own, email, `{"scope": ["` + cloudPlatform + `"], "lifetime": "-1s"}`, 400, "lifetime"},
		"hours":               {own, email, `{"scope": ["` + cloudPlatform + `"], "lifetime": "1h"}`, 400, "lifetime"},
		"no scope":            {own, email, `{}`, 400, "scope"},
		"delegates":           {own, email, `{"scope": ["` + cloudPlatform + `"], "delegates": ["x"]}`, 400, "not emulated"},
		"no JSON":             {own, email, `x`, 400, "JSON"},
	} {
		if status, body := f.impersonate(try.token, try.email, try.body); status != try.want || !strings.Contains(body, try.words) {
			t.Errorf("%s: %d %s; want %d and %q", name, status, body, try.want, try.words)
		}
	}
	// A removed binding counts at the next request. A disabled or deleted account ends its tokens, too.
	f.bindWorkloads(email)
	if status, body := f.impersonate(own, email, wanted); status != http.StatusForbidden {
		t.Errorf("without the binding: %d %s", status, body)
	}
	f.bindWorkloads(email, kubernetesWeb)
	status, body := f.impersonate(own, email, wanted)
	var made struct{ AccessToken string }
	if err := json.Unmarshal([]byte(body), &made); err != nil || status != http.StatusOK {
		t.Fatal(status, body, err)
	}
	projects := f.projectsAs(oauth2.StaticTokenSource(&oauth2.Token{AccessToken: made.AccessToken}))
	if _, err := projects.Projects.Get(projectID).Do(); err != nil {
		t.Fatal(err)
	}
	name := "projects/-/serviceAccounts/" + email
	if _, err := f.owner().iam.Projects.ServiceAccounts.Disable(name, &iam.DisableServiceAccountRequest{}).Do(); err != nil {
		t.Fatal(err)
	}
	_, err = projects.Projects.Get(projectID).Do()
	refused(t, err, 401)
	if status, body := f.impersonate(own, email, wanted); status != http.StatusBadRequest || !strings.Contains(body, "disabled") {
		t.Errorf("a disabled account: %d %s", status, body)
	}
	if _, err := f.owner().iam.Projects.ServiceAccounts.Delete(name).Do(); err != nil {
		t.Fatal(err)
	}
	if status, body := f.impersonate(own, email, wanted); status != http.StatusForbidden {
		t.Errorf("a deleted account: %d %s", status, body)
	}
}

func TestADeletedClusterIsNoIssuer(t *testing.T) {
	f, _ := newFederated(t)
	token := f.token("web", pool)
	if _, err := f.exchange(token, audience); err != nil {
		t.Fatal(err)
	}
	owner := f.owner()
	op, err := owner.container.Projects.Locations.Clusters.Delete(parent + "/clusters/strata").Do()
	if err != nil {
		t.Fatal(err)
	}
	f.waitCluster(owner, op)
	if _, err := f.exchange(token, audience); err == nil || !strings.Contains(err.Error(), "invalid_target") {
		t.Errorf("the token of a deleted cluster: %v", err)
	}
	// A new cluster of that name has other keys.
	f.clusters = &fakeClusters{}
	f.restart(false)
	f.newPool()
	if _, err := f.exchange(token, audience); err == nil || !strings.Contains(err.Error(), "credential's issuer") {
		t.Errorf("the token of an earlier cluster: %v", err)
	}
}

func TestAClusterWithoutWorkloadIdentityIsNoIssuer(t *testing.T) {
	c := newEmulator(t, false)
	request := newCluster("strata", true)
	request.Cluster.WorkloadIdentityConfig = &container.WorkloadIdentityConfig{}
	owner := c.owner()
	op, err := owner.container.Projects.Locations.Clusters.Create(parent, request).Do()
	if err != nil {
		t.Fatal(err)
	}
	c.waitCluster(owner, op)
	f := &federated{emulator: c}
	if _, err := f.exchange("x", audience); err == nil || !strings.Contains(err.Error(), "invalid_target") {
		t.Errorf("the audience of a cluster without workload identity: %v", err)
	}
}
