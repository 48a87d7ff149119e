package desk_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/desk"
	"github.com/strata-platform/strata/internal/local/machine/images/fault"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
)

func opened(t *testing.T) (*desk.Desk, *images.Images) {
	t.Helper()
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	dir := t.TempDir()
	d, err := desk.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	node, err := images.Open(dir, images.Options{Registry: images.Host})
	if err != nil {
		t.Fatal(err)
	}
	return d, node
}

// saved writes an image in the older format of docker save, and returns the path.
func saved(t *testing.T, image v1.Image) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "app.tar")
	tag, err := name.NewTag("example.com/tools/app:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(path, tag, image); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEverySourceCanBePushed(t *testing.T) {
	image := imagetest.Image(t, imagetest.Files{"a": "1"}, imagetest.Files{"b": "2"})
	host := imagetest.Registry(t, nil)
	imagetest.Push(t, host+"/tools/app:v1", image)
	folder := t.TempDir()
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	if err := written.AppendImage(image); err != nil {
		t.Fatal(err)
	}
	archive := saved(t, image)
	content, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	for title, c := range map[string]struct {
		source, as string
		stdin      io.Reader
		want       string
	}{
		"an archive of docker save":     {archive, "", nil, "registry.strata.local/team-web/app:v1"},
		"one in standard input":         {"-", "", bytes.NewReader(content), "registry.strata.local/team-web/app:v1"},
		"under another name":            {archive, "tools/other:v2", nil, "registry.strata.local/team-web/tools/other:v2"},
		"under a complete name":         {archive, "registry.strata.local/team-web/app:v3", nil, "registry.strata.local/team-web/app:v3"},
		"a folder with an OCI layout":   {folder, "app", nil, "registry.strata.local/team-web/app:latest"},
		"a reference of other registry": {host + "/tools/app:v1", "", nil, "registry.strata.local/team-web/app:v1"},
	} {
		t.Run(title, func(t *testing.T) {
			d, node := opened(t)
			pushed, err := d.Push(t.Context(), c.source, c.stdin, "team-web", c.as)
			if err != nil || len(pushed) != 1 || pushed[0].Reference != c.want || !slices.Equal(pushed[0].Namespaces, []string{"team-web"}) || !pushed[0].Kept {
				t.Fatalf("the result is %+v (%v), want %s", pushed, err, c.want)
			}
			if _, err := node.For("team-web").Get(t.Context(), c.want); err != nil {
				t.Errorf("the namespace does not get it: %v", err)
			}
			if _, err := node.For("team-shop").Get(t.Context(), c.want); fault.Of(err) != fault.Denied {
				t.Errorf("another namespace: %v", err)
			}
			if list, err := d.List(); err != nil || len(list) != 1 {
				t.Errorf("the list is %+v (%v), want one image", list, err)
			}
		})
	}
}

func TestABadPushChangesNothing(t *testing.T) {
	d, _ := opened(t)
	foreign := saved(t, imagetest.For(t, imagetest.Image(t, imagetest.Files{"a": "1"}), "s390x"))
	good := saved(t, imagetest.Image(t, imagetest.Files{"a": "1"}))
	text := filepath.Join(t.TempDir(), "notes.tar")
	if err := os.WriteFile(text, []byte("this is no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	for title, c := range map[string]struct{ source, as, want string }{
		"another architecture":  {foreign, "", "it has no variant for linux/"},
		"a name of another":     {good, "registry.strata.local/team-shop/app:v1", "below registry.strata.local/team-web/"},
		"a name with dots":      {good, "../team-shop/app:v1", "this is not a repository and tag"},
		"a digest as the name":  {good, "app@sha256:" + strings.Repeat("0", 64), "this is not a repository and tag"},
		"a file without images": {text, "app:v1", "it is not a tar archive"},
		"a missing file":        {"./missing.tar", "", "does not exist"},
	} {
		if _, err := d.Push(t.Context(), c.source, nil, "team-web", c.as); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", title, err, c.want)
		}
	}
	if list, err := d.List(); err != nil || len(list) != 0 {
		t.Errorf("the images are %+v (%v), want none", list, err)
	}
}

func TestAnImageIsPulledForATeamAndRemoved(t *testing.T) {
	host := imagetest.Registry(t, nil)
	imagetest.Push(t, host+"/app:v1", imagetest.Image(t, imagetest.Files{"a": "1"}))
	d, node := opened(t)
	pulled, err := d.Pull(t.Context(), host+"/app:v1")
	if err != nil || !slices.Equal(pulled.Namespaces, []string{"*"}) || pulled.Bytes == 0 {
		t.Fatalf("the image is %+v (%v)", pulled, err)
	}
	if _, err := node.For("team-web").Get(t.Context(), host+"/app:v1"); err != nil {
		t.Errorf("a namespace does not get it: %v", err)
	}
	if _, err := d.Remove(t.Context(), host+"/app:v1"); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Remove(t.Context(), host+"/app:v1"); fault.Of(err) != fault.NotFound {
		t.Errorf("a second removal: %v", err)
	}
}

func TestABundleMovesImagesToAMachineWithoutNetwork(t *testing.T) {
	host := imagetest.Registry(t, nil)
	imagetest.Push(t, host+"/app:v1", imagetest.Image(t, imagetest.Files{"a": "1"}))
	from, _ := opened(t)
	if _, err := from.Push(t.Context(), saved(t, imagetest.Image(t, imagetest.Files{"b": "2"})), nil, "team-web", ""); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "images.tar")
	if _, err := from.Bundle(t.Context(), file, host+"/app:v1", "registry.strata.local/team-web/app:v1"); err != nil {
		t.Fatal(err)
	}
	to, node := opened(t)
	loaded, err := to.Load(t.Context(), file)
	if err != nil || len(loaded) != 2 {
		t.Fatalf("loaded %+v (%v)", loaded, err)
	}
	for reference, want := range map[string]fault.Kind{host + "/app:v1": "", "registry.strata.local/team-web/app:v1": fault.Denied} {
		if _, err := node.For("team-shop").Get(t.Context(), reference); fault.Of(err) != want {
			t.Errorf("%s for another team: %v, want kind %q", reference, err, want)
		}
	}
}
