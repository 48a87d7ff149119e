package lint

import (
	"fmt"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"
)

// place is a value in a kustomization file that kustomize reads as a path or an address.
type place struct {
	field, value string
	takes        takes
}

// takes is the way in which kustomize reads a place.
type takes int

const (
	// aFile is the path of a file.
	aFile takes = iota
	// manifests is a file, a folder with a kustomization file, or a Git repository.
	manifests
	// aPatch is an inline patch or the path of a file.
	aPatch
	// plugins is an inline configuration of plugins, or the path of a file or folder with such configurations.
	plugins
	// aChart is a Helm setting. Flux's builds do not run Helm.
	aChart
)

// decode returns the contents that kustomize and Flux may read from a kustomization file. In the folder that a sync
// names, Flux ignores unknown fields. In other folders, kustomize rejects unknown fields. Both ignore the case of
// keys, and read only the first document. If neither can read a file, the build fails and loads nothing.
func decode(content []byte) []*types.Kustomization {
	var all []*types.Kustomization
	var lenient, strict types.Kustomization
	if yaml.Unmarshal(content, &lenient) == nil {
		all = append(all, &lenient)
	}
	if strict.Unmarshal(content) == nil {
		all = append(all, &strict)
	}
	return all
}

// places returns every value of a kustomization file from which kustomize loads something.
func places(k *types.Kustomization) []place {
	var l placeList
	l.add("resources", manifests, k.Resources...)
	l.add("bases", manifests, k.Bases...) //nolint:staticcheck // Flux still builds deprecated fields, here and below.
	l.add("components", manifests, k.Components...)
	l.add("crds", aFile, k.Crds...)
	l.add("configurations", aFile, k.Configurations...)
	l.add("generators", plugins, k.Generators...)
	l.add("transformers", plugins, k.Transformers...)
	l.add("validators", plugins, k.Validators...)
	l.one("openapi.path", aFile, k.OpenAPI["path"])
	for i, each := range k.ConfigMapGenerator {
		l.sources(fmt.Sprintf("configMapGenerator[%d]", i), each.KvPairSources)
	}
	for i, each := range k.SecretGenerator {
		l.sources(fmt.Sprintf("secretGenerator[%d]", i), each.KvPairSources)
	}
	for i, each := range k.PatchesStrategicMerge { //nolint:staticcheck // see above
		l.one(fmt.Sprintf("patchesStrategicMerge[%d]", i), aPatch, string(each))
	}
	for i, each := range k.PatchesJson6902 { //nolint:staticcheck // see above
		l.one(fmt.Sprintf("patchesJson6902[%d].path", i), aFile, each.Path)
	}
	for i, each := range k.Patches {
		l.one(fmt.Sprintf("patches[%d].path", i), aFile, each.Path)
	}
	for i, each := range k.Replacements {
		l.one(fmt.Sprintf("replacements[%d].path", i), aFile, each.Path)
	}
	l.charts(k)
	return l
}

type placeList []place

func (l *placeList) one(field string, takes takes, value string) {
	if value != "" {
		*l = append(*l, place{field, value, takes})
	}
}

func (l *placeList) add(field string, takes takes, values ...string) {
	for i, value := range values {
		l.one(fmt.Sprintf("%s[%d]", field, i), takes, value)
	}
}

// sources adds the sources of a ConfigMap or Secret generator. An entry is PATH or KEY=PATH.
func (l *placeList) sources(field string, from types.KvPairSources) {
	for i, value := range from.FileSources {
		l.one(fmt.Sprintf("%s.files[%d]", field, i), aFile, fileSource(value))
	}
	l.add(field+".envs", aFile, from.EnvSources...)
	l.one(field+".env", aFile, from.EnvSource)
}

func fileSource(value string) string {
	if _, file, found := strings.Cut(value, "="); found {
		return file
	}
	return value
}

func (l *placeList) charts(k *types.Kustomization) {
	for i := range k.HelmCharts {
		l.one(fmt.Sprintf("helmCharts[%d]", i), aChart, "a chart")
	}
	for i := range k.HelmChartInflationGenerator {
		l.one(fmt.Sprintf("helmChartInflationGenerator[%d]", i), aChart, "a chart")
	}
	if k.HelmGlobals != nil {
		l.one("helmGlobals", aChart, "settings of charts")
	}
}
