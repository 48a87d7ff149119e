package status

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/strata-platform/strata/teams"
)

// kept turns a Stack into a deleted one whose destroy fails, with Pulumi's message.
var kept = with("Stack", "team-web", "wordpress-infra", func(o *unstructured.Unstructured) {
	now := metav1.Now()
	o.SetDeletionTimestamp(&now)
	_ = unstructured.SetNestedMap(o.Object, map[string]any{"type": "destroy", "state": "failed", "message": "resource \"urn:x\" cannot be deleted\n" +
		"because it is protected. To unprotect the resource, either remove the `protect` flag or use the command: `pulumi state unprotect 'urn:x'`"}, "status", "lastUpdate")
})

func TestRootCauseOfAStackOrOfWhatIsGone(t *testing.T) {
	for name, tc := range map[string]causeCase{
		"a key that no context has is the team's": {
			changes: []change{says("Stack", "team-web", "wordpress-infra", "Ready", "False", "NotReadyInProgress",
				`spec.envRefs.GOOGLE_REGION: Secret team-web/strata-context has no key "GOOGLE_REGIO": ask the platform team`)},
			want: "Stack team-web/wordpress-infra: NotReadyInProgress: spec.envRefs.GOOGLE_REGION names key GOOGLE_REGIO, which Secret strata-context does not have " +
				"(it has GOOGLE_CREDENTIALS, GOOGLE_PROJECT, GOOGLE_REGION, PULUMI_BACKEND_URL, PULUMI_CONFIG_PASSPHRASE): team web: correct it and push",
		},
		"a key that no context's ConfigMap has is the team's": {
			changes: []change{says("Stack", "team-web", "wordpress-infra", "Ready", "False", "NotReadyInProgress",
				`spec.configRef.instanz: ConfigMap team-web/strata-context has no key "instanz": ask the platform team`)},
			want: "Stack team-web/wordpress-infra: NotReadyInProgress: spec.configRef.instanz names key instanz, which ConfigMap strata-context does not have " +
				"(it has handoffVersion, instance, project, region): team web: correct it and push",
		},
		"a Stack that a down cannot destroy": {
			changes: []change{kept, with("Kustomization", "team-web", "web", func(o *unstructured.Unstructured) {
				_ = unstructured.SetNestedField(o.Object, true, "spec", "suspend")
				o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "strata-down", Operation: metav1.ManagedFieldsOperationApply}})
			})},
			want: "Stack team-web/wordpress-infra: CannotBeDestroyed: it cannot be destroyed: resource \"urn:x\" cannot be deleted because it is protected: the platform team: " +
				"run `strata up` to have everything again, where a push can mend it, or run `kubectl --kubeconfig \"$(strata kubeconfig)\" -n team-web patch stack wordpress-infra " +
				"--type=merge -p '{\"spec\":{\"destroyOnFinalize\":false}}'` to leave what it made, and then `strata down`",
		},
		"a Stack that a push took out and that cannot be destroyed": {
			changes: []change{kept},
			want: "Stack team-web/wordpress-infra: CannotBeDestroyed: it cannot be destroyed: resource \"urn:x\" cannot be deleted because it is protected: the platform team: " +
				"run `kubectl --kubeconfig \"$(strata kubeconfig)\" -n team-web patch stack wordpress-infra --type=merge -p '{\"spec\":{\"destroyOnFinalize\":false}}'` to leave what it made",
		},
		"a Program that a push took out while its Stack stays, in the moment of pruning": {
			changes: []change{gone("Program", "team-web", "wordpress-infra"), says("Stack", "team-web", "wordpress-infra", "Ready", "False", "NotReadyStalled", "there is no Program"),
				failed("Progressing", "Reconciliation in progress")},
			want:     "Program team-web/wordpress-infra: Missing: Stack team-web/wordpress-infra needs it, and there is none: team web: commit it, or correct the name",
			explains: []string{"Kustomization team-web/web", "Stack team-web/wordpress-infra"},
		},
		"what was not healthy when its sync looked": {
			changes: []change{failed("HealthCheckFailed", "timeout waiting for: [Deployment/team-web/x status: 'InProgress']")},
			want: "Kustomization team-web/web: HealthCheckFailed: timeout waiting for: [Deployment/team-web/x status: 'InProgress']: team web: " +
				"what it names is mended or on its way, and it looks again within 5s: wait",
		},
		"a policy whose parameters the API server does not know yet": {
			changes: []change{failed("ReconciliationFailed", `Program/team-web/x dry-run failed (Invalid): programs.pulumi.com "x" is forbidden: ValidatingAdmissionPolicy 'strata-programs' with binding 'b' `+
				`denied request: failed to configure policy: failed to find resource referenced by paramKind: 'strata.dev/v1, Kind=TenantPolicy'`)},
			want: "Kustomization team-web/web: ReconciliationFailed: Program team-web/x cannot be checked: the cluster does not know the kind of a policy's parameters yet " +
				"(in main@ffff0000; main@46d43c2f is untouched and runs on): team web: wait: it is tried again and goes by itself",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.check(t)
		})
	}
}

func TestWhatWasSaidStaysSaidWhileASyncOnlyTriesAgain(t *testing.T) {
	const commit = "main@sha1:ffff0000ffff0000"
	warnings := map[key]string{{"Kustomization", "team-web", "web"}: "ReconciliationFailed: Program/team-web/x dry-run failed: no"}
	trying := func(w *world) *object {
		w.judge()
		return w.get("Kustomization", "team-web", "web")
	}
	w := worldOf(t, warnings, failed("Progressing", "Reconciliation in progress"))
	w.failedAt = func(*object) string { return commit }
	if o := trying(w); o.Ready || o.Reason != "ReconciliationFailed" {
		t.Errorf("of a refused commit that is tried again it says %s", o)
	}
	w = worldOf(t, warnings, failed("Progressing", "Reconciliation in progress"))
	w.failedAt = func(*object) string { return "main@sha1:0000" }
	if o := trying(w); o.Ready || o.Reason != reasonProgressing {
		t.Errorf("of a commit after a refused one it says %s", o)
	}
	again := says("Kustomization", "team-web", "web", "Ready", "Unknown", "Progressing", "Reconciliation in progress")
	if o := trying(worldOf(t, nil, again)); !o.Ready {
		t.Errorf("of what applies the same once more it says %s", o)
	}
	for name, change := range map[string]change{
		"what failed the last time": set("Kustomization", "team-web", "web", []any{map[string]any{"lastReconciledStatus": "ReconciliationFailed"}}, "status", "history"),
		"what was changed":          with("Kustomization", "team-web", "web", func(o *unstructured.Unstructured) { o.SetGeneration(2) }),
		"what was asked to look": with("Kustomization", "team-web", "web", func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{requestedAt: "now"})
		}),
	} {
		if o := trying(worldOf(t, nil, again, change)); o.Ready {
			t.Errorf("%s is said to be ready", name)
		}
	}
}

func TestATeamThatWasOnlyAddedIsOneLineAndTheLastCause(t *testing.T) {
	w := worldOf(t, nil, says("Stack", "team-web", "wordpress-infra", "Ready", "False", "NotReadyStalled", "no"))
	w.scope.Teams = append(w.scope.Teams, teams.Team{Name: "new", Branch: "main", Path: "./"})
	w.judge()
	report := w.report()
	text := printed(report, Style{})
	if !strings.Contains(text, "\n4 new\n└─ ✗ Team ") || strings.Count(text, "new") != 3 || !strings.Contains(text, "     also: Team new: NeverMade: it is in teams.yaml, and nothing of it is made: the platform team: run `strata up`\n") {
		t.Errorf("it prints\n%s", text)
	}
	if cause, _ := report.RootCause(); cause.Kind != "Stack" {
		t.Errorf("the root cause is %s", cause)
	}
	if !report.Lacks(LayerPlatform) {
		t.Error("layer 2 is said to lack nothing")
	}
}

func TestASyncOfWhichSomethingIsGoneIsAskedOnce(t *testing.T) {
	report := reportOf(t, nil, gone("Program", "team-web", "wordpress-infra"), gone("Stack", "team-web", "wordpress-infra"))
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), healthy(t)[key{"Kustomization", "team-web", "web"}])
	var asker Asker
	for range 2 {
		if err := asker.ask(t.Context(), client, report); err != nil {
			t.Fatal(err)
		}
	}
	patches := slices.DeleteFunc(client.Actions(), func(a clienttesting.Action) bool { return a.GetVerb() != "patch" })
	if len(patches) != 1 {
		t.Fatalf("it was asked %d times", len(patches))
	}
	asked, err := client.Resource(patches[0].GetResource()).Namespace("team-web").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if asked.GetAnnotations()[requestedAt] == "" {
		t.Error("it bears no request")
	}
	if healed := reportOf(t, nil); len(healed.robbed) != 0 {
		t.Errorf("of a whole platform it would ask %v", healed.robbed)
	}
}
