package attack

import (
	"context"
	"errors"
	"strings"
)

const kustomizationHead = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"

// remotePlaces are the fields of a kustomization.yaml in which kustomize accepts a path or a URL
// (sigs.k8s.io/kustomize/api/types, Kustomization), each with a URL.
var remotePlaces = map[string]string{
	"resources":                          "resources: ['{BAIT}/a.yaml']",
	"resources by git":                   "resources: ['git::{BAIT}/repo.git//dir?ref=main']",
	"bases":                              "bases: ['{BAIT}/base?ref=main']",
	"components":                         "components: ['{BAIT}/component?ref=main']",
	"crds":                               "crds: ['{BAIT}/crd.json']",
	"configMapGenerator.files":           "configMapGenerator: [{name: x, files: ['x={BAIT}/x']}]",
	"configMapGenerator.envs":            "configMapGenerator: [{name: x, envs: ['{BAIT}/x.env']}]",
	"configMapGenerator.env":             "configMapGenerator: [{name: x, env: '{BAIT}/x.env'}]",
	"secretGenerator.files":              "secretGenerator: [{name: x, files: ['x={BAIT}/x']}]",
	"secretGenerator.envs":               "secretGenerator: [{name: x, envs: ['{BAIT}/x.env']}]",
	"patches":                            "resources: [own.yaml]\npatches: [{path: '{BAIT}/patch.yaml', target: {kind: ConfigMap}}]",
	"patchesStrategicMerge":              "resources: [own.yaml]\npatchesStrategicMerge: ['{BAIT}/patch.yaml']",
	"patchesJson6902":                    "resources: [own.yaml]\npatchesJson6902: [{path: '{BAIT}/patch.yaml', target: {version: v1, kind: ConfigMap, name: own}}]",
	"replacements":                       "resources: [own.yaml]\nreplacements: [{path: '{BAIT}/replacement.yaml'}]",
	"generators":                         "generators: ['{BAIT}/generator.yaml']",
	"transformers":                       "resources: [own.yaml]\ntransformers: ['{BAIT}/transformer.yaml']",
	"validators":                         "resources: [own.yaml]\nvalidators: ['{BAIT}/validator.yaml']",
	"configurations":                     "resources: [own.yaml]\nconfigurations: ['{BAIT}/configuration.yaml']",
	"openapi":                            "resources: [own.yaml]\nopenapi: {path: '{BAIT}/openapi.json'}",
	"helmCharts":                         "helmCharts: [{name: x, repo: '{BAIT}/charts', version: 1.0.0, releaseName: x}]",
	"helmChartInflationGenerator":        "helmChartInflationGenerator: [{chartName: x, chartRepoUrl: '{BAIT}/charts'}]",
	"an address in capitals":             "resources: ['HTTP://127.0.0.1:{BAITPORT}{BAITPATH}/a.yaml']",
	"an address of another form":         "resources: ['http://2130706433:{BAITPORT}{BAITPATH}/a.yaml']",
	"an address in the fields of Flux's": "metadata: {name: x}\nresources: [own.yaml, 'http://localhost:{BAITPORT}{BAITPATH}/a.yaml']",
}

// outsidePlaces are paths that lead out of the artifact to other files of the machine.
var outsidePlaces = map[string]map[string]string{
	"a path that leads up":         {"kustomization.yaml": "configMapGenerator: [{name: x, files: ['x=../../../../../../etc/hostname']}]"},
	"an absolute path":             {"kustomization.yaml": "configMapGenerator: [{name: x, files: ['x=/etc/hostname']}]"},
	"a link out of the repository": {"kustomization.yaml": "configMapGenerator: [{name: x, files: ['x=out']}]", "out": "-> /etc/hostname"},
	"a link to a folder":           {"kustomization.yaml": "resources: [out/x.yaml]", "out": "-> /"},
	"a subfolder with an address": {
		"kustomization.yaml": "resources: [below]", "below/kustomization.yaml": "resources: ['{BAIT}/a.yaml']",
	},
}

// rejectedBuild matches the Git server's errors about files outside of the repository (internal/lint).
const rejectedBuild = `is the (address|absolute path) "|out(side)? of the repository|run no Helm`

func remoteAttacks() []attack {
	var list []attack
	for place, text := range remotePlaces {
		list = append(list, attack{
			name: "an address in " + strings.ReplaceAll(place, "/", " "), class: remoteContent, as: byPush,
			do:   built(map[string]string{"kustomization.yaml": text, "own.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own}\n"}),
			says: rejectedBuild, unharmed: untouched,
		})
	}
	for place, files := range outsidePlaces {
		list = append(list, attack{name: place, class: remoteContent, as: byPush, do: built(files), says: rejectedBuild, unharmed: untouched})
	}
	return list
}

// built replaces the content of the team's repository by files, and waits for the build.
func built(files map[string]string) func(context.Context, *field) error {
	return func(ctx context.Context, f *field) (err error) {
		m := f.mallory
		before, err := m.head(ctx)
		if err != nil {
			return err
		}
		filled := map[string]string{}
		for name, text := range files {
			if strings.HasSuffix(name, "kustomization.yaml") {
				text = kustomizationHead + text + "\n"
			}
			filled[name] = f.fill(text)
		}
		commit, err := m.push(ctx, filled)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.undo(ctx, before)) }()
		return m.synced(ctx, commit)
	}
}
