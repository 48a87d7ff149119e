package cloud_test

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/storage/v1"
)

// text returns random content of a size.
func text(size int) string {
	var b strings.Builder
	for b.Len() < size {
		b.WriteByte(byte('a' + rand.IntN(26)))
	}
	return b.String()
}

func TestLargeObjectsAreUploadedInParts(t *testing.T) {
	c := newEmulator(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	content := text(3*googleapi.MinUploadChunkSize + 17)
	insert := func() (*storage.Object, error) {
		return client.Objects.Insert("state", &storage.Object{Name: "large"}).Name("large").IfGenerationMatch(0).
			Media(strings.NewReader(content), googleapi.ChunkSize(googleapi.MinUploadChunkSize), googleapi.ContentType("text/plain")).Do()
	}
	made, err := insert()
	if err != nil {
		t.Fatal(err)
	}
	if made.Size != uint64(len(content)) || made.ContentType != "text/plain" {
		t.Errorf("object is %+v", made)
	}
	wantContent(t, client, "state", "large", content)
	_, err = insert()
	refused(t, err, 412)
	if left := c.contents(); left != 1 {
		t.Errorf("%d contents remain", left)
	}
}

// resumable is a resumable upload, request by request.
type resumable struct {
	*testing.T
	c     *emulator
	token string
	uri   string
}

func (c *emulator) begin(t *testing.T, key []byte, name, query string) *resumable {
	t.Helper()
	u := &resumable{T: t, c: c, token: c.token(key), uri: c.url + "/upload/storage/v1/b/state/o?uploadType=resumable&name=" + name + query}
	answer := u.send("POST", "", `{"metadata":{"by":"me"}}`)
	if u.uri = answer.header.Get("Location"); answer.code != http.StatusOK || !strings.HasPrefix(u.uri, c.url+"/upload/storage/v1/b/state/o?") {
		t.Fatalf("begin: %+v", answer)
	}
	return u
}

func (u *resumable) send(method, contentRange, body string) reply {
	u.Helper()
	header := map[string]string{}
	if contentRange != "" {
		header["Content-Range"] = contentRange
	}
	return u.c.sendRaw(u.token, method, u.uri, body, header)
}

// want sends a part, and checks the status and the header Range of the response.
func (u *resumable) want(contentRange, body string, status int, received string) {
	u.Helper()
	answer := u.send("PUT", contentRange, body)
	if answer.code != status || answer.header.Get("Range") != received {
		u.Errorf("%s: %+v, want %d with %q", contentRange, answer, status, received)
	}
}

func TestResumableUpload(t *testing.T) {
	c := newEmulator(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	_, key := c.account("writer-account", "roles/storage.objectAdmin")
	u := c.begin(t, key, "a", "")
	u.want("bytes */*", "", 308, "")
	u.want("bytes 0-4/*", "hello", 308, "bytes=0-4")
	u.want("bytes 7-9/*", "gap", 308, "bytes=0-4") // after a gap, the response says where to continue
	c.restart(false)
	u.want("bytes */11", "", 308, "bytes=0-4")
	u.want("bytes 3-7/11", "lo wo", 308, "bytes=0-7") // the part overlaps
	_, err := read(client, "state", "a")
	refused(t, err, 404)
	u.want("bytes 8-10/11", "rld", 200, "")
	wantContent(t, client, "state", "a", "hello world")

	// The client did not get the last response, so it sends the part again, or requests the state. The emulator must
	// not write the object again.
	var first, again storage.Object
	for _, into := range []*storage.Object{&first, &again} {
		if err := json.Unmarshal([]byte(u.send("PUT", "bytes 8-10/11", "rld").body), into); err != nil {
			t.Fatal(err)
		}
	}
	if first.Generation == 0 || first.Generation != again.Generation || first.Metadata["by"] != "me" {
		t.Errorf("objects are %+v and %+v", first, again)
	}
	u.want("bytes */11", "", 200, "")
}

func TestInvalidUploadsAreRejected(t *testing.T) {
	c := newEmulator(t, false)
	client := c.storageAs(c.engineer)
	c.newBucket(client, "state")
	_, key := c.account("writer-account", "roles/storage.objectAdmin")
	_, other := c.account("other-account", "roles/storage.objectAdmin")

	u := c.begin(t, key, "a", "&ifGenerationMatch=0")
	u.want("bytes 0-x/9", "hello", 400, "")
	u.want("bytes 0-4/3", "hello", 400, "")
	theirs := *u
	theirs.token = c.token(other)
	theirs.want("bytes */9", "", 404, "")
	write(t, client, "state", "a", "first")
	u.want("bytes 5-8/9", " you", 412, "")
	u.want("bytes */9", "", 404, "") // the content no longer exists
	wantContent(t, client, "state", "a", "first")

	u = c.begin(t, key, "b", "")
	u.want("bytes 0-4/*", "hello", 308, "bytes=0-4")
	if answer := u.send("DELETE", "", ""); answer.code != 499 {
		t.Errorf("cancel: %+v", answer)
	}
	u.want("bytes 5-8/9", " you", 404, "")
	if left := c.contents(); left != 1 {
		t.Errorf("%d contents remain", left)
	}

	_, reader := c.account("reader-account", "roles/storage.objectViewer")
	u = &resumable{T: t, c: c, token: c.token(reader), uri: c.url + "/upload/storage/v1/b/state/o?uploadType=resumable&name=c"}
	if answer := u.send("POST", "", "{}"); answer.code != http.StatusForbidden {
		t.Errorf("begin without the permission: %+v", answer)
	}
}
