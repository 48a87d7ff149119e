package node

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/kubectl/pkg/cmd/attach"
	"k8s.io/kubectl/pkg/cmd/cp"
	"k8s.io/kubectl/pkg/cmd/delete"
	"k8s.io/kubectl/pkg/cmd/exec"
	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/cmd/logs"
	"k8s.io/kubectl/pkg/cmd/portforward"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/cmd/util/podcmd"

	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/streams"
)

// fatal is the panic value with which kubectl's commands end on an error in this test, instead of ending the process.
type fatal string

// kubectl runs a command of kubectl in this process. It returns the command's output and error message.
func (c *cluster) kubectl(t *testing.T, namespace string, args ...string) (out string, failure fatal) {
	t.Helper()
	kubeconfig, cacheDir := c.home.AdminKubeconfig(), t.TempDir()
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.Namespace, flags.CacheDir = &kubeconfig, &namespace, &cacheDir
	factory := cmdutil.NewFactory(cmdutil.NewMatchVersionFlags(flags))
	var printed bytes.Buffer
	io := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &printed, ErrOut: &bytes.Buffer{}}
	root := &cobra.Command{Use: "kubectl"}
	root.AddCommand(get.NewCmdGet("kubectl", factory, io), logs.NewCmdLogs(factory, io), delete.NewCmdDelete(factory, io),
		exec.NewCmdExec(factory, io), attach.NewCmdAttach(factory, io), portforward.NewCmdPortForward(factory, io), cp.NewCmdCp(factory, io))
	root.SetArgs(args)
	ctx, cancel := context.WithTimeout(t.Context(), nodetest.Patience)
	defer cancel()
	func() {
		defer func() {
			if message, ok := recover().(fatal); ok {
				failure = message
			}
		}()
		if err := root.ExecuteContext(ctx); err != nil {
			failure = fatal(err.Error())
		}
	}()
	return printed.String(), failure
}

func TestKubectl(t *testing.T) {
	c := realCluster(t)
	cmdutil.BehaviorOnFatal(func(message string, _ int) { panic(fatal(message)) })
	t.Cleanup(cmdutil.DefaultBehaviorOnFatal)
	ns := c.namespace(t)
	ticker := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "ticker"}, Annotations: map[string]string{podcmd.DefaultContainerAnnotationName: "guest"}},
		Spec:       corev1.PodSpec{InitContainers: []corev1.Container{guest("say", "I come first")}, Containers: []corev1.Container{guest("tick")}},
	}
	ticker.Spec.InitContainers[0].Name = "first"
	if _, err := c.AppsV1().Deployments(ns).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "ticker"},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: ticker.Labels}, Template: ticker},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.create(t, ns, "simulated", corev1.PodSpec{Containers: nodetest.Containers("nginx", "nginx")})
	c.create(t, ns, "crash", corev1.PodSpec{Containers: []corev1.Container{guest("crash")}})
	c.create(t, ns, "once", corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{guest("say", "once and for all")}})
	run := func(args ...string) string {
		t.Helper()
		out, failure := c.kubectl(t, ns, args...)
		if failure != "" {
			t.Errorf("kubectl %s: %s", strings.Join(args, " "), failure)
		}
		return out
	}
	nodetest.Eventually(t, "all pods have run", func() error {
		pods := run("get", "pods")
		for _, want := range []string{"CrashLoopBackOff", "Completed", "simulated"} {
			if !strings.Contains(pods, want) || strings.Contains(pods, "0/1     Init") {
				return fmt.Errorf("kubectl get shows no %s: %s", want, pods)
			}
		}
		if out := run("logs", "deployment/ticker"); !strings.Contains(out, "tick 20\n") {
			return fmt.Errorf("the ticker wrote %.100q", out)
		}
		return nil
	})

	for _, test := range []struct {
		args string
		want func(out string) bool
	}{
		{"logs deployment/ticker", func(out string) bool { return strings.HasPrefix(out, "pid ") }},
		{"logs deployment/ticker -c first", func(out string) bool { return out == "I come first\n" }},
		{"logs deployment/ticker --all-containers --prefix --tail=1", func(out string) bool {
			return strings.Contains(out, "/first] I come first\n") && strings.Contains(out, "/guest] tick ")
		}},
		{"logs deployment/ticker --tail=2", func(out string) bool { return strings.Count(out, "\n") == 2 && strings.HasPrefix(out, "tick ") }},
		{"logs deployment/ticker --tail=0", func(out string) bool { return out == "" }},
		{"logs deployment/ticker --since=1h", func(out string) bool { return strings.HasPrefix(out, "pid ") }},
		{"logs deployment/ticker --since-time=2999-01-01T00:00:00Z", func(out string) bool { return out == "" }},
		{"logs deployment/ticker --limit-bytes=4", func(out string) bool { return out == "pid " }},
		{"logs deployment/ticker --timestamps --tail=1", func(out string) bool {
			stamp, line, _ := strings.Cut(out, " ")
			_, err := time.Parse(time.RFC3339Nano, stamp)
			return err == nil && strings.HasPrefix(line, "tick ")
		}},
		{"logs -l app=ticker --tail=1", func(out string) bool { return strings.HasPrefix(out, "tick ") }},
		{"logs crash", func(out string) bool { return strings.HasSuffix(out, "the configuration is wrong\n") }},
		{"logs crash --previous", func(out string) bool { return strings.HasSuffix(out, "the configuration is wrong\n") }},
		{"logs once", func(out string) bool { return out == "once and for all\n" }},
		{"logs once --follow", func(out string) bool { return out == "once and for all\n" }},
		{"logs simulated", func(out string) bool { return strings.Contains(out, "simulated") && strings.Count(out, "\n") == 1 }},
	} {
		if out := run(strings.Fields(test.args)...); !test.want(out) {
			t.Errorf("kubectl %s: %.200q", test.args, out)
		}
	}

	for args, want := range map[string]string{
		"logs once --previous":                 `previous terminated container "guest" in pod "once" not found`,
		"logs once -c nobody":                  "container nobody is not valid for pod once",
		"exec once -- true":                    "cannot exec into a container in a completed pod",
		"exec deployment/ticker -- ls":         streams.NoExec,
		"attach deployment/ticker":             streams.NoAttach,
		"port-forward deployment/ticker :8080": streams.NoPortForward,
	} {
		if _, failure := c.kubectl(t, ns, strings.Fields(args)...); !strings.Contains(string(failure), want) || strings.Count(strings.TrimSpace(string(failure)), "\n") > 0 {
			t.Errorf("kubectl %s says %q, want one line with %q", args, failure, want)
		}
	}

	pod := strings.TrimPrefix(strings.TrimSpace(run("get", "pods", "-l", "app=ticker", "-o", "name")), "pod/")
	followed := make(chan string)
	go func() {
		out, failure := c.kubectl(t, ns, "logs", "-f", pod)
		followed <- out + string(failure)
	}()
	if out := run("delete", "deployment", "ticker"); !strings.Contains(out, `"ticker" deleted`) {
		t.Errorf("kubectl delete says %q", out)
	}
	if out := <-followed; !strings.HasSuffix(out, "\ngoodbye\n") {
		t.Errorf("what kubectl logs -f shows ends with %q", out[max(0, len(out)-200):])
	}
	c.gone(t, ns, pod)
}
