package conformance

// Statements returns all statements. The first is that an operator runs Stacks at all.
func Statements() []Statement {
	return []Statement{
		{"stack-ready", Shared, "A Stack whose Program exists becomes Ready with reason ProcessingCompleted, and is neither Reconciling nor Stalled."},
		{"stack-current", Shared, "kstatus calls a Ready Stack Current."},
		{"update-recorded", Shared, "status.lastUpdate records the run: up, succeeded, its generation, its revision and its time; no run is left in status.currentUpdate."},
		{"program-observed", Shared, "status.observedGeneration of a Program is its generation."},
		{"resources", Shared, "The resources of the Program exist in the cluster with the declared content."},
		{"outputs", Shared, "status.outputs contains each output as JSON."},
		{"secret-outputs", Shared, "A secret output is [secret] in status.outputs; no Stack, Program or Event contains its value."},
		{"program-changed", Shared, "A changed Program runs its Stack again, and the outputs and resources follow."},
		{"unchanged-kept", Shared, "An update keeps the resources that did not change."},
		{"run-requested", Shared, "A new value of the annotation pulumi.com/reconciliation-request runs the Stack; status.observedReconcileRequest and status.lastUpdate repeat it."},
		{"destroyed", Shared, "A Stack with destroyOnFinalize is gone only after its resources are."},

		{"kept", Shared, "The deletion of a Stack without destroyOnFinalize keeps its resources."},
		{"taken-over", Shared, "The same Stack, created again, takes these resources over from the state and replaces none."},

		{"config", Shared, "The Program reads spec.config: texts and numbers."},
		{"config-ref", Shared, "The Program reads the key of a ConfigMap in spec.configRef, which takes precedence over spec.config."},
		{"secrets-ref", Shared, "The Program reads the key of a Secret in spec.secretsRef, and the value stays secret in the outputs."},
		{"input-changed", Own, "A change of a ConfigMap that a Stack refers to runs the Stack at once."},

		{"env-refs", Shared, "The variables of spec.envRefs are the environment of the run: with another passphrase it fails, with the former one it succeeds."},
		{"secret-missing", Shared, "A Stack whose envRefs name a missing Secret is not Ready, and runs nothing."},
		{"secret-created", Shared, "It becomes Ready after somebody has created the Secret."},

		{"failure-reported", Shared, "After a failed update the Stack is not Ready, is Reconciling (RetryingAfterFailure) or Stalled, and status.lastUpdate is failed and has a message."},
		{"failure-not-current", Shared, "kstatus does not call a Stack Current whose update failed."},
		{"failure-loses-nothing", Shared, "A failed update keeps the resources, the outputs and the last successful revision."},
		{"failure-explained", Own, "The message of the Ready condition names the failed resource and the reason, in one line."},
		{"failure-repaired", Shared, "The Stack becomes Ready after the Program is corrected, without a request."},
		{"program-invalid", Own, "A Program that refers to an undeclared resource is Stalled (SpecInvalid), and so is its Stack (SourceUnavailable), without a run."},

		{"program-missing", Shared, "A Stack whose Program does not exist is Stalled (SourceUnavailable) and runs nothing."},
		{"program-created", Shared, "It becomes Ready after somebody has created the Program."},
		{"never-run-deleted", Own, "A Stack that has never run can be deleted, although its Program is missing."},

		{"prerequisite-awaited", Shared, "A Stack is Reconciling (PrerequisiteNotSatisfied) and runs nothing before the Stack in spec.prerequisites has succeeded."},
		{"prerequisite-succeeded", Shared, "It runs after that Stack has succeeded."},

		{"preview", Shared, "A Stack with preview becomes Ready and creates nothing; status.lastUpdate is a preview."},
		{"preview-ended", Shared, "Without preview, the same Stack creates its resources."},
		{"refreshed", Shared, "A run with refresh creates a resource again that somebody has deleted."},
		{"destroyed-without-program", Shared, "A Stack with destroyOnFinalize destroys its resources although its Program no longer exists."},
		{"name-limit", Shared, "The API server rejects a Stack whose name has more than 42 characters."},

		{"program-ready", Own, "A well-formed Program is Ready."},
		{"short-stack", Own, "In the namespace of a team, a Stack with nothing but programRef becomes Ready: the platform fills in stack, account, backend, passphrase and destroyOnFinalize."},
	}
}
