package gcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/property"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/strata-platform/strata/internal/local/plugins/provider"
)

const (
	cloudScope = "https://www.googleapis.com/auth/cloud-platform"
	emailScope = "https://www.googleapis.com/auth/userinfo.email"
)

// settings are the provider's configuration, less the parts that have no meaning for an emulator.
type settings struct {
	Project     string `json:"project"`
	Region      string `json:"region"`
	Zone        string `json:"zone"`
	Credentials string `json:"credentials"`
	AccessToken string `json:"accessToken"`

	ComputeEndpoint         string `json:"computeCustomEndpoint"`
	ContainerEndpoint       string `json:"containerCustomEndpoint"`
	IAMEndpoint             string `json:"iamCustomEndpoint"`
	ResourceManagerEndpoint string `json:"resourceManagerCustomEndpoint"`
	ServiceUsageEndpoint    string `json:"serviceUsageCustomEndpoint"`
	SQLEndpoint             string `json:"sqlCustomEndpoint"`
	StorageEndpoint         string `json:"storageCustomEndpoint"`
}

// endpoint is where one API is, and the environment variable that says so.
type endpoint struct {
	value    *string
	variable string
}

func (s *settings) endpoints() []endpoint {
	return []endpoint{
		{&s.ComputeEndpoint, "GOOGLE_COMPUTE_CUSTOM_ENDPOINT"},
		{&s.ContainerEndpoint, "GOOGLE_CONTAINER_CUSTOM_ENDPOINT"},
		{&s.IAMEndpoint, "GOOGLE_IAM_CUSTOM_ENDPOINT"},
		{&s.ResourceManagerEndpoint, "GOOGLE_RESOURCE_MANAGER_CUSTOM_ENDPOINT"},
		{&s.ServiceUsageEndpoint, "GOOGLE_SERVICE_USAGE_CUSTOM_ENDPOINT"},
		{&s.SQLEndpoint, "GOOGLE_SQL_CUSTOM_ENDPOINT"},
		{&s.StorageEndpoint, "GOOGLE_STORAGE_CUSTOM_ENDPOINT"},
	}
}

// configure takes the provider's configuration, then the official provider's environment variables.
func (g *plugin) configure(_ context.Context, config property.Map) error {
	var s settings
	if err := provider.Decode(config, &s); err != nil {
		return err
	}
	fromEnvironment(&s.Project, "GOOGLE_PROJECT", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "CLOUDSDK_CORE_PROJECT")
	fromEnvironment(&s.Region, "GOOGLE_REGION", "GCLOUD_REGION", "CLOUDSDK_COMPUTE_REGION")
	fromEnvironment(&s.Zone, "GOOGLE_ZONE", "GCLOUD_ZONE", "CLOUDSDK_COMPUTE_ZONE")
	hosts, err := s.resolveEndpoints()
	if err != nil {
		return err
	}
	transport := &guardedTransport{hosts: hosts, next: &http.Transport{ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16}}
	source, err := s.tokenSource(transport)
	if err != nil {
		return err
	}
	g.clients = &clients{settings: s, http: &http.Client{Transport: &oauth2.Transport{Source: source, Base: transport}}}
	return nil
}

// resolveEndpoints refuses to do without the emulator: every API that the plugin covers needs an endpoint. It returns the
// endpoints' hosts.
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
			return nil, fmt.Errorf("%s is no URL: %q", e.variable, *e.value)
		}
		hosts = append(hosts, u.Host)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf(
			"the local gcp plugin reaches the emulated Google Cloud only and has no endpoint for it: set %s (\"strata env bootstrap\" prints them)",
			strings.Join(missing, ", "))
	}
	return slices.Compact(hosts), nil
}

// tokenSource takes the credentials in the official provider's order.
func (s *settings) tokenSource(transport http.RoundTripper) (oauth2.TokenSource, error) {
	from := "the provider's credentials"
	if s.Credentials == "" && s.AccessToken == "" {
		for _, variable := range []string{"GOOGLE_CREDENTIALS", "GOOGLE_CLOUD_KEYFILE_JSON", "GCLOUD_KEYFILE_JSON"} {
			if s.Credentials == "" {
				from = variable
				fromEnvironment(&s.Credentials, variable)
			}
		}
		if s.Credentials == "" {
			fromEnvironment(&s.AccessToken, "GOOGLE_OAUTH_ACCESS_TOKEN")
		}
		if s.Credentials == "" && s.AccessToken == "" {
			from = "GOOGLE_APPLICATION_CREDENTIALS"
			fromEnvironment(&s.Credentials, from)
		}
	}
	if s.AccessToken != "" {
		return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: s.AccessToken}), nil
	}
	if s.Credentials == "" {
		return nil, errors.New("no credentials: set the provider's credentials or GOOGLE_CREDENTIALS")
	}
	return credentials(s.Credentials, from, transport)
}

// credentials reads a key that is given as JSON or as the path of a file. No error shows what is in it.
func credentials(value, from string, transport http.RoundTripper) (oauth2.TokenSource, error) {
	content := []byte(value)
	if !strings.HasPrefix(strings.TrimSpace(value), "{") {
		var err error
		if content, err = os.ReadFile(value); err != nil {
			return nil, fmt.Errorf("read the credentials that %s names: %w", from, errors.Unwrap(err))
		}
	}
	var kind struct {
		Type google.CredentialsType `json:"type"`
	}
	if err := json.Unmarshal(content, &kind); err != nil {
		return nil, fmt.Errorf("credentials of %s are not JSON", from)
	}
	if kind.Type != google.ServiceAccount && kind.Type != google.AuthorizedUser {
		return nil, fmt.Errorf("credentials of %s are of type %q: use a service_account key or an authorized_user", from, kind.Type)
	}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Transport: transport})
	c, err := google.CredentialsFromJSONWithType(ctx, content, kind.Type, cloudScope, emailScope)
	if err != nil {
		return nil, fmt.Errorf("credentials of %s cannot be used: %w", from, err)
	}
	return c.TokenSource, nil
}

func fromEnvironment(value *string, variables ...string) {
	for _, v := range variables {
		if *value == "" {
			*value = os.Getenv(v)
		}
	}
}

// guardedTransport lets calls to the endpoints' hosts through and no others, wherever credentials or answers point.
type guardedTransport struct {
	hosts []string
	next  http.RoundTripper
}

func (t *guardedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !slices.Contains(t.hosts, r.URL.Host) {
		return nil, fmt.Errorf("refused to call %s: the local gcp plugin reaches the emulated Google Cloud only, at %s",
			r.URL.Host, strings.Join(t.hosts, ", "))
	}
	return t.next.RoundTrip(r)
}

// versionPath is the end of an endpoint that Google's clients add themselves.
var versionPath = regexp.MustCompile(`/(sql/|storage/)?(v[0-9][^/]*|beta)/?$`)

// root returns an endpoint without its version.
func root(endpoint string) string {
	return strings.TrimSuffix(versionPath.ReplaceAllString(endpoint, ""), "/") + "/"
}
