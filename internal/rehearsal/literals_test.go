package rehearsal

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// TestOnlyBoundedFilesPublishTheirValues maps the values of files as secrets: a published one stays.
func TestOnlyBoundedFilesPublishTheirValues(t *testing.T) {
	tree := fstest.MapFS{
		"a.yaml":       {Data: []byte("port: 3306\n")},
		"b.txt":        {Data: []byte("port: 3307\n")},
		"c/large.yaml": {Data: append([]byte("port: 3308\n"), bytes.Repeat([]byte("#"), largestFile)...)},
	}
	for i := range mostBytes / largestFile {
		tree["d/"+strings.Repeat("x", i+1)+".yml"] = &fstest.MapFile{Data: append([]byte("a: b\n"), bytes.Repeat([]byte("#"), largestFile-5)...)}
	}
	tree["e.yaml"] = &fstest.MapFile{Data: []byte("port: 3309\n")}
	r := &run{}
	if err := r.publishFiles(tree); err != nil {
		t.Fatal(err)
	}
	for port, stays := range map[string]bool{"3306": true, "3307": false, "3308": false, "3309": false} {
		got := r.words.Map(resource.PropertyMap{"x": resource.MakeSecret(resource.NewProperty(port))})["x"].SecretValue().Element.StringValue()
		if got == port != stays {
			t.Errorf("the secret %s becomes %s", port, got)
		}
	}
}

func TestLiteralsAreTheScalarsOfAllDocuments(t *testing.T) {
	bomb := "a: &a [x]\n"
	for i := range 30 {
		from, to := string(rune('a'+i%25)), string(rune('a'+(i+1)%25))
		bomb += to + ": &" + to + " [*" + from + ", *" + from + ", *" + from + "]\n"
	}
	for name, c := range map[string]struct {
		content string
		want    []string
	}{
		"a number and a text": {"port: 3306\ndata: {user: web, flags: [yes, '']}\n", []string{"port", "3306", "data", "user", "web", "flags", "yes", ""}},
		"two documents":       {"a: b\n---\nc: d\n", []string{"a", "b", "c", "d"}},
		"a broken document":   {"a: b\n---\nc: [\n", []string{"a", "b"}},
		"nothing":             {"", nil},
	} {
		if got := literals([]byte(c.content)); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	// An alias is not followed, so that the number of values is that of the text.
	if got := literals([]byte(bomb)); len(got) > strings.Count(bomb, "\n")*2 {
		t.Errorf("%d values", len(got))
	}
}
