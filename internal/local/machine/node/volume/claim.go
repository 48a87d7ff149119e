package volume

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/owners"
	"github.com/strata-platform/strata/internal/local/machine/storage"
)

// provisionedBy is the annotation of a PersistentVolume with the name of its provisioner.
const provisionedBy = "pv.kubernetes.io/provisioned-by"

// claimed is the folder of a claim's volume.
type claimed struct {
	path     string
	readOnly bool
}

// isClaim reports whether a volume is a PersistentVolumeClaim, or a generic ephemeral volume, whose claim lives with the pod.
func isClaim(volume *corev1.Volume) bool {
	return volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil
}

// claimed returns the folder of a claim that bind has found.
func (v *Volumes) claimed(name string) claimed {
	v.claiming.Lock()
	defer v.claiming.Unlock()
	return v.claims[name]
}

// bind finds the folder of a claim's volume. The caller must hold the lock.
func (v *Volumes) bind(ctx context.Context, volume *corev1.Volume) error {
	found := v.claimed(volume.Name)
	if found.path == "" {
		if err := v.keeps(); err != nil {
			return err
		}
		var err error
		if found, err = v.find(ctx, volume); err != nil {
			return err
		}
		v.claiming.Lock()
		v.claims[volume.Name] = found
		v.claiming.Unlock()
	}
	if found.readOnly {
		return nil
	}
	return v.group(volume.Name, found.path)
}

// keeps returns an error that says what to do if persistent volumes cannot keep the owners of files.
func (v *Volumes) keeps() error {
	err := v.supported()
	if errors.Is(err, owners.ErrUnsupported) {
		return fmt.Errorf("a persistent volume needs a file system that keeps owners: name a folder on such a file system in STRATA_HOME: %w", err)
	}
	return err
}

// find finds the folder of the volume of a claim. It trusts only the folder's own record of the namespace: it ignores the
// path in the PersistentVolume object, and mounts no volume of another namespace.
func (v *Volumes) find(ctx context.Context, volume *corev1.Volume) (claimed, error) {
	pod, core := v.pod.Pod(), v.pod.Client.CoreV1()
	name, readOnly := pod.Name+"-"+volume.Name, false
	if source := volume.PersistentVolumeClaim; source != nil {
		name, readOnly = source.ClaimName, source.ReadOnly
	}
	claim, err := core.PersistentVolumeClaims(pod.Namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return claimed{}, err
	}
	if volume.Ephemeral != nil && !metav1.IsControlledBy(claim, pod) {
		return claimed{}, fmt.Errorf("claim %s was not created for this pod: delete it, or rename the volume", name)
	}
	if claim.Status.Phase != corev1.ClaimBound || claim.Spec.VolumeName == "" {
		return claimed{}, fmt.Errorf("claim %s is not bound yet: see its events", name)
	}
	bound, err := core.PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		return claimed{}, err
	}
	if bound.Spec.ClaimRef == nil || bound.Spec.ClaimRef.UID != claim.UID {
		return claimed{}, fmt.Errorf("claim %s names volume %s, which belongs to another claim", name, bound.Name)
	}
	switch by := bound.Annotations[provisionedBy]; by {
	case storage.Provisioner:
	case storage.EarlierProvisioner:
		// It was created when volumes had no folders.
		if err := v.persistent.Create(bound.Name, storage.Claim{Namespace: pod.Namespace, Name: name}); err != nil {
			return claimed{}, err
		}
	default:
		return claimed{}, fmt.Errorf("claim %s is bound to volume %s, which %s did not create: this node mounts no other persistent volumes", name, bound.Name, storage.Provisioner)
	}
	path, err := v.persistent.Find(bound.Name, pod.Namespace)
	return claimed{path, readOnly}, err
}
