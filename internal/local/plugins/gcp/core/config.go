package core

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/strata-platform/strata/internal/local/plugins/frame/codec"
)

const (
	cloudScope = "https://www.googleapis.com/auth/cloud-platform"
	emailScope = "https://www.googleapis.com/auth/userinfo.email"
)

// settings is the part of the provider's configuration that has an effect on an emulator.
type settings struct {
	Project     string `json:"project"`
	Region      string `json:"region"`
	Zone        string `json:"zone"`
	Credentials string `json:"credentials"`
	AccessToken string `json:"accessToken"`

	BillingProject            string            `json:"billingProject"`
	DefaultLabels             map[string]string `json:"defaultLabels"`
	ImpersonateServiceAccount string            `json:"impersonateServiceAccount"`
	Scopes                    []string          `json:"scopes"`
	RequestReason             string            `json:"requestReason"`
	UserProjectOverride       bool              `json:"userProjectOverride"`

	ComputeEndpoint         string `json:"computeCustomEndpoint"`
	ContainerEndpoint       string `json:"containerCustomEndpoint"`
	IAMEndpoint             string `json:"iamCustomEndpoint"`
	KMSEndpoint             string `json:"kmsCustomEndpoint"`
	ResourceManagerEndpoint string `json:"resourceManagerCustomEndpoint"`
	ServiceUsageEndpoint    string `json:"serviceUsageCustomEndpoint"`
	SQLEndpoint             string `json:"sqlCustomEndpoint"`
	StorageEndpoint         string `json:"storageCustomEndpoint"`
}

// endpoint is the URL of one API, and the environment variable that sets the URL.
type endpoint struct {
	value    *string
	variable string
}

// endpoints returns the endpoints of all APIs that the plugin calls.
func (s *settings) endpoints() []endpoint {
	return []endpoint{
		{&s.ComputeEndpoint, "GOOGLE_COMPUTE_CUSTOM_ENDPOINT"},
		{&s.ContainerEndpoint, "GOOGLE_CONTAINER_CUSTOM_ENDPOINT"},
		{&s.IAMEndpoint, "GOOGLE_IAM_CUSTOM_ENDPOINT"},
		{&s.KMSEndpoint, "GOOGLE_KMS_CUSTOM_ENDPOINT"},
		{&s.ResourceManagerEndpoint, "GOOGLE_RESOURCE_MANAGER_CUSTOM_ENDPOINT"},
		{&s.ServiceUsageEndpoint, "GOOGLE_SERVICE_USAGE_CUSTOM_ENDPOINT"},
		{&s.SQLEndpoint, "GOOGLE_SQL_CUSTOM_ENDPOINT"},
		{&s.StorageEndpoint, "GOOGLE_STORAGE_CUSTOM_ENDPOINT"},
	}
}

// Configure reads the provider's configuration and, for what it leaves out, the official provider's environment
// variables. It returns an error if the configuration is invalid, if an API of the plugin has no endpoint, or if there
// are no credentials. It calls no API.
func (p *Provider) Configure(_ context.Context, config property.Map) error {
	var s settings
	if err := codec.Decode(config, &s); err != nil {
		return err
	}
	fromEnvironment(&s.Project, "GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT")
	fromEnvironment(&s.Region, "GOOGLE_REGION", "GCLOUD_REGION", "CLOUDSDK_COMPUTE_REGION")
	fromEnvironment(&s.Zone, "GOOGLE_ZONE", "GCLOUD_ZONE", "CLOUDSDK_COMPUTE_ZONE")
	fromEnvironment(&s.BillingProject, "GOOGLE_BILLING_PROJECT")
	fromEnvironment(&s.RequestReason, "CLOUDSDK_CORE_REQUEST_REASON")
	fromEnvironment(&s.ImpersonateServiceAccount, "GOOGLE_IMPERSONATE_SERVICE_ACCOUNT")
	if override := os.Getenv("USER_PROJECT_OVERRIDE"); override != "" && !config.Get("userProjectOverride").IsBool() {
		var err error
		if s.UserProjectOverride, err = strconv.ParseBool(override); err != nil {
			return fmt.Errorf("USER_PROJECT_OVERRIDE must be true or false, not %q", override)
		}
	}
	hosts, err := s.resolveEndpoints()
	if err != nil {
		return err
	}
	transport := newTransport(hosts, s.quotaProject(), s.RequestReason)
	source, err := s.tokenSource(transport)
	if err != nil {
		return err
	}
	p.settings, p.http = s, &http.Client{Transport: &oauth2.Transport{Source: source, Base: transport}}
	return nil
}

// resolveEndpoints completes the endpoints from the environment and returns their hosts. It returns an error if an API
// has no endpoint, because its client would call Google.
func (s *settings) resolveEndpoints() ([]string, error) {
	var missing, hosts []string
	for _, e := range s.endpoints() {
		fromEnvironment(e.value, e.variable)
		if *e.value == "" {
			missing = append(missing, e.variable)
			continue
		}
		u, err := url.Parse(*e.value)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("%s must be a URL, not %q", e.variable, *e.value)
		}
		hosts = append(hosts, u.Host)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf(
			"the local gcp plugin calls only the emulated Google Cloud and its endpoints are missing: set %s (\"strata env bootstrap\" prints them)",
			strings.Join(missing, ", "))
	}
	return slices.Compact(hosts), nil
}

// quotaProject returns the project whose quota the calls use. "" means the project of the credentials.
func (s *settings) quotaProject() string {
	if !s.UserProjectOverride {
		return ""
	}
	return cmp.Or(s.BillingProject, s.Project)
}

// tokenSource looks for credentials in the official provider's order: in the configuration, in the environment, then in
// the application default credentials. In the environment, an access token takes precedence.
func (s *settings) tokenSource(transport http.RoundTripper) (oauth2.TokenSource, error) {
	if s.ImpersonateServiceAccount != "" {
		return nil, errors.New("impersonateServiceAccount is not emulated: use a key of the service account")
	}
	if s.Credentials != "" && s.AccessToken != "" {
		return nil, errors.New("the provider's credentials and accessToken exclude each other: remove one of them")
	}
	from := "the provider's credentials"
	if s.Credentials == "" && s.AccessToken == "" {
		fromEnvironment(&s.AccessToken, "GOOGLE_OAUTH_ACCESS_TOKEN")
		for _, from = range []string{"GOOGLE_CREDENTIALS", "GOOGLE_CLOUD_KEYFILE_JSON", "GCLOUD_KEYFILE_JSON", "GOOGLE_APPLICATION_CREDENTIALS"} {
			if fromEnvironment(&s.Credentials, from); s.Credentials != "" {
				break
			}
		}
	}
	if s.AccessToken != "" {
		token, err := contents(s.AccessToken, "an access token")
		if err != nil {
			return nil, err
		}
		return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: strings.TrimSpace(token)}), nil
	}
	if s.Credentials == "" {
		return nil, errors.New("no credentials: set the provider's credentials or GOOGLE_CREDENTIALS")
	}
	return credentials(s.Credentials, from, s.Scopes, transport)
}

// contents returns the content of the file at the path value, or value itself if the file does not exist. what names
// the value in errors.
func contents(value, what string) (string, error) {
	path := value
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the home directory of %s: %w", what, err)
		}
		path = filepath.Join(home, rest)
	}
	if _, err := os.Stat(path); err != nil {
		return value, nil
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", what, errors.Unwrap(err))
	}
	return string(content), nil
}

// credentials returns a source of tokens for credentials in JSON or for their path. from names their origin in errors. The
// errors contain no part of them.
func credentials(value, from string, scopes []string, transport http.RoundTripper) (oauth2.TokenSource, error) {
	content, err := contents(value, "the credentials that "+from+" names")
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(value, "/") && content == value {
		return nil, fmt.Errorf("read the credentials that %s names: file %s does not exist", from, value)
	}
	var kind struct {
		Type google.CredentialsType `json:"type"`
	}
	if err := json.Unmarshal([]byte(content), &kind); err != nil {
		return nil, fmt.Errorf("credentials of %s are not JSON", from)
	}
	if !slices.Contains([]google.CredentialsType{google.ServiceAccount, google.AuthorizedUser, google.ExternalAccount}, kind.Type) {
		return nil, fmt.Errorf("credentials of %s are of type %q: use an external_account, an authorized_user or a service_account key", from, kind.Type)
	}
	if len(scopes) == 0 {
		scopes = []string{cloudScope, emailScope}
	}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Transport: transport})
	c, err := google.CredentialsFromJSONWithType(ctx, []byte(content), kind.Type, scopes...)
	if err != nil {
		return nil, fmt.Errorf("credentials of %s cannot be used: %w", from, err)
	}
	return c.TokenSource, nil
}

// fromEnvironment sets an empty value to the first of the environment variables that is not empty.
func fromEnvironment(value *string, variables ...string) {
	for _, v := range variables {
		if *value == "" {
			*value = os.Getenv(v)
		}
	}
}
