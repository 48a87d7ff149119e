package toolchain_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/internal/toolchain/toolchaintest"
)

// TestEveryToolIsBuiltAtItsVersion builds the missing ones of the real tools, which takes long if all are missing.
func TestEveryToolIsBuiltAtItsVersion(t *testing.T) {
	root := toolchaintest.Root(t)
	tools, err := toolchain.Open(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range tools.Names() {
		t.Run(name, func(t *testing.T) { toolchaintest.Path(t, name) })
	}
	for name, args := range map[string]string{
		"cloud-sql-proxy":         "--version",
		"etcd":                    "--version",
		"kube-apiserver":          "--version",
		"kube-controller-manager": "--version",
		"kube-scheduler":          "--version",
		"pulumi":                  "version",
	} {
		t.Run(name+" says its version", func(t *testing.T) {
			out, err := exec.Command(toolchaintest.Path(t, name), args).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if version := strings.TrimPrefix(tools.Version(name), "v"); !strings.Contains(string(out), version) {
				t.Errorf("%s %s says %q, want %s", name, args, out, version)
			}
		})
	}
}

func TestPulumiFindsItsLanguageHostBesideIt(t *testing.T) {
	pulumi, host := toolchaintest.Path(t, "pulumi"), toolchaintest.Path(t, "pulumi-language-yaml")
	if filepath.Dir(pulumi) != filepath.Dir(host) {
		t.Errorf("%s and %s are not in one folder", pulumi, host)
	}
}

func TestFluxManifestsContainTheControllers(t *testing.T) {
	folder := toolchaintest.Path(t, "flux-manifests")
	for _, name := range []string{
		"source-controller", "kustomize-controller", "helm-controller", "notification-controller", "rbac", "policies",
	} {
		files, err := filepath.Glob(filepath.Join(folder, name+".yaml"))
		if err != nil || len(files) != 1 {
			t.Errorf("%s does not contain %s.yaml", folder, name)
		}
	}
}
