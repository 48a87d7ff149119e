// Package access contains the flags of commands on a team's namespace, which a person of a team runs with a kubeconfig, and the platform's
// engineer with the platform.
package access

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/strata-platform/strata/cmd/strata/internal/cli"
	"github.com/strata-platform/strata/cmd/strata/internal/complete"
	"github.com/strata-platform/strata/internal/check/teamfile"
	"github.com/strata-platform/strata/internal/plans/clone"
	"github.com/strata-platform/strata/teams"
)

// Flags are the flags that choose the cluster and the team.
type Flags struct {
	cli.Call
	// Folder is the folder of the clone of the team's repository.
	Folder string

	team, context string
}

// Bind adds the flags to a command. formats are formats of its output beside the usual ones.
func Bind(command *cobra.Command, o cli.Options, formats ...string) *Flags {
	f := &Flags{Call: o.Bind(command, formats...)}
	complete.Team(command, &f.team, "name of the team; by default that of the clone's team file, or of the kubeconfig's namespace", o.Local)
	command.Flags().StringVar(&f.Folder, "folder", ".", "folder of the clone of the team's repository")
	complete.Flag(command, "folder", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
	command.Flags().StringVar(&f.context, "context", "", "context of your kubeconfig, such as strata-web")
	complete.Flag(command, "context", complete.Nothing)
	return f
}

// Place is a team's namespace in a cluster.
type Place struct {
	// Config is the configuration of clients, with the identity that the flags choose.
	Config    *rest.Config
	Namespace string
	// Team is the name of the team, and of the source of its first sync.
	Team string
}

// Open finds the team's namespace: with the kubeconfig of --context or $KUBECONFIG, as a person of a team does, and otherwise as the
// engineer of the platform.
func (f *Flags) Open(ctx context.Context, command *cobra.Command) (Place, error) {
	team, err := f.teamName(ctx)
	if err != nil {
		return Place{}, err
	}
	platform := command.Flags().Changed("target") || command.Flags().Changed("env")
	var config *rest.Config
	var namespace string
	if f.context != "" || os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" && !platform {
		config, namespace, err = f.kubeconfig(team)
	} else {
		config, namespace, err = f.engineer(ctx, team)
	}
	return Place{config, namespace, strings.TrimPrefix(namespace, teams.Team{}.Namespace())}, err
}

// teamName returns the team of the flag, or that of the clone's team file, or "".
func (f *Flags) teamName(ctx context.Context) (string, error) {
	if f.team != "" {
		return f.team, nil
	}
	opened, err := clone.Open(ctx, f.Folder)
	if err != nil {
		return "", nil // Only `strata plan` needs a clone.
	}
	name, _, err := teamfile.Load(teamfile.Source{Repository: opened.Root()})
	return name, err
}

// kubeconfig returns the configuration of the user's kubeconfig, and the namespace of the team or else of the context.
func (f *Flags) kubeconfig(team string) (*rest.Config, string, error) {
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{CurrentContext: f.context})
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, "", fmt.Errorf("read your kubeconfig: %w", err)
	}
	if team != "" {
		return config, teams.Team{Name: team}.Namespace(), nil
	}
	namespace, given, err := loaded.Namespace()
	if err == nil && (!given && namespace == "default" || !strings.HasPrefix(namespace, teams.Team{}.Namespace())) {
		err = fmt.Errorf("the context of your kubeconfig has the namespace %q, which is no team's: name the team with --team", namespace)
	}
	return config, namespace, err
}

// engineer returns the configuration of the platform's engineer, and the namespace of the team.
func (f *Flags) engineer(ctx context.Context, team string) (*rest.Config, string, error) {
	config, namespaces, err := f.Namespaces(ctx, team)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%w; a person of a team sets KUBECONFIG to the team's kubeconfig", err)
	case len(namespaces) != 1:
		return nil, "", errors.New("the platform has several teams: name one with --team")
	}
	return config, namespaces[0], nil
}
