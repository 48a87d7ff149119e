package node

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestExpand(t *testing.T) {
	env := map[string]string{"A": "one", "B": "$(A)", "EMPTY": "", "WITH.DOT-S": "dotted"}
	for name, test := range map[string]struct{ in, want string }{
		"a known name is replaced":            {"x-$(A)-y", "x-one-y"},
		"an empty value is a value":           {"[$(EMPTY)]", "[]"},
		"a name with dots and dashes":         {"$(WITH.DOT-S)", "dotted"},
		"two in a row":                        {"$(A)$(A)", "oneone"},
		"an unknown name stays":               {"$(NONE)/$(A)", "$(NONE)/one"},
		"a value is not expanded again":       {"$(B)", "$(A)"},
		"an escaped reference is no more one": {"$$(A)", "$(A)"},
		"an escaped dollar, then a reference": {"$$$(A)", "$one"},
		"two escaped dollars":                 {"$$$$(A)", "$$(A)"},
		"a lone dollar stays":                 {"5$ and $A", "5$ and $A"},
		"a dollar at the end stays":           {"end$", "end$"},
		"an open reference stays":             {"$(A", "$(A"},
		"a nested reference is one name":      {"$($(A))", "$($(A))"},
		"nothing":                             {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := expand(test.in, env); got != test.want {
				t.Errorf("%q becomes %q, want %q", test.in, got, test.want)
			}
		})
	}
}

func TestEnvironmentIsResolvedInOrder(t *testing.T) {
	n := newTestNode(t)
	spec := corev1.Container{Name: "main", Image: "example.com/program:v1", Env: []corev1.EnvVar{
		{Name: "EARLY", Value: "$(LATE)"},
		{Name: "LATE", Value: "late"},
		{Name: "BOTH", Value: "$(LATE)-$(NAME)"},
		{Name: "NAME", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		{Name: "AGAIN", Value: "$(NAME)"},
		{Name: "LATE", Value: "later than $(LATE)"},
	}}
	p := newPod(n, aPod(corev1.PodSpec{Containers: []corev1.Container{spec}}))
	env, err := p.environment(t.Context(), &spec)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"EARLY": "$(LATE)", "BOTH": "late-$(NAME)", "AGAIN": "one", "LATE": "later than late",
	} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
}

func TestMountRewriter(t *testing.T) {
	n := newTestNode(t)
	// The folders of the pods are below /tmp, which is a mount path too.
	n.pods = "/tmp/home/pods"
	spec := corev1.Container{Name: "main", Image: "example.com/program:v1", VolumeMounts: []corev1.VolumeMount{
		{Name: "data", MountPath: "/data/"},
		{Name: "tmp", MountPath: "/tmp"},
		{Name: "cache", MountPath: "/data/cache"},
		{Name: "part", MountPath: "/part", SubPath: "sub/folder"},
		{Name: "each", MountPath: "/each", SubPathExpr: "of-$(POD)"},
		{Name: "escape", MountPath: "/escape", SubPath: "../../.."},
	}}
	p := newPod(n, aPod(corev1.PodSpec{Containers: []corev1.Container{spec}}))
	rewrite := p.mounts(&spec, map[string]string{"POD": "one"}).rewrite
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
		"a sub path stays in its volume":      {"/escape", dir("escape")},
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
