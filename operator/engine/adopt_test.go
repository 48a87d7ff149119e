package engine_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/operator/engine"
	"github.com/strata-platform/strata/test/long"
)

// The state of a restored platform outlives the objects of its cluster.
func TestAStackThatExistsBeforeItsFirstRunIsRefreshed(t *testing.T) {
	long.Test(t)
	f, c, request := kubernetesFixture(t)
	namespace := c.namespace(t)
	req := request(`resources:
  settings:
    type: kubernetes:core/v1:ConfigMap
    properties: {metadata: {namespace: ` + namespace + `, name: settings}, data: {colour: red}}
`)
	req.New, req.Unproven = true, true
	f.mustRun(t, req)
	objects := c.CoreV1().ConfigMaps(namespace)
	lose := func() {
		t.Helper()
		if err := objects.Delete(t.Context(), "settings", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for name, set := range map[string]func(*engine.Request){
		"a first run":                nil,
		"a run after a killed one":   func(r *engine.Request) { r.New, r.Interrupted = false, true },
		"a run after a failed one":   func(r *engine.Request) { r.New = false },
		"a run that creates nothing": func(r *engine.Request) { r.New, r.NoCreate = false, true },
	} {
		lose()
		again := req
		if set != nil {
			set(&again)
		}
		f.mustRun(t, again)
		if found, err := objects.Get(t.Context(), "settings", metav1.GetOptions{}); err != nil || found.Data["colour"] != "red" {
			t.Fatalf("%s: %v, %v", name, found, err)
		}
	}
	// Later runs trust the state, unless the Stack asks for a refresh.
	lose()
	req.New, req.Unproven = false, false
	f.mustRun(t, req)
	if _, err := objects.Get(t.Context(), "settings", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a run after a success: %v", err)
	}
}
