// Package provisioner provisions persistent volumes: folders of the home.
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/strata-platform/strata/internal/local/machine/storage"
)

// Class is the name of the storage class, the cluster's default.
const Class = "local"

// earlierClass is the class of homes of earlier versions. It remains for the claims that name it.
const earlierClass = "simulated"

// defaultClass is the annotation of the default class, for claims that name no class (Kubernetes, "Storage Classes").
const defaultClass = "storageclass.kubernetes.io/is-default-class"

// Options configures the provisioner. All fields are required.
type Options struct {
	// Config has the rights of an administrator.
	Config *rest.Config
	// Volumes is the folder of the volumes.
	Volumes storage.Folder
	// Node is the name of the node for claims of a class that does not wait for a pod.
	Node string
	Log  *slog.Logger
}

// Start creates the class unless it exists, and provisions volumes for its claims in the background until ctx is done.
func Start(ctx context.Context, o Options) error {
	client, err := kubernetes.NewForConfig(o.Config)
	if err != nil {
		return fmt.Errorf("provision volumes: %w", err)
	}
	if err := createClass(ctx, client); err != nil {
		return fmt.Errorf("provision volumes: %w", err)
	}
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(o.Log.Handler()))
	go controller.NewProvisionController(ctx, client, storage.Provisioner, driver{o}, controller.LeaderElection(false),
		controller.AdditionalProvisionerNames([]string{storage.EarlierProvisioner})).Run(ctx)
	return nil
}

// createClass creates the storage class and makes it the only default class of Strata.
func createClass(ctx context.Context, client kubernetes.Interface) error {
	classes := client.StorageV1().StorageClasses()
	if _, err := classes.Create(ctx, class(), metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: "false"}}}`, defaultClass)
	if _, err := classes.Patch(ctx, earlierClass, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// class returns the storage class. It binds a claim when the first pod that uses the claim is scheduled, like the
// default class of Google Kubernetes Engine.
func class() *storagev1.StorageClass {
	binding := storagev1.VolumeBindingWaitForFirstConsumer
	return &storagev1.StorageClass{
		ObjectMeta:        metav1.ObjectMeta{Name: Class, Annotations: map[string]string{defaultClass: "true"}},
		Provisioner:       storage.Provisioner,
		VolumeBindingMode: &binding,
	}
}

// driver implements the library's Provisioner. It is no BlockProvisioner, so the library rejects claims of block devices.
type driver struct{ Options }

// Provision creates the folder of a volume.
func (d driver) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	claim := o.PVC.Spec
	switch {
	case claim.Selector != nil:
		return nil, controller.ProvisioningFinished, errors.New("a claim of the class " + o.StorageClass.Name + " cannot select a volume: remove its selector")
	case claim.VolumeMode != nil && *claim.VolumeMode == corev1.PersistentVolumeBlock:
		return nil, controller.ProvisioningFinished, errors.New("a volume of the class " + o.StorageClass.Name + " is a folder, not a block device: use volumeMode Filesystem")
	case claim.DataSource != nil || claim.DataSourceRef != nil:
		return nil, controller.ProvisioningFinished, errors.New("a volume of the class " + o.StorageClass.Name + " begins empty: remove the claim's dataSource")
	}
	if err := d.Volumes.Create(o.PVName, storage.Claim{Namespace: o.PVC.Namespace, Name: o.PVC.Name}); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	node := o.SelectedNodeName
	if node == "" {
		node = d.Node
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			AccessModes:                   claim.AccessModes,
			VolumeMode:                    claim.VolumeMode,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: d.Volumes.Path(o.PVName)}},
			NodeAffinity:                  &corev1.VolumeNodeAffinity{Required: onNode(node)},
		},
	}, controller.ProvisioningFinished, nil
}

// onNode selects a node.
func onNode(name string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{name}},
	}}}}
}

// Delete removes the folder of a volume. The library calls it after the end of the claim, if the reclaim policy is Delete.
func (d driver) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	return d.Volumes.Remove(volume.Name)
}
