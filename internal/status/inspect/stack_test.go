package inspect

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/internal/status/graph"
	"github.com/strata-platform/strata/internal/status/health"
	"github.com/strata-platform/strata/internal/status/snapshot"
	"github.com/strata-platform/strata/teams"
)

// kept turns a Stack into a deleted one whose destroy fails, with Pulumi's message.
var kept = with("Stack", "team-web", "wordpress-infra", func(o *unstructured.Unstructured) {
	now := metav1.Now()
	o.SetDeletionTimestamp(&now)
	_ = unstructured.SetNestedMap(o.Object, map[string]any{"type": "destroy", "state": "failed", "message": "resource \"urn:x\" cannot be deleted\n" +
		"because it is protected. To unprotect the resource, either remove the `protect` flag or use the command: `pulumi state unprotect 'urn:x'`"}, "status", "lastUpdate")
})

// asks returns the changes of a Stack that waits for an approval, with the operator's message.
func asks(message string) []change {
	const stack = "wordpress-infra"
	return []change{
		says("Stack", "team-web", stack, "Ready", "False", "NotReadyStalled", message), says("Stack", "team-web", stack, "Stalled", "True", "AwaitingApproval", message),
		set("Stack", "team-web", stack, map[string]any{"plan": "stack.wordpress-infra", "message": message}, "status", "approval"),
	}
}

const (
	wouldDelete = `up would delete gcp:sql/database:Database "orders" (its data is lost)`
	approveIt   = "; to approve it: strata approve stack.wordpress-infra --team web"
)

func TestRootCauseOfStacks(t *testing.T) {
	for name, tc := range map[string]causeCase{
		"a key that no context has is the team's": {
			changes: []change{says("Stack", "team-web", "wordpress-infra", "Ready", "False", "NotReadyInProgress",
				`spec.envRefs.GOOGLE_REGION: Secret team-web/strata-context has no key "GOOGLE_REGIO": ask the platform team`)},
			want: "Stack team-web/wordpress-infra: NotReadyInProgress: spec.envRefs.GOOGLE_REGION refers to key GOOGLE_REGIO, which Secret strata-context does not have " +
				"(it has GOOGLE_CREDENTIALS, GOOGLE_PROJECT, GOOGLE_REGION, PULUMI_BACKEND_URL, PULUMI_CONFIG_PASSPHRASE): team web: correct it and push",
		},
		"a key that no context's ConfigMap has is the team's": {
			changes: []change{says("Stack", "team-web", "wordpress-infra", "Ready", "False", "NotReadyInProgress",
				`spec.configRef.instanz: ConfigMap team-web/strata-context has no key "instanz": ask the platform team`)},
			want: "Stack team-web/wordpress-infra: NotReadyInProgress: spec.configRef.instanz refers to key instanz, which ConfigMap strata-context does not have " +
				"(it has handoffVersion, instance, project, region): team web: correct it and push",
		},
		"a Stack that a down cannot destroy": {
			changes: []change{kept, with("Kustomization", "team-web", "web", func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, true, "spec", "suspend")
				o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "strata-down", Operation: metav1.ManagedFieldsOperationApply}})
			})},
			want: "Stack team-web/wordpress-infra: CannotBeDestroyed: it cannot be destroyed: resource \"urn:x\" cannot be deleted because it is protected: the platform team: " +
				"run `strata up` to restore the platform if a push can fix it, or run `kubectl --kubeconfig \"$(strata kubeconfig)\" -n team-web patch stack wordpress-infra " +
				"--type=merge -p '{\"spec\":{\"destroyOnFinalize\":false}}'` to keep its resources, and then `strata down`",
		},
		"a Stack that a push removed and that cannot be destroyed": {
			changes: []change{kept},
			want: "Stack team-web/wordpress-infra: CannotBeDestroyed: it cannot be destroyed: resource \"urn:x\" cannot be deleted because it is protected: the platform team: " +
				"run `kubectl --kubeconfig \"$(strata kubeconfig)\" -n team-web patch stack wordpress-infra --type=merge -p '{\"spec\":{\"destroyOnFinalize\":false}}'` to keep its resources",
		},
		"a Stack that waits for an approval": {
			changes:  append(asks(wouldDelete+approveIt), failed("HealthCheckFailed", "failed early due to stalled resources: [Stack/team-web/wordpress-infra status: 'Failed']")),
			want:     "Stack team-web/wordpress-infra waits for approval: " + wouldDelete + ": an approver: run `strata approve stack.wordpress-infra --team web`",
			explains: []string{"Kustomization team-web/web"},
		},
		"a Stack that waits for an approval that nobody can give": {
			changes: asks(wouldDelete + "; nobody can approve Plan stack.wordpress-infra: it has more than a megabyte"),
			want:    "Stack team-web/wordpress-infra waits for approval: " + wouldDelete + "; nobody can approve Plan stack.wordpress-infra: it has more than a megabyte: team web: correct it and push",
		},
		"a deleted Stack that waits for an approval": {
			changes: append(asks("destroy would delete a database"+approveIt), with("Stack", "team-web", "wordpress-infra", func(o *unstructured.Unstructured) { o.SetDeletionTimestamp(new(metav1.Now())) })),
			want:    "Stack team-web/wordpress-infra waits for approval: destroy would delete a database: an approver: run `strata approve stack.wordpress-infra --team web`",
		},
		"a Stack that runs, beside one that waits for an approval": {
			changes: append(asks(wouldDelete+approveIt), stackNamed("runs", "{}")),
			want:    "Stack team-web/runs: Progressing: its controller has reported no state yet",
		},
		"a Program that a push removed while its Stack stays, during pruning": {
			changes: []change{gone("Program", "team-web", "wordpress-infra"), says("Stack", "team-web", "wordpress-infra", "Ready", "False", "NotReadyStalled", "there is no Program"),
				failed("Progressing", "Reconciliation in progress")},
			want:     "Program team-web/wordpress-infra: Missing: Stack team-web/wordpress-infra needs it, and it does not exist: team web: commit it, or correct the name",
			explains: []string{"Kustomization team-web/web", "Stack team-web/wordpress-infra"},
		},
		"an object that is not healthy yet": {
			changes: []change{failed("HealthCheckFailed", "timeout waiting for: [Deployment/team-web/x status: 'InProgress']")},
			want: "Kustomization team-web/web: HealthCheckFailed: timeout waiting for: [Deployment/team-web/x status: 'InProgress']: team web: " +
				"wait: Flux checks again within 5s",
		},
		"a policy whose parameters the API server does not know yet": {
			changes: []change{failed("ReconciliationFailed", `Program/team-web/x dry-run failed (Invalid): programs.pulumi.com "x" is forbidden: ValidatingAdmissionPolicy 'strata-programs' with binding 'b' `+
				`denied request: failed to configure policy: failed to find resource referenced by paramKind: 'strata.dev/v1, Kind=TenantPolicy'`)},
			want: "Kustomization team-web/web: ReconciliationFailed: Program team-web/x cannot be checked: the cluster does not know the kind of a policy's parameters yet " +
				"(at main@ffff0000; main@46d43c2f keeps running): team web: wait: Flux tries again",
		},
		"a kind whose schema the API server does not know yet": {
			changes: []change{failed("ReconciliationFailed", notYet)},
			want: "Kustomization team-web/web: ReconciliationFailed: Stack team-web/x cannot be completed: the cluster does not know the schema of its kind yet " +
				"(at main@ffff0000; main@46d43c2f keeps running): team web: wait: Flux tries again",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.check(t)
		})
	}
}

// notYet is the API server's answer shortly after the CustomResourceDefinition of Stacks was created.
const notYet = `Stack/team-web/x dry-run failed (ServiceUnavailable): Resource kind pulumi.com/v1, Kind=Stack not found. ` +
	`There can be a delay between when CustomResourceDefinitions are created and when they are available.`

func TestAKustomizationIsTooEarlyIf(t *testing.T) {
	for name, tc := range map[string]struct {
		message string
		want    bool
	}{
		"the API server does not know the schema of a kind":       {notYet, true},
		"the cluster serves no such kind":                         {`Stack/team-web/x dry-run failed: no matches for kind "Stack" in version "pulumi.com/v1"`, true},
		"the API server does not know the parameters of a policy": {"Stack/team-web/x dry-run failed: failed to find resource referenced by paramKind: 'strata.dev/v1, Kind=TenantPolicy'", true},
		"not if a policy denies an object":                        {"Stack/team-web/x dry-run failed: ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no", false},
	} {
		t.Run(name, func(t *testing.T) {
			early := reportOf(t, nil, failed("ReconciliationFailed", tc.message)).Early
			if got := slices.Contains(early, types.NamespacedName{Namespace: "team-web", Name: "web"}); got != tc.want {
				t.Errorf("the report says %t: %v", got, early)
			}
		})
	}
}

func TestAFailureStaysVisibleWhileFluxRetries(t *testing.T) {
	warnings := map[string]string{"Kustomization team-web/web": "ReconciliationFailed: Program/team-web/x dry-run failed: no"}
	kustomization := func(s *snapshot.Snapshot) *graph.Object {
		g := graph.New(s, scopeOfAda)
		health.Assess(g)
		return g.Get("Kustomization", "team-web", "web")
	}
	retry := failed("Progressing", "Reconciliation in progress")
	warned := set("GitRepository", "team-web", "web", warnedRevision, "status", "artifact", "revision")
	if o := kustomization(snapshotOf(t, warnings, retry, warned)); o.Ready || o.Reason != "ReconciliationFailed" {
		t.Errorf("the retry of a rejected commit is reported as %s", o)
	}
	if o := kustomization(snapshotOf(t, warnings, retry)); o.Ready || o.Reason != status.ReasonProgressing {
		t.Errorf("the commit after a rejected one is reported as %s", o)
	}
	again := says("Kustomization", "team-web", "web", "Ready", "Unknown", "Progressing", "Reconciliation in progress")
	if o := kustomization(snapshotOf(t, nil, again)); !o.Ready {
		t.Errorf("the repetition of a successful apply is reported as %s", o)
	}
	for name, change := range map[string]change{
		"a sync whose last apply failed": set("Kustomization", "team-web", "web", []any{map[string]any{"lastReconciledStatus": "ReconciliationFailed"}}, "status", "history"),
		"a changed sync":                 with("Kustomization", "team-web", "web", func(o *unstructured.Unstructured) { o.SetGeneration(2) }),
		"a sync with a pending request": with("Kustomization", "team-web", "web", func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{snapshot.AnnotationRequestedAt: "now"})
		}),
	} {
		if o := kustomization(snapshotOf(t, nil, again, change)); o.Ready {
			t.Errorf("%s is ready", name)
		}
	}
}

func TestIncompleteKustomizations(t *testing.T) {
	report := reportOf(t, nil, gone("Program", "team-web", "wordpress-infra"), gone("Stack", "team-web", "wordpress-infra"))
	if want := []types.NamespacedName{{Namespace: "team-web", Name: "web"}}; !slices.Equal(report.Incomplete, want) {
		t.Errorf("incomplete are %v, want %v", report.Incomplete, want)
	}
	if whole := reportOf(t, nil); len(whole.Incomplete) != 0 {
		t.Errorf("a healthy platform has the incomplete %v", whole.Incomplete)
	}
}

func TestANewTeamIsOneLineAndTheLastCause(t *testing.T) {
	scope := scopeOfAda
	scope.Teams = []teams.Team{web, {Name: "new", Branch: "main", Path: "./"}}
	report := reportOn(snapshotOf(t, nil, says("Stack", "team-web", "wordpress-infra", "Ready", "False", "NotReadyStalled", "no")), scope)
	text := printed(report, status.Style{})
	if !strings.Contains(text, "\n4 new\n└─ ✗ Team ") || strings.Count(text, "new") != 3 || !strings.Contains(text, "     also: Team new: NotCreated: teams.yaml contains it, and the cluster does not: the platform team: run `strata up`\n") {
		t.Errorf("it prints\n%s", text)
	}
	if cause, _ := report.RootCause(); cause.Kind != "Stack" {
		t.Errorf("the root cause is %s", cause)
	}
	if !report.Lacks(status.LayerPlatform) {
		t.Error("layer 2 is reported as complete")
	}
}

func TestAStackThatWaitsForAPersonHasAMarkOfItsOwn(t *testing.T) {
	var out strings.Builder
	reportOf(t, nil, asks(wouldDelete+approveIt)...).Print(&out, status.Style{})
	for _, want := range []string{
		"├─ ? Stack           team-web/wordpress-infra                    waits for approval: " + wouldDelete,
		"\nnot ready: Stack team-web/wordpress-infra waits for approval: " + wouldDelete + ": an approver: run `strata approve",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}
