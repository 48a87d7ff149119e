// Package provisioner provisions volumes for the claims of simulated pods. The volumes are simulated too and hold nothing.
// Their class and an annotation say so.
package provisioner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// Class is the name of the storage class, the cluster's default.
const Class = "simulated"

// provisionerName is the class's name of this provisioner.
const provisionerName = "strata.dev/simulated"

// defaultClass is the annotation of the default class, for claims that name no class (Kubernetes, "Storage Classes").
const defaultClass = "storageclass.kubernetes.io/is-default-class"

// Start creates the class unless it exists, and provisions volumes for its claims in the background until ctx is done.
// config must have the rights of an administrator.
func Start(ctx context.Context, config *rest.Config, log *slog.Logger) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("provision simulated volumes: %w", err)
	}
	if _, err := client.StorageV1().StorageClasses().Create(ctx, class(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("provision simulated volumes: %w", err)
	}
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(log.Handler()))
	go controller.NewProvisionController(ctx, client, provisionerName, driver{}, controller.LeaderElection(false)).Run(ctx)
	return nil
}

// class returns the storage class. It binds a claim when the first pod that uses the claim is scheduled, like the
// default class of Google Kubernetes Engine.
func class() *storagev1.StorageClass {
	binding := storagev1.VolumeBindingWaitForFirstConsumer
	return &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: Class, Annotations: map[string]string{defaultClass: "true"}},
		Provisioner:       provisionerName,
		VolumeBindingMode: &binding,
	}
}

// driver implements the library's BlockProvisioner.
type driver struct{}

// Provision returns a volume with the size of the claim and without any storage.
func (driver) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	claim := o.PVC.Spec
	if claim.Selector != nil {
		return nil, controller.ProvisioningFinished, errors.New("a claim of the class " + Class + " cannot select a volume: remove its selector")
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName, Annotations: map[string]string{runtime.Annotation: runtime.Simulated}},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   claim.AccessModes,
			VolumeMode:                    claim.VolumeMode,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nonexistent/" + o.PVName}},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete does nothing, because a volume has no storage.
func (driver) Delete(context.Context, *corev1.PersistentVolume) error { return nil }

// SupportsBlock returns true: a claim may ask for a raw block device.
func (driver) SupportsBlock(context.Context) bool { return true }
