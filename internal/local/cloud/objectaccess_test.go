package cloud_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/storage/v1"

	"github.com/strata-platform/strata/test/long"
)

func TestCopies(t *testing.T) {
	c := newEmulator(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	c.newBucket(client, "backup")
	made := write(t, client, "state", "dir/a", "hello ")
	rewritten, err := client.Objects.Rewrite("state", "dir/a", "backup", "dir/b", nil).Do()
	if err != nil {
		t.Fatal(err)
	}
	if !rewritten.Done || rewritten.ObjectSize != 6 || rewritten.Resource.ContentType != "text/plain" || rewritten.Resource.Md5Hash != made.Md5Hash {
		t.Errorf("rewritten: %+v with %+v", rewritten, rewritten.Resource)
	}
	copied, err := client.Objects.Copy("state", "dir/a", "state", "c", &storage.Object{ContentType: "text/html"}).Do()
	if err != nil || copied.ContentType != "text/html" {
		t.Errorf("copied: %+v, %v", copied, err)
	}
	_, err = client.Objects.Rewrite("state", "dir/a", "backup", "dir/b", nil).IfSourceGenerationMatch(7).Do()
	refused(t, err, 412)
	_, err = client.Objects.Rewrite("state", "none", "backup", "dir/b", nil).Do()
	refused(t, err, 404, "No such object: state/none")
	write(t, client, "state", "d", "world")
	if err := client.Objects.Delete("state", "dir/a").Do(); err != nil {
		t.Fatal(err)
	}
	wantContent(t, client, "backup", "dir/b", "hello ")
	composed, err := client.Objects.Compose("state", "e", &storage.ComposeRequest{
		Destination:   &storage.Object{ContentType: "text/plain"},
		SourceObjects: []*storage.ComposeRequestSourceObjects{{Name: "c"}, {Name: "d"}},
	}).Do()
	if err != nil || composed.ComponentCount != 2 || composed.Md5Hash != "" || composed.Size != 11 {
		t.Errorf("composed: %+v, %v", composed, err)
	}
	wantContent(t, client, "state", "e", "hello world")
}

// TestRolesOnBuckets makes calls under each role on one bucket. The roles must not apply to another bucket.
func TestRolesOnBuckets(t *testing.T) {
	long.Test(t)
	c := newEmulator(t, false)
	owner := c.storageAs(c.engineer)
	c.newBucket(owner, "state")
	c.newBucket(owner, "other")
	calls := map[string]func(client *storage.Service, bucket string) error{
		"get":     func(s *storage.Service, b string) error { _, err := read(s, b, "a"); return err },
		"list":    func(s *storage.Service, b string) error { _, err := s.Objects.List(b).Do(); return err },
		"create":  func(s *storage.Service, b string) error { return insertOnce(s, b, "new") },
		"replace": func(s *storage.Service, b string) error { return insertOnce(s, b, "a") },
		"update": func(s *storage.Service, b string) error {
			_, err := s.Objects.Patch(b, "a", &storage.Object{CacheControl: "x"}).Do()
			return err
		},
		"delete":    func(s *storage.Service, b string) error { return s.Objects.Delete(b, "a").Do() },
		"getBucket": func(s *storage.Service, b string) error { _, err := s.Buckets.Get(b).Do(); return err },
		"setPolicy": func(s *storage.Service, b string) error {
			_, err := s.Buckets.SetIamPolicy(b, &storage.Policy{Etag: "old"}).Do()
			return err
		},
	}
	for role, allowed := range map[string]string{
		"storage.objectViewer":       "get list",
		"storage.objectCreator":      "create",
		"storage.objectUser":         "get list create replace update delete",
		"storage.objectAdmin":        "get list create replace update delete",
		"storage.legacyObjectReader": "get",
		"storage.legacyBucketReader": "list getBucket",
		"storage.legacyBucketWriter": "list create replace delete getBucket",
		"storage.legacyBucketOwner":  "list create replace delete getBucket setPolicy",
		"storage.admin":              "get list create replace update delete getBucket setPolicy",
	} {
		t.Run(role, func(t *testing.T) {
			email, key := c.account(strings.ToLower(strings.ReplaceAll(role, "storage.", "x-")))
			c.grantOn("state", "serviceAccount:"+email, "roles/"+role, nil)
			client := c.storageAs(key)
			for name, call := range calls {
				write(t, owner, "state", "a", "hello")
				write(t, owner, "other", "a", "hello")
				_ = owner.Objects.Delete("state", "new").Do()
				err := call(client, "state")
				// A replacement needs the permissions to delete and to create. No role here has only the first.
				if want := slices.Contains(strings.Fields(allowed), name); (code(err) != http.StatusForbidden) != want {
					t.Errorf("%s: allowed is %t, want %t: %v", name, !want, want, err)
				}
				refused(t, call(client, "other"), 403, "storage.")
			}
		})
	}
}

func insertOnce(s *storage.Service, bucket, name string) error {
	_, err := s.Objects.Insert(bucket, &storage.Object{Name: name}).Name(name).Media(strings.NewReader("x")).Do()
	return err
}

func TestConditionsOnTheNamesOfObjects(t *testing.T) {
	c := newEmulator(t, false)
	owner := c.storageAs(c.engineer)
	c.newBucket(owner, "state")
	email, key := c.account("team-web")
	c.grantOn("state", "serviceAccount:"+email, "roles/storage.objectAdmin", &storage.Expr{
		Title: "web only", Expression: `resource.type == "storage.googleapis.com/Object" && resource.name.startsWith("projects/_/buckets/state/objects/web/")`,
	})
	client := c.storageAs(key)
	write(t, client, "state", "web/a", "mine")
	wantContent(t, client, "state", "web/a", "mine")
	refused(t, insertOnce(client, "state", "api/a"), 403, "storage.objects.create access to the Google Cloud Storage object", email)
	write(t, owner, "state", "api/a", "theirs")
	_, err := read(client, "state", "api/a")
	refused(t, err, 403)
	_, err = client.Objects.Rewrite("state", "api/a", "state", "web/b", nil).Do()
	refused(t, err, 403, "storage.objects.get")
	_, err = client.Objects.Compose("state", "web/b", &storage.ComposeRequest{SourceObjects: []*storage.ComposeRequestSourceObjects{{Name: "api/a"}}}).Do()
	refused(t, err, 403, "storage.objects.get")
}

// TestMissingObjectsAreHidden checks that a caller without the permission to list does not learn that an object is
// missing.
func TestMissingObjectsAreHidden(t *testing.T) {
	c := newEmulator(t, false)
	c.newBucket(c.storageAs(c.engineer), "state")
	email, key := c.account("team-web")
	c.grantOn("state", "serviceAccount:"+email, "roles/storage.legacyObjectReader", nil)
	_, err := c.storageAs(key).Objects.Get("state", "none").Do()
	refused(t, err, 403, "storage.objects.list")
}

func TestObjectWithoutCredentials(t *testing.T) {
	c := newEmulator(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	write(t, client, "state", "a", "hello")
	for _, path := range []string{"/state/a", "/storage/v1/b/state/o/a", "/storage/storage/v1/b/state", "/upload/storage/v1/b/state/o"} {
		answer, err := http.Get(c.url + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", path, answer.Status)
		}
	}
}
