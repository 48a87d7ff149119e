package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/strata-platform/strata/test/stratatest"
)

// tryFlux: flux KUBECONFIG CONTROLLER... — exactly these controllers of Flux exist and are Ready, each with an account
// of its own.
func tryFlux(_ *testscript.TestScript, args []string) error {
	client, err := clientOf(args[0])
	if err != nil {
		return err
	}
	ctx := context.Background()
	deployments, err := client.AppsV1().Deployments("flux-system").List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=flux"})
	if err != nil {
		return err
	}
	var names []string
	for _, d := range deployments.Items {
		names = append(names, d.Name)
		if account := d.Spec.Template.Spec.ServiceAccountName; account != d.Name {
			return fmt.Errorf("%s runs as the account %q", d.Name, account)
		}
		if !slices.ContainsFunc(d.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
			return c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue
		}) {
			return fmt.Errorf("%s is not available: %+v", d.Name, d.Status.Conditions)
		}
	}
	if want := slices.Sorted(slices.Values(args[1:])); !slices.Equal(slices.Sorted(slices.Values(names)), want) {
		return fmt.Errorf("the controllers are %v, want %v", names, want)
	}
	return nil
}

// tryApplied: applied KUBECONFIG NAMESPACE NAME COMMIT — a sync has applied a commit. COMMIT is a file that contains it.
func tryApplied(ts *testscript.TestScript, args []string) error {
	client, err := clientOf(args[0])
	if err != nil {
		return err
	}
	raw, err := client.Discovery().RESTClient().Get().
		AbsPath("/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/" + args[1] + "/kustomizations/" + args[2]).DoRaw(context.Background())
	if err != nil {
		return err
	}
	var sync unstructured.Unstructured
	if err := sync.UnmarshalJSON(raw); err != nil {
		return err
	}
	revision, _, err := unstructured.NestedString(sync.Object, "status", "lastAppliedRevision")
	if commit := strings.TrimSpace(ts.ReadFile(args[3])); err == nil && !strings.HasSuffix(revision, commit) {
		err = fmt.Errorf("%s/%s has applied %s, not %s", args[1], args[2], revision, commit)
	}
	return err
}

// tryStack: stack KUBECONFIG NAMESPACE NAME REGEXP — one of a Stack's conditions matches, as "TYPE=STATUS REASON: MESSAGE".
func tryStack(_ *testscript.TestScript, args []string) error {
	pattern, err := regexp.Compile(args[3])
	if err != nil {
		return err
	}
	client, err := clientOf(args[0])
	if err != nil {
		return err
	}
	raw, err := client.Discovery().RESTClient().Get().AbsPath("/apis/pulumi.com/v1/namespaces/" + args[1] + "/stacks/" + args[2]).DoRaw(context.Background())
	if err != nil {
		return err
	}
	var stack struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := json.Unmarshal(raw, &stack); err != nil {
		return err
	}
	var conditions []string
	for _, c := range stack.Status.Conditions {
		conditions = append(conditions, fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	if !slices.ContainsFunc(conditions, pattern.MatchString) {
		return fmt.Errorf("Stack %s/%s: none of its conditions matches %s:\n%s", args[1], args[2], pattern, strings.Join(conditions, "\n"))
	}
	return nil
}

// stack runs tryStack as a command of its own.
func stack(ts *testscript.TestScript, _ bool, args []string) { ts.Check(tryStack(ts, args)) }

// tryGone: gone KUBECONFIG RESOURCE — no object of a resource exists, such as stacks.pulumi.com.
func tryGone(_ *testscript.TestScript, args []string) error {
	all, err := stratatest.Objects(context.Background(), strings.TrimSpace(args[0]))
	if err != nil {
		return err
	}
	for _, object := range all {
		if object.Resource.GroupResource().String() == args[1] {
			return fmt.Errorf("%s exists", object)
		}
	}
	return nil
}

// objects: objects KUBECONFIG FILE — writes the names of all objects of a cluster into a file.
func objects(ts *testscript.TestScript, _ bool, args []string) {
	all, err := stratatest.Objects(context.Background(), strings.TrimSpace(args[0]))
	ts.Check(err)
	var names strings.Builder
	for _, object := range all {
		fmt.Fprintln(&names, object)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(names.String()), 0o600))
}

// tryNoMore: nomore KUBECONFIG FILE — the cluster contains no object that is not in the file.
func tryNoMore(ts *testscript.TestScript, args []string) error {
	all, err := stratatest.Objects(context.Background(), strings.TrimSpace(args[0]))
	if err != nil {
		return err
	}
	known := strings.Split(ts.ReadFile(args[1]), "\n")
	var left []string
	for _, object := range all {
		// Kubernetes itself creates these objects in a namespace, at different times.
		if slices.Contains([]string{"kube-root-ca.crt", "default"}, object.Name) && strings.HasPrefix(object.Namespace, "kube-") {
			continue
		}
		if !slices.Contains(known, object.String()) {
			left = append(left, object.String())
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("these objects are left: %s", strings.Join(left, ", "))
	}
	return nil
}
