package repository

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/mod/module"

	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/pins"
	"github.com/strata-platform/strata/internal/toolchain/sources"
)

// SyncURL is the repository that contains layer 3 of Strata's versions, each on the branch of pins.Pins.Branch.
const SyncURL = "https://" + Module

// Options are the choices for a new repository.
type Options struct {
	// Version is the version of strata. Required.
	Version string
	// Module is the path of the repository's Go module; empty means the name of its folder.
	Module string
	// SyncURL is the Git repository with layer 3 for Google Cloud; empty means SyncURL.
	SyncURL string
	// Source is a clone of Strata whose module compiles the programs on this machine, instead of the released one. It
	// becomes a go.work, which Git ignores. Empty means none.
	Source string
}

// created maps the paths of the files of a new repository to their templates below files/new.
var created = map[string]string{
	"go.mod":                       "go.mod",
	"teams.yaml":                   "teams.yaml",
	"bootstrap/Pulumi.yaml":        "bootstrap/Pulumi.yaml",
	"bootstrap/Pulumi.prod.yaml":   "bootstrap/Pulumi.prod.yaml",
	"platform/Pulumi.yaml":         "platform/Pulumi.yaml",
	"platform/Pulumi.prod.yaml":    "platform/Pulumi.prod.yaml",
	"sync/kustomization.yaml":      "sync/kustomization.yaml",
	".gitignore":                   "gitignore",
	".github/workflows/strata.yml": "github/strata.yml",
	".gitlab-ci.yml":               "gitlab-ci.yml",
	"README.md":                    "README.md",
}

// Create writes an organisation's repository into dir, a folder that does not exist or is empty, and adds the files to a new
// Git repository there. It returns the absolute path of the folder and the paths of the files. If it returns an error, it has
// changed nothing.
func Create(ctx context.Context, dir string, o Options) (root string, names []string, err error) {
	if root, err = filepath.Abs(dir); err != nil {
		return "", nil, err
	}
	content, err := contentOf(root, o)
	if err == nil {
		err = checkEmpty(root)
	}
	if err == nil {
		_, err = exec.LookPath("git")
	}
	if err != nil {
		return "", nil, fmt.Errorf("create the repository %s: %w: nothing was changed", root, err)
	}
	remove, err := write(root, content)
	if err == nil {
		err = track(ctx, root)
	}
	if err != nil {
		remove()
		return "", nil, fmt.Errorf("create the repository %s: %w: nothing was changed", root, err)
	}
	for name := range content {
		names = append(names, name)
	}
	slices.Sort(names)
	return root, names, nil
}

// values are the values in the templates.
type values struct {
	Name, Module, StrataModule, Version, PulumiSDK, Go, GoMinor string
}

// contentOf returns the files of a new repository by their paths.
func contentOf(root string, o Options) (map[string][]byte, error) {
	v := values{Name: filepath.Base(root), StrataModule: Module, Version: o.Version, PulumiSDK: pulumiSDK()}
	v.Module = o.Module
	if v.Module == "" {
		v.Module = strings.Trim(notInModules.ReplaceAllString(strings.ToLower(v.Name), "-"), "-")
	}
	if err := module.CheckImportPath(v.Module); err != nil {
		return nil, fmt.Errorf("--module %q is not the path of a Go module: %w", v.Module, err)
	}
	var err error
	if v.Go, err = sources.GoVersion(); err != nil {
		return nil, err
	}
	v.GoMinor = goMinor.FindString(v.Go)
	content := map[string][]byte{}
	for name, source := range created {
		if content[name], err = v.fill(source); err != nil {
			return nil, err
		}
	}
	for _, layer := range []string{lifecycle.BootstrapLayer, lifecycle.PlatformLayer} {
		if content[layer+"/main.go"], err = files.ReadFile("files/" + layer + ".go.txt"); err != nil {
			return nil, err
		}
	}
	pinned, err := Offered(o.Version)
	if err != nil {
		return nil, err
	}
	if o.SyncURL != "" {
		pinned.Sync.URL = o.SyncURL
	}
	if content[pins.File], err = pinned.Encode(); err != nil {
		return nil, err
	}
	if _, err := pins.Decode(content[pins.File]); err != nil {
		return nil, err
	}
	if o.Source != "" {
		source, err := filepath.Abs(o.Source)
		if err != nil {
			return nil, err
		}
		if !sources.IsClone(source) {
			return nil, fmt.Errorf("--module-source %s is not a clone of Strata: name the folder of a clone", source)
		}
		// Without replace, Go would download the go.mod of the required version, although the workspace uses the clone.
		content["go.work"] = fmt.Appendf(nil, "go %s\n\nuse (\n\t.\n\t%q\n)\n\nreplace %s %s => %q\n", v.Go, source, Module, o.Version, source)
	}
	return content, nil
}

var (
	notInModules = regexp.MustCompile(`[^a-z0-9._-]+`)
	goMinor      = regexp.MustCompile(`^[0-9]+\.[0-9]+`)
)

// fill returns a template with the values.
func (v values) fill(name string) ([]byte, error) {
	text, err := files.ReadFile(path.Join("files/new", name+".tmpl"))
	if err != nil {
		return nil, err
	}
	filled, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = filled.Execute(&out, v)
	return out.Bytes(), err
}

// pulumiSDK returns the version of Pulumi's SDK in this program.
func pulumiSDK() string {
	const sdk = "github.com/pulumi/pulumi/sdk/v3"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == sdk {
				return dep.Version
			}
		}
	}
	// The minimum version of everything that Strata requires; `go mod tidy` chooses Strata's own.
	return "v3.0.0"
}
