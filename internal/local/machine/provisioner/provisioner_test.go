package provisioner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/internal/local/machine/controlplane"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/storage"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
	"github.com/strata-platform/strata/test/long"
)

const (
	namespace = "default"
	node      = "somewhere"
)

// cluster returns a control plane that provisions volumes, and their folder. Its node is only an object that accepts pods.
// The home has the class of an earlier version.
func cluster(t *testing.T) (kubernetes.Interface, storage.Folder) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the programs of a control plane")
	}
	tools, err := toolchain.Open(toolchaintest.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	h, err := home.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plane, err := controlplane.Start(t.Context(), h, tools.Path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plane.Stop)
	client, err := kubernetes.NewForConfig(plane.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	earlier := class()
	earlier.Name, earlier.Provisioner = earlierClass, storage.EarlierProvisioner
	if _, err := client.StorageV1().StorageClasses().Create(ctx, earlier, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	volumes := storage.Folder(h.Volumes())
	if err := Start(ctx, Options{Config: plane.AdminConfig(), Volumes: volumes, Node: node, Log: slog.New(slog.NewTextHandler(io.Discard, nil))}); err != nil {
		t.Fatal(err)
	}
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10")}
	object := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{corev1.LabelHostname: node}},
		Status: corev1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now()}},
		},
	}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return client, volumes
}

func TestAClaimOfNoClassIsBoundOnceAPodNeedsItAndItsVolumeGoesWithIt(t *testing.T) {
	long.Test(t)
	client, volumes := cluster(t)
	claims := client.CoreV1().PersistentVolumeClaims(namespace)
	if _, err := claims.Create(t.Context(), claim("data"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the claim waits for a pod", func() error { return told(t, client, "data", "WaitForFirstConsumer") })

	use(t, client, "data")
	var bound *corev1.PersistentVolumeClaim
	eventually(t, "the claim is bound", func() (err error) {
		if bound, err = claims.Get(t.Context(), "data", metav1.GetOptions{}); err == nil && bound.Status.Phase != corev1.ClaimBound {
			err = fmt.Errorf("its phase is %s", bound.Status.Phase)
		}
		return err
	})
	if *bound.Spec.StorageClassName != Class {
		t.Errorf("the class of the claim is %s", *bound.Spec.StorageClassName)
	}
	volume, err := client.CoreV1().PersistentVolumes().Get(t.Context(), bound.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	path, err := volumes.Find(volume.Name, namespace)
	if err != nil || volume.Spec.Local == nil || volume.Spec.Local.Path != path || volume.Spec.Capacity.Storage().String() != "1Gi" {
		t.Errorf("the volume is %+v, its folder %s, %v", volume.Spec, path, err)
	}
	if _, err := volumes.Find(volume.Name, "kube-system"); err == nil {
		t.Error("another namespace finds the folder")
	}
	eventually(t, "the pod is scheduled", func() error {
		p, err := client.CoreV1().Pods(namespace).Get(t.Context(), "user-of-data", metav1.GetOptions{})
		if err == nil && p.Spec.NodeName == "" {
			err = errors.New("it is not")
		}
		return err
	})

	now := int64(0)
	if err := client.CoreV1().Pods(namespace).Delete(t.Context(), "user-of-data", metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	if err := claims.Delete(t.Context(), "data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the volume is gone", func() error {
		_, err := client.CoreV1().PersistentVolumes().Get(t.Context(), volume.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	})

	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the volume: %v", err)
	}

	block := corev1.PersistentVolumeBlock
	for name, change := range map[string]func(c *corev1.PersistentVolumeClaimSpec){
		"selector": func(c *corev1.PersistentVolumeClaimSpec) {
			c.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"disk": "fast"}}
		},
		"block": func(c *corev1.PersistentVolumeClaimSpec) { c.VolumeMode = &block },
	} {
		refused := claim(name)
		change(&refused.Spec)
		if _, err := claims.Create(t.Context(), refused, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		use(t, client, name)
		eventually(t, "the claim "+name+" is refused", func() error { return told(t, client, name, "ProvisioningFailed") })
	}

	classes, err := client.StorageV1().StorageClasses().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range classes.Items {
		if c.Annotations[defaultClass] != strconv.FormatBool(c.Name == Class) {
			t.Errorf("class %s has the annotations %v, want only %s as the default", c.Name, c.Annotations, Class)
		}
	}
	old := claim("earlier")
	old.Spec.StorageClassName = new(string)
	*old.Spec.StorageClassName = earlierClass
	if _, err := claims.Create(t.Context(), old, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	use(t, client, "earlier")
	eventually(t, "a claim of the earlier class is bound", func() error {
		found, err := claims.Get(t.Context(), "earlier", metav1.GetOptions{})
		if err == nil && found.Status.Phase != corev1.ClaimBound {
			err = fmt.Errorf("its phase is %s", found.Status.Phase)
		}
		return err
	})
}

func claim(name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// use creates a pod that uses a claim.
func use(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	eventually(t, "a pod is made", func() error {
		_, err := client.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "user-of-" + name},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "main", Image: "example.com/any"}},
				Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
				}}},
				Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			},
		}, metav1.CreateOptions{})
		return err
	})
}

// told returns nil if there is an event about a claim.
func told(t *testing.T, client kubernetes.Interface, name, reason string) error {
	list, err := client.CoreV1().Events(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, e := range list.Items {
		if e.InvolvedObject.Name == name && e.Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("there are %d events, none of them %s", len(list.Items), reason)
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	var last error
	err := kwait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("timeout: waited until %s: %v", what, last)
	}
}
