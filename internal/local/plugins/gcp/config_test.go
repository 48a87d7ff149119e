package gcp_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	p "github.com/pulumi/pulumi-go-provider"
	"github.com/pulumi/pulumi/sdk/v3/go/property"

	"github.com/strata-platform/strata/internal/local/plugins/gcp"
)

func TestConfigure(t *testing.T) {
	owner := newCloud(t)
	file := filepath.Join(t.TempDir(), "credentials.json")
	if err := os.WriteFile(file, []byte(owner), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		env    map[string]string
		config property.Map
		want   string // in the error; empty means success
	}{
		"accepts credentials as JSON":             {},
		"accepts credentials as a path":           {env: map[string]string{"GOOGLE_CREDENTIALS": file}},
		"accepts application default credentials": {env: map[string]string{"GOOGLE_CREDENTIALS": "", "GOOGLE_APPLICATION_CREDENTIALS": file}},
		"accepts an access token as a path":       {env: map[string]string{"GOOGLE_CREDENTIALS": "", "GOOGLE_OAUTH_ACCESS_TOKEN": file}},
		"accepts an access token":                 {env: map[string]string{"GOOGLE_CREDENTIALS": ""}, config: props("accessToken", "secret-token")},
		"rejects two identities":                  {config: props("accessToken", "secret-token", "credentials", owner), want: "exclude each other"},
		"rejects impersonation":                   {env: map[string]string{"GOOGLE_IMPERSONATE_SERVICE_ACCOUNT": "a@b"}, want: "impersonateServiceAccount is not emulated"},
		"rejects the path of a missing file":      {env: map[string]string{"GOOGLE_CREDENTIALS": "/nowhere.json"}, want: "/nowhere.json does not exist"},
		"rejects missing credentials":             {env: map[string]string{"GOOGLE_CREDENTIALS": ""}, want: "no credentials"},
		"rejects a missing endpoint":              {env: map[string]string{"GOOGLE_SQL_CUSTOM_ENDPOINT": ""}, want: "endpoints are missing: set GOOGLE_SQL_CUSTOM_ENDPOINT"},
		"accepts endpoints in the configuration":  {env: map[string]string{"GOOGLE_SQL_CUSTOM_ENDPOINT": ""}, config: props("sqlCustomEndpoint", "http://127.0.0.1:1/sql/v1beta4/")},
		"rejects an endpoint that is not a URL":   {env: map[string]string{"GOOGLE_IAM_CUSTOM_ENDPOINT": "iam"}, want: "GOOGLE_IAM_CUSTOM_ENDPOINT must be a URL"},
		"rejects credentials that are not JSON, without showing them": {
			config: props("credentials", "{secret"), want: "credentials of the provider's credentials are not JSON",
		},
		"rejects other types of credentials": {config: props("credentials", `{"type":"impersonated_service_account"}`), want: `of type "impersonated_service_account"`},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range tc.env {
				t.Setenv(k, v)
			}
			err := gcp.Package().Provider().Configure(t.Context(), p.ConfigureRequest{Args: tc.config})
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error is %v, want %q in it", err, tc.want)
			case err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "\n")):
				t.Errorf("error shows a secret or has more than one line: %q", err)
			}
		})
	}
}

// Credentials contain the URL of the source of tokens, which may be on any host.
func TestTheProviderCallsOnlyTheEmulator(t *testing.T) {
	owner := newCloud(t)
	called := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	defer elsewhere.Close()
	start := strings.Index(owner, `"token_uri": "`) + len(`"token_uri": "`)
	end := start + strings.Index(owner[start:], `"`)
	pl := newPlugin(t, props("credentials", owner[:start]+elsewhere.URL+owner[end:]))
	_, err := pl.try(accountType, props("accountId", "team-web"))
	if err == nil || !strings.Contains(err.Error(), "rejected: the local gcp plugin calls only the emulated Google Cloud") {
		t.Errorf("error is %v, want a rejected call", err)
	}
	if called {
		t.Error("the plugin called a host other than the endpoints")
	}
}

func TestCallsUseTheQuotaOfTheBillingProject(t *testing.T) {
	newCloud(t)
	t.Setenv("GOOGLE_BILLING_PROJECT", "strata-nowhere")
	if _, err := newPlugin(t, property.Map{}).try(accountType, props("accountId", "team-web")); err != nil {
		t.Errorf("with a billing project, but without USER_PROJECT_OVERRIDE: %v", err)
	}
	t.Setenv("USER_PROJECT_OVERRIDE", "true")
	_, err := newPlugin(t, property.Map{}).try(accountType, props("accountId", "team-api"))
	if err == nil || !strings.Contains(err.Error(), "strata-nowhere") {
		t.Errorf("with a missing billing project: %v, want its name in the error", err)
	}
}
