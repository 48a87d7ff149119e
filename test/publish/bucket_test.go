package publish

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	auth "golang.org/x/oauth2/google"
	"google.golang.org/api/iam/v1"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/internal/local/cloud"
	"github.com/strata-platform/strata/internal/local/cloudtest"
	"github.com/strata-platform/strata/test/long"
)

// objects is a bucket in the emulated Cloud Storage.
type objects struct {
	cloudtest.Cloud
	accounts *iam.Service
	storage  *storage.Service
}

func newObjects(t *testing.T, google cloudtest.Cloud) objects {
	t.Helper()
	owner, err := auth.CredentialsFromJSONWithType(t.Context(), []byte(google.Owner), auth.AuthorizedUser, storage.CloudPlatformScope)
	if err != nil {
		t.Fatal(err)
	}
	options := []option.ClientOption{option.WithCredentials(owner)}
	o := objects{Cloud: google}
	if o.accounts, err = iam.NewService(t.Context(), append(options, option.WithEndpoint(google.URL+"/iam/"))...); err != nil {
		t.Fatal(err)
	}
	if o.storage, err = storage.NewService(t.Context(), append(options, option.WithEndpoint(google.URL+"/storage/storage/v1/"))...); err != nil {
		t.Fatal(err)
	}
	bucket := &storage.Bucket{Name: "web-deploy", IamConfiguration: &storage.BucketIamConfiguration{
		UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true},
	}}
	if _, err := o.storage.Buckets.Insert(cloudtest.Project, bucket).Do(); err != nil {
		t.Fatal(err)
	}
	return o
}

// account creates a service account with roles on the bucket, and returns its key.
func (o objects) account(t *testing.T, id string, roles ...string) string {
	t.Helper()
	account, err := o.accounts.Projects.ServiceAccounts.Create("projects/"+cloudtest.Project, &iam.CreateServiceAccountRequest{AccountId: id}).Do()
	if err != nil {
		t.Fatal(err)
	}
	policy, err := o.storage.Buckets.GetIamPolicy("web-deploy").Do()
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range roles {
		policy.Bindings = append(policy.Bindings, &storage.PolicyBindings{Role: role, Members: []string{"serviceAccount:" + account.Email}})
	}
	if _, err := o.storage.Buckets.SetIamPolicy("web-deploy", policy).Do(); err != nil {
		t.Fatal(err)
	}
	key, err := o.accounts.Projects.ServiceAccounts.Keys.Create(account.Name, &iam.CreateServiceAccountKeyRequest{}).Do()
	if err != nil {
		t.Fatal(err)
	}
	content, err := base64.StdEncoding.DecodeString(key.PrivateKeyData)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// write writes an object.
func (o objects) write(t *testing.T, name, content string) {
	t.Helper()
	if _, err := o.storage.Objects.Insert("web-deploy", &storage.Object{Name: name}).Media(strings.NewReader(content)).Do(); err != nil {
		t.Fatal(err)
	}
}

// TestFluxFetchesTheObjectsOfABucket runs source-controller against the emulated Cloud Storage, under the name of Google's host: Google's
// client in the controller has no other endpoint.
func TestFluxFetchesTheObjectsOfABucket(t *testing.T) {
	long.Test(t)
	google := cloudtest.Start(t)
	certificates := t.TempDir()
	if err := os.WriteFile(filepath.Join(certificates, "authority.pem"), google.Authority, 0o600); err != nil {
		t.Fatal(err)
	}
	var env []string
	for name, value := range cloud.TunnelVariables(google.URL, certificates) {
		env = append(env, name+"="+value)
	}
	s := newSite(t, env...)
	o := newObjects(t, google)
	logins := map[string]string{
		"reader":   o.account(t, "reader-account", "roles/storage.objectViewer", "roles/storage.legacyBucketReader"),
		"stranger": o.account(t, "stranger-account"),
	}
	o.write(t, "prod/settings.yaml", "a: 1")
	o.write(t, "test/settings.yaml", "a: other")
	sources := map[string]*unstructured.Unstructured{}
	for name, key := range logins {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}, StringData: map[string]string{"serviceaccount": key}}
		if err := s.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		sources[name] = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "Bucket", "metadata": map[string]any{"namespace": namespace, "name": name},
			"spec": map[string]any{
				"interval": "1s", "provider": "gcp", "endpoint": "storage.googleapis.com", "bucketName": "web-deploy", "prefix": "prod/",
				"secretRef": map[string]any{"name": name},
			},
		}}
		if err := s.Create(t.Context(), sources[name]); err != nil {
			t.Fatal(err)
		}
	}
	source := sources["reader"]
	s.until(t, source, "the objects are offered", func() bool { return revision(source) != "" })
	first := revision(source)
	o.write(t, "test/settings.yaml", "a: another")
	o.write(t, "prod/settings.yaml", "a: 2")
	s.until(t, source, "changed objects are offered", func() bool { return revision(source) != first })
	second := revision(source)
	// The revision depends on the content, and nothing orders revisions: an older object is offered again.
	o.write(t, "prod/settings.yaml", "a: 1")
	s.until(t, source, "older objects are offered", func() bool { return revision(source) != second })
	source = sources["stranger"]
	s.until(t, source, "an account without rights is refused", func() bool {
		status, message := condition(source, "Ready")
		return status == "False" && strings.Contains(message, "does not have storage.buckets.get access")
	})
	if revision(source) != "" {
		t.Errorf("the account without rights gets %s", revision(source))
	}
}
