// Package planrights contains the rights of the account that plans of unreviewed commits run as.
package planrights

import rbac "k8s.io/api/rbac/v1"

// Rules returns the account's rules in a team's namespace. The account reads what a Program of the team may look up, and writes nothing: a
// dry run needs the permission to write, so Pulumi's Kubernetes provider computes the plan without one. Nobody has reviewed the code of a
// plan, so the account reads neither Secrets and logs of pods nor pods, Stacks, Programs, their logs and their plans: all of these may
// contain passwords.
func Rules() []rbac.PolicyRule {
	var rules []rbac.PolicyRule
	for _, each := range []struct {
		group     string
		resources []string
	}{
		{"", []string{"configmaps", "services", "persistentvolumeclaims", "endpoints", "resourcequotas", "limitranges"}},
		{"apps", []string{"deployments", "statefulsets"}},
		{"batch", []string{"jobs", "cronjobs"}},
		{"autoscaling", []string{"horizontalpodautoscalers"}},
		{"policy", []string{"poddisruptionbudgets"}},
		{"networking.k8s.io", []string{"ingresses"}},
		{"discovery.k8s.io", []string{"endpointslices"}},
	} {
		rules = append(rules, rbac.PolicyRule{APIGroups: []string{each.group}, Resources: each.resources, Verbs: []string{"get", "list", "watch"}})
	}
	return rules
}
