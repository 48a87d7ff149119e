package gcloud_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/storage/v1"
)

// write writes an object in one request.
func write(t testing.TB, client *storage.Service, bucket, name, content string) *storage.Object {
	t.Helper()
	made, err := client.Objects.Insert(bucket, &storage.Object{Name: name, ContentType: "text/plain"}).Name(name).Media(strings.NewReader(content)).Do()
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// read returns the content of an object, or an error.
func read(client *storage.Service, bucket, name string) (string, error) {
	answer, err := client.Objects.Get(bucket, name).Download()
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	return string(content), err
}

func wantContent(t testing.TB, client *storage.Service, bucket, name, want string) {
	t.Helper()
	if got, err := read(client, bucket, name); err != nil || got != want {
		t.Errorf("%s/%s is %.80q, %v; want %.80q", bucket, name, got, err, want)
	}
}

// reply is an answer whose body was read.
type reply struct {
	code   int
	header http.Header
	body   string
}

// sendRaw sends a request with a token, to a path of the emulator or to a whole address.
func (c *cloud) sendRaw(token, method, address, body string, header map[string]string) reply {
	c.t.Helper()
	if strings.HasPrefix(address, "/") {
		address = c.url + address
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	for name, value := range header {
		request.Header.Set(name, value)
	}
	answer, err := (&http.Transport{DisableCompression: true, DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer answer.Body.Close()
	read, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return reply{code: answer.StatusCode, header: answer.Header, body: string(read)}
}

func TestObjectLifecycle(t *testing.T) {
	c := newCloud(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	const name = "a/b c/ü%2F?#.json"
	first := write(t, client, "state", name, "hello")
	if first.Size != 5 || first.Md5Hash != "XUFAKrxLKna5cZ2REBfFkg==" || first.Crc32c != "mnG7TA==" || first.Metageneration != 1 ||
		first.ContentType != "text/plain" || first.Id != fmt.Sprintf("state/%s/%d", name, first.Generation) {
		t.Errorf("object is %+v", first)
	}
	wantContent(t, client, "state", name, "hello")

	second := write(t, client, "state", name, "hello again")
	if second.Generation <= first.Generation {
		t.Errorf("generation %d follows %d", second.Generation, first.Generation)
	}
	_, err := client.Objects.Get("state", name).Generation(first.Generation).Do()
	refused(t, err, 404, "No such object: state/"+name)

	patched, err := client.Objects.Patch("state", name, &storage.Object{
		Metadata: map[string]string{"by": "me"}, CacheControl: "no-cache",
	}).IfMetagenerationMatch(1).Do()
	if err != nil || patched.Metadata["by"] != "me" || patched.Metageneration != 2 || patched.Generation != second.Generation || patched.ContentType != "text/plain" {
		t.Errorf("object after the patch: %+v, %v", patched, err)
	}
	_, err = client.Objects.Patch("state", name, &storage.Object{CacheControl: "x"}).IfMetagenerationMatch(1).Do()
	refused(t, err, 412)
	_, err = client.Objects.Patch("state", name, &storage.Object{TemporaryHold: true}).Do()
	refused(t, err, 501, "temporaryHold is not emulated")

	c.restart(false)
	client = c.storageAs(c.engineer)
	wantContent(t, client, "state", name, "hello again")
	refused(t, client.Buckets.Delete("state").Do(), 409, "The bucket you tried to delete is not empty.", "conflict")
	refused(t, client.Objects.Delete("state", name).IfGenerationMatch(first.Generation).Do(), 412)
	if err := client.Objects.Delete("state", name).IfGenerationMatch(second.Generation).Do(); err != nil {
		t.Fatal(err)
	}
	refused(t, client.Objects.Delete("state", name).Do(), 404)
	if left := c.contents(); left != 0 {
		t.Errorf("%d contents are left", left)
	}
	if err := client.Buckets.Delete("state").Do(); err != nil {
		t.Error(err)
	}
}

func TestObjectsThatAreRefused(t *testing.T) {
	c := newCloud(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	insert := func(o *storage.Object) error {
		_, err := client.Objects.Insert("state", o).Name(o.Name).Media(strings.NewReader("hello")).Do()
		return err
	}
	for name, test := range map[string]struct {
		object *storage.Object
		code   int
		want   string
	}{
		"no name":        {&storage.Object{}, 400, "Required parameter: name"},
		"line break":     {&storage.Object{Name: "a\nb"}, 400, "Invalid object name"},
		"dots":           {&storage.Object{Name: ".."}, 400, "Invalid object name"},
		"long name":      {&storage.Object{Name: strings.Repeat("x", 1025)}, 400, "Invalid object name"},
		"other content":  {&storage.Object{Name: "a", Md5Hash: "AAAA"}, 400, "Provided MD5 hash"},
		"other checksum": {&storage.Object{Name: "a", Crc32c: "AAAA"}, 400, "Provided CRC32C"},
		"hold":           {&storage.Object{Name: "a", TemporaryHold: true}, 501, "temporaryHold"},
	} {
		t.Run(name, func(t *testing.T) { refused(t, insert(test.object), test.code, test.want) })
	}
	_, err := client.Objects.Insert("none", &storage.Object{Name: "a"}).Name("a").Media(strings.NewReader("")).Do()
	refused(t, err, 404, "The specified bucket does not exist.")
	if left := c.contents(); left != 0 {
		t.Errorf("%d contents are left", left)
	}
}

func TestWritesWithPreconditions(t *testing.T) {
	c := newCloud(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	insert := func(content string, generation int64) (*storage.Object, error) {
		return client.Objects.Insert("state", &storage.Object{Name: "lock"}).Name("lock").IfGenerationMatch(generation).
			Media(strings.NewReader(content)).Do()
	}
	made, err := insert("mine", 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = insert("yours", 0)
	refused(t, err, 412, "conditionNotMet")
	if _, err = insert("mine again", made.Generation); err != nil {
		t.Fatal(err)
	}
	wantContent(t, client, "state", "lock", "mine again")
	_, err = client.Objects.Get("state", "lock").IfGenerationMatch(made.Generation).Do()
	refused(t, err, 412)
	if _, err = client.Objects.Get("state", "lock").IfGenerationNotMatch(made.Generation).Do(); err != nil {
		t.Error(err)
	}
	if left := c.contents(); left != 1 {
		t.Errorf("%d contents are left", left)
	}
}

// TestOnlyOneWriterMakesAnObject has writers race for a name, as locks do.
func TestOnlyOneWriterMakesAnObject(t *testing.T) {
	c := newCloud(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	const writers = 20
	results := make(chan error, writers)
	for i := range writers {
		go func() {
			_, err := client.Objects.Insert("state", &storage.Object{Name: "lock"}).Name("lock").IfGenerationMatch(0).
				Media(strings.NewReader(fmt.Sprint(i))).Do()
			results <- err
		}()
	}
	won := 0
	for range writers {
		switch err := <-results; code(err) {
		case http.StatusOK:
			won++
		case http.StatusPreconditionFailed:
		default:
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d writers made the object", won)
	}
}

func TestVersions(t *testing.T) {
	c := newCloud(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	if _, err := client.Buckets.Patch("state", &storage.Bucket{Versioning: &storage.BucketVersioning{Enabled: true}}).Do(); err != nil {
		t.Fatal(err)
	}
	first := write(t, client, "state", "a", "one")
	write(t, client, "state", "a", "two")
	if err := client.Objects.Delete("state", "a").Do(); err != nil {
		t.Fatal(err)
	}
	_, err := read(client, "state", "a")
	refused(t, err, 404)
	answer, err := client.Objects.Get("state", "a").Generation(first.Generation).Download()
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if content, _ := io.ReadAll(answer.Body); string(content) != "one" {
		t.Errorf("the first generation is %q", content)
	}
	live, err := client.Objects.List("state").Do()
	if err != nil || len(live.Items) != 0 {
		t.Errorf("live objects are %+v, %v", live, err)
	}
	all, err := client.Objects.List("state").Versions(true).Do()
	if err != nil || len(all.Items) != 2 || all.Items[0].TimeDeleted == "" || all.Items[0].Generation != first.Generation {
		t.Fatalf("versions are %+v, %v", all, err)
	}
	refused(t, client.Buckets.Delete("state").Do(), 409, "not empty")
	for _, version := range all.Items {
		if err := client.Objects.Delete("state", "a").Generation(version.Generation).Do(); err != nil {
			t.Error(err)
		}
	}
	if err := client.Buckets.Delete("state").Do(); err != nil || c.contents() != 0 {
		t.Errorf("delete the bucket: %v; %d contents are left", err, c.contents())
	}
}

func TestListsAreCutByDelimiterAndPage(t *testing.T) {
	c := newCloud(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	c.newBucket(client, "state-2")
	write(t, client, "state-2", "a", "")
	for _, name := range []string{"a", "a/", "a/1", "a/2", "a/b/3", "b/4", "b/5", "c"} {
		write(t, client, "state", name, "")
	}
	for name, test := range map[string]struct {
		call func(*storage.ObjectsListCall) *storage.ObjectsListCall
		want string
	}{
		"all":       {func(l *storage.ObjectsListCall) *storage.ObjectsListCall { return l }, "a a/ a/1 a/2 a/b/3 b/4 b/5 c"},
		"prefix":    {func(l *storage.ObjectsListCall) *storage.ObjectsListCall { return l.Prefix("a/") }, "a/ a/1 a/2 a/b/3"},
		"delimiter": {func(l *storage.ObjectsListCall) *storage.ObjectsListCall { return l.Delimiter("/") }, "a c [a/] [b/]"},
		"both":      {func(l *storage.ObjectsListCall) *storage.ObjectsListCall { return l.Prefix("a/").Delimiter("/") }, "a/ a/1 a/2 [a/b/]"},
		"trailing": {func(l *storage.ObjectsListCall) *storage.ObjectsListCall {
			return l.Delimiter("/").IncludeTrailingDelimiter(true)
		}, "a a/ c [a/] [b/]"},
		"from": {func(l *storage.ObjectsListCall) *storage.ObjectsListCall {
			return l.StartOffset("a/2").EndOffset("b/5")
		}, "a/2 a/b/3 b/4"},
		"nothing":          {func(l *storage.ObjectsListCall) *storage.ObjectsListCall { return l.Prefix("x") }, ""},
		"part of a name":   {func(l *storage.ObjectsListCall) *storage.ObjectsListCall { return l.Prefix("b") }, "b/4 b/5"},
		"longer delimiter": {func(l *storage.ObjectsListCall) *storage.ObjectsListCall { return l.Delimiter("/b/") }, "a a/ a/1 a/2 b/4 b/5 c [a/b/]"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, size := range []int64{1, 2, 3, 100} {
				var items, prefixes []string
				err := test.call(client.Objects.List("state")).MaxResults(size).Pages(t.Context(), func(page *storage.Objects) error {
					if n := len(page.Items) + len(page.Prefixes); n > int(size) && name != "trailing" {
						t.Errorf("a page of %d has %d", size, n)
					}
					for _, o := range page.Items {
						items = append(items, o.Name)
					}
					for _, p := range page.Prefixes {
						prefixes = append(prefixes, "["+p+"]")
					}
					return nil
				})
				if got := strings.Join(slices.Concat(items, prefixes), " "); err != nil || got != test.want {
					t.Errorf("by %d: %s, %v; want %s", size, got, err, test.want)
				}
			}
		})
	}
	_, err := client.Objects.List("state").MatchGlob("*").Do()
	refused(t, err, 501, "matchGlob")
}

func TestReadsByTheXMLAPI(t *testing.T) {
	c := newCloud(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	made := write(t, client, "state", "a/b.json", "hello")
	_, key := c.account("reader-account", "roles/storage.objectViewer")
	token := c.token(key)
	for _, path := range []string{"/state/a%2Fb.json", "/state/a/b.json"} {
		answer := c.sendRaw(token, "GET", path, "", nil)
		if answer.code != http.StatusOK || answer.body != "hello" || answer.header.Get("X-Goog-Generation") != fmt.Sprint(made.Generation) ||
			!slices.Contains(answer.header["X-Goog-Hash"], "crc32c="+made.Crc32c) || answer.header.Get("Content-Type") != "text/plain" {
			t.Errorf("%s: %+v", path, answer)
		}
	}
	answer := c.sendRaw(token, "GET", "/state/a/b.json", "", map[string]string{"Range": "bytes=1-3"})
	if answer.code != http.StatusPartialContent || answer.body != "ell" || answer.header.Get("Content-Range") != "bytes 1-3/5" {
		t.Errorf("range: %+v", answer)
	}
	if answer := c.sendRaw(token, "HEAD", "/state/a/b.json", "", nil); answer.code != http.StatusOK || answer.header.Get("Content-Length") != "5" {
		t.Errorf("head: %+v", answer)
	}
	for _, header := range []string{"x-goog-if-generation-match", "x-goog-if-metageneration-match"} {
		if answer := c.sendRaw(token, "GET", "/state/a/b.json", "", map[string]string{header: "7"}); answer.code != http.StatusPreconditionFailed {
			t.Errorf("%s: %+v", header, answer)
		}
	}
	answer = c.sendRaw(token, "GET", "/state/none", "", nil)
	if answer.code != http.StatusNotFound || !strings.Contains(answer.body, "<Code>NoSuchKey</Code>") {
		t.Errorf("no object: %+v", answer)
	}
	if answer = c.sendRaw(token, "GET", "/compute/v1", "", nil); answer.code != http.StatusNotFound {
		t.Errorf("an API that is not there: %+v", answer)
	}
}

func TestContentsThatAreCompressed(t *testing.T) {
	c := newCloud(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = writer.Write([]byte("hello"))
	writer.Close()
	_, err := client.Objects.Insert("state", &storage.Object{Name: "a", ContentEncoding: "gzip"}).Name("a").Media(bytes.NewReader(packed.Bytes())).Do()
	if err != nil {
		t.Fatal(err)
	}
	_, key := c.account("reader-account", "roles/storage.objectViewer")
	token := c.token(key)
	for accepted, want := range map[string]string{"gzip": packed.String(), "identity": "hello"} {
		if answer := c.sendRaw(token, "GET", "/state/a", "", map[string]string{"Accept-Encoding": accepted}); answer.body != want {
			t.Errorf("who accepts %s gets %+v", accepted, answer)
		}
	}
}

func TestCopies(t *testing.T) {
	c := newCloud(t, false)
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

// TestRolesOnBuckets makes calls under each role on one bucket, none of which is good on another.
func TestRolesOnBuckets(t *testing.T) {
	c := newCloud(t, false)
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
				// Whoever may delete and not create cannot replace; nobody here is such a one.
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
	c := newCloud(t, false)
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

// TestMissingObjectsAreHidden checks that whoever may not list is not told that an object is missing.
func TestMissingObjectsAreHidden(t *testing.T) {
	c := newCloud(t, false)
	c.newBucket(c.storageAs(c.engineer), "state")
	email, key := c.account("team-web")
	c.grantOn("state", "serviceAccount:"+email, "roles/storage.legacyObjectReader", nil)
	_, err := c.storageAs(key).Objects.Get("state", "none").Do()
	refused(t, err, 403, "storage.objects.list")
}

func TestObjectWithoutCredentials(t *testing.T) {
	c := newCloud(t, false)
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
