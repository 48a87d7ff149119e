package cloud_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/internal/local/cloud"
)

// storageAs returns Google's client for Cloud Storage, for one identity.
func (c *emulator) storageAs(file []byte) *storage.Service {
	c.t.Helper()
	made, err := storage.NewService(c.t.Context(), option.WithTokenSource(c.login(file, storage.DevstorageReadWriteScope)),
		option.WithEndpoint(cloud.Endpoints(c.url)["GOOGLE_STORAGE_CUSTOM_ENDPOINT"]))
	if err != nil {
		c.t.Fatal(err)
	}
	return made
}

// login returns a token source for a credentials file. Without scopes, the tokens have the scope for all of Google
// Cloud.
func (c *emulator) login(file []byte, scopes ...string) oauth2.TokenSource {
	c.t.Helper()
	if len(scopes) == 0 {
		scopes = []string{"https://www.googleapis.com/auth/cloud-platform"}
	}
	kind := google.ServiceAccount
	if strings.Contains(string(file), `"authorized_user"`) {
		kind = google.AuthorizedUser
	}
	login, err := google.CredentialsFromJSONWithType(c.t.Context(), file, kind, scopes...)
	if err != nil {
		c.t.Fatal(err)
	}
	return login.TokenSource
}

// newBucket creates a bucket with uniform access.
func (c *emulator) newBucket(client *storage.Service, name string) *storage.Bucket {
	c.t.Helper()
	made, err := client.Buckets.Insert(projectID, &storage.Bucket{
		Name: name, Location: "europe-west1", IamConfiguration: &storage.BucketIamConfiguration{
			UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true},
		},
	}).Do()
	if err != nil {
		c.t.Fatal(err)
	}
	return made
}

// grantOn adds a member to a role on a bucket, as the providers' BucketIAMMember resource does.
func (c *emulator) grantOn(bucket, member, role string, condition *storage.Expr) {
	c.t.Helper()
	buckets := c.storageAs(c.engineer).Buckets
	policy, err := buckets.GetIamPolicy(bucket).OptionsRequestedPolicyVersion(3).Do()
	if err != nil {
		c.t.Fatal(err)
	}
	policy.Version = 3
	policy.Bindings = append(policy.Bindings, &storage.PolicyBindings{Role: role, Members: []string{member}, Condition: condition})
	if _, err := buckets.SetIamPolicy(bucket, policy).Do(); err != nil {
		c.t.Fatal(err)
	}
}

func TestBucketLifecycle(t *testing.T) {
	c := newEmulator(t, false)
	buckets := c.storageAs(c.engineer).Buckets
	made, err := buckets.Insert(projectID, &storage.Bucket{
		Name: "state", Location: "europe-west1", Labels: map[string]string{"team": "web", "stage": "dev"},
		Versioning: &storage.BucketVersioning{Enabled: true},
		IamConfiguration: &storage.BucketIamConfiguration{
			PublicAccessPrevention:   "enforced",
			UniformBucketLevelAccess: &storage.BucketIamConfigurationUniformBucketLevelAccess{Enabled: true},
		},
		Lifecycle: &storage.BucketLifecycle{Rule: []*storage.BucketLifecycleRule{{
			Action: &storage.BucketLifecycleRuleAction{Type: "Delete"}, Condition: &storage.BucketLifecycleRuleCondition{NumNewerVersions: 5},
		}}},
	}).Do()
	if err != nil {
		t.Fatal(err)
	}
	found, err := buckets.Get("state").Do()
	if err != nil {
		t.Fatal(err)
	}
	iam := found.IamConfiguration
	if found.Location != "EUROPE-WEST1" || found.LocationType != "region" || found.StorageClass != "STANDARD" || !found.Versioning.Enabled ||
		found.Labels["team"] != "web" || found.Lifecycle.Rule[0].Condition.NumNewerVersions != 5 || found.Metageneration != 1 || found.Etag != "CAE=" ||
		iam.PublicAccessPrevention != "enforced" || !iam.UniformBucketLevelAccess.Enabled || iam.UniformBucketLevelAccess.LockedTime == "" ||
		found.ProjectNumber == 0 || found.TimeCreated != made.TimeCreated {
		t.Errorf("bucket is %+v with %+v", found, iam)
	}

	_, err = buckets.Insert(projectID, &storage.Bucket{Name: "state"}).Do()
	refused(t, err, 409, "Your previous request to create the named bucket succeeded and you already own it.", "conflict")

	patch := &storage.Bucket{Labels: map[string]string{"stage": "prod"}, NullFields: []string{"Labels.team", "Lifecycle"}}
	_, err = buckets.Patch("state", patch).IfMetagenerationMatch(7).Do()
	refused(t, err, 412, "pre-conditions", "conditionNotMet")
	if found, err = buckets.Patch("state", patch).IfMetagenerationMatch(1).Do(); err != nil {
		t.Fatal(err)
	}
	if len(found.Labels) != 1 || found.Labels["stage"] != "prod" || found.Lifecycle != nil || !found.Versioning.Enabled || found.Metageneration != 2 ||
		found.IamConfiguration.UniformBucketLevelAccess.LockedTime != iam.UniformBucketLevelAccess.LockedTime {
		t.Errorf("bucket after the patch: %+v", found)
	}
	_, err = buckets.Patch("state", &storage.Bucket{Location: "US"}).Do()
	refused(t, err, 400, "location of a bucket cannot be changed")
	if found, err = buckets.Update("state", &storage.Bucket{StorageClass: "NEARLINE"}).Do(); err != nil {
		t.Fatal(err)
	}
	if found.StorageClass != "NEARLINE" || found.Labels != nil || found.Versioning != nil || found.Location != "EUROPE-WEST1" {
		t.Errorf("bucket after the update: %+v", found)
	}

	c.restart(false)
	listed, err := c.storageAs(c.engineer).Buckets.List(projectID).Do()
	if err != nil || len(listed.Items) != 1 || listed.Items[0].StorageClass != "NEARLINE" {
		t.Errorf("buckets after the restart are %+v, %v", listed, err)
	}
	if err := buckets.Delete("state").Do(); err != nil {
		t.Fatal(err)
	}
	_, err = buckets.Get("state").Do()
	refused(t, err, 404, "The specified bucket does not exist.", "notFound")
	c.newBucket(c.storageAs(c.engineer), "state")
	policy, err := buckets.GetIamPolicy("state").Do()
	if err != nil || len(policy.Bindings) != 4 {
		t.Errorf("the new bucket has the policy of the old one: %+v, %v", policy, err)
	}
}

func TestListOfBucketsHasPages(t *testing.T) {
	c := newEmulator(t, false)
	client := c.storageAs(c.engineer)
	for _, name := range []string{"web-a", "web-b", "web-c", "api-a"} {
		c.newBucket(client, name)
	}
	var pages [][]string
	err := client.Buckets.List(projectID).Prefix("web-").MaxResults(2).Pages(t.Context(), func(page *storage.Buckets) error {
		var names []string
		for _, b := range page.Items {
			names = append(names, b.Name)
		}
		pages = append(pages, names)
		return nil
	})
	if err != nil || !slices.EqualFunc(pages, [][]string{{"web-a", "web-b"}, {"web-c"}}, slices.Equal) {
		t.Errorf("pages are %v, %v", pages, err)
	}
}

func TestInvalidBucketsAreRejected(t *testing.T) {
	c := newEmulator(t, false)
	buckets := c.storageAs(c.engineer).Buckets
	for name, test := range map[string]struct {
		bucket *storage.Bucket
		code   int
		want   string
	}{
		"capitals":            {&storage.Bucket{Name: "State"}, 400, "Invalid bucket name: 'State'"},
		"short name":          {&storage.Bucket{Name: "ab"}, 400, "Invalid bucket name"},
		"path":                {&storage.Bucket{Name: "a/../b"}, 400, "Invalid bucket name"},
		"address":             {&storage.Bucket{Name: "10.0.0.1"}, 400, "Invalid bucket name"},
		"name of Google":      {&storage.Bucket{Name: "goog-state"}, 400, "Invalid bucket name"},
		"name of an API":      {&storage.Bucket{Name: "sqladmin"}, 409, "bucket name is not available"},
		"unknown location":    {&storage.Bucket{Name: "state", Location: "moon"}, 400, "location constraint is not valid"},
		"unknown class":       {&storage.Bucket{Name: "state", StorageClass: "GOLD"}, 400, "storage class is not valid"},
		"key of KMS":          {&storage.Bucket{Name: "state", Encryption: &storage.BucketEncryption{DefaultKmsKeyName: "k"}}, 501, "encryption is not emulated"},
		"retention":           {&storage.Bucket{Name: "state", RetentionPolicy: &storage.BucketRetentionPolicy{RetentionPeriod: 9}}, 501, "retentionPolicy"},
		"access control list": {&storage.Bucket{Name: "state", Acl: []*storage.BucketAccessControl{{Entity: "allUsers"}}}, 501, "access control list"},
		"unknown prevention":  {&storage.Bucket{Name: "state", IamConfiguration: &storage.BucketIamConfiguration{PublicAccessPrevention: "x"}}, 400, "publicAccessPrevention"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := buckets.Insert(projectID, test.bucket).Do()
			refused(t, err, test.code, test.want)
		})
	}
	_, err := buckets.Insert("another-project", &storage.Bucket{Name: "state"}).Do()
	refused(t, err, 403, "storage.buckets.create")
	listed, err := buckets.List(projectID).Do()
	if err != nil || len(listed.Items) != 0 {
		t.Errorf("buckets are %v, %v", listed, err)
	}
}

// TestBucketsOfAnotherProject checks that bucket names are global and permissions are not.
func TestBucketsOfAnotherProject(t *testing.T) {
	c := newEmulator(t, false)
	stranger, err := c.EnsureProject("other-project", "stranger@strata.local")
	if err != nil {
		t.Fatal(err)
	}
	c.newBucket(c.storageAs(c.engineer), "state")
	other := c.storageAs(stranger)
	_, err = other.Buckets.Insert("other-project", &storage.Bucket{Name: "state"}).Do()
	refused(t, err, 409, "The requested bucket name is not available.", "conflict")
	_, err = other.Buckets.Get("state").Do()
	refused(t, err, 403, "stranger@strata.local does not have storage.buckets.get access to the Google Cloud Storage bucket. "+
		"Permission 'storage.buckets.get' denied on resource (or it may not exist).", "forbidden")
	refused(t, other.Buckets.Delete("state").Do(), 403, "storage.buckets.delete")
	listed, err := other.Buckets.List("other-project").Do()
	if err != nil || len(listed.Items) != 0 {
		t.Errorf("buckets of the other project are %v, %v", listed, err)
	}
	_, err = other.Buckets.List(projectID).Do()
	refused(t, err, 403, "storage.buckets.list access to the Google Cloud project")
}

func TestBucketPolicy(t *testing.T) {
	c := newEmulator(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	policy, err := client.Buckets.GetIamPolicy("state").Do()
	if err != nil {
		t.Fatal(err)
	}
	if policy.Kind != "storage#policy" || policy.ResourceId != "projects/_/buckets/state" || policy.Bindings[0].Role != "roles/storage.legacyBucketOwner" ||
		!slices.Equal(policy.Bindings[0].Members, []string{"projectEditor:strata-local", "projectOwner:strata-local"}) {
		t.Errorf("policy is %+v with %+v", policy, policy.Bindings[0])
	}
	stale := *policy
	policy.Bindings = append(policy.Bindings, &storage.PolicyBindings{Role: "roles/storage.objectViewer", Members: []string{"allUsers"}})
	if _, err := client.Buckets.SetIamPolicy("state", policy).Do(); err != nil {
		t.Fatal(err)
	}
	_, err = client.Buckets.SetIamPolicy("state", &stale).Do()
	refused(t, err, 412, "conditionNotMet")
	_, err = client.Buckets.SetIamPolicy("state", &storage.Policy{Bindings: []*storage.PolicyBindings{{
		Role: "roles/storage.objectViewer", Members: []string{"serviceAccount:none@strata-local.iam.gserviceaccount.com"},
	}}}).Do()
	refused(t, err, 400, "does not exist")

	if _, err := client.Buckets.Patch("state", &storage.Bucket{IamConfiguration: &storage.BucketIamConfiguration{PublicAccessPrevention: "enforced"}}).Do(); err != nil {
		t.Fatal(err)
	}
	policy.Etag = ""
	_, err = client.Buckets.SetIamPolicy("state", policy).Do()
	refused(t, err, 412, "public access prevention is enforced")

	if _, err := client.Buckets.Insert(projectID, &storage.Bucket{Name: "fine-grained"}).Do(); err != nil {
		t.Fatal(err)
	}
	_, err = client.Buckets.SetIamPolicy("fine-grained", &storage.Policy{Version: 3, Bindings: []*storage.PolicyBindings{{
		Role: "roles/storage.objectViewer", Members: []string{"user:" + engineer}, Condition: &storage.Expr{Title: "x", Expression: "true"},
	}}}).Do()
	refused(t, err, 400, "uniform bucket-level access")

	_, reader := c.account("reader-account")
	tested, err := c.storageAs(reader).Buckets.TestIamPermissions("state", []string{"storage.objects.get", "storage.objects.create"}).Do()
	if err != nil || !slices.Equal(tested.Permissions, []string{"storage.objects.get"}) {
		t.Errorf("permissions are %+v, %v", tested, err)
	}
}

// storageRefusal checks that an error has the form of Cloud Storage, which has no status.
func storageRefusal(t *testing.T, err error, reason string) {
	t.Helper()
	refused, ok := errors.AsType[*googleapi.Error](err)
	if !ok || len(refused.Errors) != 1 || refused.Errors[0].Reason != reason || strings.Contains(refused.Body, `"status"`) {
		t.Errorf("error is %#v, want the reason %s", err, reason)
	}
}

func TestErrorsHaveTheFormOfCloudStorage(t *testing.T) {
	c := newEmulator(t, false)
	client := c.storageAs(c.engineer)
	_, err := client.Buckets.Get("none").Do()
	storageRefusal(t, err, "notFound")
	c.newBucket(client, "state")
	_, err = client.Objects.Get("state", "none").Do()
	storageRefusal(t, err, "notFound")
	_, nobody := c.account("nobody-account")
	_, err = c.storageAs(nobody).Objects.List("state").Do()
	storageRefusal(t, err, "forbidden")
}

// contents returns the number of object contents on disk.
func (c *emulator) contents() int {
	c.t.Helper()
	files, err := os.ReadDir(filepath.Join(c.dir, "objects"))
	if err != nil {
		c.t.Fatal(err)
	}
	return len(files)
}
