package node

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// listerOf returns a lister with some pods.
func listerOf(t *testing.T, pods ...*corev1.Pod) corev1listers.PodLister {
	t.Helper()
	indexer := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for _, p := range pods {
		if err := indexer.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return corev1listers.NewPodLister(indexer)
}

// ask sends a request to a node's API.
func ask(t *testing.T, n *Node, path string) (code int, text string) {
	t.Helper()
	answer := httptest.NewRecorder()
	n.api().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.Code, string(raw)
}

func TestLookupsWithoutAnAnswer(t *testing.T) {
	object := nodetest.Pod(corev1.PodSpec{Containers: nodetest.Containers("example.com/program:v1", "main")})
	object.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: nodetest.Running(), ImageID: runtime.ImageID(runtime.Process)}}
	n := newTestNode(t, nil, listerOf(t, object))
	for path, want := range map[string]struct {
		code int
		text string
	}{
		"/containerLogs/default/two/main":                {http.StatusBadRequest, `container "main" in pod "two" is not on this node`},
		"/containerLogs/default/one/side":                {http.StatusBadRequest, `container "side" in pod "one" is not on this node`},
		"/containerLogs/default/one/main":                {http.StatusInternalServerError, "no such file"},
		"/containerLogs/default/one/main?tailLines=-1":   {http.StatusBadRequest, "tailLines: "},
		"/containerLogs/default/one/main?follow=perhaps": {http.StatusBadRequest, "follow: "},
		"/containerLogs/default/one/main?sinceTime=noon": {http.StatusBadRequest, "sinceTime: "},
		"/exec/default/one/main?command=id&output=1":     {http.StatusNotFound, `pod "one" of namespace "default" does not run on this node`},
		"/attach/default/one/main?output=1":              {http.StatusNotFound, `pod "one" of namespace "default" does not run on this node`},
		"/portForward/default/one":                       {http.StatusNotFound, `pod "one" of namespace "default" does not run on this node`},
		"/pods":                                          {http.StatusNotFound, "not found"},
	} {
		code, text := ask(t, n, path)
		if code != want.code || !strings.Contains(text, want.text) || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: the answer is %d %q, want %d and one line with %q", path, code, text, want.code, want.text)
		}
	}
}
