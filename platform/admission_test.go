package platform_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// testPodSecurity creates pods as the administrator, so that only Pod Security can refuse them. It replaces the controller
// that creates the pods of a team's Deployment.
func testPodSecurity(t *testing.T, c *cluster) {
	for name, spec := range map[string]string{
		"a folder of the node":      "volumes: [{name: v, hostPath: {path: /}}], containers: [{name: x, image: x}]",
		"the network of the node":   "hostNetwork: true, containers: [{name: x, image: x}]",
		"the processes of the node": "hostPID: true, containers: [{name: x, image: x}]",
		"a privileged container":    "containers: [{name: x, image: x, securityContext: {privileged: true}}]",
		"a port of the node":        "containers: [{name: x, image: x, ports: [{containerPort: 80, hostPort: 80}]}]",
	} {
		for _, namespace := range []string{"team-web", "platform", "pulumi-kubernetes-operator", "flux-system"} {
			manifest := fmt.Sprintf("{apiVersion: v1, kind: Pod, metadata: {name: x, namespace: %s}, spec: {%s}}", namespace, spec)
			if err := apply(t.Context(), c, manifest); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "PodSecurity") {
				t.Errorf("%s in %s: %v, want forbidden by PodSecurity", name, namespace, err)
			}
		}
	}
}

// testQuota acts as the quota controller, which does not run here, and tries to create objects whose quota is zero.
func testQuota(t *testing.T, c *cluster) {
	quota := &corev1.ResourceQuota{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "team-web", Name: "strata"}, quota); err != nil {
		t.Fatal(err)
	}
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, corev1.ResourceList{}
	for name := range quota.Spec.Hard {
		quota.Status.Used[name] = resource.MustParse("0")
	}
	if err := c.Status().Update(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	act := c.as(t, "team-web", "web")
	for name, spec := range map[string]string{"an address outside": "type: LoadBalancer", "a port of the nodes": "type: NodePort"} {
		eventually(t, name+" is refused", func() error {
			err := act.try(t.Context(), attempt{"POST", "/api/v1/namespaces/team-web/services?dryRun=All", fmt.Sprintf(
				"{apiVersion: v1, kind: Service, metadata: {name: outside}, spec: {%s, ports: [{port: 80}]}}", spec)})
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota: strata") {
				return fmt.Errorf("%w, want the quota to refuse it", err)
			}
			return nil
		})
	}
}

// testPolicyParameters makes the API server evaluate the policies of sync/ with the TenantPolicies of layer 2. The tests
// beside the policies cover each rule.
func testPolicyParameters(t *testing.T, c *cluster) {
	act := c.as(t, "team-web", "web")
	program := func(types ...string) attempt {
		var resources []string
		for i, each := range types {
			resources = append(resources, fmt.Sprintf("r%d: {type: '%s', properties: {name: web}}", i, each))
		}
		return attempt{"POST", "/apis/pulumi.com/v1/namespaces/team-web/programs?dryRun=All", fmt.Sprintf(
			"{apiVersion: pulumi.com/v1, kind: Program, metadata: {name: policed}, program: {resources: {%s}}}", strings.Join(resources, ", "))}
	}
	eventually(t, "the policy is at work", func() error {
		err := act.try(t.Context(), program("gcp:sql:User", "gcp:container:Cluster"))
		if !apierrors.IsInvalid(err) {
			return fmt.Errorf("%w, want it refused", err)
		}
		for _, want := range []string{"may declare", "gcp:sql/user:User", "random:*", "ask the platform team"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("the refusal does not say %q: %v", want, err)
			}
		}
		return nil
	})
	for name, test := range map[string]struct {
		types   []string
		allowed bool
	}{
		"what is given":            {[]string{"gcp:sql/database:Database", "gcp:sql/user:User", "kubernetes:core/v1:Secret"}, true},
		"the same, written short":  {[]string{"gcp:sql:Database", "gcp:sql:User", "random:RandomPassword", "random:index/randomPassword:RandomPassword"}, true},
		"none at all":              {nil, true},
		"another of the module":    {[]string{"gcp:sql:DatabaseInstance"}, false},
		"what only begins so":      {[]string{"gcp:sql:UserGrant"}, false},
		"a package that begins so": {[]string{"randomness:Pet"}, false},
		"a provider of its own":    {[]string{"pulumi:providers:gcp"}, false},
		"another stack":            {[]string{"pulumi:pulumi:StackReference"}, false},
	} {
		if err := act.try(t.Context(), program(test.types...)); (err == nil) != test.allowed {
			t.Errorf("%s: %v, allowed: %v", name, err, test.allowed)
		}
	}
	// Without the parameters the policies refuse every request, whoever makes it.
	if err := apply(t.Context(), c, "{apiVersion: v1, kind: Namespace, metadata: {name: team-lost, labels: {strata.dev/team: lost}}}"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a team without parameters is refused", func() error {
		err := apply(t.Context(), c, "{apiVersion: pulumi.com/v1, kind: Program, metadata: {name: x, namespace: team-lost}, program: {}}")
		if err == nil {
			t.Fatal("accepted")
		}
		if !strings.Contains(err.Error(), "failed to configure binding") && !strings.Contains(err.Error(), "no params found") {
			return err
		}
		return nil
	})
}
