package fluxcd

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// HealthCheck decides by CEL expressions over an object whether a custom resource is ready. Flux evaluates InProgress,
// Failed and Current in this order. If none is true, or if the object's status belongs to an older generation, Flux
// considers the object in progress. An expression that reads a missing field is an error, which keeps the sync waiting.
// Test for the field with has() first.
type HealthCheck struct {
	// APIVersion and Kind name the custom resource. Required. A sync may have only one HealthCheck for each kind.
	APIVersion, Kind string
	// Current is true for a ready object. Required.
	Current string
	// InProgress is true for an object that will become ready, or fail, without intervention.
	InProgress string
	// Failed is true for an object that needs intervention. It ends the wait at once.
	Failed string
}

// PulumiHealth returns the health checks for Stack and Program, of the upstream Pulumi Kubernetes Operator and of
// Strata's operator. Without them Flux would consider an object ready before the operator has reconciled it.
func PulumiHealth() []HealthCheck {
	program := pulumiHealth("Program")
	// Upstream's operator sets no conditions on a Program. It sets status.artifact once it has packed the Program.
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

// healthChecks converts health checks to the form in the spec of a Kustomization.
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
		p.refuse(seen[c.Kind], fmt.Sprintf("HealthChecks[%d] is the second one for kind %s", i, c.Kind))
		seen[c.Kind] = true
	}
	return p
}
