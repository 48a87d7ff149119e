package node

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/images/imagetest"
	"github.com/strata-platform/strata/internal/local/machine/images/registry"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/test/long"
)

func TestASimulatedPodRunsInASandboxWhenItsRegistryAnswers(t *testing.T) {
	long.Test(t)
	appImage(t)
	var answers atomic.Bool
	host := imagetest.Registry(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !answers.Load() && r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/manifests/") {
				http.Error(w, "{}", http.StatusServiceUnavailable)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	imagetest.Push(t, host+"/app:v1", app.image)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.create(t, ns, "web", corev1.PodSpec{Containers: nodetest.Containers(host+"/app:v1", "main")})
	in := func(name string) func(p *corev1.Pod) error {
		return func(p *corev1.Pod) error {
			if p.Annotations[runtime.Annotation] != name {
				return fmt.Errorf("its runtime is %s", p.Annotations[runtime.Annotation])
			}
			return isReady(p)
		}
	}
	c.waitPod(t, ns, "web", "it is simulated", in(runtime.Simulated))
	answers.Store(true)
	p := c.waitPod(t, ns, "web", "it is sandboxed", in(runtime.Sandboxed))
	if s := p.Status.ContainerStatuses[0]; s.RestartCount != 0 || !strings.Contains(s.ImageID, "@sha256:") || p.Annotations[runtime.ReasonAnnotation] != "" || p.Status.PodIP == "" {
		t.Errorf("restarts %d, image ID %q, reason %q, address %q", s.RestartCount, s.ImageID, p.Annotations[runtime.ReasonAnnotation], p.Status.PodIP)
	}
}

func TestAPodUsesItsPartOfTheHomesRegistry(t *testing.T) {
	appImage(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	all := func(string) bool { return true }
	server := httptest.NewServer(registry.New(c.images.Store(), images.Host, images.Compressed, func(string, string) (registry.Grant, bool) {
		return registry.Grant{Pull: all, Push: all}, true
	}))
	t.Cleanup(server.Close)
	imagetest.Push(t, strings.TrimPrefix(server.URL, "http://")+"/"+ns+"/app:v1", app.image)
	c.create(t, ns, "web", corev1.PodSpec{Containers: nodetest.Containers(images.Host+"/"+ns+"/app:v1", "main")})
	c.waitPod(t, ns, "web", "it is ready", isReady)
	other := c.namespace(t)
	c.create(t, other, "thief", corev1.PodSpec{Containers: nodetest.Containers(images.Host+"/"+ns+"/app:v1", "main")})
	c.waitPod(t, other, "thief", "a pod of another namespace does not get the image", waits("ErrImagePull", "may not use this repository"))
}
