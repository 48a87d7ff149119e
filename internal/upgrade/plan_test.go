package upgrade

import (
	"bytes"
	"testing"

	"github.com/strata-platform/strata/internal/breaking"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/skew"
)

// facts are the versions of a platform of the previous Strata.
func facts() skew.Facts {
	return skew.Facts{
		Offered: skew.Offered{Strata: "v0.2.0", Flux: "v2.9.5", Pulumi: "v3.258.0", Operator: skew.Operator{Tag: "v0.2.0"}},
		Layers: []skew.Layer{
			{Name: lifecycle.BootstrapLayer, Strata: "v0.1.0", Pulumi: "v3.258.0"},
			{Name: lifecycle.PlatformLayer, Flux: "v2.9.4", Pulumi: "v3.250.0"},
		},
		Cluster: &skew.Cluster{Operator: skew.Operator{Tag: "v0.1.0"}, Kinds: []breaking.Kind{{Name: "plans.strata.dev", Missing: true}, {Name: "stacks.pulumi.com", Differs: true}}},
	}
}

func TestThePlanNamesLossesFirstAndEveryVersion(t *testing.T) {
	first := Step{Name: bootstrapStep, Versions: layerVersions(facts(), lifecycle.BootstrapLayer), Counts: map[string]int{"replace": 1, "same": 20}}
	for _, op := range []string{"create-replacement", "replace", "delete-replaced"} {
		first.add(op, "gcp:sql/databaseInstance:DatabaseInstance instance")
	}
	first.add("update", "pulumi:pulumi:Stack strata-bootstrap-dev")
	first.add("read", "gcp:sql/database:Database x")
	second := Step{Name: platformStep, Versions: layerVersions(facts(), lifecycle.PlatformLayer), Counts: map[string]int{"update": 2, "same": 70}}
	second.add("update", "flux:index/bootstrapGit:BootstrapGit flux")
	third := Step{Name: operatorStep, Versions: operatorVersions(facts())}
	made := Plan{Steps: []Step{first, second, third, {Name: "nothing"}}, Begun: platformStep, Refused: "a reason"}
	var out bytes.Buffer
	made.Print(&out)
	const want = `DATA IS LOST in layer 1: bootstrap: replace gcp:sql/databaseInstance:DatabaseInstance instance
an upgrade has stopped at its step "layer 2: platform, with Flux", and continues there
1. layer 1: bootstrap: 1 to replace, 20 unchanged
     strata v0.1.0 -> v0.2.0
     replace gcp:sql/databaseInstance:DatabaseInstance instance
2. layer 2: platform, with Flux: 2 to update, 70 unchanged (before the changes of layer 1)
     strata unknown -> v0.2.0
     flux v2.9.4 -> v2.9.5
     pulumi v3.250.0 -> v3.258.0
     update flux:index/bootstrapGit:BootstrapGit flux
3. layer 3: the operator and its kinds: Flux applies it
     operator v0.1.0 -> v0.2.0
     kind plans.strata.dev none -> the schema of v0.2.0
     kind stacks.pulumi.com another schema -> the schema of v0.2.0
4. nothing: nothing to change

refused: a reason
`
	if got := out.String(); got != want {
		t.Errorf("the plan is\n%s\nwant\n%s", got, want)
	}
}

func TestARecordedStepSkipsTheStepsBeforeIt(t *testing.T) {
	for from, want := range map[string][3]bool{
		"": {}, bootstrapStep: {}, platformStep: {true, false, false}, operatorStep: {true, true, false}, "a step of a later Strata": {},
	} {
		u := upgrade{from: from}
		if got := [3]bool{u.skips(bootstrapStep), u.skips(platformStep), u.skips(operatorStep)}; got != want {
			t.Errorf("from %q it skips %v, want %v", from, got, want)
		}
	}
}
