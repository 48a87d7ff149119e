package notices

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/strata-platform/strata/operator/approval"
	"github.com/strata-platform/strata/operator/controller/tenant"
	"github.com/strata-platform/strata/operator/plan"
)

func TestTheReasonSaysWhatAReaderMustKnow(t *testing.T) {
	of := func(changes map[string]int, steps ...plan.Step) []plan.Stack {
		return []plan.Stack{{Name: "a", Changes: changes, Steps: steps}, {Name: "b", Changes: map[string]int{"same": 4, "read": 1}}}
	}
	lost := plan.Step{Op: "replace", Name: "db", Type: "gcp:sql/database:Database", LosesData: true}
	many := map[string]int{"create": 1 << 40, "update": 1 << 40, "replace": 1 << 40, "delete": 1 << 40, "import": 1 << 40}
	for name, test := range map[string]struct {
		status   plan.Status
		demand   string
		severity string
		reason   string
	}{
		"nothing":               {plan.Status{Phase: plan.Ready}, "", info, "ChangesNothing"},
		"only what stays":       {plan.Status{Phase: plan.Ready, Stacks: of(nil)}, approval.Always, info, "ChangesNothing"},
		"changes":               {plan.Status{Phase: plan.Ready, Stacks: of(map[string]int{"update": 2, "create": 1})}, "", info, "Creates1Updates2"},
		"every change":          {plan.Status{Phase: plan.Ready, Stacks: of(map[string]int{"delete": 2})}, approval.Always, info, "NeedsApproval:Deletes2"},
		"lost data":             {plan.Status{Phase: plan.Ready, Stacks: of(map[string]int{"replace": 1}, lost)}, "", info, "LosesDataOf1AndNeedsApproval:Replaces1"},
		"lost data, never asks": {plan.Status{Phase: plan.Ready, Stacks: of(map[string]int{"replace": 1}, lost)}, approval.Never, info, "LosesDataOf1:Replaces1"},
		"a failure":             {plan.Status{Phase: plan.Failed, Message: "canary"}, "", failure, "PlanFailed"},
		"a Stack that failed": {
			plan.Status{Phase: plan.Failed, Stacks: []plan.Stack{{Name: "canary", Failed: true, Message: "canary"}, {Name: "b"}}}, "", failure, "PlanFailedFor1Of2Stacks",
		},
		"a Stack that the plan does not see": {plan.Status{Phase: plan.Ready, Stacks: append(of(nil), plan.Stack{Name: "c", Unseen: true})}, "", info, "ChangesNothing-1StacksNotPlanned"},
		"the longest": {
			plan.Status{Phase: plan.Ready, Stacks: append(of(many, lost), plan.Stack{Name: "c", Unseen: true})}, "", info,
			"LosesDataOf1AndNeedsApproval:Creates99999Updates99999Replaces99999Deletes99999-1StacksNotPlanned",
		},
	} {
		severity, reason := result(&test.status, test.demand)
		if severity != test.severity || reason != test.reason {
			t.Errorf("%s: %s %q, want %s %q", name, severity, reason, test.severity, test.reason)
		}
		// The notifiers add at most one space for each character that begins a part.
		if parts := strings.FieldsFunc(reason, func(r rune) bool { return r >= 'a' && r <= 'z' }); len(reason)+2*len(parts) > 140 {
			t.Errorf("%s: %q is too long for a forge", name, reason)
		}
	}
}

func TestAnEventNamesTheCommitAndNoTextOfTheTeam(t *testing.T) {
	p := &plan.Plan{Spec: plan.Spec{Commit: strings.Repeat("a", 40), Branch: "evil@sha1:bbbb", Sync: "web", Manifests: "canary"}}
	p.Namespace, p.Name, p.UID = "team-web", "evil-aaaaaaaaaa", types.UID("1-2")
	p.Status = plan.Status{Phase: plan.Failed, Message: "canary", Stacks: []plan.Stack{{Name: "canary", Failed: true}}}
	policy := &tenant.Policy{Team: "web", Accounts: []string{"web", "infra"}, Notify: "plans-web"}
	got := eventOf(p, policy)
	for key, want := range map[string]string{"revision": "sha1:" + p.Spec.Commit, "commit_status": "update", "token": "1-2", "sync": ""} {
		if got.Metadata[group+"/"+key] != want {
			t.Errorf("%s is %q, want %q", key, got.Metadata[group+"/"+key], want)
		}
	}
	if o := got.InvolvedObject; o.Kind != "Kustomization" || o.Namespace != "flux-system" || o.Name != "plans-web" || o.APIVersion != "kustomize.toolkit.fluxcd.io/v1" {
		t.Errorf("it is about %+v", o)
	}
	if text := got.Message + got.Reason; strings.Contains(text, "canary") || got.Message != "Plan team-web/evil-aaaaaaaaaa: PlanFailedFor1Of1Stacks" {
		t.Errorf("it says %q", text)
	}
	p.Spec.Sync, p.Spec.Commit = "infra", strings.Repeat("b", 64)
	got = eventOf(p, policy)
	if got.Metadata[group+"/sync"] != "infra" || got.Metadata[group+"/revision"] != "sha256:"+p.Spec.Commit {
		t.Errorf("the metadata are %v", got.Metadata)
	}
}
