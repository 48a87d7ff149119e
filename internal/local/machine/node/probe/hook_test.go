package probe

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestHook(t *testing.T) {
	get := func(path string) *corev1.LifecycleHandler {
		return &corev1.LifecycleHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(8080)}}
	}
	run := &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"unwell"}}}
	sleep := func(seconds int64) *corev1.LifecycleHandler {
		return &corev1.LifecycleHandler{Sleep: &corev1.SleepAction{Seconds: seconds}}
	}
	for what, test := range map[string]struct {
		hook     *corev1.LifecycleHandler
		commands bool
		err      string // empty if the hook succeeds
	}{
		"no hook passes":                            {nil, false, ""},
		"a good answer passes":                      {get("/ok"), false, ""},
		"a broken server fails":                     {get("/broken"), false, "500"},
		"a short sleep passes":                      {sleep(0), false, ""},
		"a sleep ends with the grace period":        {sleep(3600), false, "deadline exceeded"},
		"a command runs where the image allows it":  {run, true, "unwell"},
		"a command is refused where it does not":    {run, false, "does not support this type of hook for the image probed:v1"},
		"a hook of another kind is refused as well": {&corev1.LifecycleHandler{TCPSocket: &corev1.TCPSocketAction{}}, true, "does not support"},
	} {
		t.Run(what, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if test.err == "deadline exceeded" {
				cancel()
				ctx, cancel = context.WithTimeout(t.Context(), time.Millisecond)
			}
			defer cancel()
			err := probed(t, test.commands).Hook(ctx, test.hook)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("the outcome is %v, want %q", err, test.err)
			}
		})
	}
}
