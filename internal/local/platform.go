// Package local implements the target of package lifecycle for one machine: from an empty folder to running Stacks, and
// back.
package local

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/strata-platform/strata/internal/layers"
	"github.com/strata-platform/strata/internal/lifecycle"
	"github.com/strata-platform/strata/internal/local/machine/gitserver"
	"github.com/strata-platform/strata/internal/local/machine/home"
	"github.com/strata-platform/strata/internal/local/machine/pulumienv"
	"github.com/strata-platform/strata/internal/local/machine/supervisor"
	"github.com/strata-platform/strata/internal/shell"
	"github.com/strata-platform/strata/internal/toolchain"
	"github.com/strata-platform/strata/operator/engine/pulumihome"
	"github.com/strata-platform/strata/teams"
)

// These are the names of the repositories that belong to no team.
const (
	fleetRepository    = "fleet"
	platformRepository = "platform"
)

// Platform is the local platform of one home.
type Platform struct {
	Home      home.Home
	Toolchain *toolchain.Toolchain
	// Root is the root folder of Strata's repository.
	Root string
	// Environment is the name of the stack in every layer.
	Environment string

	executable string
	client     *supervisor.Client
	pulumi     func() (auto.PulumiCommand, error)
}

// Open opens the platform of a home. The home need not exist: Start creates it. root is the root folder of Strata's
// repository.
func Open(root, dir, environment string) (*Platform, error) {
	h, err := home.At(dir)
	if err == nil && h.Exists() {
		h, err = home.Open(dir)
	}
	if err != nil {
		return nil, err
	}
	if h.Environment() != "" {
		if err := h.KeepEnvironment(environment); err != nil {
			return nil, err
		}
	}
	tc, err := toolchain.Open(root)
	if err != nil {
		return nil, err
	}
	executable, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find strata's own executable: %w", err)
	}
	return &Platform{
		Home: h, Toolchain: tc, Root: root, Environment: environment,
		executable: executable, client: supervisor.Connect(h), pulumi: layers.Pinned(h.ToolsRoot(), tc.Version("pulumi")),
	}, nil
}

// Supervisor returns the client of the home's supervisor.
func (p *Platform) Supervisor() *supervisor.Client { return p.client }

// Teams reads teams.yaml.
func (p *Platform) Teams() ([]teams.Team, error) { return lifecycle.ReadTeams(p.Root) }

// teamsFile returns the path of teams.yaml.
func (p *Platform) teamsFile() string { return filepath.Join(p.Root, lifecycle.TeamsFile) }

// Start creates the home if it does not exist, starts its supervisor and links the programs that Pulumi runs need.
func (p *Platform) Start(ctx context.Context) (supervisor.Status, error) {
	home.KeepPrivate()
	if _, err := home.Open(p.Home.Dir()); err != nil {
		return supervisor.Status{}, err
	}
	if err := p.Home.KeepEnvironment(p.Environment); err != nil {
		return supervisor.Status{}, err
	}
	if err := pulumienv.Link(ctx, p.Home, p.Toolchain.Path, p.executable); err != nil {
		return supervisor.Status{}, err
	}
	if err := p.client.Start(ctx, p.executable, p.Root); err != nil {
		return supervisor.Status{}, err
	}
	return p.client.Status(ctx)
}

// layerEnvironment returns the environment of a layer's Pulumi program: the state backend, its passphrase, the stack
// and its configuration, the plugins and, only for layer 1, the engineer's Google identity.
func (p *Platform) layerEnvironment(ctx context.Context, layer, googleURL string) (map[string]string, error) {
	if _, err := lifecycle.ProjectOf(layer); err != nil {
		return nil, err
	}
	passphrase, err := p.Home.Secret("passphrase")
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(p.Home.LayerState(), 0o700); err != nil {
		return nil, fmt.Errorf("prepare the environment of layer %s: %w", layer, err)
	}
	pulumiHome := filepath.Join(p.Home.Layer(layer), "pulumi")
	if err := pulumihome.WithoutLogs(pulumiHome); err != nil {
		return nil, fmt.Errorf("prepare the environment of layer %s: %w", layer, err)
	}
	env := pulumienv.Variables(p.Home, googleURL)
	maps.Copy(env, map[string]string{
		"PULUMI_BACKEND_URL":       p.layerBackend(),
		"PULUMI_CONFIG_PASSPHRASE": passphrase,
		"PULUMI_HOME":              pulumiHome,
		// The engineer's shell may have another layer's values.
		"PULUMI_STACK":              p.Environment,
		"PULUMI_OPTION_CONFIG_FILE": filepath.Join(p.Home.Layer(layer), "Pulumi."+p.Environment+".yaml"),
	})
	switch layer {
	case lifecycle.BootstrapLayer:
		env["GOOGLE_CREDENTIALS"] = p.Home.EngineerCredentials()
		env["GOOGLE_PROJECT"] = home.Project
		env["GOOGLE_REGION"] = home.Region
		env["GOOGLE_ZONE"] = home.Zone
	case lifecycle.PlatformLayer:
		manifests, err := p.Toolchain.Path(ctx, "flux-manifests")
		if err != nil {
			return nil, err
		}
		env["STRATA_FLUX_MANIFESTS"] = manifests
		// Layer 2 has access to the cluster but not to the cloud, even if the engineer's shell has Google credentials.
		for name := range env {
			if strings.HasPrefix(name, "GOOGLE_") {
				env[name] = ""
			}
		}
		for _, name := range []string{"CREDENTIALS", "APPLICATION_CREDENTIALS", "PROJECT", "REGION", "ZONE"} {
			env["GOOGLE_"+name] = ""
		}
	}
	return env, nil
}

// layerBackend returns the URL of the layers' Pulumi backend. It turns off attribute files: a kill can truncate one,
// and then Pulumi cannot read the backend.
func (p *Platform) layerBackend() string { return "file://" + p.Home.LayerState() + "?metadata=skip" }

// runner returns the runner of a layer of this platform.
func (p *Platform) runner(ctx context.Context, layer string) (layers.Runner, error) {
	// Pulumi writes state and settings, which only this user may read.
	home.KeepPrivate()
	status, err := p.status(ctx, layer)
	if err != nil {
		return layers.Runner{}, err
	}
	env, err := p.layerEnvironment(ctx, layer, status.GoogleURL)
	if err != nil {
		return layers.Runner{}, err
	}
	return layers.Runner{
		Stack: p.Environment, Pulumi: p.pulumi, Env: env, WorkDir: p.Home.Layer, Unlock: p.unlock,
		Lost: cloudClient{status.GoogleURL, p.Home.EngineerCredentials()}.deleteOrphans,
	}, nil
}

// status returns the supervisor's status. Its error names the layer that needs it.
func (p *Platform) status(ctx context.Context, layer string) (supervisor.Status, error) {
	status, err := p.client.Status(ctx)
	if err != nil {
		return status, fmt.Errorf("layer %s: %w: run `%s` or `%s` first", layer, err, p.Home.Call("up"), p.Home.Call("local start"))
	}
	return status, nil
}

// repositoryURL returns the URL of a repository on the home's Git server, without a login.
func repositoryURL(status supervisor.Status, name string) string {
	return status.GitURL + "/" + name + ".git"
}

// gitPassword returns the password of a Git account.
func (p *Platform) gitPassword(account string) (string, error) {
	secret, err := p.Home.Secret(supervisor.GitSecret)
	if err != nil {
		return "", err
	}
	return gitserver.Password(secret, account), nil
}

// CloneCommand returns a command that clones a repository as an account. The command reads the password from the home.
func (p *Platform) CloneCommand(status supervisor.Status, repository, account string) string {
	u, err := url.Parse(repositoryURL(status, repository))
	if err != nil {
		return ""
	}
	u.User = url.User(account)
	// Git passes this value to a shell, so it needs quoting of its own.
	helper := "store --file=" + shell.Word(p.Home.GitCredentials())
	return fmt.Sprintf("git clone --config credential.helper=%s %s", shell.Quote(helper), u)
}
