package plancmd

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
	"github.com/strata-platform/strata/internal/plans"
	"github.com/strata-platform/strata/internal/plans/clone"
	"github.com/strata-platform/strata/teams"
)

// access are the flags that choose the cluster and the team.
type access struct {
	cli.Call
	team, folder, context string
}

// bind adds the flags to a command. formats are formats of its output beside the usual ones.
func bind(command *cobra.Command, o cli.Options, formats ...string) *access {
	a := &access{Call: o.Bind(command, formats...)}
	complete.Team(command, &a.team, "name of the team; by default that of the clone's team file, or of the kubeconfig's namespace", o.Local)
	command.Flags().StringVar(&a.folder, "folder", ".", "folder of the clone of the team's repository")
	complete.Flag(command, "folder", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return nil, cobra.ShellCompDirectiveFilterDirs
	})
	command.Flags().StringVar(&a.context, "context", "", "context of your kubeconfig, such as strata-web")
	complete.Flag(command, "context", complete.Nothing)
	return a
}

// place is a team's namespace in a cluster.
type place struct {
	*plans.Client
	namespace string
	// source is the name of the team's source, which is the team's name.
	source string
}

// open connects to the team's namespace: with the kubeconfig of --context or $KUBECONFIG, as a person of a team does, and otherwise as the
// engineer of the platform.
func (a *access) open(ctx context.Context, command *cobra.Command) (place, error) {
	team, err := a.teamName(ctx)
	if err != nil {
		return place{}, err
	}
	platform := command.Flags().Changed("target") || command.Flags().Changed("env")
	var config *rest.Config
	var namespace string
	if a.context != "" || os.Getenv(clientcmd.RecommendedConfigPathEnvVar) != "" && !platform {
		config, namespace, err = a.kubeconfig(team)
	} else {
		config, namespace, err = a.engineer(ctx, team)
	}
	if err != nil {
		return place{}, err
	}
	client, err := plans.NewClient(config)
	return place{Client: client, namespace: namespace, source: strings.TrimPrefix(namespace, teams.Team{}.Namespace())}, err
}

// teamName returns the team of the flag, or that of the clone's team file, or "".
func (a *access) teamName(ctx context.Context) (string, error) {
	if a.team != "" {
		return a.team, nil
	}
	opened, err := clone.Open(ctx, a.folder)
	if err != nil {
		return "", nil // Only `strata plan` needs a clone.
	}
	name, _, err := teamfile.Load(teamfile.Source{Repository: opened.Root()})
	return name, err
}

// kubeconfig returns the configuration of the user's kubeconfig, and the namespace of the team or else of the context.
func (a *access) kubeconfig(team string) (*rest.Config, string, error) {
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{CurrentContext: a.context})
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
func (a *access) engineer(ctx context.Context, team string) (*rest.Config, string, error) {
	config, namespaces, err := a.Namespaces(ctx, team)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("%w; a person of a team sets KUBECONFIG to the team's kubeconfig", err)
	case len(namespaces) != 1:
		return nil, "", errors.New("the platform has several teams: name one with --team")
	}
	return config, namespaces[0], nil
}
