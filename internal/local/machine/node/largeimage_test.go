package node

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	ref "github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/test/long"
)

// declared is a layer whose manifest declares another size.
type declared struct {
	v1.Layer
	size int64
}

func (d declared) Size() (int64, error) { return d.size, nil }

// forgotten waits until the store contains nothing of an image's last layer.
func (c *cluster) forgotten(t *testing.T, image v1.Image) {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := layers[len(layers)-1].Digest()
	if err != nil {
		t.Fatal(err)
	}
	nodetest.Eventually(t, "no file of the layer is left", func() error {
		return filepath.WalkDir(c.home.Images(), func(path string, _ fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) {
				return nil // Another test's pull has ended.
			}
			if err == nil && strings.Contains(filepath.Base(path), digest.Hex) {
				err = fmt.Errorf("%s is left", path)
			}
			return err
		})
	})
}

// The layers declare a size, and have a few bytes: no machine needs the space for this test.
func TestATooLargeImageStopsOnlyItsPod(t *testing.T) {
	long.Test(t)
	good := appImage(t)
	host := strings.TrimSuffix(good, "/app:v1")
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.create(t, ns, "bystander", corev1.PodSpec{Containers: nodetest.Containers(good, "main")})
	c.waitPod(t, ns, "bystander", "it is ready", isReady)
	for name, a := range map[string]struct {
		size    int64
		message string
	}{
		"full-disk":       {mostCompressed >> 1, "delete files or unused images"},
		"above-the-limit": {mostCompressed << 1, "the limit of this machine"},
	} {
		t.Run(name, func(t *testing.T) {
			layer, address := imagetest.Layer(t, imagetest.Files{"large": name}), host+"/"+name+":v1"
			imagetest.Push(t, address, with(t, layer))
			image := with(t, declared{layer, a.size})
			tag, err := ref.NewTag(address)
			if err == nil {
				err = remote.Put(tag, image)
			}
			if err != nil {
				t.Fatal(err)
			}
			c.create(t, ns, name, corev1.PodSpec{Containers: nodetest.Containers(address, "main")})
			c.waitPod(t, ns, name, "the pull fails", waits("ErrImagePull", a.message))
			c.waitPod(t, ns, name, "it backs off", waits("ImagePullBackOff", "Back-off pulling image"))
			c.delete(t, ns, name)
			c.forgotten(t, image)
		})
	}
	if p := c.waitPod(t, ns, "bystander", "it is ready", isReady); p.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("the bystander has restarted: %s", nodetest.Describe(p.Status))
	}
}
