package volume

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/owners"
)

// volumesOf returns the volumes of a pod on a file system that keeps owners, or on another one.
func volumesOf(t *testing.T, spec corev1.PodSpec, supported error) *Volumes {
	t.Helper()
	object := &corev1.Pod{Spec: spec}
	v := New(environment.Resolver{Pod: func() *corev1.Pod { return object }}, t.TempDir(), "", clock.RealClock{}, func(error) {})
	v.supported = func() error { return supported }
	return v
}

func TestSubPathsThatLeaveTheirVolumesAreErrors(t *testing.T) {
	for path, want := range map[string]string{"../..": `contains ".."`, "a/../..": `contains ".."`, "/etc": "is absolute"} {
		c := corev1.Container{VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data", SubPathExpr: "$(PATH_OF)"}}}
		v := volumesOf(t, corev1.PodSpec{Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}}, nil)
		if list, err := v.Mounts(&c, map[string]string{"PATH_OF": path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want an error with %q", path, list, err, want)
		}
	}
}

func TestAnEmptyDirIsInMemoryWhereItMustBe(t *testing.T) {
	memory, disk := corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}, corev1.EmptyDirVolumeSource{}
	for name, test := range map[string]struct {
		source    corev1.EmptyDirVolumeSource
		subPath   string
		supported error
		want      bool
	}{
		"on disk":                                 {disk, "", nil, false},
		"the medium is memory":                    {memory, "", nil, true},
		"memory with a sub path is on disk":       {memory, "a", nil, false},
		"a disk without owners":                   {disk, "", owners.ErrUnsupported, true},
		"a disk without owners, but with subPath": {disk, "a", owners.ErrUnsupported, false},
	} {
		v := volumesOf(t, corev1.PodSpec{
			Volumes:    []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &test.source}}},
			Containers: []corev1.Container{{VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data", SubPath: test.subPath}}}},
		}, test.supported)
		list := v.Writable()
		if len(list) != 1 || list[0].Memory != test.want || list[0].Memory && list[0].Size != defaultMemory {
			t.Errorf("%s: %+v, want memory %v", name, list, test.want)
		}
	}
}

func TestATokenBelongsToTheUserAndTheGroupOfThePod(t *testing.T) {
	user, other, group := int64(999), int64(1000), int64(2000)
	of := func(id *int64) corev1.Container {
		return corev1.Container{SecurityContext: &corev1.SecurityContext{RunAsUser: id}}
	}
	for name, test := range map[string]struct {
		spec corev1.PodSpec
		want owners.Record
	}{
		"no user":               {corev1.PodSpec{Containers: []corev1.Container{{}}}, owners.Record{Mode: 0o644}},
		"the user of the pod":   {corev1.PodSpec{Containers: []corev1.Container{{}}, SecurityContext: &corev1.PodSecurityContext{RunAsUser: &user}}, owners.Record{UID: 999, Mode: 0o600}},
		"one user":              {corev1.PodSpec{Containers: []corev1.Container{of(&user), of(&user)}}, owners.Record{UID: 999, Mode: 0o600}},
		"two users":             {corev1.PodSpec{Containers: []corev1.Container{of(&user), of(&other)}}, owners.Record{Mode: 0o644}},
		"one without a user":    {corev1.PodSpec{InitContainers: []corev1.Container{{}}, Containers: []corev1.Container{of(&user)}}, owners.Record{Mode: 0o644}},
		"a group":               {corev1.PodSpec{Containers: []corev1.Container{{}}, SecurityContext: &corev1.PodSecurityContext{FSGroup: &group}}, owners.Record{GID: 2000, Mode: 0o640}},
		"a group and one user":  {corev1.PodSpec{Containers: []corev1.Container{of(&user)}, SecurityContext: &corev1.PodSecurityContext{FSGroup: &group}}, owners.Record{UID: 999, GID: 2000, Mode: 0o640}},
		"a group and two users": {corev1.PodSpec{Containers: []corev1.Container{of(&user), of(&other)}, SecurityContext: &corev1.PodSecurityContext{FSGroup: &group}}, owners.Record{GID: 2000, Mode: 0o640}},
	} {
		f := volumesOf(t, test.spec, nil).tokenFile([]byte("token"), nil)
		if f.mode != TokenMode || f.seen == nil || *f.seen != test.want {
			t.Errorf("%s: mode %o, record %v, want %v", name, f.mode, f.seen, test.want)
		}
	}
	if f := volumesOf(t, corev1.PodSpec{Containers: []corev1.Container{of(&user)}}, owners.ErrUnsupported).tokenFile(nil, nil); f.mode != 0o644 || f.seen != nil {
		t.Errorf("without owners: mode %o, record %v, want a file that every user can read", f.mode, f.seen)
	}
}
