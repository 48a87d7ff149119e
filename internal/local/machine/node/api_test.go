package node

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	corev1listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
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

// writeLog writes a log as a program would.
func writeLog(t *testing.T, path, text string) {
	t.Helper()
	w, err := logfile.Open(path, true)
	if err != nil {
		t.Fatal(err)
	}
	w.Copy(strings.NewReader(text))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
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

func TestWhichRunALogIsOf(t *testing.T) {
	n := newTestNode(t)
	crashLoop := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off"}}
	begins := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "PodInitializing"}}
	const ask200, ask400 = http.StatusOK, http.StatusBadRequest
	for name, test := range map[string]struct {
		state, last  corev1.ContainerState
		image        string
		code         int
		text         string
		previousCode int
		previousText string
	}{
		"it has ended, and this node was started since": {
			state: terminated(0), image: RuntimeProcess, code: ask200, text: "last\n",
			previousCode: ask400, previousText: "previous terminated container \"main\" in pod \"one\" not found\n",
		},
		"it runs for the second time": {state: isRunning(), last: terminated(1), image: RuntimeProcess, code: ask200, text: "last\n", previousCode: ask200, previousText: "before\n"},
		"it waits in a crash loop":    {state: crashLoop, last: terminated(1), image: RuntimeProcess, code: ask200, text: "last\n", previousCode: ask200, previousText: "last\n"},
		"it has not started yet": {
			state: begins, image: RuntimeProcess, code: ask400, text: "container \"main\" in pod \"one\" is waiting to start: PodInitializing\n",
			previousCode: ask400, previousText: "previous terminated container \"main\" in pod \"one\" not found\n",
		},
		"it is simulated": {
			state: isRunning(), image: RuntimeSimulated, code: ask200, text: "pod one is simulated: container main does not run and has no output\n",
			previousCode: ask400, previousText: "previous terminated container \"main\" in pod \"one\" not found\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := aPod(corev1.PodSpec{Containers: containersNamed("example.com/program:v1", "main")})
			object.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: test.state, LastTerminationState: test.last, ImageID: imageID(test.image)}}
			n.lister = listerOf(t, object)
			path := n.logPath("default", "one", "main")
			for p, text := range map[string]string{path: "last\n", logfile.Previous(path): "before\n"} {
				if err := logfile.Remove(p); err != nil {
					t.Fatal(err)
				}
				writeLog(t, p, text)
			}
			if code, text := ask(t, n, "/containerLogs/default/one/main"); code != test.code || text != test.text {
				t.Errorf("the answer is %d %q, want %d %q", code, text, test.code, test.text)
			}
			if code, text := ask(t, n, "/containerLogs/default/one/main?previous=true"); code != test.previousCode || text != test.previousText {
				t.Errorf("of the run before the answer is %d %q, want %d %q", code, text, test.previousCode, test.previousText)
			}
		})
	}
}

func TestQuestionsThatHaveNoAnswer(t *testing.T) {
	n := newTestNode(t)
	object := aPod(corev1.PodSpec{Containers: containersNamed("example.com/program:v1", "main")})
	object.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: isRunning(), ImageID: imageID(RuntimeProcess)}}
	n.lister = listerOf(t, object)
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
		"/exec/default/one/main":                         {http.StatusNotImplemented, noExec},
		"/attach/default/one/main":                       {http.StatusNotImplemented, noAttach},
		"/portForward/default/one":                       {http.StatusNotImplemented, noPortForward},
		"/pods":                                          {http.StatusNotFound, "not found"},
	} {
		code, text := ask(t, n, path)
		if code != want.code || !strings.Contains(text, want.text) || strings.Count(text, "\n") != 1 {
			t.Errorf("%s: the answer is %d %q, want %d and one line with %q", path, code, text, want.code, want.text)
		}
	}
}

func TestLogOptions(t *testing.T) {
	now := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	query, err := url.ParseQuery("follow=true&previous=true&timestamps=true&tailLines=0&limitBytes=7&sinceSeconds=60")
	if err != nil {
		t.Fatal(err)
	}
	o, err := logOptions(query, now)
	if err != nil {
		t.Fatal(err)
	}
	if !o.follow || !o.previous || !o.Stamps || o.Tail == nil || *o.Tail != 0 || o.Limit != 7 || !o.Since.Equal(now.Add(-time.Minute)) {
		t.Errorf("the options are %+v", o)
	}
	o, err = logOptions(url.Values{"sinceTime": {"2026-11-21T07:00:00Z"}}, now)
	if err != nil || !o.Since.Equal(now.Add(-time.Hour)) || o.follow || o.previous || o.Tail != nil || o.Limit != 0 {
		t.Errorf("the options are %+v (%v)", o, err)
	}
}

func TestLogsOfPodsThatAreGoneAreRemovedAtTheStart(t *testing.T) {
	n := newTestNode(t)
	ended := aPod(corev1.PodSpec{Containers: containersNamed("example.com/program:v1", "main")})
	n.lister = listerOf(t, ended)
	if err := n.pruneLogs(); err != nil {
		t.Errorf("before there is any log: %v", err)
	}
	kept, gone := n.logPath("default", "one", "main"), n.logPath("default", "two", "main")
	for _, path := range []string{kept, kept + ".previous", gone, gone + ".1", gone + ".previous"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := n.pruneLogs(); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(n.podLogs(), "*"))
	if err != nil || len(left) != 2 || left[0] != kept || left[1] != kept+".previous" {
		t.Errorf("what is left are %v (%v)", left, err)
	}
}
