package gke

import (
	"os"
	"path/filepath"
	"regexp"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/platform/operators"
)

// operatorImage is the file that names the image of upstream's operator.
const operatorImage = "sync/operator/gke/kustomization.yaml"

var imageDigest = regexp.MustCompile(`(?m)^ +digest: sha256:[0-9a-f]{64}$`)

// checkOperator checks the requirements of the operator that layer 2 names. With bootstrap, the configuration of layer 1 is known.
func (p *Platform) checkOperator(f *facts, bootstrap bool) []Finding {
	var findings []Finding
	if bootstrap && f.bootstrap.TenantKeys {
		findings = append(findings, Finding{
			Check: "keys", Note: true, Found: "layer 1 creates keys of the teams' Google accounts, which do not expire, and no operator needs them",
			Remedy: "if no workload outside of the cluster uses them, run `" + p.pulumiLine(lifecycle.BootstrapLayer, "config rm tenantKeys") + "`",
		})
	}
	if f.platform.Operator != operators.Upstream {
		return findings
	}
	findings = append(findings, Finding{
		Check: "operator", Note: true, Found: "upstream's operator reads every Secret of the cluster",
		Remedy: "if this is not acceptable, run `" + p.pulumiLine(lifecycle.PlatformLayer, "config set operator embedded") + "`",
	})
	if f.platform.WorkspaceImage == "" {
		findings = append(findings, Finding{
			Check: "workspaces", Note: true, Found: "no image is set for the pods of Stacks, so each run downloads its plugins into upstream's newest image",
			Remedy: "build images/workspace/Containerfile, and run `" + p.pulumiLine(lifecycle.PlatformLayer, "config set workspaceImage NAME@sha256:DIGEST") + "`",
		})
	}
	return append(findings, p.checkImage()...)
}

// checkImage adds a note if a tag, and no digest, pins the image of upstream's operator.
func (p *Platform) checkImage() []Finding {
	content, err := os.ReadFile(filepath.Join(p.Root, operatorImage))
	if err != nil || imageDigest.Match(content) {
		return nil
	}
	return []Finding{{
		Check: "operator", Note: true, Found: "a tag names its image, and the publisher can move the tag",
		Remedy: "add its digest in " + operatorImage + " of the platform repository",
	}}
}
