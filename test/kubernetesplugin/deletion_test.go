package kubernetesplugin_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/strata-platform/strata/internal/local/clustertest"
)

const (
	// held is a finalizer that keeps an object until the test removes it.
	held = "strata.test/held"
	// missedAfter is the duration after which the plugin must have missed a deletion. A missed deletion lasts ten minutes.
	missedAfter = 2 * time.Minute
)

// object is a ConfigMap that a test deletes with the plugin.
type object struct {
	*corev1.ConfigMap
	t        *testing.T
	ctx      context.Context // outlives the deletion, so that the test completes its changes
	cluster  *clustertest.Cluster
	changing sync.RWMutex  // held while the test changes the object; the plugin's reads share it
	release  func()        // runs end once
	read     chan struct{} // closed once the plugin has read the object
	seen     func()        // closes read
	again    bool          // whether another object takes the name immediately
}

func newObject(t *testing.T, cluster *clustertest.Cluster, name string) *object {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*missedAfter)
	t.Cleanup(cancel)
	o := &object{t: t, ctx: ctx, cluster: cluster, read: make(chan struct{}), ConfigMap: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: metav1.NamespaceDefault, Finalizers: []string{held},
	}}}
	if err := cluster.Create(ctx, o.ConfigMap); err != nil {
		t.Fatal(err)
	}
	o.release = sync.OnceFunc(o.end)
	o.seen = sync.OnceFunc(func() { close(o.read) })
	return o
}

// end removes the finalizer and returns when a read no longer finds the object. If again is set, it then creates another
// object with the same name.
func (o *object) end() {
	o.changing.Lock()
	defer o.changing.Unlock()
	patch := client.RawPatch("application/json-patch+json", []byte(`[{"op": "remove", "path": "/metadata/finalizers"}]`))
	if err := o.cluster.Patch(o.ctx, o.DeepCopy(), patch); err != nil {
		o.t.Errorf("remove the finalizer of %s: %v", o.Name, err)
		return
	}
	err := wait.PollUntilContextCancel(o.ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := o.cluster.Get(ctx, client.ObjectKeyFromObject(o.ConfigMap), &corev1.ConfigMap{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if err == nil && o.again {
		err = o.cluster.Create(o.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: o.Name, Namespace: o.Namespace}})
	}
	if err != nil {
		o.t.Errorf("wait for the end of %s: %v", o.Name, err)
	}
}

// endAfterRead removes the finalizer after the plugin has read the object. Only another read or an event can then report
// the deletion.
func (o *object) endAfterRead(r *http.Request) {
	select {
	case <-o.read:
		o.release()
	case <-r.Context().Done():
	}
}

// meddle wraps a meddler. It blocks reads of the object while the test changes the object.
func (o *object) meddle(by meddler) meddler {
	return func(w http.ResponseWriter, r *http.Request, v verb, next http.Handler) {
		if v == "get" {
			o.changing.RLock()
			defer o.changing.RUnlock()
		}
		by(w, r, v, next)
	}
}

// startLate delays the response to the watch's list until the object is gone.
func startLate(o *object) meddler {
	return func(w http.ResponseWriter, r *http.Request, v verb, next http.Handler) {
		if v == "list" {
			o.endAfterRead(r)
		}
		next.ServeHTTP(w, r)
		if v == "get" {
			o.seen()
		}
	}
}

// forbid responds like the API server to a request that RBAC does not allow.
func forbid(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusForbidden)
	_, _ = io.WriteString(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`)
}

// missed are the cases in which a watch does not report an object's deletion. Each function returns when the request has
// a response.
var missed = map[string]func(o *object) meddler{
	"the-watch-starts-after-the-end": startLate,
	"the-first-read-fails-and-the-watch-starts-late": func(o *object) meddler {
		var failed atomic.Bool
		return func(w http.ResponseWriter, r *http.Request, v verb, next http.Handler) {
			if v == "get" && !failed.Swap(true) {
				forbid(w)
				o.seen()
				return
			}
			if v == "list" {
				o.endAfterRead(r)
			}
			next.ServeHTTP(w, r)
		}
	},
	"the-watch-is-forbidden": func(o *object) meddler {
		return func(w http.ResponseWriter, r *http.Request, v verb, next http.Handler) {
			if v == "list" || v == "watch" {
				o.endAfterRead(r)
				forbid(w)
				return
			}
			next.ServeHTTP(w, r)
			if v == "get" {
				o.seen()
			}
		}
	},
	"the-watch-is-silent": func(o *object) meddler {
		return func(w http.ResponseWriter, r *http.Request, v verb, next http.Handler) {
			if v == "watch" {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(w).Flush()
				o.endAfterRead(r)
				<-r.Context().Done()
				return
			}
			next.ServeHTTP(w, r)
			if v == "get" {
				o.seen()
			}
		}
	},
	"the-name-is-taken-again": func(o *object) meddler {
		o.again = true
		return startLate(o)
	},
}

func TestThePluginNoticesTheEndOfADeletedObject(t *testing.T) {
	cluster := startCluster(t)
	t.Run("although", func(t *testing.T) {
		for name, meddle := range missed {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				o := newObject(t, cluster, name)
				p := startPlugin(t, proxy(t, cluster, o.meddle(meddle(o))))
				ctx, cancel := context.WithTimeout(t.Context(), missedAfter)
				defer cancel()
				if err := p.remove(ctx, t, o.ConfigMap, 0); err != nil {
					t.Errorf("the deletion: %v\n%s", err, p.said())
				}
				select {
				case <-o.read:
				default:
					t.Error("the plugin did not read the object while it existed, so the test has tested nothing")
				}
			})
		}
	})
}

func TestADeletionIsIncompleteWhileTheObjectExists(t *testing.T) {
	cluster := startCluster(t)
	pass := func(w http.ResponseWriter, r *http.Request, _ verb, next http.Handler) { next.ServeHTTP(w, r) }
	for name, record := range map[string]func(*corev1.ConfigMap){
		"as-it-is-recorded":           func(*corev1.ConfigMap) {},
		"made-anew-since-the-last-up": func(c *corev1.ConfigMap) { c.UID = "4ab71a5c-9d10-4b9c-8d4e-5f1f0a0c0d3e" },
		"recorded-without-uid":        func(c *corev1.ConfigMap) { c.UID = "" },
	} {
		t.Run(name, func(t *testing.T) {
			o := newObject(t, cluster, name)
			p := startPlugin(t, proxy(t, cluster, pass))
			recorded := o.DeepCopy()
			record(recorded)
			// The finalizer keeps the object for the whole timeout.
			if err := p.remove(t.Context(), t, recorded, 3); err == nil {
				t.Error("the plugin reports the end of the deletion while the object exists")
			}
			if want := "finalizers might be preventing deletion"; !strings.Contains(p.said(), want) || !strings.Contains(p.said(), held) {
				t.Errorf("the plugin prints %q, want %q and the finalizer's name", p.said(), want)
			}
			o.release()
		})
	}
}
