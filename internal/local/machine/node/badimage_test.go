package node

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/test/long"
)

// waits returns an error until the pod's first container waits with a reason and a message.
func waits(reason, message string) func(p *corev1.Pod) error {
	return func(p *corev1.Pod) error {
		if len(p.Status.ContainerStatuses) == 0 || !isWaiting(p.Status.ContainerStatuses[0], reason) {
			return errors.New(nodetest.Describe(p.Status))
		}
		if got := p.Status.ContainerStatuses[0].State.Waiting.Message; !strings.Contains(got, message) {
			return fmt.Errorf("the message is %q, want %q", got, message)
		}
		return nil
	}
}

// archived returns a layer from the headers of a tar archive, and zeros as the content.
func archived(t *testing.T, headers ...tar.Header) v1.Layer {
	t.Helper()
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	w := tar.NewWriter(z)
	for _, header := range headers {
		if err := w.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(w, zeros{}, header.Size); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(compressed.Bytes())), nil })
	if err != nil {
		t.Fatal(err)
	}
	return layer
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// with returns the app's image with more layers.
func with(t *testing.T, layers ...v1.Layer) v1.Image {
	t.Helper()
	image, err := mutate.AppendLayers(app.image, layers...)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// configured returns the app's image with another configuration.
func configured(t *testing.T, change func(*v1.Config)) v1.Image {
	t.Helper()
	file, err := app.image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	file = file.DeepCopy()
	change(&file.Config)
	image, err := mutate.ConfigFile(app.image, file)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func TestABadImageStopsOnlyItsPod(t *testing.T) {
	long.Test(t)
	good := appImage(t)
	host := strings.TrimSuffix(good, "/app:v1")
	lying := imagetest.Registry(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") && r.Header.Get("Range") == "" {
				w = &corrupting{ResponseWriter: w}
			}
			next.ServeHTTP(w, r)
		})
	})
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.create(t, ns, "bystander", corev1.PodSpec{Containers: nodetest.Containers(good, "main")})
	c.waitPod(t, ns, "bystander", "it is ready", isReady)
	var layers []v1.Layer
	for n := range 999 {
		layers = append(layers, imagetest.Layer(t, imagetest.Files{fmt.Sprintf("layer%d", n): "x"}))
	}
	deep := with(t, layers...)
	for name, a := range map[string]struct {
		// image is pushed to host, or the whole name if it contains a slash.
		image  v1.Image
		name   string
		policy corev1.PullPolicy
		// reason and message are those of the waiting container. Empty means that the pod becomes ready.
		reason, message string
	}{
		"missing":       {nil, host + "/missing:v1", "", "ErrImagePull", "404 Not Found"},
		"never":         {nil, host + "/never:v1", corev1.PullNever, "ErrImageNeverPull", "is not present with pull policy of Never"},
		"name":          {nil, "Invalid//name:v1", "", "InvalidImageName", "this is not the name of an image"},
		"architecture":  {imagetest.For(t, app.image, "s390x"), "", "", "ErrImagePull", "it has no variant for linux/"},
		"dots":          {with(t, archived(t, tar.Header{Name: "../../etc/cron.d/x", Mode: 0o644, Size: 1})), "", "", "ErrImagePull", "it cannot be unpacked"},
		"bomb":          {with(t, archived(t, tar.Header{Name: "bomb", Mode: 0o644, Size: 1<<30 + 1})), "", "", "ErrImagePull", "its files have more than 1073741824 bytes"},
		"large-config":  {configured(t, func(c *v1.Config) { c.Env = []string{"X=" + strings.Repeat("x", 5<<20)} }), "", "", "ErrImagePull", "has more than 4194304 bytes"},
		"large-env":     {configured(t, func(c *v1.Config) { c.Env = []string{"X=" + strings.Repeat("x", 3<<20)} }), "", "", "RunContainerError", "arguments and variables: use at most"},
		"user":          {configured(t, func(c *v1.Config) { c.User = "0:99999999999" }), "", "", "CreateContainerConfigError", "the group \"99999999999\" is not in its /etc/group"},
		"no-program":    {configured(t, func(c *v1.Config) { c.Entrypoint, c.Cmd = nil, nil }), "", "", "RunContainerError", "names no program"},
		"folder":        {configured(t, func(c *v1.Config) { c.WorkingDir = "../.." }), "", "", "", ""},
		"many-layers":   {deep, "", "", "", ""},
		"home-of-other": {nil, "registry.strata.local/team-other/app:v1", "", "ErrImagePull", "pods of namespace " + ns + " may not use this repository"},
	} {
		t.Run(name, func(t *testing.T) {
			reference := a.name
			if a.image != nil {
				reference = host + "/" + name + ":v1"
				imagetest.Push(t, reference, a.image)
			}
			container := nodetest.Containers(reference, "main")
			container[0].ImagePullPolicy = a.policy
			c.create(t, ns, name, corev1.PodSpec{Containers: container})
			check := isReady
			if a.reason != "" {
				check = waits(a.reason, a.message)
			}
			c.waitPod(t, ns, name, "the pod's state", check)
			c.delete(t, ns, name)
		})
	}
	t.Run("a registry that lies about digests", func(t *testing.T) {
		image := with(t, imagetest.Layer(t, imagetest.Files{"other": "lies"}))
		imagetest.Push(t, lying+"/app:v1", image)
		c.create(t, ns, "lies", corev1.PodSpec{Containers: nodetest.Containers(lying+"/app:v1", "main")})
		c.waitPod(t, ns, "lies", "its image is refused", waits("ErrImagePull", "digest"))
		c.delete(t, ns, "lies")
		c.forgotten(t, image)
	})
	if p := c.waitPod(t, ns, "bystander", "it is ready", isReady); p.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("the bystander has restarted: %s", nodetest.Describe(p.Status))
	}
}

// corrupting changes the first byte of an answer's body.
type corrupting struct {
	http.ResponseWriter
	changed bool
}

func (c *corrupting) Write(p []byte) (int, error) {
	if !c.changed && len(p) > 0 {
		c.changed = true
		p = bytes.Clone(p)
		p[0] ^= 1
	}
	return c.ResponseWriter.Write(p)
}

// delete deletes a pod and waits until it is gone.
func (c *cluster) delete(t *testing.T, namespace, name string) {
	t.Helper()
	now := int64(0)
	if err := c.CoreV1().Pods(namespace).Delete(t.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	c.gone(t, namespace, name)
}

func TestAFailedPullBacksOffAndSucceedsWithCredentials(t *testing.T) {
	long.Test(t)
	appImage(t)
	host := imagetest.Registry(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, password, _ := r.BasicAuth(); password != "secret" {
				w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
				http.Error(w, "{}", http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	imagetest.Push(t, host+"/app:v1", app.image, remote.WithAuth(&authn.Basic{Username: "web", Password: "secret"}))
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.create(t, ns, "web", corev1.PodSpec{
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "registry"}},
		Containers:       nodetest.Containers(host+"/app:v1", "main"),
	})
	c.waitPod(t, ns, "web", "the pull fails", waits("ErrImagePull", "401 Unauthorized"))
	c.waitPod(t, ns, "web", "it backs off", waits("ImagePullBackOff", "Back-off pulling image"))
	for _, reason := range []string{"Pulling", "Failed", "BackOff", "FailedToRetrieveImagePullSecret"} {
		c.event(t, ns, "web", reason)
	}
	login := base64.StdEncoding.EncodeToString([]byte("web:secret"))
	if _, err := c.CoreV1().Secrets(ns).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "registry"}, Type: corev1.SecretTypeDockerConfigJson,
		StringData: map[string]string{corev1.DockerConfigJsonKey: fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, host, login)},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := c.waitPod(t, ns, "web", "it runs after the Secret exists", isReady)
	if p.Annotations[runtime.Annotation] != runtime.Sandboxed || p.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("the pod is %s, %s", p.Annotations[runtime.Annotation], nodetest.Describe(p.Status))
	}
	other := c.namespace(t)
	container := nodetest.Containers(host+"/app:v1", "main")
	container[0].ImagePullPolicy = corev1.PullNever
	c.create(t, other, "thief", corev1.PodSpec{Containers: container})
	c.waitPod(t, other, "thief", "another namespace does not get the image", waits("ErrImageNeverPull", "is not present"))
	container[0].ImagePullPolicy = corev1.PullIfNotPresent
	c.create(t, other, "guest", corev1.PodSpec{Containers: container})
	c.waitPod(t, other, "guest", "nor by a pull without credentials", waits("ErrImagePull", "401 Unauthorized"))
}
