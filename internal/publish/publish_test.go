package publish

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/signing"
)

// tree writes files, and returns their folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // The mode is an input of the test.
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func newKey(t *testing.T) *signing.Key {
	t.Helper()
	key, err := signing.EnsureKey("the key", filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// options returns the options of a publication to a registry of the test.
func options(t *testing.T, dir string) Options {
	t.Helper()
	return Options{Dir: dir, Repository: imagetest.Registry(t, nil) + "/team-web/deploy", Insecure: true, Login: authn.Anonymous, Key: newKey(t)}
}

func mustPublish(t *testing.T, o Options) Result {
	t.Helper()
	result, err := Publish(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// layer returns the only layer of a tag.
func layer(t *testing.T, o Options, tag string) (v1.Descriptor, []byte) {
	t.Helper()
	repository, err := name.NewRepository(o.Repository, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(repository.Tag(tag))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := image.Manifest()
	if err != nil || len(manifest.Layers) != 1 {
		t.Fatalf("%s: %v, %v", tag, manifest, err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	raw, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return manifest.Layers[0], raw
}

func TestTheSameTreeGivesTheSameDigest(t *testing.T) {
	first := tree(t, map[string]string{"a.yaml": "a", "b/c.yaml": "c", "b/d.txt": "left out", ".git/config": "x", ".sourceignore": "*.txt\n"})
	second := tree(t, map[string]string{"b/c.yaml": "c", "a.yaml": "a", ".sourceignore": "*.txt\n"})
	old := time.Unix(1_000_000_000, 0)
	if err := errors.Join(os.Chmod(filepath.Join(second, "a.yaml"), 0o755), os.Chtimes(filepath.Join(second, "a.yaml"), old, old)); err != nil { //nolint:gosec // The mode is an input of the test.
		t.Fatal(err)
	}
	o := options(t, first)
	one := mustPublish(t, o)
	o.Repository, o.Dir = imagetest.Registry(t, nil)+"/team-web/deploy", second
	if two := mustPublish(t, o); two.Digest != one.Digest {
		t.Errorf("the digests are %s and %s", one.Digest, two.Digest)
	}
	description, content := layer(t, o, one.Version)
	if description.MediaType != contentType {
		t.Errorf("the layer has the media type %s", description.MediaType)
	}
	packed, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for archive := tar.NewReader(packed); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, fmt.Sprintf("%s %o %d", header.Name, header.Mode, header.ModTime.Unix()))
	}
	if want := ".sourceignore 644 0, a.yaml 644 0, b/ 755 0, b/c.yaml 644 0"; strings.Join(names, ", ") != want {
		t.Errorf("the artifact contains %s, want %s", strings.Join(names, ", "), want)
	}
}

func TestTreesThatAreRefused(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]string
		add   func(dir string) error
		says  string
	}{
		"nothing": {nil, nil, "it contains no files"},
		"a link to a file elsewhere": {map[string]string{"a": ""}, func(dir string) error {
			return os.Symlink("/etc/passwd", filepath.Join(dir, "passwd"))
		}, "passwd is a symbolic link, which Flux drops"},
		"a link to a folder above": {map[string]string{"a": ""}, func(dir string) error {
			return os.Symlink("..", filepath.Join(dir, "up"))
		}, "up is a symbolic link"},
		"a pipe": {map[string]string{"a": ""}, func(dir string) error {
			return exec.CommandContext(t.Context(), "mkfifo", filepath.Join(dir, "pipe")).Run()
		}, "pipe is not a regular file"},
		"a name with a backslash":   {map[string]string{`..\a`: ""}, nil, "contains a backslash"},
		"an environment":            {map[string]string{"deploy/.env": "A=b"}, nil, "deploy/.env is a file for credentials"},
		"the login of Docker":       {map[string]string{"x/.docker/config.json": "{}"}, nil, "is a file for credentials"},
		"a private key":             {map[string]string{"a.yaml": "tls.key: |\n  -----BEGIN EC PRIVATE KEY-----\n"}, nil, "a.yaml contains a private key or a token"},
		"a key of a Google account": {map[string]string{"a.json": `{"type": "service_account", "private_key_id": "1"}`}, nil, "contains a private key"},
		"a token of a Git host":     {map[string]string{"a.yaml": "token: ghp_0123456789abcdefghijABCDEFGHIJ"}, nil, "contains a private key or a token"},
		"a large file": {map[string]string{"a": ""}, func(dir string) error {
			return os.Truncate(filepath.Join(dir, "a"), mostBytes+1)
		}, "it has more than 10000 files or 64 MiB"},
		"many files": {nil, func(dir string) error {
			for i := range mostFiles + 1 {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600); err != nil {
					return err
				}
			}
			return nil
		}, "it has more than 10000 files"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, test.files)
			if test.add != nil {
				if err := test.add(dir); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Publish(t.Context(), Options{Dir: dir, Repository: "127.0.0.1:1/a/b", Key: newKey(t)})
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "ghp_") {
				t.Errorf("the error is %v, want one line with %q", err, test.says)
			}
		})
	}
}

func TestAnIgnoredCredentialIsLeftOut(t *testing.T) {
	o := options(t, tree(t, map[string]string{"a.yaml": "a", ".env": "A=secret", ".sourceignore": ".env\n"}))
	if result := mustPublish(t, o); result.Files != 2 {
		t.Errorf("the artifact has %d files", result.Files)
	}
}

func TestOnlyTheGivenFoldersArePublished(t *testing.T) {
	dir := tree(t, map[string]string{
		"sync/a.yaml": "a", "sync/b.txt": "b", "sync/.sourceignore": "*.txt\n", "catalogue/c.yaml": "c", "catalogue/d.log": "d", "other/e.yaml": "e",
		"other/id_rsa": "secret", ".sourceignore": "*.log\n",
	})
	o := options(t, dir)
	o.Folders = []string{"sync", "catalogue"}
	if result := mustPublish(t, o); result.Files != 3 {
		t.Errorf("the artifact has %d files, want sync/.sourceignore, sync/a.yaml and catalogue/c.yaml", result.Files)
	}
	o.Folders = []string{"sync", "nowhere"}
	if _, err := Publish(t.Context(), o); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a folder that does not exist: %v", err)
	}
}

func TestVersions(t *testing.T) {
	o := options(t, tree(t, map[string]string{"a.yaml": "1"}))
	publish := func(content, version string) (Result, error) {
		o.Dir, o.Version = tree(t, map[string]string{"a.yaml": content}), version
		return Publish(t.Context(), o)
	}
	for _, step := range []struct{ content, version, want, says string }{
		{"1", "", "0.0.1", ""},
		{"1", "", "0.0.1", ""},
		{"2", "", "0.0.2", ""},
		{"3", "1.9.0", "1.9.0", ""},
		{"3", "1.9.0", "1.9.0", ""},
		{"4", "1.9.0", "", "version 1.9.0 exists with other content"},
		{"4", "1.10.0", "1.10.0", ""},
		{"1", "", "1.10.1", ""},
		{"5", "latest", "", `the version "latest" is not one such as 1.4.0`},
		{"5", "1.4", "", "is not one such as"},
		{"5", "1.11.0-rc.1", "", "is not one such as"},
		{"5", "1.11.0+build", "", "is not one such as"},
		{"5", "1000000.0.0", "", "is not one such as"},
		{"5", "0.0.0", "", "is not one such as"},
	} {
		result, err := publish(step.content, step.version)
		if step.says != "" {
			if err == nil || !strings.Contains(err.Error(), step.says) {
				t.Errorf("%v: the error is %v", step, err)
			}
			continue
		}
		if err != nil || result.Version != step.want {
			t.Errorf("%v: the version is %s, %v", step, result.Version, err)
		}
	}
}
