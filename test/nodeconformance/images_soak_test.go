//go:build linux

package nodeconformance

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/strata-platform/strata/internal/local/machine/images/bundle"
	"github.com/strata-platform/strata/internal/local/machine/images/debian"
	"github.com/strata-platform/strata/internal/local/machine/images/store"
)

// registry is the repository of the images of Kubernetes' tests.
const registry = "registry.k8s.io/e2e-test-images/"

// config is the part of an image's configuration that the tests rely on.
type config struct {
	// entrypoint and command start the image's program.
	entrypoint, command []string
	// user is the image's user. Empty: root.
	user string
	// links maps the paths of symbolic links that only this image has to their targets.
	links map[string]string
}

// references maps the images of the tests to the configurations of the images here. All have the same files, except for links.
var references = map[string]config{
	registry + "agnhost:2.63.0": {entrypoint: []string{"/agnhost"}, command: []string{"pause"}},
	// The tests that call /bin/sh want the error messages of busybox, and those that call sh bash's variables.
	registry + "busybox:1.37.0-1":        {command: []string{"sh"}, links: map[string]string{"usr/bin/sh": "busybox", "usr/local/bin/sh": "/usr/bin/bash"}},
	registry + "nginx:1.15-4":            {entrypoint: []string{"/agnhost"}, command: []string{"pause"}},
	registry + "nginx:1.27-0":            {entrypoint: []string{"/agnhost"}, command: []string{"pause"}},
	registry + "glibc-dns-testing:2.0.0": {command: []string{"sh"}},
	registry + "nonewprivs:1.4":          {command: []string{"/nnp"}},
	registry + "nonroot:1.5":             {command: []string{"sh"}, user: "1234"},
	"registry.k8s.io/pause:3.10.2":       {entrypoint: []string{"/agnhost", "pause"}},
}

// putImages assembles the images of the tests and adds them to a store, for the pods of all namespaces. programs is the
// folder of agnhost with its certificate, and of nnp.
func putImages(t *testing.T, s *store.Store, programs string) {
	t.Helper()
	tools := toolbox(t, programs)
	for reference, c := range references {
		if err := bundle.Put(t.Context(), s, reference, withConfig(t, tools, c)); err != nil {
			t.Fatal(err)
		}
		put, err := s.Reference(reference)
		if err != nil {
			t.Fatal(err)
		}
		put.Marks = store.Marks{Users: []string{store.Everyone}, Pinned: true}
		if err := s.Refer(t.Context(), put); err != nil {
			t.Fatal(err)
		}
	}
}

// toolbox returns an image with the programs that the tests call: those of Debian, agnhost, and nnp. One test calls agnhost
// by a second name.
func toolbox(t *testing.T, programs string) v1.Image {
	t.Helper()
	recipe, err := debian.Load(os.DirFS("image"))
	if err != nil {
		t.Fatal(err)
	}
	builder, err := debian.NewBuilder(debian.Options{Report: func(line string) { t.Log(line) }})
	if err != nil {
		t.Fatal(err)
	}
	image, err := builder.Image(t.Context(), recipe)
	if err != nil {
		t.Fatal(err)
	}
	return withLayer(t, image, func(w *tar.Writer) error {
		// nnp prints its user. The test of allowPrivilegeEscalation needs the setuid bit.
		for name, mode := range map[string]int64{"agnhost": 0o755, "agnhost-2": 0o755, "nnp": 0o4755, "localhost.crt": 0o644, "localhost.key": 0o644} {
			content, err := os.ReadFile(filepath.Join(programs, strings.TrimSuffix(name, "-2")))
			if err == nil {
				err = w.WriteHeader(&tar.Header{Name: name, Mode: mode, Size: int64(len(content))})
			}
			if err == nil {
				_, err = w.Write(content)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// withLayer returns the image with another layer.
func withLayer(t *testing.T, image v1.Image, write func(*tar.Writer) error) v1.Image {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	if err := errors.Join(write(w), w.Close()); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		t.Fatal(err)
	}
	return image
}

// withConfig returns the image with another entry point, command and user, and with links.
func withConfig(t *testing.T, image v1.Image, c config) v1.Image {
	t.Helper()
	if len(c.links) > 0 {
		image = withLayer(t, image, func(w *tar.Writer) error {
			var errs []error
			for name, target := range c.links {
				errs = append(errs, w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}))
			}
			return errors.Join(errs...)
		})
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	file.Config.Entrypoint, file.Config.Cmd, file.Config.User = c.entrypoint, c.command, c.user
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		t.Fatal(err)
	}
	return image
}
