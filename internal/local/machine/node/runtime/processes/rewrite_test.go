package processes

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/volume"
)

func TestMountRewriter(t *testing.T) {
	spec := corev1.Container{Name: "main", Image: "example.com/program:v1", VolumeMounts: []corev1.VolumeMount{
		{Name: "data", MountPath: "/data/"},
		{Name: "tmp", MountPath: "/tmp"},
		{Name: "cache", MountPath: "/data/cache"},
		{Name: "part", MountPath: "/part", SubPath: "sub/folder"},
		{Name: "each", MountPath: "/each", SubPathExpr: "of-$(POD)"},
	}}
	object := nodetest.Pod(corev1.PodSpec{Containers: []corev1.Container{spec}})
	// The folder of the pod is below /tmp, which is a mount path too.
	volumes := volume.New(environment.Resolver{Pod: func() *corev1.Pod { return object }}, "/tmp/home/pods/uid-of-one", "/tmp/home/volumes", clock.RealClock{}, func(error) {})
	list, err := volumes.Mounts(&spec, map[string]string{"POD": "one"})
	if err != nil {
		t.Fatal(err)
	}
	rewrite := mounts(list).rewrite
	dir := func(elem ...string) string {
		return filepath.Join(append([]string{"/tmp/home/pods/uid-of-one/volumes"}, elem...)...)
	}
	for name, test := range map[string]struct{ in, want string }{
		"a whole word":                        {"/data", dir("data")},
		"the value of a flag":                 {"--storage-path=/data", "--storage-path=" + dir("data")},
		"a file below":                        {"--file=/data/a/b", "--file=" + dir("data") + "/a/b"},
		"the longest path wins":               {"/data/cache/x", dir("cache") + "/x"},
		"the shorter one where it ends early": {"/data/cache2", dir("data") + "/cache2"},
		"the result is not rewritten again":   {"/tmp/x", dir("tmp") + "/x"},
		"neighbours that share a separator":   {"/data:/tmp:/data/cache", strings.Join([]string{dir("data"), dir("tmp"), dir("cache")}, ":")},
		"quoted":                              {`{"dir": "/data"}`, `{"dir": "` + dir("data") + `"}`},
		"a sub path":                          {"/part/x", dir("part", "sub/folder") + "/x"},
		"a sub path with a variable":          {"/each/x", dir("each", "of-one") + "/x"},
		"part of a longer name stays":         {"/database", "/database"},
		"inside another path stays":           {"/var/data", "/var/data"},
		"in a URL stays":                      {"http://example.com/data", "http://example.com/data"},
		"nothing to rewrite":                  {"--verbose", "--verbose"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rewrite(test.in); got != test.want {
				t.Errorf("%q becomes %q, want %q", test.in, got, test.want)
			}
		})
	}
}
