package flux

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/strata-platform/strata/internal/local/plugins/flux/manifests"
	"github.com/strata-platform/strata/internal/local/plugins/flux/options"
	"github.com/strata-platform/strata/internal/local/plugins/frame"
	sdk "github.com/strata-platform/strata/sdks/flux"
)

const (
	// idleVariable makes the plugin of the tests only record Flux in the state.
	idleVariable = "STRATA_TEST_IDLE_FLUX"
	idleURL      = "https://git.example.com/fleet.git"
	// idleServer refuses connections.
	idleServer = "https://127.0.0.1:1"
)

// idle returns the package without effects, if the test asks for it.
func idle(pkg frame.Package) frame.Package {
	if os.Getenv(idleVariable) == "" {
		return pkg
	}
	for token, r := range pkg.Resources {
		r.Operations = frame.Handle(frame.CRUD[options.Install, state]{
			Check: check,
			Create: func(_ context.Context, r frame.Request[options.Install, state]) (string, state, error) {
				o := options.Options{Install: r.Args}
				o.Git.URL = idleURL
				o = o.WithDefaults()
				path, content, err := manifests.RenderSync(o)
				return o.Install.Namespace, state{Install: o.Install, RepositoryFiles: map[string]string{path: content}}, err
			},
		})
		pkg.Resources[token] = r
	}
	return pkg
}

// formerProgram registers Flux as the SDK of github.com/oun/pulumi-flux does.
func formerProgram(ctx *pulumi.Context) error {
	plugin := []pulumi.ResourceOption{pulumi.Version(formerVersion), pulumi.PluginDownloadURL("github://api.github.com/oun")}
	var provider pulumi.ProviderResourceState
	if err := ctx.RegisterResource(sdk.ProviderToken, "provider", pulumi.Map{
		"git": pulumi.Map{"url": pulumi.String(idleURL)}, "kubernetes": pulumi.Map{"host": pulumi.String(idleServer), "token": pulumi.ToSecret("canary")},
	}, &provider, plugin...); err != nil {
		return err
	}
	var bootstrap pulumi.CustomResourceState
	return ctx.RegisterResource(sdk.FormerBootstrapGitToken, "flux", pulumi.Map{
		"version": pulumi.String(options.DefaultVersion), "componentsExtras": pulumi.ToStringArray([]string{"image-reflector-controller"}),
	}, &bootstrap, append(plugin, pulumi.Provider(&provider))...)
}

// presentProgram registers the same with the SDK of the Terraform provider.
func presentProgram(ctx *pulumi.Context) error {
	provider, err := sdk.NewProvider(ctx, "provider", &sdk.ProviderArgs{
		Git: sdk.ProviderGitArgs{Url: pulumi.String(idleURL)},
		Kubernetes: sdk.ProviderKubernetesArgs{
			Host: pulumi.String(idleServer), Token: pulumi.ToSecret(pulumi.String("canary")).(pulumi.StringOutput),
		},
	})
	if err != nil {
		return err
	}
	_, err = sdk.NewBootstrapGit(ctx, "flux", &sdk.BootstrapGitArgs{
		Version: pulumi.String(options.DefaultVersion), ComponentsExtras: pulumi.ToStringArray([]string{"image-reflector-controller"}),
	}, pulumi.Provider(provider))
	return err
}

func TestAFormerPlatformKeepsItsFlux(t *testing.T) {
	t.Setenv(idleVariable, "1")
	program := formerProgram
	stack := newStack(t, func(ctx *pulumi.Context) error { return program(ctx) })
	stack.up("create with the former SDK")
	if state := stack.state(); !strings.Contains(state, sdk.FormerBootstrapGitToken) || strings.Contains(state, sdk.Plugin) {
		t.Fatalf("the state is not that of the former SDK:\n%s", state)
	}

	program = presentProgram
	want := []string{"same pulumi:pulumi:Stack", "update pulumi:providers:flux", "same flux:index/bootstrapGit:BootstrapGit"}
	if got := stack.preview().steps; !slices.Equal(got, want) {
		t.Errorf("the preview after the upgrade is\n%q, want\n%q", got, want)
	}
	stack.up("upgrade")
	want[1] = "same pulumi:providers:flux"
	if got := stack.preview().steps; !slices.Equal(got, want) {
		t.Errorf("the preview after the up is\n%q, want\n%q", got, want)
	}
	if got := stack.types(); slices.Contains(got, sdk.FormerBootstrapGitToken) || !slices.Contains(got, sdk.BootstrapGitToken) {
		t.Errorf("the state contains %q", got)
	}
	stack.destroy()
}

// types returns the types of the resources in the state.
func (s *stack) types() []string {
	s.t.Helper()
	exported, err := s.stack.Export(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	var deployment apitype.DeploymentV3
	if err := json.Unmarshal(exported.Deployment, &deployment); err != nil {
		s.t.Fatal(err)
	}
	var types []string
	for _, r := range deployment.Resources {
		types = append(types, string(r.Type))
	}
	return types
}

func TestAFormerPlatformIsRefreshedAndDestroyed(t *testing.T) {
	t.Setenv(idleVariable, "1")
	stack := newStack(t, formerProgram)
	stack.up("create with the former SDK")
	if _, err := stack.stack.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	stack.destroy()
}
