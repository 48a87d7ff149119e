package cloud_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/oauth2"
	"google.golang.org/api/cloudkms/v1"
	crm "google.golang.org/api/cloudresourcemanager/v1"
	crmv3 "google.golang.org/api/cloudresourcemanager/v3"
	compute "google.golang.org/api/compute/v0.beta"
	"google.golang.org/api/container/v1beta1"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/serviceusage/v1"
	"google.golang.org/api/sqladmin/v1beta4"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud"
)

// officialClient is one of Google's clients as the official provider configures it. The client's base path is the
// custom endpoint without some of its last segments. Source: google-beta/transport/config.go of
// github.com/hashicorp/terraform-provider-google-beta.
type officialClient struct {
	variable string
	// official is the end of the provider's default endpoint.
	official string
	// cut is the number of segments that the provider removes because the client adds them. Releases up to at least
	// 5.42 remove them only if the endpoint begins with https.
	cut  int
	call func(client *http.Client, base string) (string, error)
	want string
}

func officialClients(t *testing.T) []officialClient {
	ctx := t.Context()
	with := option.WithHTTPClient
	return []officialClient{
		{"GOOGLE_RESOURCE_MANAGER_CUSTOM_ENDPOINT", "v1/", 1, func(client *http.Client, base string) (string, error) {
			s, err := crm.NewService(ctx, with(client))
			if err != nil {
				return "", err
			}
			s.BasePath = base
			found, err := s.Projects.Get(projectID).Do()
			if err != nil {
				return "", err
			}
			return found.ProjectId, nil
		}, projectID},
		{"GOOGLE_RESOURCE_MANAGER_V3_CUSTOM_ENDPOINT", "v3/", 1, func(client *http.Client, base string) (string, error) {
			s, err := crmv3.NewService(ctx, with(client))
			if err != nil {
				return "", err
			}
			s.BasePath = base
			found, err := s.Projects.Get("projects/" + projectID).Do()
			if err != nil {
				return "", err
			}
			return found.ProjectId, nil
		}, projectID},
		{"GOOGLE_IAM_CUSTOM_ENDPOINT", "v1/", 1, func(client *http.Client, base string) (string, error) {
			s, err := iam.NewService(ctx, with(client))
			if err != nil {
				return "", err
			}
			s.BasePath = base
			found, err := s.Roles.Get("roles/viewer").Do()
			if err != nil {
				return "", err
			}
			return found.Name, nil
		}, "roles/viewer"},
		{"GOOGLE_SERVICE_USAGE_CUSTOM_ENDPOINT", "v1beta1/", 1, func(client *http.Client, base string) (string, error) {
			s, err := serviceusage.NewService(ctx, with(client))
			if err != nil {
				return "", err
			}
			s.BasePath = base
			found, err := s.Services.Get("projects/" + projectID + "/services/iam.googleapis.com").Do()
			if err != nil {
				return "", err
			}
			return found.State, nil
		}, "ENABLED"},
		{"GOOGLE_CONTAINER_CUSTOM_ENDPOINT", "v1beta1/", 1, func(client *http.Client, base string) (string, error) {
			s, err := container.NewService(ctx, with(client))
			if err != nil {
				return "", err
			}
			s.BasePath = base
			return wantMissing(s.Projects.Locations.Clusters.Get(parent + "/clusters/moon").Do())
		}, "clusters/moon"},
		{"GOOGLE_SQL_CUSTOM_ENDPOINT", "sql/v1beta4/", 2, func(client *http.Client, base string) (string, error) {
			s, err := sqladmin.NewService(ctx, with(client))
			if err != nil {
				return "", err
			}
			s.BasePath = base
			return wantMissing(s.Instances.Get(projectID, "moon").Do())
		}, "instance does not exist"},
		{"GOOGLE_STORAGE_CUSTOM_ENDPOINT", "storage/v1/", 0, func(client *http.Client, base string) (string, error) {
			s, err := storage.NewService(ctx, with(client))
			if err != nil {
				return "", err
			}
			s.BasePath = base
			return wantMissing(s.Buckets.Get("moon").Do())
		}, "bucket does not exist"},
		{"GOOGLE_KMS_CUSTOM_ENDPOINT", "v1/", 1, func(client *http.Client, base string) (string, error) {
			s, err := cloudkms.NewService(ctx, with(client))
			if err != nil {
				return "", err
			}
			s.BasePath = base
			return wantMissing(s.Projects.Locations.KeyRings.Get(keyRing).Do())
		}, "keyRings/strata not found"},
		{"GOOGLE_COMPUTE_CUSTOM_ENDPOINT", "compute/beta/", 0, func(client *http.Client, base string) (string, error) {
			s, err := compute.NewService(ctx, with(client))
			if err != nil {
				return "", err
			}
			s.BasePath = base
			return wantMissing(s.InstanceGroupManagers.Get(projectID, location, "moon").Do())
		}, "instanceGroupManagers/moon"},
	}
}

// notEmulated is part of the answer to a call that reaches no handler.
const notEmulated = "emulated Google Cloud"

// wantMissing returns the message of the service for a missing object, which no other handler returns.
func wantMissing(_ any, err error) (string, error) {
	if missing, ok := errors.AsType[*googleapi.Error](err); ok && missing.Code == http.StatusNotFound {
		return missing.Message, nil
	}
	return "", err
}

func TestEndpointsOfTheOfficialProvider(t *testing.T) {
	c := newEmulator(t, false)
	client := oauth2.NewClient(t.Context(), c.ownerTokens())
	endpoints := cloud.Endpoints(c.url)
	for _, o := range officialClients(t) {
		own := endpoints[o.variable]
		delete(endpoints, o.variable)
		// In the emulator, the first segment is the service. The rest equals the end of the provider's default.
		service, _, _ := strings.Cut(strings.TrimPrefix(own, c.url+"/"), "/")
		official := c.url + "/" + service + "/" + o.official
		if service == "compute" {
			official = c.url + "/" + o.official
		}
		for name, base := range map[string]string{
			"as Endpoints says":     own,
			"with its version cut":  cut(own, o.cut),
			"as the provider's own": official,
			"its own, version cut":  cut(official, o.cut),
		} {
			got, err := o.call(client, base)
			if err != nil || !strings.Contains(got, o.want) || strings.Contains(got, notEmulated) {
				t.Errorf("%s, %s: %s gives %q, %v; want %q", o.variable, name, base, got, err, o.want)
			}
		}
	}
	for variable := range endpoints {
		t.Errorf("the test does not try %s", variable)
	}
}

// cut removes the last segments of an endpoint.
func cut(endpoint string, segments int) string {
	for range segments {
		endpoint = endpoint[:strings.LastIndex(strings.TrimSuffix(endpoint, "/"), "/")+1]
	}
	return endpoint
}

// TestPathsOfTheOfficialProvider tries the addresses that the official provider composes from the endpoint and a
// template, without a client.
func TestPathsOfTheOfficialProvider(t *testing.T) {
	c := newEmulator(t, false)
	token, err := c.ownerTokens().Token()
	if err != nil {
		t.Fatal(err)
	}
	endpoints := cloud.Endpoints(c.url)
	for _, tc := range []struct{ variable, path, want string }{
		{"GOOGLE_SQL_CUSTOM_ENDPOINT", "projects/" + projectID + "/instances/moon/databases/sea", "instance does not exist"},
		{"GOOGLE_STORAGE_CUSTOM_ENDPOINT", "b/moon/iam?optionsRequestedPolicyVersion=3", "bucket does not exist"},
		{"GOOGLE_CONTAINER_CUSTOM_ENDPOINT", "projects/" + projectID + "/locations/" + location + "/serverConfig", "validMasterVersions"},
	} {
		path := strings.TrimPrefix(endpoints[tc.variable], c.url) + tc.path
		if _, body := c.ask("GET", path, token.AccessToken, ""); !strings.Contains(body, tc.want) || strings.Contains(body, notEmulated) {
			t.Errorf("the response to %s%s is %s; want %q", tc.variable, path, body, tc.want)
		}
	}
}
