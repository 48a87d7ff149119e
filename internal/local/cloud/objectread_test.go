package cloud_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"google.golang.org/api/storage/v1"
)

func TestListsWithDelimitersAndPages(t *testing.T) {
	c := newEmulator(t, false)
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
	c := newEmulator(t, false)
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
		t.Errorf("an unknown API: %+v", answer)
	}
}

func TestCompressedContents(t *testing.T) {
	c := newEmulator(t, false)
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
			t.Errorf("with Accept-Encoding %s the response is %+v", accepted, answer)
		}
	}
}
