package node

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
	"github.com/strata-platform/strata/internal/local/machine/owners"
	"github.com/strata-platform/strata/test/long"
)

// filesContainer returns a container that runs operations of the app, and their expected results: the text has a line
// "OPERATION: RESULT" for each.
func filesContainer(name, image string, uid int64, text string) (c corev1.Container, want string) {
	c = corev1.Container{Name: name, Image: image, Args: []string{"files"}, SecurityContext: &corev1.SecurityContext{RunAsUser: &uid, RunAsGroup: &uid}}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if operation, _, ok := strings.Cut(line, ": "); ok {
			c.Args = append(c.Args, operation)
			want += line + "\n"
		}
	}
	return c, want
}

// keepsOwners skips a test on a file system that keeps no owners.
func keepsOwners(t *testing.T, c *cluster) {
	t.Helper()
	if err := owners.Supported(c.home.Dir()); err != nil {
		t.Skip(err)
	}
}

func mount(name, path, subPath string) corev1.VolumeMount {
	return corev1.VolumeMount{Name: name, MountPath: path, SubPath: subPath}
}

// claim creates a PersistentVolumeClaim of the default class.
func (c *cluster) claim(t *testing.T, namespace, name string) corev1.Volume {
	t.Helper()
	if _, err := c.CoreV1().PersistentVolumeClaims(namespace).Create(t.Context(), &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return claimVolume(name)
}

func claimVolume(name string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}}
}

func emptyDir(name string, source corev1.EmptyDirVolumeSource) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: &source}}
}

func TestSandboxedPodsKeepTheOwnersOfFiles(t *testing.T) {
	image := appImage(t)
	c := realCluster(t)
	keepsOwners(t, c)
	t.Parallel()
	ns := c.namespace(t)
	c.secret(t, ns, "login", map[string]string{"password": "secret"})
	c.configMap(t, ns, "settings", map[string]string{"colour": "green"})
	tight, group := int32(0o400), int64(2000)
	prepare, wantPrepare := filesContainer("prepare", image, 0, `
		stat /plain: 0:2000 2777
		write /plain/mine text: ok
		chown /plain/mine 999: ok
		write /settings/colour x: read-only file system
		write /settings/new x: read-only file system
		write /data/root text: ok`)
	main, wantMain := filesContainer("main", image, 999, `
		stat /plain/mine: 999:999 644
		write /plain/mine more: ok
		write /plain/new text: ok
		stat /plain/new: 999:2000 644
		write /memory/new text: ok
		size /memory: 2
		stat /data: 0:2000 2775
		write /data/of-999 text: ok
		stat /data/sub: no such file or directory
		write /part/file text: ok
		stat /part: 0:2000 2775
		read /secret/password: secret
		stat /secret/password: 0:2000 440
		write /secret/password x: permission denied
		read /settings/colour: green
		read /one: green
		stat /var/run/secrets/kubernetes.io/serviceaccount/token: 0:2000 640
		write /proc/self/root/plain/again text: ok
		size /dev/shm: 64
		write /dev/shm/file text: ok
		read /etc/hostname: owner
		stat .: 0:0 755`)
	main.WorkingDir = "/not/in/the/image"
	prepare.VolumeMounts = []corev1.VolumeMount{mount("plain", "/plain", ""), mount("data", "/data", ""), mount("settings", "/settings", "")}
	main.VolumeMounts = []corev1.VolumeMount{
		mount("plain", "/plain", ""), mount("shm", "/memory", ""), mount("data", "/data", ""), mount("data", "/part", "deep/part"),
		mount("secret", "/secret", ""), mount("settings", "/settings", ""), mount("settings", "/one", "colour"),
	}
	two := resource.MustParse("2Mi")
	c.create(t, ns, "owner", corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, SecurityContext: &corev1.PodSecurityContext{FSGroup: &group},
		InitContainers: []corev1.Container{prepare}, Containers: []corev1.Container{main},
		Volumes: []corev1.Volume{
			emptyDir("plain", corev1.EmptyDirVolumeSource{}),
			// The name is also that of the sandbox's own memory file system.
			emptyDir("shm", corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &two}),
			c.claim(t, ns, "data"),
			{Name: "secret", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "login", DefaultMode: &tight}}},
			{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
		},
	})
	c.waitPod(t, ns, "owner", "it succeeds", succeeded)
	for name, want := range map[string]string{"prepare": wantPrepare, "main": wantMain} {
		if got := c.log(ns, "owner", name); got != want {
			t.Errorf("%s printed\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestAPersistentVolumeOutlivesItsPodsAndEndsWithItsClaim(t *testing.T) {
	image := appImage(t)
	c := realCluster(t)
	keepsOwners(t, c)
	t.Parallel()
	ns := c.namespace(t)
	data := c.claim(t, ns, "data")
	for _, step := range []struct{ pod, operations string }{
		{"first", "mkdir /data/deep: ok\nwrite /data/deep/file text: ok\nchown /data/deep/file 999: ok"},
		{"second", "read /data/deep/file: text\nstat /data/deep/file: 999:999 644"},
	} {
		container, want := filesContainer("main", image, 0, step.operations)
		container.VolumeMounts = []corev1.VolumeMount{mount("data", "/data", "")}
		c.create(t, ns, step.pod, corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{container}, Volumes: []corev1.Volume{data}})
		c.waitPod(t, ns, step.pod, "it succeeds", succeeded)
		if got := c.log(ns, step.pod, "main"); got != want {
			t.Errorf("%s printed\n%s\nwant\n%s", step.pod, got, want)
		}
		if err := c.CoreV1().Pods(ns).Delete(t.Context(), step.pod, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		c.gone(t, ns, step.pod)
	}
	claim, err := c.CoreV1().PersistentVolumeClaims(ns).Get(t.Context(), "data", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(c.home.Volumes(), claim.Spec.VolumeName)
	if _, err := os.Stat(filepath.Join(folder, "data", "deep", "file")); err != nil {
		t.Error(err)
	}
	c.foreign(t, image, claim.Spec.VolumeName)
	if err := c.CoreV1().PersistentVolumeClaims(ns).Delete(t.Context(), "data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	nodetest.Eventually(t, "the folder is gone", func() error {
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is there: %w", folder, err)
		}
		return nil
	})
}

func TestAnEmptyDirSurvivesARestartOfItsContainer(t *testing.T) {
	image := appImage(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	memory := corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory}
	for name, volume := range map[string]corev1.Volume{"disk": emptyDir("data", corev1.EmptyDirVolumeSource{}), "memory": emptyDir("data", memory)} {
		main, want := filesContainer("main", image, 999, "again /data/file: ok")
		main.VolumeMounts = []corev1.VolumeMount{mount("data", "/data", "")}
		c.create(t, ns, name, corev1.PodSpec{RestartPolicy: corev1.RestartPolicyOnFailure, Containers: []corev1.Container{main}, Volumes: []corev1.Volume{volume}})
		p := c.waitPod(t, ns, name, "it succeeds", succeeded)
		if got := c.log(ns, name, "main"); got != want || p.Status.ContainerStatuses[0].RestartCount != 1 {
			t.Errorf("%s printed %q after %d restarts, want %q after 1", name, got, p.Status.ContainerStatuses[0].RestartCount, want)
		}
	}
}

// The log of this test contains the figures.
func TestVolumesHoldLargeFilesAndManyFiles(t *testing.T) {
	long.Test(t)
	image := appImage(t)
	c := realCluster(t)
	keepsOwners(t, c)
	ns := c.namespace(t)
	main, _ := filesContainer("main", image, 0, "fill /plain/file 1024: \nfill /data/file 1024: \nmany /plain 10000: \nmany /data 10000: ")
	main.VolumeMounts = []corev1.VolumeMount{mount("plain", "/plain", ""), mount("data", "/data", "")}
	c.create(t, ns, "large", corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{main}, Volumes: []corev1.Volume{
		emptyDir("plain", corev1.EmptyDirVolumeSource{}), c.claim(t, ns, "data"),
	}})
	c.waitPod(t, ns, "large", "it succeeds", succeeded)
	text := c.log(ns, "large", "main")
	t.Log(text)
	if strings.Count(text, "1024 MiB in") != 2 || strings.Count(text, "10000 files in") != 2 {
		t.Errorf("it printed %s", text)
	}
}

// foreign checks that pods do not get folders by PersistentVolume objects of others, also not the folder of a volume.
func (c *cluster) foreign(t *testing.T, image, volume string) {
	t.Helper()
	ns := c.namespace(t)
	class := "by-hand"
	for name, source := range map[string]corev1.PersistentVolumeSource{
		"host":  {HostPath: &corev1.HostPathVolumeSource{Path: "/etc"}},
		"other": {HostPath: &corev1.HostPathVolumeSource{Path: filepath.Join(c.home.Volumes(), volume, "data")}},
	} {
		storage := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		made, err := c.CoreV1().PersistentVolumes().Create(t.Context(), &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: ns + "-" + name, Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": map[string]string{"other": "strata.dev/local"}[name]}},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: storage, AccessModes: modes, StorageClassName: class, PersistentVolumeSource: source,
				PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.CoreV1().PersistentVolumes().Delete(t.Context(), made.Name, metav1.DeleteOptions{}) }()
		if _, err := c.CoreV1().PersistentVolumeClaims(ns).Create(t.Context(), &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: modes, StorageClassName: &class, VolumeName: made.Name, Resources: corev1.VolumeResourceRequirements{Requests: storage},
			},
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		container, _ := filesContainer("main", image, 0, "read /data/passwd: ")
		container.VolumeMounts = []corev1.VolumeMount{mount(name, "/data", "")}
		c.create(t, ns, name, corev1.PodSpec{Containers: []corev1.Container{container}, Volumes: []corev1.Volume{claimVolume(name)}})
		c.waitPod(t, ns, name, "it says that it does not get the folder", waitsFor(map[string]string{"host": "did not create", "other": "its name is not pvc-"}[name]))
	}
}

// waitsFor returns a check that the first container waits with a message.
func waitsFor(text string) func(p *corev1.Pod) error {
	return func(p *corev1.Pod) error {
		for _, s := range p.Status.ContainerStatuses {
			if s.State.Waiting != nil && strings.Contains(s.State.Waiting.Message, text) {
				return nil
			}
		}
		return errors.New(nodetest.Describe(p.Status))
	}
}

func TestASubPathDoesNotLeaveItsVolume(t *testing.T) {
	image := appImage(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	prepare, _ := filesContainer("prepare", image, 0, `
		link /data/etc /etc: ok
		link /data/root /proc/self/root: ok
		link /data/up ../../../../../../../../etc: ok`)
	prepare.VolumeMounts = []corev1.VolumeMount{mount("data", "/data", "")}
	for name, test := range map[string]struct {
		path corev1.VolumeMount
		want string
	}{
		"link":  {mount("data", "/attack", "etc"), "leads out of the volume"},
		"root":  {mount("data", "/attack", "root/etc"), "leads out of the volume"},
		"up":    {mount("data", "/attack", "up"), "leads out of the volume"},
		"expr":  {corev1.VolumeMount{Name: "data", MountPath: "/attack", SubPathExpr: "$(UP)/etc"}, `contains ".."`},
		"whole": {corev1.VolumeMount{Name: "data", MountPath: "/attack", SubPathExpr: "$(ROOT)"}, "is absolute"},
	} {
		main, _ := filesContainer("main", image, 0, "read /attack/passwd: ")
		main.Env = []corev1.EnvVar{{Name: "UP", Value: "../.."}, {Name: "ROOT", Value: "/etc"}}
		main.VolumeMounts = []corev1.VolumeMount{test.path}
		c.create(t, ns, name, corev1.PodSpec{
			InitContainers: []corev1.Container{prepare}, Containers: []corev1.Container{main},
			Volumes: []corev1.Volume{emptyDir("data", corev1.EmptyDirVolumeSource{})},
		})
		c.waitPod(t, ns, name, "it waits with the reason", waitsFor(test.want))
	}
}

func TestARunningContainerSeesTheChangeOfAConfigMap(t *testing.T) {
	image := appImage(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.configMap(t, ns, "settings", map[string]string{"colour": "green"})
	main, want := filesContainer("main", image, 999, "read /settings/colour: green\nawait /settings/colour blue: ok")
	main.VolumeMounts = []corev1.VolumeMount{mount("settings", "/settings", "")}
	c.create(t, ns, "seer", corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{main}, Volumes: []corev1.Volume{
		{Name: "settings", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}},
	}})
	nodetest.Eventually(t, "it has read the first value", func() error {
		if text := c.log(ns, "seer", "main"); !strings.Contains(text, "green") {
			return fmt.Errorf("it printed %q", text)
		}
		return nil
	})
	settings, err := c.CoreV1().ConfigMaps(ns).Get(t.Context(), "settings", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	settings.Data["colour"] = "blue"
	if _, err := c.CoreV1().ConfigMaps(ns).Update(t.Context(), settings, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.waitPod(t, ns, "seer", "it sees the second value", succeeded)
	if got := c.log(ns, "seer", "main"); got != want {
		t.Errorf("it printed\n%s\nwant\n%s", got, want)
	}
}

func TestAPodWhoseEmptyDirExceedsItsLimitIsEvicted(t *testing.T) {
	image := appImage(t)
	c := realCluster(t)
	keepsOwners(t, c)
	t.Parallel()
	ns := c.namespace(t)
	one := resource.MustParse("1Mi")
	main, _ := filesContainer("main", image, 0, "fill /data/file 3: ok\nwait: ok")
	main.VolumeMounts = []corev1.VolumeMount{mount("data", "/data", "")}
	made := c.create(t, ns, "eater", corev1.PodSpec{Containers: []corev1.Container{main}, Volumes: []corev1.Volume{emptyDir("data", corev1.EmptyDirVolumeSource{SizeLimit: &one})}})
	p := c.waitPod(t, ns, "eater", "it has failed", inPhase(corev1.PodFailed))
	if want := `Usage of EmptyDir volume "data" exceeds the limit "1Mi". `; p.Status.Reason != "Evicted" || p.Status.Message != want {
		t.Errorf("reason %q, message %q, want Evicted and %q", p.Status.Reason, p.Status.Message, want)
	}
	nodetest.Eventually(t, "its files are gone", func() error {
		if _, err := os.Stat(filepath.Join(c.home.Pods(), string(made.UID))); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("they are there: %w", err)
		}
		return nil
	})
}

func TestASandboxedContainerLeavesAMessageAndAReadOnlyRoot(t *testing.T) {
	image := appImage(t)
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	yes := true
	for name, test := range map[string]struct {
		operations, path, want string
		policy                 corev1.TerminationMessagePolicy
	}{
		"file":  {"write /dev/termination-log because: ok\nfail: ok", "", "because", ""},
		"other": {"write /tmp/why because: ok\nfail: ok", "/tmp/why", "because", ""},
		"log":   {"read /nothing: no such file or directory\nfail: ok", "", "read /nothing: no such file or directory", corev1.TerminationMessageFallbackToLogsOnError},
	} {
		main, _ := filesContainer("main", image, 999, test.operations)
		main.TerminationMessagePath, main.TerminationMessagePolicy = test.path, test.policy
		c.create(t, ns, name, corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{main}})
		p := c.waitPod(t, ns, name, "it has failed", inPhase(corev1.PodFailed))
		if got := p.Status.ContainerStatuses[0].State.Terminated; got == nil || got.ExitCode != 3 || got.Message != test.want {
			t.Errorf("%s: %+v, want the message %q", name, got, test.want)
		}
	}
	for name, path := range map[string]string{"present": "/tmp", "missing": "/not/in/the/image"} {
		main, want := filesContainer("main", image, 999, "write "+path+"/file text: ok\nread "+path+"/file: text")
		main.SecurityContext.ReadOnlyRootFilesystem = &yes
		main.VolumeMounts = []corev1.VolumeMount{mount("data", path, "")}
		c.create(t, ns, name, corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{main}, Volumes: []corev1.Volume{emptyDir("data", corev1.EmptyDirVolumeSource{})}})
		p := c.waitPod(t, ns, name, "it succeeds", succeeded)
		if got := c.log(ns, name, "main"); got != want || p.Annotations[runtime.Annotation] != runtime.Sandboxed {
			t.Errorf("%s printed\n%s\nwant\n%s", name, got, want)
		}
	}
	c.event(t, ns, "missing", "ReadOnlyRootFilesystem")
}
