package e2e

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// scale: scale KUBECONFIG NAMESPACE DEPLOYMENT REPLICAS — sets the number of replicas of a Deployment.
func scale(ts *testscript.TestScript, _ bool, args []string) {
	client, err := clientOf(args[0])
	ts.Check(err)
	replicas, err := strconv.ParseInt(args[3], 10, 32)
	ts.Check(err)
	_, err = client.AppsV1().Deployments(args[1]).UpdateScale(context.Background(), args[2], &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: args[1], Name: args[2]},
		Spec:       autoscalingv1.ScaleSpec{Replicas: int32(replicas)},
	}, metav1.UpdateOptions{})
	ts.Check(err)
}

// running: running KUBECONFIG NAMESPACE FILE — writes the list of pods, each with its UID and phase, and with the restart
// counts of its containers.
func running(ts *testscript.TestScript, _ bool, args []string) {
	client, err := clientOf(args[0])
	ts.Check(err)
	pods, err := client.CoreV1().Pods(args[1]).List(context.Background(), metav1.ListOptions{})
	ts.Check(err)
	var text strings.Builder
	for _, pod := range pods.Items {
		fmt.Fprintln(&text, pod.Name, pod.UID, pod.Status.Phase)
		for _, c := range pod.Status.ContainerStatuses {
			fmt.Fprintln(&text, " ", c.Name, c.Ready, c.RestartCount)
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), []byte(text.String()), 0o600))
}
