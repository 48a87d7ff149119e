package podnetwork

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"

	"github.com/strata-platform/strata/internal/local/machine/podnetwork/google"
)

// googleAccount is the annotation of a Kubernetes account with its Google account (Google Cloud, "Workload Identity
// Federation for GKE").
const googleAccount = "iam.gke.io/gcp-service-account"

// accounts returns a function that finds the accounts of pods. The Kubernetes account is read for each call, so that a
// changed annotation counts at once.
func accounts(client kubernetes.Interface, factory informers.SharedInformerFactory) google.Accounts {
	pods := factory.Core().V1().Pods().Lister()
	return func(ctx context.Context, namespace, name string) (string, string, error) {
		pod, err := pods.Pods(namespace).Get(name)
		if err != nil {
			return "", "", err
		}
		account, err := client.CoreV1().ServiceAccounts(namespace).Get(ctx, pod.Spec.ServiceAccountName, metav1.GetOptions{})
		if err != nil {
			return "", "", err
		}
		return account.Name, account.Annotations[googleAccount], nil
	}
}
