package sandboxed

import (
	"net/netip"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/images"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/node/volume"
	"github.com/strata-platform/strata/internal/local/machine/sandboxes/spec"
)

// noVolumes are the volumes of a pod without volumes.
type noVolumes struct{ runtime.Volumes }

func (noVolumes) Mounts(*corev1.Container, map[string]string) ([]volume.Mount, error) {
	return nil, nil
}

func TestFilesOfTheNodeThatContainersWriteAreInTheFolderThatIsMeasured(t *testing.T) {
	c := runtime.Container{
		Pod:  runtime.Pod{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, Dir: t.TempDir(), Volumes: noVolumes{}},
		Spec: &corev1.Container{Name: "main", TerminationMessagePath: "/dev/termination-log"},
	}
	list, err := mountsOf(c, images.Image{}, nil, netip.MustParseAddr("10.0.0.2"), []byte("certificate"))
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 4 {
		t.Errorf("the mounts are %v, want two names, a certificate and a message", list)
	}
	for _, m := range list {
		if m.Kind != spec.Bind || filepath.Dir(m.Source) != runtime.Files(c.Dir) {
			t.Errorf("%s is the file %s, want one in %s", m.Target, m.Source, runtime.Files(c.Dir))
		}
	}
}
