package podnetwork

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/internal/local/machine/network"
	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
)

// googleAccount is the annotation of a Kubernetes account with its Google account (Google Cloud, "Workload Identity
// Federation for GKE").
const googleAccount = "iam.gke.io/gcp-service-account"

// accounts returns a function that finds the accounts of pods. The Kubernetes account is read for each call, so that a
// changed annotation counts at once.
func accounts(client kubernetes.Interface, factory informers.SharedInformerFactory) google.Accounts {
	pods := factory.Core().V1().Pods().Lister()
	return func(ctx context.Context, of network.Pod) (string, string, error) {
		pod, err := pods.Pods(of.Namespace).Get(of.Name)
		if err != nil || pod.UID != of.UID {
			// The informer may be behind the node.
			if pod, err = sameUID(ctx, client, of); err != nil {
				return "", "", err
			}
		}
		account, err := client.CoreV1().ServiceAccounts(of.Namespace).Get(ctx, pod.Spec.ServiceAccountName, metav1.GetOptions{})
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
