package node

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/strata-platform/strata/internal/local/machine/node/environment"
	"github.com/strata-platform/strata/internal/local/machine/node/nodetest"
	"github.com/strata-platform/strata/internal/local/machine/node/runtime"
)

// secret creates a Secret.
func (c *cluster) secret(t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	if _, err := c.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// configMap creates a ConfigMap.
func (c *cluster) configMap(t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	if _, err := c.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// reported waits for the report of a pod's guest.
func (c *cluster) reported(t *testing.T, namespace, pod string) guestReport {
	t.Helper()
	var seen guestReport
	nodetest.Eventually(t, pod+" reports", func() error { return json.Unmarshal([]byte(c.log(namespace, pod, "guest")), &seen) })
	return seen
}

func TestAPodSeesItsEnvironment(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	c.secret(t, ns, "login", map[string]string{"user": "web", "password": "secret"})
	c.configMap(t, ns, "settings", map[string]string{"COLOUR": "green", "SIZE": "10"})
	login, settings, nothing := corev1.LocalObjectReference{Name: "login"}, corev1.LocalObjectReference{Name: "settings"}, corev1.LocalObjectReference{Name: "nothing"}
	yes := true
	field := func(name, path string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
	}
	bound := func(name, path, divisor, container string) corev1.EnvVar {
		ref := &corev1.ResourceFieldSelector{Resource: path, ContainerName: container}
		if divisor != "" {
			ref.Divisor = resource.MustParse(divisor)
		}
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: ref}}
	}
	container := guest("report", "--user=$(USER_NAME)", "--not=$$(USER_NAME)", "--unknown=$(NOBODY)", "--colour=$(SET_COLOUR)")
	container.Command = []string{"guest"}
	container.EnvFrom = []corev1.EnvFromSource{
		{Prefix: "SET_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: settings}},
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: settings}},
		{Prefix: "LOGIN_", SecretRef: &corev1.SecretEnvSource{LocalObjectReference: login}},
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: nothing, Optional: &yes}},
		{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: nothing, Optional: &yes}},
	}
	container.Env = []corev1.EnvVar{
		{Name: "SIZE", Value: "20"},
		{Name: "USER_NAME", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: login, Key: "user"}}},
		{Name: "SHADE", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: settings, Key: "COLOUR"}}},
		{Name: "NO_SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: nothing, Key: "user", Optional: &yes}}},
		{Name: "NO_KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: login, Key: "none", Optional: &yes}}},
		{Name: "NO_MAP", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: nothing, Key: "a", Optional: &yes}}},
		{Name: "GREETING", Value: "hello $(USER_NAME), $(SIZE) $(LOGIN_password)"},
		field("POD", "metadata.name"), field("NAMESPACE", "metadata.namespace"), field("APP", "metadata.labels['app']"),
		field("NODE", "spec.nodeName"), field("ACCOUNT", "spec.serviceAccountName"), field("HOST_IP", "status.hostIP"), field("UID", "metadata.uid"),
		field("HOW", "metadata.annotations['"+runtime.Annotation+"']"),
		bound("MEMORY", "limits.memory", "", ""), bound("MEMORY_MI", "limits.memory", "1Mi", ""), bound("CPU", "limits.cpu", "", ""),
		bound("CPU_M", "requests.cpu", "1m", ""), bound("UNBOUND", "limits.cpu", "", "other"),
	}
	container.Resources = corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi"), corev1.ResourceCPU: resource.MustParse("1500m")},
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")},
	}
	other := guest("report")
	other.Name = "other"
	made := c.create(t, ns, "seer", corev1.PodSpec{Containers: []corev1.Container{container, other}})
	seen := c.reported(t, ns, "seer")
	for _, want := range []string{"--user=web", "--not=$(USER_NAME)", "--unknown=$(NOBODY)", "--colour=green"} {
		if !slices.Contains(seen.Args, want) {
			t.Errorf("the arguments have no %s: %q", want, seen.Args)
		}
	}
	allocatable := environment.Capacity()
	for name, want := range map[string]string{
		"USER_NAME": "web", "SHADE": "green", "GREETING": "hello web, 20 secret", "SIZE": "20", "SET_COLOUR": "green", "SET_SIZE": "10", "COLOUR": "green",
		"LOGIN_password": "secret", "LOGIN_user": "web",
		"POD": "seer", "NAMESPACE": ns, "APP": "seer", "NODE": "local", "ACCOUNT": "default", "HOST_IP": environment.Loopback, "UID": string(made.UID), "HOW": runtime.Process,
		"MEMORY": "1073741824", "MEMORY_MI": "1024", "CPU": "2", "CPU_M": "250", "UNBOUND": allocatable.Cpu().String(),
		"FROM_IMAGE": "image", "HOSTNAME": "seer",
	} {
		if seen.Env[name] != want {
			t.Errorf("%s is %q, want %q", name, seen.Env[name], want)
		}
	}
	for _, name := range []string{"NO_SECRET", "NO_KEY", "NO_MAP", "user"} {
		if value, set := seen.Env[name]; set {
			t.Errorf("%s is set, to %q", name, value)
		}
	}
}

func TestAPodMayNotChooseItsProcessesCredentialsAndPrograms(t *testing.T) {
	c := realCluster(t)
	t.Parallel()
	ns := c.namespace(t)
	container := guest("report")
	for _, name := range []string{"KUBECONFIG", "HOME", "PATH", "LD_PRELOAD", "HOSTNAME"} {
		container.Env = append(container.Env, corev1.EnvVar{Name: name, Value: "/of/another"})
	}
	c.create(t, ns, "sly", corev1.PodSpec{Containers: []corev1.Container{container}})
	for name, value := range c.reported(t, ns, "sly").Env {
		if strings.Contains(value, "/of/another") {
			t.Errorf("%s is %q", name, value)
		}
	}
}
