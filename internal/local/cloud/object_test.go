package cloud_test

import (
	"fmt"
	"io"
	"net/http"
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

// reply is a response with its body.
type reply struct {
	code   int
	header http.Header
	body   string
}

// sendRaw sends a request with a token to a path of the emulator or to a full URL.
func (c *emulator) sendRaw(token, method, address, body string, header map[string]string) reply {
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
	c := newEmulator(t, false)
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
		t.Errorf("%d contents remain", left)
	}
	if err := client.Buckets.Delete("state").Do(); err != nil {
		t.Error(err)
	}
}

func TestInvalidObjectsAreRejected(t *testing.T) {
	c := newEmulator(t, false)
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
		t.Errorf("%d contents remain", left)
	}
}

func TestWritesWithPreconditions(t *testing.T) {
	c := newEmulator(t, false)
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
		t.Errorf("%d contents remain", left)
	}
}

// TestOnlyOneWriterCreatesAnObject starts several writers for one name, as clients that use an object as a lock do.
func TestOnlyOneWriterCreatesAnObject(t *testing.T) {
	c := newEmulator(t, false)
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
		t.Errorf("%d writers created the object", won)
	}
}

func TestVersions(t *testing.T) {
	c := newEmulator(t, false)
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
		t.Errorf("delete the bucket: %v; %d contents remain", err, c.contents())
	}
}
