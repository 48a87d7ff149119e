package fluxcd

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// HealthCheck says by CEL expressions over an object whether a custom resource is ready. Flux evaluates InProgress, Failed and
// Current in this order, and takes an object that none of them is true of, or whose status is of an older generation, for in
// progress. An expression that asks for a field that is not there is an error, which keeps the sync waiting; has() asks first.
type HealthCheck struct {
	// APIVersion and Kind of the custom resource. Required, and the kind only once per sync.
	APIVersion, Kind string
	// Current is true of an object that is ready. Required.
	Current string
	// InProgress is true of one that will be ready or fail without anybody's help.
	InProgress string
	// Failed is true of one that something has to change about. It ends the wait at once.
	Failed string
}

// PulumiHealth returns the health checks of a Stack and a Program, of the upstream Pulumi Kubernetes Operator as well as of
// Strata's own. Without them Flux would take an object for ready that no operator has looked at yet.
func PulumiHealth() []HealthCheck {
	program := pulumiHealth("Program")
	// Upstream's operator gives a Program no conditions. It has looked at it when it has packed it.
	program.Current += " || !has(status.conditions) && has(status.artifact)"
	return []HealthCheck{pulumiHealth("Stack"), program}
}

func pulumiHealth(kind string) HealthCheck {
	is := func(condition string) string {
		return "has(status.conditions) && status.conditions.exists(c, c.type == '" + condition + "' && c.status == 'True')"
	}
	return HealthCheck{
		APIVersion: "pulumi.com/v1",
		Kind:       kind,
		InProgress: "!has(status.observedGeneration) || " + is("Reconciling"),
		Failed:     is("Stalled"),
		Current:    is("Ready"),
	}
}

// healthChecks are health checks as a Kustomization has them.
func healthChecks(checks []HealthCheck) pulumi.Array {
	all := make(pulumi.Array, len(checks))
	for i, c := range checks {
		check := pulumi.Map{}
		for field, value := range map[string]string{
			"apiVersion": c.APIVersion, "kind": c.Kind, "current": c.Current, "inProgress": c.InProgress, "failed": c.Failed,
		} {
			if value != "" {
				check[field] = pulumi.String(value)
			}
		}
		all[i] = check
	}
	return all
}

func checkHealth(checks []HealthCheck) []string {
	var p problems
	seen := map[string]bool{}
	for i, c := range checks {
		p.refuse(c.APIVersion == "" || c.Kind == "" || c.Current == "", fmt.Sprintf("HealthChecks[%d] must have APIVersion, Kind and Current", i))
		p.refuse(seen[c.Kind], fmt.Sprintf("HealthChecks[%d] is a second one of %s", i, c.Kind))
		seen[c.Kind] = true
	}
	return p
}
