package pod

import (
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/node/volume"
)

func TestFilesOfTheNodeThatProgramsWriteAreMeasured(t *testing.T) {
	p := New(newHost(t), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}})
	if list := p.Writable(); len(list) != 0 {
		t.Errorf("a pod without a folder writes to %v", list)
	}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	list := p.Writable()
	if !slices.ContainsFunc(list, func(w volume.Writable) bool { return w.Root == runtime.Files(p.dir) && !w.Memory && !w.Persistent }) {
		t.Errorf("the pod writes to %v, want also %s", list, runtime.Files(p.dir))
	}
}
