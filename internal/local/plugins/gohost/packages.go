package gohost

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// GetRequiredPackages returns the provider plugins of the SDKs that the program imports.
func (h *host) GetRequiredPackages(ctx context.Context, req *pulumirpc.GetRequiredPackagesRequest) (*pulumirpc.GetRequiredPackagesResponse, error) {
	o, err := optionsOf(req.GetInfo())
	if err != nil {
		return nil, err
	}
	resp := &pulumirpc.GetRequiredPackagesResponse{}
	if o.binary != "" {
		return resp, nil
	}
	modules, err := goCommand(ctx, req.GetInfo().GetProgramDirectory(), "list", "-deps", "-f",
		"{{with .Module}}{{.Dir}}\t{{.Version}}{{end}}")
	if err != nil {
		// Run reports the same error, so that the user sees it once.
		return resp, nil //nolint:nilerr // see above
	}
	lines := strings.Split(strings.TrimSpace(modules), "\n")
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		dir, version, _ := strings.Cut(line, "\t")
		dependency, err := packageIn(dir, version)
		if err != nil {
			return nil, err
		}
		if dependency != nil {
			resp.Packages = append(resp.Packages, dependency)
		}
	}
	return resp, nil
}

// packageIn returns the plugin of the SDK in a module's folder, or nil if the module is not an SDK.
func packageIn(dir, version string) (*pulumirpc.PackageDependency, error) {
	// An SDK contains the file in one of these folders below the folder of its module.
	for _, pattern := range []string{".", "go", "go/*", "*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern, "pulumi-plugin.json"))
		if err != nil || len(files) == 0 {
			continue
		}
		about, err := plugin.LoadPulumiPluginJSON(files[0])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", files[0], err)
		}
		if !about.Resource || about.Name == "" {
			return nil, nil
		}
		if about.Version != "" {
			version = about.Version
		}
		return &pulumirpc.PackageDependency{
			Name: about.Name, Kind: "resource", Version: version, Server: about.Server,
			Parameterization: parameterization(about.Parameterization),
			Extension:        parameterization(about.ExtensionParameterization),
		}, nil
	}
	return nil, nil
}

func parameterization(p *plugin.PulumiParameterizationJSON) *pulumirpc.PackageParameterization {
	if p == nil {
		return nil
	}
	return &pulumirpc.PackageParameterization{Name: p.Name, Version: p.Version, Value: p.Value}
}

// GetProgramDependencies returns the modules that the program's go.mod requires.
func (h *host) GetProgramDependencies(ctx context.Context, req *pulumirpc.GetProgramDependenciesRequest) (*pulumirpc.GetProgramDependenciesResponse, error) {
	text, err := goCommand(ctx, req.GetInfo().GetProgramDirectory(), "mod", "edit", "-json")
	if err != nil {
		return nil, fmt.Errorf("list the dependencies of the program in %s: %w", req.GetInfo().GetProgramDirectory(), err)
	}
	var file struct {
		Require []struct {
			Path, Version string
			Indirect      bool
		}
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		return nil, fmt.Errorf("decode the output of go mod edit: %w", err)
	}
	resp := &pulumirpc.GetProgramDependenciesResponse{}
	for _, r := range file.Require {
		if !r.Indirect || req.GetTransitiveDependencies() {
			resp.Dependencies = append(resp.Dependencies, &pulumirpc.DependencyInfo{Name: r.Path, Version: r.Version})
		}
	}
	return resp, nil
}

// InstallDependencies downloads the modules of go.mod. It does not change go.mod.
func (h *host) InstallDependencies(req *pulumirpc.InstallDependenciesRequest, server pulumirpc.LanguageRuntime_InstallDependenciesServer) error {
	streams, stdout, _, err := rpcutil.MakeInstallDependenciesStreams(server, req.GetIsTerminal())
	if err != nil {
		return err
	}
	defer streams.Close()
	fmt.Fprintln(stdout, "Downloading the modules of the program ...")
	if _, err := goCommand(server.Context(), req.GetInfo().GetProgramDirectory(), "mod", "download"); err != nil {
		return fmt.Errorf("install the dependencies of the program in %s: %w", req.GetInfo().GetProgramDirectory(), err)
	}
	return streams.Close()
}

// About returns the path of the go command and its version.
func (h *host) About(ctx context.Context, req *pulumirpc.AboutRequest) (*pulumirpc.AboutResponse, error) {
	text, err := goCommand(ctx, req.GetInfo().GetProgramDirectory(), "env", "GOROOT", "GOVERSION")
	if err != nil {
		return nil, err
	}
	root, version, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return &pulumirpc.AboutResponse{Executable: filepath.Join(root, "bin", "go"), Version: version}, nil
}
