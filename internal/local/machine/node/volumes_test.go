package node

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/volume"
	"github.com/strata-platform/strata/internal/local/machine/node/volume/volumetest"
)

// addVolume adds a volume and its mount.
func addVolume(spec *corev1.PodSpec, name, path string, source corev1.VolumeSource) {
	spec.Volumes = append(spec.Volumes, corev1.Volume{Name: name, VolumeSource: source})
	spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: name, MountPath: path})
}

func TestAPodSeesItsVolumes(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.secret(t, ns, "login", map[string]string{"user": "web", "password": "secret"})
	c.configMap(t, ns, "settings", map[string]string{"colour": "green"})
	yes, tight, readOnly := true, int32(0o400), int32(0o444)
	spec := corev1.PodSpec{Containers: []corev1.Container{guest("report",
		"--login=/etc/login", "--part=/etc/part", "--all=/etc/all", "--none=/etc/none", "--info=/etc/info", "--password=/etc/password", "--work=/data/of-seer", "--tmp=/tmp", "--account=/var/run/secrets/kubernetes.io/serviceaccount")}}
	spec.Containers[0].Env = []corev1.EnvVar{
		{Name: "POD", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		{Name: "PASSWORD_FILE", Value: "/etc/login/password"},
	}
	spec.Containers[0].WorkingDir = "/data/of-seer"
	addVolume(&spec, "login", "/etc/login", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "login"}})
	addVolume(&spec, "part", "/etc/part", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
		SecretName: "login", DefaultMode: &readOnly, Optional: &yes,
		Items: []corev1.KeyToPath{{Key: "user", Path: "names/user"}, {Key: "password", Path: "password", Mode: &tight}, {Key: "missing", Path: "missing"}},
	}})
	addVolume(&spec, "all", "/etc/all", corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{DefaultMode: &tight, Sources: []corev1.VolumeProjection{
		{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "login"}, Items: []corev1.KeyToPath{{Key: "user", Path: "user"}}}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "nothing"}, Optional: &yes}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{Path: "name", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}, Mode: &readOnly}}}},
	}}})
	addVolume(&spec, "none", "/etc/none", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "nothing"}, Optional: &yes}})
	addVolume(&spec, "info", "/etc/info", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{
		{Path: "labels", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels"}},
		{Path: "limits/cpu", ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.cpu", ContainerName: "guest"}},
	}}})
	addVolume(&spec, "temp", "/tmp", corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts,
		corev1.VolumeMount{Name: "login", MountPath: "/etc/password", SubPath: "password"},
		corev1.VolumeMount{Name: "temp", MountPath: "/data/of-seer", SubPathExpr: "of/$(POD)"})
	c.create(t, ns, "seer", spec)
	seen := c.reported(t, ns, "seer")
	dir := func(flag string) string { return strings.TrimPrefix(argument(seen.Args, flag), flag) }
	allocatable := environment.Capacity()
	for flag, want := range map[string]map[string]string{
		"--login=": {"user": "web 644", "password": "secret 644"},
		"--part=":  {"names/user": "web 444", "password": "secret 400"},
		"--all=":   {"user": "web 400", "colour": "green 400", "name": "seer 444"},
		"--none=":  {},
		"--info=":  {"labels": `app="seer" 644`, "limits/cpu": allocatable.Cpu().String() + " 644"},
	} {
		if got, err := volumetest.Content(dir(flag)); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s holds %v (%v), want %v", flag, got, err, want)
		}
	}
	if raw, err := os.ReadFile(dir("--password=")); err != nil || string(raw) != "secret" {
		t.Errorf("the sub path shows %q, %v", raw, err)
	}
	if !strings.HasSuffix(dir("--work="), "/of/seer") || seen.Dir != dir("--work=") {
		t.Errorf("the working folder is %s, the sub path %s", seen.Dir, dir("--work="))
	}
	if seen.Env["TMPDIR"] != dir("--tmp=") || seen.Env["PASSWORD_FILE"] != dir("--login=")+"/password" {
		t.Errorf("TMPDIR is %s, PASSWORD_FILE %s", seen.Env["TMPDIR"], seen.Env["PASSWORD_FILE"])
	}
	if info, err := os.Stat(filepath.Join(dir("--account="), "token")); err != nil || info.Mode().Perm() != volume.TokenMode {
		t.Errorf("the token has mode %v, %v", info, err)
	}
}

func TestChangesReachARunningPod(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.secret(t, ns, "login", map[string]string{"user": "web", "password": "first", "old": "x"})
	c.configMap(t, ns, "settings", map[string]string{"colour": "green"})
	spec := corev1.PodSpec{Containers: []corev1.Container{guest("report", "--login=/etc/login", "--settings=/etc/settings", "--info=/etc/info", "--late=/etc/late")}}
	yes := true
	addVolume(&spec, "login", "/etc/login", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "login"}})
	addVolume(&spec, "settings", "/etc/settings", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}})
	addVolume(&spec, "late", "/etc/late", corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "late", Optional: &yes}})
	addVolume(&spec, "info", "/etc/info", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{
		Items: []corev1.DownwardAPIVolumeFile{{Path: "mood", FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['mood']"}}},
	}})
	made := c.create(t, ns, "seer", spec)
	seen := c.reported(t, ns, "seer")
	shows := func(flag string, want map[string]string) {
		t.Helper()
		soon(t, fmt.Sprintf("%s shows %v", flag, want), func() error {
			got, err := volumetest.Content(strings.TrimPrefix(argument(seen.Args, flag), flag))
			if err == nil && !maps.Equal(got, want) {
				err = fmt.Errorf("it shows %v", got)
			}
			return err
		})
	}
	patch := func(resource, name, patch string) {
		t.Helper()
		if err := c.CoreV1().RESTClient().Patch(types.MergePatchType).Namespace(ns).Resource(resource).Name(name).Body([]byte(patch)).Do(t.Context()).Error(); err != nil {
			t.Fatal(err)
		}
	}
	shows("--login=", map[string]string{"user": "web 644", "password": "first 644", "old": "x 644"})
	patch("secrets", "login", `{"stringData": {"password": "second"}, "data": {"old": null}}`)
	shows("--login=", map[string]string{"user": "web 644", "password": "second 644"})
	patch("configmaps", "settings", `{"data": {"colour": null, "size": "10"}}`)
	shows("--settings=", map[string]string{"size": "10 644"})
	c.secret(t, ns, "late", map[string]string{"key": "k"})
	shows("--late=", map[string]string{"key": "k 644"})
	if err := c.CoreV1().Secrets(ns).Delete(t.Context(), "late", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	shows("--late=", map[string]string{})
	patch("pods", "seer", `{"metadata": {"annotations": {"mood": "good"}}}`)
	shows("--info=", map[string]string{"mood": "good 644"})

	// After the deletion of a Secret, the pod keeps the content of its volume, and other volumes still change.
	if err := c.CoreV1().Secrets(ns).Delete(t.Context(), "login", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if e := c.event(t, ns, "seer", "FailedMount"); !strings.Contains(e.Message, `volume login: secrets "login" not found`) {
		t.Errorf("the event says %q", e.Message)
	}
	patch("configmaps", "settings", `{"data": {"size": "11"}}`)
	shows("--settings=", map[string]string{"size": "11 644"})
	shows("--login=", map[string]string{"user": "web 644", "password": "second 644"})
	p := c.waitPod(t, ns, "seer", "it is ready", isReady)
	if p.UID != made.UID || p.Status.ContainerStatuses[0].RestartCount != 0 {
		t.Errorf("the pod was restarted: %s", nodetest.Describe(p.Status))
	}
}

func TestAVolumeThatOnlyARealNodeHasIsRefused(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	spec := corev1.PodSpec{Containers: []corev1.Container{guest("report")}}
	addVolume(&spec, "host", "/host", corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}})
	c.create(t, ns, "nosy", spec)
	c.waitPod(t, ns, "nosy", "it says what is not supported", func(p *corev1.Pod) error {
		for _, s := range p.Status.ContainerStatuses {
			if isWaiting(s, "CreateContainerConfigError") && strings.Contains(s.State.Waiting.Message, "volume host: this node supports this type of volume only for simulated pods") {
				return nil
			}
		}
		return errors.New(nodetest.Describe(p.Status))
	})
}
