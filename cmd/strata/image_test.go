package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/strata-platform/strata/cmd/strata/internal/imagecmd"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/test/docstest"
)

func TestDocumentedImages(t *testing.T) {
	docstest.CheckJSON[imagecmd.Result](t, "docs/reference/output.md", "image")
}

func TestImagesArePushedListedAndRemovedWithoutARunningPlatform(t *testing.T) {
	_, dir := newClone(t)
	opened(t, dir)
	archive := filepath.Join(t.TempDir(), "app.tar")
	tag, err := name.NewTag("app:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(archive, tag, imagetest.Image(t, imagetest.Files{"a": "1"})); err != nil {
		t.Fatal(err)
	}
	call := func(args ...string) (code int, out, err string) {
		var stdout, stderr bytes.Buffer
		code = run(t.Context(), append([]string{"image"}, args...), streams{in: strings.NewReader(""), out: &stdout, err: &stderr})
		return code, stdout.String(), stderr.String()
	}
	code, out, errors := call("push", archive, "--team", "web", "-o", "json")
	var pushed imagecmd.Result
	if err := json.Unmarshal([]byte(out), &pushed); code != 0 || err != nil || len(pushed.Images) != 1 || pushed.Images[0].Reference != "registry.strata.local/team-web/app:v1" {
		t.Fatalf("push ends with %d: %s%s", code, out, errors)
	}
	if code, out, _ := call("list"); code != 0 || !slices.Contains(strings.Fields(out), "registry.strata.local/team-web/app:v1") || !strings.Contains(out, "team-web    yes") {
		t.Errorf("list ends with %d:\n%s", code, out)
	}
	if code, out, errors := call("remove", "registry.strata.local/team-web/app:v1"); code != 0 || out != "no images\n" {
		t.Errorf("remove ends with %d:\n%s%s", code, out, errors)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"push", archive, "--team", "shop"}, 2, "team \"shop\" is not in teams.yaml"},
		{[]string{"push", "missing.tar"}, 1, "does not exist"},
		{[]string{"remove", "registry.strata.local/team-web/app:v1"}, 1, "it is not in the store of this machine"},
		{[]string{"push", archive, "--target", "gke"}, 2, "pods on Google Cloud pull from a registry of Google Cloud"},
		{[]string{"bundle", "app:v1"}, 2, "name the file with --file"},
		{[]string{"push"}, 2, "give a file, a folder or a reference"},
	} {
		if code, _, errors := call(c.args...); code != c.code || !strings.Contains(errors, c.want) {
			t.Errorf("%v ends with %d: %s, want %d: %s", c.args, code, errors, c.code, c.want)
		}
	}
}
