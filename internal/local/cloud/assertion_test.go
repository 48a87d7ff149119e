package cloud_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2/google"
	"google.golang.org/api/iam/v1"
)

// signer signs valid and invalid assertions with a service account key.
type signer struct {
	t     testing.TB
	key   *rsa.PrivateKey
	email string
	kid   string
	token string // URI of the token endpoint
}

func newSigner(t testing.TB, file []byte) *signer {
	t.Helper()
	var fields struct {
		Key   string `json:"private_key"`
		ID    string `json:"private_key_id"`
		Email string `json:"client_email"`
		Token string `json:"token_uri"`
	}
	if err := json.Unmarshal(file, &fields); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(fields.Key))
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return &signer{t: t, key: key.(*rsa.PrivateKey), email: fields.Email, kid: fields.ID, token: fields.Token}
}

// sign returns an assertion that is valid unless header or claims change it. A nil claim removes the claim.
func (s *signer) sign(header, claims map[string]any) string {
	s.t.Helper()
	now := time.Now()
	head := map[string]any{"alg": "RS256", "typ": "JWT", "kid": s.kid}
	maps.Copy(head, header)
	body := map[string]any{
		"iss": s.email, "sub": s.email, "aud": s.token, "scope": cloudPlatform, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	maps.Copy(body, claims)
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == nil })
	var parts []string
	for _, part := range []any{head, body} {
		data, err := json.Marshal(part)
		if err != nil {
			s.t.Fatal(err)
		}
		parts = append(parts, base64.RawURLEncoding.EncodeToString(data))
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, ".")))
	signature, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, sum[:])
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Join(append(parts, base64.RawURLEncoding.EncodeToString(signature)), ".")
}

// exchange sends an assertion to the token endpoint.
func (s *signer) exchange(assertion string) (int, string) {
	s.t.Helper()
	answer, err := http.PostForm(s.token, url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {assertion}})
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.StatusCode, string(data)
}

func TestTokenEndpointAcceptsValidAssertions(t *testing.T) {
	c := newEmulator(t, false)
	_, file := c.account("team-web")
	s := newSigner(t, file)
	now := time.Now()
	at := func(issued, expires time.Duration) map[string]any {
		return map[string]any{"iat": now.Add(issued).Unix(), "exp": now.Add(expires).Unix()}
	}
	const timeframe = "reasonable timeframe"
	for name, test := range map[string]struct {
		header, claims map[string]any
		code           int
		want           string
	}{
		"right":                          {nil, nil, 200, "access_token"},
		"without a subject":              {nil, map[string]any{"sub": nil}, 200, "access_token"},
		"clock two minutes ahead":        {nil, at(2*time.Minute, 62*time.Minute), 200, "access_token"},
		"clock ten minutes ahead":        {nil, at(10*time.Minute, 70*time.Minute), 400, timeframe},
		"expired":                        {nil, at(-2*time.Hour, -time.Hour), 400, timeframe},
		"valid for a day":                {nil, at(0, 24*time.Hour), 400, timeframe},
		"without times":                  {nil, map[string]any{"iat": nil, "exp": nil}, 400, timeframe},
		"audience of another":            {nil, map[string]any{"aud": "https://oauth2.example.com/token"}, 400, "audience"},
		"audience of pods":               {nil, map[string]any{"aud": "http://oauth2.googleapis.com/token"}, 200, "access_token"},
		"no scope":                       {nil, map[string]any{"scope": nil}, 400, "invalid_scope"},
		"for a user":                     {nil, map[string]any{"sub": "user@example.com"}, 401, "unauthorized_client"},
		"issuer without account":         {nil, map[string]any{"iss": "none@" + projectID + ".iam.gserviceaccount.com"}, 400, "account not found"},
		"issuer that is not an address":  {nil, map[string]any{"iss": "a/b"}, 400, "account not found"},
		"unknown key id":                 {map[string]any{"kid": "0123456789"}, nil, 400, "Invalid JWT Signature."},
		"key id with a path":             {map[string]any{"kid": "../x/" + s.kid}, nil, 400, "invalid_grant"},
		"no algorithm":                   {map[string]any{"alg": "none"}, nil, 400, "only RS256"},
		"algorithm with a shared secret": {map[string]any{"alg": "HS256"}, nil, 400, "only RS256"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := s.exchange(s.sign(test.header, test.claims))
			if status != test.code || !strings.Contains(body, test.want) {
				t.Errorf("response is %d %s; want %d with %q", status, body, test.code, test.want)
			}
		})
	}
	t.Run("signature of other claims", func(t *testing.T) {
		right, other := strings.Split(s.sign(nil, nil), "."), strings.Split(s.sign(nil, map[string]any{"iat": now.Add(-time.Minute).Unix()}), ".")
		status, body := s.exchange(right[0] + "." + right[1] + "." + other[2])
		if status != 400 || !strings.Contains(body, "Invalid JWT Signature.") {
			t.Errorf("response is %d %s", status, body)
		}
	})
}

func TestAssertionInsteadOfAToken(t *testing.T) {
	c := newEmulator(t, false)
	_, file := c.account("team-web", "roles/browser")
	s := newSigner(t, file)
	for name, test := range map[string]struct {
		claims map[string]any
		code   int
	}{
		"for the service":     {map[string]any{"aud": "https://cloudresourcemanager.googleapis.com/", "scope": nil}, 200},
		"for another service": {map[string]any{"aud": "https://storage.googleapis.com/", "scope": nil}, 401},
		"with the scope":      {map[string]any{"aud": nil}, 200},
		"with another scope":  {map[string]any{"aud": nil, "scope": "https://www.googleapis.com/auth/devstorage.full_control"}, 403},
		"for another user":    {map[string]any{"sub": "user@example.com"}, 401},
		"expired":             {map[string]any{"iat": 1, "exp": 2}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			if status, body := c.ask("GET", projectPath, s.sign(nil, test.claims), ""); status != test.code {
				t.Errorf("response is %d %s; want %d", status, body, test.code)
			}
		})
	}
}

func TestTokenAllowsOnlyItsScopes(t *testing.T) {
	c := newEmulator(t, false)
	_, file := c.account("team-web", "roles/viewer")
	const auth = "https://www.googleapis.com/auth/"
	const instances = "/sqladmin/sql/v1beta4/projects/" + projectID + "/instances"
	for _, test := range []struct {
		scope, method, path string
		code                int
	}{
		{"userinfo.email", "GET", projectPath, 403},
		{"cloud-platform.read-only", "GET", projectPath, 200},
		{"cloud-platform.read-only", "POST", projectPath + ":getIamPolicy", 403},
		{"cloudplatformprojects", "POST", projectPath + ":getIamPolicy", 200},
		{"sqlservice.admin", "GET", instances, 200},
		{"sqlservice.admin", "GET", projectPath, 403},
		{"devstorage.read_only", "GET", "/storage/storage/v1/b?project=" + projectID, 200},
	} {
		t.Run(test.scope+" "+test.path, func(t *testing.T) {
			config, err := google.JWTConfigFromJSON(file, auth+test.scope)
			if err != nil {
				t.Fatal(err)
			}
			token, err := config.TokenSource(t.Context()).Token()
			if err != nil {
				t.Fatal(err)
			}
			status, body := c.ask(test.method, test.path, token.AccessToken, "")
			if status != test.code || status == 403 && !strings.Contains(body, "ACCESS_TOKEN_SCOPE_INSUFFICIENT") {
				t.Errorf("response is %d %s; want %d", status, body, test.code)
			}
		})
	}
}

func TestExpiredTokensAreRemoved(t *testing.T) {
	c := newEmulator(t, false)
	_, file := c.account("team-web")
	for range 5 {
		c.token(file)
	}
	before := c.Tokens()
	c.SetClock(func() time.Time { return time.Now().Add(2 * time.Hour) })
	if _, err := c.owner().iam.Projects.ServiceAccounts.List("projects/" + projectID).Do(); err != nil {
		t.Fatal(err)
	}
	if after := c.Tokens(); before < 6 || after != 1 {
		t.Errorf("the store contains %d tokens, and %d two hours later; want only the token of the last call", before, after)
	}
	_, err := c.owner().iam.Projects.ServiceAccounts.Create("projects/"+projectID, &iam.CreateServiceAccountRequest{AccountId: "team-web"}).Do()
	refused(t, err, 409)
}
