package logs

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/strata-platform/strata/internal/local/machine/logfile"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

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

// ask requests the log of the container "main" of the pod "one".
func ask(t *testing.T, s Server, query string) (code int, text string) {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/log"+query, nil)
	for name, value := range map[string]string{"namespace": "default", "pod": "one", "container": "main"} {
		request.SetPathValue(name, value)
	}
	answer := httptest.NewRecorder()
	s.ServeHTTP(answer, request)
	return answer.Code, answer.Body.String()
}

func TestRunOfALog(t *testing.T) {
	folder := Folder(t.TempDir())
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
			state: nodetest.Terminated(0), image: runtime.Process, code: ask200, text: "last\n",
			previousCode: ask400, previousText: "previous terminated container \"main\" in pod \"one\" not found\n",
		},
		"it runs for the second time": {state: nodetest.Running(), last: nodetest.Terminated(1), image: runtime.Process, code: ask200, text: "last\n", previousCode: ask200, previousText: "before\n"},
		"it waits in a crash loop":    {state: crashLoop, last: nodetest.Terminated(1), image: runtime.Process, code: ask200, text: "last\n", previousCode: ask200, previousText: "last\n"},
		"it has not started yet": {
			state: begins, image: runtime.Process, code: ask400, text: "container \"main\" in pod \"one\" is waiting to start: PodInitializing\n",
			previousCode: ask400, previousText: "previous terminated container \"main\" in pod \"one\" not found\n",
		},
		"it is simulated": {
			state: nodetest.Running(), image: runtime.Simulated, code: ask200, text: "pod one is simulated: container main does not run and has no output\n",
			previousCode: ask400, previousText: "previous terminated container \"main\" in pod \"one\" not found\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := nodetest.Pod(corev1.PodSpec{Containers: nodetest.Containers("example.com/program:v1", "main")})
			object.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: test.state, LastTerminationState: test.last, ImageID: runtime.ImageID(test.image)}}
			server := Server{Folder: folder, Pod: func(string, string) *corev1.Pod { return object }}
			path := folder.Path("default", "one", "main")
			for p, text := range map[string]string{path: "last\n", logfile.Previous(path): "before\n"} {
				if err := logfile.Remove(p); err != nil {
					t.Fatal(err)
				}
				writeLog(t, p, text)
			}
			if code, text := ask(t, server, ""); code != test.code || text != test.text {
				t.Errorf("the answer is %d %q, want %d %q", code, text, test.code, test.text)
			}
			if code, text := ask(t, server, "?previous=true"); code != test.previousCode || text != test.previousText {
				t.Errorf("of the run before the answer is %d %q, want %d %q", code, text, test.previousCode, test.previousText)
			}
		})
	}
}
