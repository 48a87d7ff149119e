package upgrade

import (
	"bytes"
	"slices"
	"strings"
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
	second := Step{Name: platformStep, Versions: layerVersions(facts(), lifecycle.PlatformLayer), Counts: map[string]int{"update": 3, "create": 1, "same": 70}}
	second.add("update", "strata:index:Flux flux")
	second.add("update", "flux:index/bootstrapGit:BootstrapGit flux-bootstrap")
	second.add("create", "kubernetes:core/v1:Namespace team-web-namespace")
	second.add("update", "strata:index:FluxSync platform-sync")
	third := without(fluxStep, fluxVersions(facts()))
	second.moveFlux(&third)
	fourth, fifth := without(kindsStep, kindsVersions(facts())), without(operatorStep, operatorVersions(facts()))
	made := Plan{Steps: []Step{first, second, third, fourth, fifth, {Name: "nothing"}}, Begun: fluxStep, Refused: "a reason"}
	var out bytes.Buffer
	made.Print(&out)
	const want = `DATA IS LOST in layer 1: bootstrap: replace gcp:sql/databaseInstance:DatabaseInstance instance
an upgrade has stopped at its step "layer 2: Flux", and continues there
1. layer 1: bootstrap: 1 to replace, 20 unchanged
     strata v0.1.0 -> v0.2.0
     replace gcp:sql/databaseInstance:DatabaseInstance instance
2. layer 2: platform: 1 to create, 1 to update, 70 unchanged (before the changes of layer 1)
     strata unknown -> v0.2.0
     pulumi v3.250.0 -> v3.258.0
     create kubernetes:core/v1:Namespace team-web-namespace
     update strata:index:FluxSync platform-sync
3. layer 2: Flux: 2 to update, layer 2 installs it
     flux v2.9.4 -> v2.9.5
     update strata:index:Flux flux
     update flux:index/bootstrapGit:BootstrapGit flux-bootstrap
4. layer 3: kinds of the operator: Flux applies them
     kind plans.strata.dev none -> the schema of v0.2.0
     kind stacks.pulumi.com another schema -> the schema of v0.2.0
5. layer 3: operator: Flux applies it
     operator v0.1.0 -> v0.2.0
6. nothing: nothing to change

refused: a reason
`
	if got := out.String(); got != want {
		t.Errorf("the plan is\n%s\nwant\n%s", got, want)
	}
}

func TestDestructiveChangesComeFirst(t *testing.T) {
	var step Step
	for _, each := range [][2]string{
		{"create", "kubernetes:core/v1:ConfigMap a"}, {"update", "kubernetes:core/v1:ConfigMap b"}, {"create-replacement", "kubernetes:core/v1:Secret c"},
		{"delete", "kubernetes:core/v1:Secret d"}, {"delete", "gcp:sql/database:Database e"},
	} {
		step.add(each[0], each[1])
	}
	step.sort()
	var names []string
	for _, each := range step.Resources {
		names = append(names, each.Name)
	}
	if got := strings.Join(names, ""); got != "edcab" {
		t.Errorf("the order is %s", got)
	}
}

func TestARecordedStepSkipsTheStepsBeforeIt(t *testing.T) {
	for recorded, first := range map[string]string{
		"": bootstrapStep, "a step of a later Strata": bootstrapStep, bootstrapStep: bootstrapStep, platformStep: platformStep,
		// Whoever corrects Flux needs a run of layer 2.
		fluxStep: platformStep, kindsStep: kindsStep, operatorStep: operatorStep,
		"layer 2: platform, with Flux": platformStep, "layer 3: the operator and its kinds": kindsStep,
	} {
		for i, step := range order {
			if got, want := before(step, recorded), i < slices.Index(order, first); got != want {
				t.Errorf("after a stop at %q it skips %q: %t", recorded, step, got)
			}
		}
	}
}
