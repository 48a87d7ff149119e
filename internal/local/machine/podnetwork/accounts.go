package podnetwork

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
)

// googleAccount is the annotation of a Kubernetes account with its Google account (Google Cloud, "Workload Identity
// Federation for GKE").
const googleAccount = "iam.gke.io/gcp-service-account"

// accounts returns a function that finds the accounts of pods. It asks the informers first, so that a pod cannot load the API
// server with calls to the metadata server. A changed annotation counts as soon as the informer has it. Call accounts before
// the factory starts.
func accounts(client kubernetes.Interface, factory informers.SharedInformerFactory) google.Accounts {
	pods, serviceAccounts := factory.Core().V1().Pods().Lister(), factory.Core().V1().ServiceAccounts().Lister()
	return func(ctx context.Context, of network.Pod) (string, string, error) {
		pod, err := pods.Pods(of.Namespace).Get(of.Name)
		if err != nil || pod.UID != of.UID {
			// The informer may be behind the node.
			if pod, err = sameUID(ctx, client, of); err != nil {
				return "", "", err
			}
		}
		account, err := serviceAccounts.ServiceAccounts(of.Namespace).Get(pod.Spec.ServiceAccountName)
		if apierrors.IsNotFound(err) {
			account, err = client.CoreV1().ServiceAccounts(of.Namespace).Get(ctx, pod.Spec.ServiceAccountName, metav1.GetOptions{})
		}
		if err != nil {
			return "", "", err
		}
		return account.Name, account.Annotations[googleAccount], nil
	}
}

// sameUID reads a pod. It returns an error if another pod has its name now: the sandbox of a pod that was deleted by force
// lives a moment longer, and must not get the account of its successor.
func sameUID(ctx context.Context, client kubernetes.Interface, of network.Pod) (*corev1.Pod, error) {
	pod, err := client.CoreV1().Pods(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
	if err == nil && pod.UID != of.UID {
		err = fmt.Errorf("find the account of pod %s/%s: the pod has been deleted, and another one has its name", of.Namespace, of.Name)
	}
	return pod, err
}
