package skew

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/mod/semver"

	"github.com/strata-platform/strata/internal/breaking"
	"github.com/strata-platform/strata/internal/status"
	"github.com/strata-platform/strata/platform"
)

const commit, other = "b713fae5a35041d899b0f64151a151f3df068ad1", "0123456789abcdef0123456789abcdef01234567"

// good returns the versions of a platform whose parts fit together.
func good() Facts {
	plugins := map[string]string{"gcp": "9.7.0"}
	return Facts{
		Offered: Offered{
			Strata: "v0.2.0", Running: "v0.2.0", Flux: "v2.9.4", Pulumi: "v3.258.0", SDK: "v3.258.0", Plugins: map[string]string{"gcp": "v9.7.0"},
			Operator: Operator{Tag: "v0.2.0"},
		},
		Layers: []Layer{
			{Name: "bootstrap", Strata: "v0.2.0", Pulumi: "v3.258.0", Plugins: plugins},
			{Name: "platform", Strata: "v0.2.0", Pulumi: "v3.258.0", Flux: "v2.9.4"},
		},
		Cluster: &Cluster{
			Kubernetes: "v1.33.5-gke.1080000", Controllers: map[string]string{"source-controller": "v2.9.4", "kustomize-controller": "v2.9.4"},
			Operator: Operator{Tag: "v0.2.0"},
		},
		Call: func(words string) string { return "strata " + words },
	}
}

// upstream changes the facts to upstream's operator.
func upstream(f *Facts, has, want Operator) { f.Cluster.Operator, f.Offered.Operator = has, want }

// fluxOf changes the version of Flux everywhere.
func (f *Facts) fluxOf(version string) {
	f.Layers[1].Flux, f.Offered.Flux = version, version
	for name := range f.Cluster.Controllers {
		f.Cluster.Controllers[name] = version
	}
}

func TestSkew(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Facts)
		want   string
		broken bool
	}{
		"nothing":                  {func(*Facts) {}, "", false},
		"no cluster":               {func(f *Facts) { f.Cluster = nil }, "", false},
		"nothing is known":         {func(f *Facts) { *f = Facts{Cluster: &Cluster{}, Call: f.Call} }, "", false},
		"the oldest Kubernetes":    {func(f *Facts) { f.Cluster.Kubernetes = "v1.33.0" }, "", false},
		"an unknown minor of Flux": {func(f *Facts) { f.fluxOf("v2.4.0"); f.Cluster.Kubernetes = "v1.20.0" }, "", false},
		"a newer patch of Pulumi":  {func(f *Facts) { f.Layers[0].Pulumi = "v3.258.9" }, "", false},

		"an old Kubernetes": {
			func(f *Facts) { f.Cluster.Kubernetes = "v1.32.9-gke.1000" },
			"Kubernetes: the cluster has v1.32.9-gke.1000, and Flux v2.9.4 supports v1.33.0 or newer: upgrade the cluster, or set fluxVersion of layer 2 to a version that supports it", true,
		},
		"an old Kubernetes for Flux 2.8": {
			func(f *Facts) { f.fluxOf("v2.8.8"); f.Cluster.Kubernetes = "v1.32.9" },
			"Kubernetes: the cluster has v1.32.9, and Flux v2.8.8 supports v1.33.0 or newer: upgrade the cluster, or set fluxVersion of layer 2 to a version that supports it", true,
		},
		"the oldest Kubernetes for Flux 2.7": {func(f *Facts) { f.fluxOf("v2.7.5"); f.Cluster.Kubernetes = "v1.32.0" }, "", false},
		"an old Kubernetes for Flux 2.7": {
			func(f *Facts) { f.fluxOf("v2.7.5"); f.Cluster.Kubernetes = "v1.31.9" },
			"Kubernetes: the cluster has v1.31.9, and Flux v2.7.5 supports v1.32.0 or newer: upgrade the cluster, or set fluxVersion of layer 2 to a version that supports it", true,
		},
		"another configured Flux": {
			func(f *Facts) { f.Offered.Flux = "v2.9.5" },
			"Flux: layer 2 has installed v2.9.4, and its configuration asks for v2.9.5: run `strata upgrade`", false,
		},
		"a controller of another Flux": {
			func(f *Facts) { f.Cluster.Controllers["source-controller"] = "v2.9.3" },
			"Flux: source-controller of v2.9.3, and layer 2 has installed v2.9.4: run `strata layer up platform`, unless somebody has just changed the version", false,
		},
		"older layers": {
			func(f *Facts) { f.Layers[0].Strata, f.Layers[1].Strata = "v0.1.0", "v0.1.0" },
			"layers: this is strata v0.2.0, and the platform has layer bootstrap of v0.1.0, layer platform of v0.1.0: run `strata upgrade`", false,
		},
		"half an upgrade on gke": {
			func(f *Facts) { f.Layers[1].Strata = "v0.1.0" },
			"layers: this is strata v0.2.0, and the platform has layer platform of v0.1.0: run `strata upgrade`", false,
		},
		"half an upgrade on local": {
			func(f *Facts) { f.Begun.To, f.Begun.Step = "v0.2.0", "layer 2" },
			`upgrade: the one to Strata v0.2.0 has stopped at its step "layer 2": run ` + "`strata upgrade`", false,
		},
		"half an upgrade to another Strata": {
			func(f *Facts) { f.Begun.To, f.Begun.Step = "v0.3.0", "layer 2" },
			`upgrade: the one to Strata v0.3.0 has stopped at its step "layer 2": run ` + "`strata upgrade` of strata v0.3.0", false,
		},
		"a newer layer": {
			func(f *Facts) { f.Layers[0].Strata = "v0.3.0" },
			"layer bootstrap: Strata v0.3.0 ran it last, and this is the older strata v0.2.0: use strata v0.3.0", false,
		},
		"an old pulumi": {
			func(f *Facts) { f.Offered.Pulumi = "v3.250.0"; f.Layers[0].Pulumi, f.Layers[1].Pulumi = "", "" },
			"Pulumi: the command is v3.250.0, and the SDK in the programs of the layers is the newer v3.258.0: install pulumi v3.258.0", false,
		},
		"another major of pulumi": {
			func(f *Facts) { f.Offered.Pulumi = "v4.0.0" },
			"Pulumi: the command is v4.0.0, and the programs of the layers need the SDK v3.258.0: install pulumi v3.258.0", true,
		},
		"a state of a newer pulumi": {
			func(f *Facts) { f.Layers[0].Pulumi = "v3.259.0" },
			"Pulumi: the command is v3.258.0, and the newer v3.259.0 has written the state of layer bootstrap: install pulumi v3.259.0", false,
		},
		"a state of a newer plugin": {
			func(f *Facts) { f.Layers[0].Plugins["gcp"] = "9.8.0" },
			"Pulumi: layer bootstrap last ran with the plugin gcp 9.8.0, and the programs ask for the older v9.7.0: use the strata that ran it, or a newer one", false,
		},
		"an older embedded operator": {
			func(f *Facts) {
				f.Cluster.Operator.Tag = "v0.1.0"
				f.Cluster.Kinds = []breaking.Kind{{Name: "stacks.pulumi.com", Differs: true}}
			},
			"operator: v0.1.0 runs, and layer 3 of this strata has v0.2.0: run `strata upgrade`", false,
		},
		"a kind that is missing": {
			func(f *Facts) { f.Cluster.Kinds = []breaking.Kind{{Name: "stacks.pulumi.com", Missing: true}} },
			"operator: v0.2.0 runs, and the cluster does not have its kind stacks.pulumi.com: run `strata up`", true,
		},
		"a version that is not served": {
			func(f *Facts) {
				f.Cluster.Kinds = []breaking.Kind{{Name: "stacks.pulumi.com", Unserved: []string{"v1"}}}
			},
			"operator: v0.2.0 runs, and the cluster does not serve version v1 of its kind stacks.pulumi.com: run `strata up`", true,
		},
		"another schema": {
			func(f *Facts) { f.Cluster.Kinds = []breaking.Kind{{Name: "stacks.pulumi.com", Differs: true}} },
			"operator: v0.2.0 runs, and the cluster has another schema of its kind stacks.pulumi.com: run `strata upgrade`", false,
		},
		"upstream's operator with its kinds": {func(f *Facts) { upstream(f, Operator{"v2.9.0", commit}, Operator{"v2.9.0", commit}) }, "", false},
		"a pair of your own":                 {func(f *Facts) { upstream(f, Operator{"v2.8.0", other}, Operator{"v2.9.0", commit}) }, "", false},
		"upstream's operator with other kinds": {
			func(f *Facts) { upstream(f, Operator{"v2.9.0", other}, Operator{"v2.9.0", commit}) },
			"operator: v2.9.0 runs with the kinds of commit 01234567, and its release has those of b713fae5: change the tag and the commit together (decision 20)", false,
		},
		"upstream's kinds with another operator": {
			func(f *Facts) { upstream(f, Operator{"v2.8.0", commit}, Operator{"v2.9.0", commit}) },
			"operator: v2.8.0 runs with the kinds of v2.9.0: change the tag and the commit together (decision 20)", false,
		},
		"an older supervisor": {
			func(f *Facts) { f.Offered.Running = "v0.1.0" },
			"supervisor: strata v0.1.0 runs the programs of this machine, and this is strata v0.2.0: run `strata upgrade`, which restarts them", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts := good()
			test.change(&facts)
			var lines []string
			list := Check(facts)
			for _, each := range list {
				lines = append(lines, each.String())
			}
			if got := strings.Join(lines, "\n"); got != test.want {
				t.Errorf("the skew is\n%s\nwant\n%s", got, test.want)
			}
			report := status.NewReport([]status.Item{{Layer: status.LayerBootstrap, Kind: "Cluster", Ready: true}}).WithSkew(list)
			if report.Ready == test.broken {
				t.Errorf("ready is %t", report.Ready)
			}
		})
	}
}

func TestWhatIsBrokenComesFirst(t *testing.T) {
	facts := good()
	facts.Layers[0].Strata, facts.Offered.Pulumi = "v0.1.0", "v4.0.0"
	if list := Check(facts); len(list) != 2 || !list[0].Broken || list[1].Broken {
		t.Errorf("the skew is %v", list)
	}
}

// TestTheMinimumOfThePinnedFluxIsThatOfFlux reads the minimum in the source of flux2 at the version that layer 2 installs.
func TestTheMinimumOfThePinnedFluxIsThatOfFlux(t *testing.T) {
	config, err := platform.NewConfig()
	if err != nil {
		t.Fatal(err)
	}
	const module = "github.com/fluxcd/flux2/v2"
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", module).Output()
	if err != nil {
		t.Fatal(err)
	}
	version, dir, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if semver.MajorMinor(version) != semver.MajorMinor(config.FluxVersion) {
		t.Fatalf("the module is %s, and layer 2 installs %s", version, config.FluxVersion)
	}
	source, err := os.ReadFile(filepath.Join(dir, "cmd", "flux", "check.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`kubernetesConstraints = \[\]string\{\s+">=([0-9.]+)-0",\s+\}`).FindSubmatch(source)
	if found == nil {
		t.Fatal("flux2 states its minimum in another way")
	}
	if least, known := LeastKubernetes(config.FluxVersion); !known || least != "v"+string(found[1]) {
		t.Errorf("the minimum of Flux %s is %s, want v%s", config.FluxVersion, least, found[1])
	}
}

func TestTheSDKsAreThoseOfThisProgram(t *testing.T) {
	sdk, plugins := sdksOf([]*debug.Module{
		{Path: "github.com/pulumi/pulumi/sdk/v3", Version: "v3.1.0"}, {Path: "github.com/pulumi/pulumi/pkg/v3", Version: "v3.2.0"},
		{Path: "github.com/pulumi/pulumi-gcp/sdk/v9", Version: "v9.1.0"}, {Path: "github.com/pulumi/pulumi-yaml", Version: "v1.0.0"},
	})
	if sdk != "v3.1.0" || len(plugins) != 1 || plugins["gcp"] != "v9.1.0" {
		t.Errorf("the SDKs are %q and %v", sdk, plugins)
	}
}
