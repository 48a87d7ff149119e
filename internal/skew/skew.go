// Package skew finds the parts of a platform whose versions do not fit together.
package skew

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/strata-platform/strata/internal/breaking"
	"github.com/strata-platform/strata/internal/status"
)

// Facts are the versions of a platform's parts. An empty version is unknown, and takes part in no comparison.
type Facts struct {
	// Offered are the versions of this strata.
	Offered Offered
	// Layers are layers 1 and 2 as they ran last, from the lowest.
	Layers []Layer
	// Cluster is nil if no cluster answers.
	Cluster *Cluster
	// Begun is an upgrade that has stopped: the version of Strata that began it, and its step. Both are empty if there is none.
	Begun struct{ To, Step string }
	// Call returns a command line of strata, such as "strata upgrade --target gke" for "upgrade".
	Call func(words string) string
}

// Offered are the versions that this strata and the configuration bring.
type Offered struct {
	// Strata is the version of this strata. Running is that of the strata whose programs run on this machine.
	Strata, Running string
	// Flux is the version that the configuration of layer 2 asks for.
	Flux string
	// Pulumi is the version of the command pulumi, and SDK that of Pulumi's SDK in the programs of the layers. Plugins are the versions of
	// the providers' SDKs there, by the names of the plugins.
	Pulumi, SDK string
	Plugins     map[string]string
	// Operator is the operator that layer 3 of this strata installs.
	Operator Operator
	// Definitions are the kinds that layer 3 installs with the embedded operator; none for upstream's, whose kinds are in
	// upstream's repository.
	Definitions []*apiextensionsv1.CustomResourceDefinition
}

// Operator is a version of the operator with its kinds.
type Operator struct {
	// Tag is the tag of its image.
	Tag string
	// Commit is the commit of upstream's repository with its kinds; empty for the embedded operator.
	Commit string
}

// Layer is a layer as its last run left it.
type Layer struct {
	Name string
	// Strata is the version of Strata that ran it, and Pulumi the version of pulumi.
	Strata, Pulumi string
	// Flux is the version that layer 2 has installed.
	Flux string
	// Plugins are the versions of the providers, by the names of their plugins.
	Plugins map[string]string
}

// Cluster are the versions in the cluster.
type Cluster struct {
	// Kubernetes is the version of the API server.
	Kubernetes string
	// Controllers maps the Deployments of Flux to the version of Flux that they belong to.
	Controllers map[string]string
	Operator    Operator
	// Kinds are the kinds of the operator that are not those of Offered.Definitions.
	Kinds []breaking.Kind
}

// Layer returns a layer by its name; its versions are empty if it never ran.
func (f Facts) Layer(name string) Layer {
	if i := slices.IndexFunc(f.Layers, func(l Layer) bool { return l.Name == name }); i >= 0 {
		return f.Layers[i]
	}
	return Layer{Name: name}
}

// Check returns the skew of a platform, what is broken first.
func Check(f Facts) []status.Skew {
	list := slices.Concat(f.kubernetes(), f.begun(), f.layers(), f.flux(), f.pulumi(), f.operator(), f.running())
	slices.SortStableFunc(list, func(a, b status.Skew) int { return cmp.Compare(order(a), order(b)) })
	return list
}

func order(s status.Skew) int {
	if s.Broken {
		return 0
	}
	return 1
}

func (f Facts) run(words string) string { return "run `" + f.Call(words) + "`" }

// begun reports an upgrade that has stopped.
func (f Facts) begun() []status.Skew {
	if f.Begun.To == "" {
		return nil
	}
	next := f.run("upgrade")
	if f.Begun.To != f.Offered.Strata {
		next += " of strata " + f.Begun.To
	}
	return []status.Skew{{
		Part: "upgrade", Found: fmt.Sprintf("the one to Strata %s has stopped at its step %q", f.Begun.To, f.Begun.Step), Remedy: next,
	}}
}

// kubernetes compares the cluster with the minimum of Flux.
func (f Facts) kubernetes() []status.Skew {
	flux := cmp.Or(f.installedFlux(), f.Offered.Flux)
	least, known := LeastKubernetes(flux)
	if f.Cluster == nil || !known || !older(f.Cluster.Kubernetes, least) {
		return nil
	}
	return []status.Skew{{
		Part: "Kubernetes", Broken: true,
		Found:  fmt.Sprintf("the cluster has %s, and Flux %s supports %s or newer", f.Cluster.Kubernetes, flux, least),
		Remedy: "upgrade the cluster, or set fluxVersion of layer 2 to a version that supports it",
	}}
}

// installedFlux returns the version of Flux that layer 2 has installed.
func (f Facts) installedFlux() string {
	for _, layer := range f.Layers {
		if layer.Flux != "" {
			return layer.Flux
		}
	}
	return ""
}

// flux compares the controllers with the version that layer 2 has installed, and this one with the configured version.
func (f Facts) flux() []status.Skew {
	var list []status.Skew
	installed := f.installedFlux()
	if Differ(installed, f.Offered.Flux) {
		list = append(list, status.Skew{
			Part: "Flux", Found: fmt.Sprintf("layer 2 has installed %s, and its configuration asks for %s", installed, f.Offered.Flux), Remedy: f.run("upgrade"),
		})
	}
	if f.Cluster == nil {
		return list
	}
	other := map[string][]string{}
	for name, version := range f.Cluster.Controllers {
		if Differ(version, installed) {
			other[version] = append(other[version], name)
		}
	}
	for _, version := range sorted(other) {
		names := other[version]
		slices.Sort(names)
		list = append(list, status.Skew{
			Part: "Flux", Found: fmt.Sprintf("%s of %s, and layer 2 has installed %s", strings.Join(names, ", "), version, installed),
			Remedy: f.run("layer up platform") + ", unless somebody has just changed the version",
		})
	}
	return list
}

// layers compares the layers with this strata and with each other.
func (f Facts) layers() []status.Skew {
	var list []status.Skew
	var old []string
	for _, layer := range f.Layers {
		switch {
		case Newer(layer.Strata, f.Offered.Strata):
			list = append(list, status.Skew{
				Part: "layer " + layer.Name, Found: fmt.Sprintf("Strata %s ran it last, and this is the older strata %s", layer.Strata, f.Offered.Strata),
				Remedy: "use strata " + layer.Strata,
			})
		case Newer(f.Offered.Strata, layer.Strata):
			old = append(old, layer.Name+" of "+layer.Strata)
		}
	}
	if len(old) > 0 {
		list = append(list, status.Skew{
			Part: "layers", Found: fmt.Sprintf("this is strata %s, and the platform has layer %s", f.Offered.Strata, strings.Join(old, ", layer ")), Remedy: f.run("upgrade"),
		})
	}
	return list
}

// pulumi compares the command pulumi with the SDK of the programs and with the states, and the plugins with those that ran last.
func (f Facts) pulumi() []status.Skew {
	var list []status.Skew
	cli := f.Offered.Pulumi
	switch {
	case major(cli) != major(f.Offered.SDK) && cli != "" && f.Offered.SDK != "":
		list = append(list, status.Skew{
			Part: "Pulumi", Broken: true, Found: fmt.Sprintf("the command is %s, and the programs of the layers need the SDK %s", cli, f.Offered.SDK),
			Remedy: "install pulumi " + f.Offered.SDK,
		})
	case older(minor(cli), minor(f.Offered.SDK)):
		list = append(list, status.Skew{
			Part: "Pulumi", Found: fmt.Sprintf("the command is %s, and the SDK in the programs of the layers is the newer %s", cli, f.Offered.SDK),
			Remedy: "install pulumi " + f.Offered.SDK,
		})
	}
	for _, layer := range f.Layers {
		if older(minor(cli), minor(layer.Pulumi)) {
			list = append(list, status.Skew{
				Part: "Pulumi", Found: fmt.Sprintf("the command is %s, and the newer %s has written the state of layer %s", cli, layer.Pulumi, layer.Name),
				Remedy: "install pulumi " + layer.Pulumi,
			})
		}
		for _, name := range sorted(layer.Plugins) {
			if mine := f.Offered.Plugins[name]; older(mine, layer.Plugins[name]) {
				list = append(list, status.Skew{
					Part: "Pulumi", Found: fmt.Sprintf("layer %s last ran with the plugin %s %s, and the programs ask for the older %s", layer.Name, name, layer.Plugins[name], mine),
					Remedy: "use the strata that ran it, or a newer one",
				})
			}
		}
	}
	return list
}
